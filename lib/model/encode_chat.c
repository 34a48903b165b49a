/*
 * encode chat: chat completions. A chunk for each event, the reason and the usage at the end, and
 * [DONE].
 */
#include "model/encode.h"

/* A chunk up to its choices. */
static void open_chunk(struct json_out *j, const struct model_encoder *e, struct buf *to)
{
	encode_open(j, to, NULL);
	json_put_str(j, "id", e->id);
	json_put_cstr(j, "object", "chat.completion.chunk");
	json_put_i64(j, "created", 0); /* nothing here knows the time */
	json_put_str(j, "model", e->model);
	json_open_key(j, "choices", '[');
}

static void open_delta(struct json_out *j, const struct model_encoder *e, struct buf *to)
{
	open_chunk(j, e, to);
	json_open(j, '{');
	json_put_i64(j, "index", 0);
	json_open_key(j, "delta", '{');
}

static void close_delta(struct json_out *j)
{
	json_close(j, '}');
	json_put_null(j, "finish_reason");
	json_close(j, '}');
	json_close(j, ']');
	encode_close(j);
}

static void chat_start(struct model_encoder *e, struct buf *to)
{
	struct json_out j;

	open_delta(&j, e, to);
	json_put_cstr(&j, "role", "assistant");
	json_put_cstr(&j, "content", "");
	close_delta(&j);
}

static void open_call(struct json_out *j, const struct model_encoder *e, struct buf *to)
{
	open_delta(j, e, to);
	json_open_key(j, "tool_calls", '[');
	json_open(j, '{');
	json_put_i64(j, "index", e->next);
}

static void close_call(struct json_out *j)
{
	json_close(j, '}');
	json_close(j, ']');
	close_delta(j);
}

static void chat_block(struct model_encoder *e, struct buf *to)
{
	struct json_out j;

	if (e->sort != MODEL_CALL)
		return;
	open_call(&j, e, to);
	json_put_str(&j, "id", e->call_id);
	json_put_cstr(&j, "type", "function");
	json_open_key(&j, "function", '{');
	json_put_str(&j, "name", e->name);
	json_put_cstr(&j, "arguments", "");
	json_close(&j, '}');
	close_call(&j);
}

static void put_arguments(struct model_encoder *e, struct str text, struct buf *to)
{
	struct json_out j;

	open_call(&j, e, to);
	json_open_key(&j, "function", '{');
	json_put_str(&j, "arguments", text);
	json_close(&j, '}');
	close_call(&j);
}

static void chat_delta(struct model_encoder *e, struct str text, struct buf *to)
{
	static const char *const members[] = {
		[MODEL_TEXT] = "content",
		[MODEL_REFUSAL] = "refusal",
		[MODEL_THINKING] = "reasoning_content",
		[MODEL_OPAQUE] = NULL,
	};
	struct json_out j;

	if (e->sort == MODEL_CALL) {
		put_arguments(e, text, to);
		return;
	}
	if (!members[e->sort])
		return;
	open_delta(&j, e, to);
	json_put_str(&j, members[e->sort], text);
	close_delta(&j);
}

static void chat_signature(struct model_encoder *e, struct str text, struct buf *to)
{
	struct json_out j;

	if (e->sort != MODEL_CALL)
		return;
	open_call(&j, e, to);
	put_raw_line(&j, "extra_content", text);
	close_call(&j);
}

static void chat_block_end(
	struct model_encoder *e, struct str text, struct str item, struct buf *to)
{
	struct json_out j;

	(void)item;
	if (e->sort == MODEL_CALL)
		e->next++;
	if (e->sort != MODEL_OPAQUE || text.len == 0)
		return; /* another family's state has no place here */
	open_delta(&j, e, to);
	put_raw_line(&j, "reasoning_details", text);
	close_delta(&j);
}

static void put_usage(const struct model_encoder *e, struct buf *to)
{
	const struct model_usage *u = &e->usage;
	struct json_out j;

	open_chunk(&j, e, to);
	json_close(&j, ']');
	json_open_key(&j, "usage", '{');
	encode_count(&j, "prompt_tokens", u->input);
	encode_count(&j, "completion_tokens", u->output);
	encode_count(&j, "total_tokens",
		(u->input > 0 ? u->input : 0) + (u->output > 0 ? u->output : 0));
	json_open_key(&j, "prompt_tokens_details", '{');
	encode_count(&j, "cached_tokens", u->cached);
	if (u->cache_write >= 0)
		encode_count(&j, "cache_write_tokens", u->cache_write);
	json_close(&j, '}');
	json_open_key(&j, "completion_tokens_details", '{');
	encode_count(&j, "reasoning_tokens", u->reasoning);
	json_close(&j, '}');
	json_close(&j, '}');
	encode_close(&j);
}

static void chat_end(struct model_encoder *e, struct buf *to)
{
	static const char *const reasons[] = {
		[MODEL_STOP_END] = "stop",
		[MODEL_STOP_CALLS] = "tool_calls",
		[MODEL_STOP_LENGTH] = "length",
		[MODEL_STOP_SEQUENCE] = "stop",
		[MODEL_STOP_REFUSAL] = "content_filter",
		[MODEL_STOP_PAUSE] = "stop",
		[MODEL_STOP_CONTEXT] = "length",
	};
	struct json_out j;

	open_chunk(&j, e, to);
	json_open(&j, '{');
	json_put_i64(&j, "index", 0);
	json_open_key(&j, "delta", '{');
	json_close(&j, '}');
	json_put_cstr(&j, "finish_reason", reasons[e->stop]);
	if (e->stop == MODEL_STOP_SEQUENCE && e->stop_text.len > 0)
		json_put_str(&j, "stop_reason", e->stop_text);
	json_close(&j, '}');
	json_close(&j, ']');
	encode_close(&j);
	if (e->counted)
		put_usage(e, to);
	(void)buf_puts(to, "data: [DONE]\n\n"); /* a full buffer says so itself */
}

static void chat_fault(struct model_encoder *e, const struct model_event *ev, struct buf *to)
{
	const struct str code = fault_code(ev->fault, ev->name);
	struct json_out j;

	if (e->counted)
		put_usage(e, to);
	encode_open(&j, to, NULL);
	json_open_key(&j, "error", '{');
	json_put_str(&j, "message", ev->text);
	json_put_str(&j, "type", code);
	json_put_null(&j, "param");
	json_put_str(&j, "code", code);
	json_close(&j, '}');
	encode_close(&j);
}

static void chat_keepalive(struct model_encoder *e, struct buf *to)
{
	(void)e;
	(void)buf_puts(to, ": keep-alive\n\n"); /* a full buffer says so itself */
}

const struct encoder_family encode_chat = {
	.start = chat_start,
	.block = chat_block,
	.delta = chat_delta,
	.signature = chat_signature,
	.block_end = chat_block_end,
	.end = chat_end,
	.fault = chat_fault,
	.keepalive = chat_keepalive,
};
