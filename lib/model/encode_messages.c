/*
 * encode messages: Anthropic's Messages API. One message_start, blocks one behind the other, one
 * message_delta, one message_stop.
 */
#include "model/encode.h"

static int64_t known(int64_t count)
{
	return count > 0 ? count : 0;
}

static void put_usage(struct json_out *j, const struct model_usage *u)
{
	json_open_key(j, "usage", '{');
	encode_count(j, "input_tokens", known(u->input) - known(u->cached) - known(u->cache_write));
	encode_count(j, "cache_creation_input_tokens", u->cache_write);
	encode_count(j, "cache_read_input_tokens", u->cached);
	if (u->cache_write_1h >= 0) {
		json_open_key(j, "cache_creation", '{');
		encode_count(j, "ephemeral_5m_input_tokens",
			known(u->cache_write) - known(u->cache_write_1h));
		encode_count(j, "ephemeral_1h_input_tokens", u->cache_write_1h);
		json_close(j, '}');
	}
	encode_count(j, "output_tokens", u->output);
	json_close(j, '}');
}

/* Waits for the event behind START: a usage belongs into it. */
static void begin(struct model_encoder *e, struct buf *to)
{
	struct json_out j;

	if (e->started)
		return;
	e->started = true;
	encode_open(&j, to, "message_start");
	json_open_key(&j, "message", '{');
	json_put_str(&j, "id", e->id);
	json_put_cstr(&j, "type", "message");
	json_put_cstr(&j, "role", "assistant");
	json_put_str(&j, "model", e->model);
	json_open_key(&j, "content", '[');
	json_close(&j, ']');
	json_put_null(&j, "stop_reason");
	json_put_null(&j, "stop_sequence");
	put_usage(&j, &e->usage);
	json_close(&j, '}');
	encode_close(&j);
}

static void put_content(struct json_out *j, const struct model_encoder *e)
{
	json_open_key(j, "content_block", '{');
	switch (e->sort) {
	case MODEL_THINKING:
		json_put_cstr(j, "type", "thinking");
		json_put_cstr(j, "thinking", "");
		json_put_cstr(j, "signature", "");
		break;
	case MODEL_CALL:
		json_put_cstr(j, "type", "tool_use");
		json_put_str(j, "id", e->call_id);
		json_put_str(j, "name", e->name);
		json_open_key(j, "input", '{');
		json_close(j, '}');
		break;
	default: /* a refusal is words, and the reason to stop says which */
		json_put_cstr(j, "type", "text");
		json_put_cstr(j, "text", "");
		break;
	}
	json_close(j, '}');
}

static void messages_block(struct model_encoder *e, struct buf *to)
{
	struct json_out j;

	begin(e, to);
	if (e->sort == MODEL_OPAQUE) /* its item is its beginning, and comes with its end */
		return;
	encode_open(&j, to, "content_block_start");
	json_put_i64(&j, "index", e->next);
	put_content(&j, e);
	encode_close(&j);
}

static void put_delta(struct model_encoder *e, const char *type, const char *member,
	struct str text, struct buf *to)
{
	struct json_out j;

	encode_open(&j, to, "content_block_delta");
	json_put_i64(&j, "index", e->next);
	json_open_key(&j, "delta", '{');
	json_put_cstr(&j, "type", type);
	json_put_str(&j, member, text);
	json_close(&j, '}');
	encode_close(&j);
}

static void messages_delta(struct model_encoder *e, struct str text, struct buf *to)
{
	switch (e->sort) {
	case MODEL_THINKING:
		put_delta(e, "thinking_delta", "thinking", text, to);
		break;
	case MODEL_CALL:
		put_delta(e, "input_json_delta", "partial_json", text, to);
		break;
	case MODEL_OPAQUE:
		break;
	default:
		put_delta(e, "text_delta", "text", text, to);
		break;
	}
}

static void messages_signature(struct model_encoder *e, struct str text, struct buf *to)
{
	if (e->sort == MODEL_THINKING)
		put_delta(e, "signature_delta", "signature", text, to);
}

static void messages_block_end(
	struct model_encoder *e, struct str text, struct str item, struct buf *to)
{
	struct json_out j;

	(void)text;
	if (e->sort == MODEL_OPAQUE) {
		if (!item.p)
			return;
		encode_open(&j, to, "content_block_start");
		json_put_i64(&j, "index", e->next);
		put_raw_line(&j, "content_block", item);
		encode_close(&j);
	}
	encode_open(&j, to, "content_block_stop");
	json_put_i64(&j, "index", e->next++);
	encode_close(&j);
}

static void messages_usage(struct model_encoder *e, struct buf *to)
{
	begin(e, to); /* later ones stand in the message_delta */
}

static void messages_end(struct model_encoder *e, struct buf *to)
{
	static const char *const reasons[] = {
		[MODEL_STOP_END] = "end_turn",
		[MODEL_STOP_CALLS] = "tool_use",
		[MODEL_STOP_LENGTH] = "max_tokens",
		[MODEL_STOP_SEQUENCE] = "stop_sequence",
		[MODEL_STOP_REFUSAL] = "refusal",
		[MODEL_STOP_PAUSE] = "pause_turn",
		[MODEL_STOP_CONTEXT] = "model_context_window_exceeded",
	};
	struct json_out j;

	begin(e, to);
	encode_open(&j, to, "message_delta");
	json_open_key(&j, "delta", '{');
	json_put_cstr(&j, "stop_reason", reasons[e->stop]);
	json_put_str(&j, "stop_sequence", e->stop_text);
	json_close(&j, '}');
	put_usage(&j, &e->usage);
	encode_close(&j);
	encode_open(&j, to, "message_stop");
	encode_close(&j);
}

/* Clients look at these types alone. */
static void messages_fault(struct model_encoder *e, const struct model_event *ev, struct buf *to)
{
	static const char *const types[] = {
		[MODEL_FAULT_OTHER] = "api_error",
		[MODEL_FAULT_RATE] = "rate_limit_error",
		[MODEL_FAULT_OVERLOADED] = "overloaded_error",
		[MODEL_FAULT_QUOTA] = "billing_error",
		[MODEL_FAULT_CONTEXT] = "invalid_request_error",
		[MODEL_FAULT_REQUEST] = "invalid_request_error",
		[MODEL_FAULT_AUTH] = "authentication_error",
		[MODEL_FAULT_NOT_FOUND] = "not_found_error",
	};
	/* A prompt that is too long is told by the first words of the message. */
	const char *before = ev->fault == MODEL_FAULT_CONTEXT &&
					     !str_starts(ev->text, STR("prompt is too long"))
				     ? "prompt is too long: "
				     : "";
	_cleanup_(buf) struct buf words = BUF_INIT(HELD_MAX_BYTES);
	struct json_out j;

	(void)e;
	(void)buf_puts(&words, before);
	(void)buf_put_str(&words, ev->text);
	encode_open(&j, to, "error");
	json_open_key(&j, "error", '{');
	json_put_cstr(&j, "type", types[ev->fault]);
	json_put_str(&j, "message", buf_str(&words));
	json_close(&j, '}');
	encode_close(&j);
}

static void messages_keepalive(struct model_encoder *e, struct buf *to)
{
	struct json_out j;

	if (e->id.len > 0) /* a ping follows the message's start */
		begin(e, to);
	encode_open(&j, to, "ping");
	encode_close(&j);
}

const struct encoder_family encode_messages = {
	.block = messages_block,
	.delta = messages_delta,
	.signature = messages_signature,
	.block_end = messages_block_end,
	.usage = messages_usage,
	.end = messages_end,
	.fault = messages_fault,
	.keepalive = messages_keepalive,
};
