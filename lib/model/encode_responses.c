/*
 * encode responses: OpenAI's Responses API. Every item is announced, streamed, and repeated when it
 * is done; the last event repeats them all.
 */
#include "model/encode.h"

/* An event, numbered. */
static void open_numbered(
	struct json_out *j, struct model_encoder *e, const char *name, struct buf *to)
{
	encode_open(j, to, name);
	json_put_u64(j, "sequence_number", e->sequence++);
}

/* One of the open item: it says which. */
static void open_of_item(
	struct json_out *j, struct model_encoder *e, const char *name, struct buf *to)
{
	open_numbered(j, e, name, to);
	json_put_i64(j, "output_index", e->next);
}

/* What the item that is written here is called. */
static void put_item_id(struct json_out *j, const char *member, const struct model_encoder *e)
{
	static const char *const prefixes[] = {
		[MODEL_TEXT] = "msg",
		[MODEL_REFUSAL] = "msg",
		[MODEL_THINKING] = "rs",
		[MODEL_CALL] = "fc",
		[MODEL_OPAQUE] = "item",
	};
	_cleanup_(buf) struct buf id = BUF_INIT(64);

	(void)buf_printf(&id, "%s_%d", prefixes[e->sort], e->next); /* fits */
	json_put_str(j, member, buf_str(&id));
}

static void put_usage(struct json_out *j, const struct model_encoder *e)
{
	const struct model_usage *u = &e->usage;

	if (!e->counted) {
		json_put_null(j, "usage");
		return;
	}
	json_open_key(j, "usage", '{');
	encode_count(j, "input_tokens", u->input);
	json_open_key(j, "input_tokens_details", '{');
	encode_count(j, "cached_tokens", u->cached);
	if (u->cache_write >= 0)
		encode_count(j, "cache_write_tokens", u->cache_write);
	json_close(j, '}');
	encode_count(j, "output_tokens", u->output);
	json_open_key(j, "output_tokens_details", '{');
	encode_count(j, "reasoning_tokens", u->reasoning);
	json_close(j, '}');
	encode_count(
		j, "total_tokens", (u->input > 0 ? u->input : 0) + (u->output > 0 ? u->output : 0));
	json_close(j, '}');
}

static void put_error(struct json_out *j, const struct model_event *fault)
{
	if (!fault) {
		json_put_null(j, "error");
		return;
	}
	json_open_key(j, "error", '{');
	json_put_str(j, "code", fault_code(fault->fault, fault->name));
	json_put_str(j, "message", fault->text);
	json_close(j, '}');
}

/* Why it is incomplete, or NULL. */
static const char *incomplete_reason(const struct model_encoder *e)
{
	if (e->stop == MODEL_STOP_LENGTH || e->stop == MODEL_STOP_CONTEXT)
		return "max_output_tokens";
	if (e->refused && !e->called) /* the refusal itself says it */
		return NULL;
	return e->stop == MODEL_STOP_REFUSAL ? "content_filter" : NULL;
}

static void put_response(struct json_out *j, const struct model_encoder *e, const char *status,
	const struct model_event *fault)
{
	const char *reason = str_is(str_from(status), "incomplete") ? incomplete_reason(e) : NULL;

	json_open_key(j, "response", '{');
	json_put_str(j, "id", e->id);
	json_put_cstr(j, "object", "response");
	json_put_i64(j, "created_at", 0); /* nothing here knows the time */
	json_put_cstr(j, "status", status);
	put_error(j, fault);
	if (reason) {
		json_open_key(j, "incomplete_details", '{');
		json_put_cstr(j, "reason", reason);
		json_close(j, '}');
	} else {
		json_put_null(j, "incomplete_details");
	}
	json_put_null(j, "instructions");
	json_open_key(j, "metadata", '{');
	json_close(j, '}');
	json_put_str(j, "model", e->model);
	json_open_key(j, "output", '[');
	if (e->output.len > 0)
		json_put_raw(j, NULL, buf_str(&e->output));
	json_close(j, ']');
	json_put_bool(j, "parallel_tool_calls", true);
	json_put_null(j, "temperature");
	json_put_cstr(j, "tool_choice", "auto");
	json_open_key(j, "tools", '[');
	json_close(j, ']');
	json_put_null(j, "top_p");
	put_usage(j, e);
	json_close(j, '}');
}

static void put_whole(struct model_encoder *e, const char *name, const char *status,
	const struct model_event *fault, struct buf *to)
{
	struct json_out j;

	open_numbered(&j, e, name, to);
	put_response(&j, e, status, fault);
	encode_close(&j);
}

static void responses_start(struct model_encoder *e, struct buf *to)
{
	put_whole(e, "response.created", "in_progress", NULL, to);
	put_whole(e, "response.in_progress", "in_progress", NULL, to);
}

/* A part of a message or of a summary. */
static void put_part(struct json_out *j, const char *name, enum model_block sort, struct str text)
{
	if (name)
		json_open_key(j, name, '{');
	else
		json_open(j, '{');
	switch (sort) {
	case MODEL_REFUSAL:
		json_put_cstr(j, "type", "refusal");
		json_put_str(j, "refusal", text);
		break;
	case MODEL_THINKING:
		json_put_cstr(j, "type", "summary_text");
		json_put_str(j, "text", text);
		break;
	default:
		json_put_cstr(j, "type", "output_text");
		json_open_key(j, "annotations", '[');
		json_close(j, ']');
		json_put_str(j, "text", text);
		break;
	}
	json_close(j, '}');
}

/* An item of ours. Text is absent while it is in progress. */
static void put_item(
	struct json_out *j, const char *name, const struct model_encoder *e, struct str text)
{
	if (name)
		json_open_key(j, name, '{');
	else
		json_open(j, '{');
	put_item_id(j, "id", e);
	switch (e->sort) {
	case MODEL_CALL:
		json_put_cstr(j, "type", "function_call");
		json_put_str(j, "call_id", e->call_id);
		json_put_str(j, "name", e->name);
		json_put_str(j, "arguments", text.p ? text : STR(""));
		break;
	case MODEL_THINKING:
		json_put_cstr(j, "type", "reasoning");
		json_open_key(j, "summary", '[');
		if (text.len > 0)
			put_part(j, NULL, e->sort, text);
		json_close(j, ']');
		break;
	default:
		json_put_cstr(j, "type", "message");
		json_put_cstr(j, "role", "assistant");
		json_open_key(j, "content", '[');
		if (text.p)
			put_part(j, NULL, e->sort, text);
		json_close(j, ']');
		break;
	}
	if (e->sort != MODEL_THINKING)
		json_put_cstr(j, "status", text.p ? "completed" : "in_progress");
	json_close(j, '}');
}

static bool is_message(enum model_block sort)
{
	return sort == MODEL_TEXT || sort == MODEL_REFUSAL;
}

/* An event of the open item's one part. */
static void put_of_part(struct model_encoder *e, const char *name, struct str text, struct buf *to)
{
	struct json_out j;

	open_of_item(&j, e, name, to);
	put_item_id(&j, "item_id", e);
	json_put_i64(&j, e->sort == MODEL_THINKING ? "summary_index" : "content_index", 0);
	put_part(&j, "part", e->sort, text);
	encode_close(&j);
}

static void responses_block(struct model_encoder *e, struct buf *to)
{
	struct json_out j;

	if (e->sort == MODEL_OPAQUE) /* its item comes with its end */
		return;
	open_of_item(&j, e, "response.output_item.added", to);
	put_item(&j, "item", e, (struct str){NULL, 0});
	encode_close(&j);
	if (!is_message(e->sort))
		return;
	put_of_part(e, "response.content_part.added", STR(""), to);
	e->written = true;
}

/* The names of what comes in pieces, and of its whole. */
static const struct {
	const char *delta, *done, *member;
} streams[] = {
	[MODEL_TEXT] = {"response.output_text.delta",             "response.output_text.done", "text"     },
	[MODEL_REFUSAL] = {"response.refusal.delta",                 "response.refusal.done",     "refusal"  },
	[MODEL_THINKING] = {"response.reasoning_summary_text.delta",
			"response.reasoning_summary_text.done",                                "text"     },
	[MODEL_CALL] = {"response.function_call_arguments.delta",
			"response.function_call_arguments.done",                               "arguments"},
	[MODEL_OPAQUE] = {NULL,				     NULL,                        NULL       },
};

static void put_stream(struct model_encoder *e, const char *name, const char *member,
	struct str text, struct buf *to)
{
	struct json_out j;

	open_of_item(&j, e, name, to);
	put_item_id(&j, "item_id", e);
	if (e->sort == MODEL_THINKING)
		json_put_i64(&j, "summary_index", 0);
	else if (e->sort != MODEL_CALL)
		json_put_i64(&j, "content_index", 0);
	json_put_str(&j, member, text);
	if (e->sort == MODEL_TEXT) {
		json_open_key(&j, "logprobs", '[');
		json_close(&j, ']');
	}
	encode_close(&j);
}

static void responses_delta(struct model_encoder *e, struct str text, struct buf *to)
{
	if (e->sort == MODEL_OPAQUE)
		return;
	if (e->sort == MODEL_THINKING && !e->written) {
		put_of_part(e, "response.reasoning_summary_part.added", STR(""), to);
		e->written = true;
	}
	put_stream(e, streams[e->sort].delta, "delta", text, to);
}

/* What repeats the streamed text before the item itself does. */
static void put_done(struct model_encoder *e, struct str text, struct buf *to)
{
	if (e->sort == MODEL_CALL) {
		put_stream(e, streams[e->sort].done, streams[e->sort].member, text, to);
		return;
	}
	if (!e->written)
		return;
	put_stream(e, streams[e->sort].done, streams[e->sort].member, text, to);
	put_of_part(e,
		e->sort == MODEL_THINKING ? "response.reasoning_summary_part.done"
					  : "response.content_part.done",
		text, to);
}

static void responses_block_end(
	struct model_encoder *e, struct str text, struct str item, struct buf *to)
{
	struct json_out j = JSON_OUT(&e->output);
	size_t from;

	if (e->sort == MODEL_OPAQUE) {
		if (!item.p)
			return; /* another family's state has no place here */
		open_of_item(&j, e, "response.output_item.added", to);
		put_raw_line(&j, "item", item);
		encode_close(&j);
	} else {
		put_done(e, text, to);
	}
	j = (struct json_out)JSON_OUT(&e->output);
	if (e->output.len > 0)
		(void)buf_putc(&e->output, ','); /* a full buffer says so itself */
	from = e->output.len;
	if (item.p)
		put_raw_line(&j, NULL, item);
	else
		put_item(&j, NULL, e, text);
	open_of_item(&j, e, "response.output_item.done", to);
	json_put_raw(&j, "item", (struct str){buf_str(&e->output).p + from, e->output.len - from});
	encode_close(&j);
	e->next++;
}

static void responses_end(struct model_encoder *e, struct buf *to)
{
	if (incomplete_reason(e))
		put_whole(e, "response.incomplete", "incomplete", NULL, to);
	else
		put_whole(e, "response.completed", "completed", NULL, to);
}

static void responses_fault(struct model_encoder *e, const struct model_event *ev, struct buf *to)
{
	put_whole(e, "response.failed", "failed", ev, to);
}

static void responses_keepalive(struct model_encoder *e, struct buf *to)
{
	(void)e;
	(void)buf_puts(to, ": keep-alive\n\n"); /* a full buffer says so itself */
}

const struct encoder_family encode_responses = {
	.start = responses_start,
	.block = responses_block,
	.delta = responses_delta,
	.block_end = responses_block_end,
	.end = responses_end,
	.fault = responses_fault,
	.keepalive = responses_keepalive,
};
