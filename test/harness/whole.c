/* A model's reply as one document, in the three shapes that providers have. */
#include "test/harness/reply.h"

enum { ITEM_MAX_BYTES = 2 * SCRIPT_TEXT_MAX_BYTES };

static int64_t total(const struct model_usage *u)
{
	return u->input + u->output;
}

static int64_t known(int64_t n)
{
	return n < 0 ? 0 : n;
}

/* Responses */

static void put_content(struct json_out *j, enum model_block sort, struct str text)
{
	json_open(j, '{');
	json_put_cstr(j, "type", sort == MODEL_REFUSAL ? "refusal" : "output_text");
	json_put_str(j, sort == MODEL_REFUSAL ? "refusal" : "text", text);
	if (sort != MODEL_REFUSAL) {
		json_open_key(j, "annotations", '[');
		json_close(j, ']');
	}
	json_close(j, '}');
}

static void put_call_item(struct json_out *j, const struct reply_call *call)
{
	json_put_cstr(j, "type", "function_call");
	json_put_cstr(j, "status", "completed");
	json_put_str(j, "call_id", call->id);
	json_put_str(j, "name", call->tool);
	json_put_str(j, "arguments", call->arguments);
}

static void put_reasoning_item(
	struct arena *a, struct json_out *j, const struct reply *r, size_t index, struct str text)
{
	json_put_cstr(j, "type", "reasoning");
	json_open_key(j, "summary", '[');
	json_open(j, '{');
	json_put_cstr(j, "type", "summary_text");
	json_put_str(j, "text", text);
	json_close(j, '}');
	json_close(j, ']');
	if (r->ask->wants_encrypted)
		json_put_cstr(j, "encrypted_content", ask_make_id(a, "sealed", r->ask, index));
}

const char *reply_item_id(
	struct arena *a, const struct reply *r, enum model_block sort, size_t index)
{
	const char *prefix = sort == MODEL_CALL ? "fc" : sort == MODEL_THINKING ? "rs" : "msg";

	return ask_make_id(a, prefix, r->ask, index);
}

static void put_item(struct arena *a, struct json_out *j, const struct reply *r, size_t index)
{
	const struct reply_call *call;
	struct str text;
	enum model_block sort = reply_block(r, index, &text, &call);

	json_open(j, '{');
	json_put_cstr(j, "id", reply_item_id(a, r, sort, index));
	if (sort == MODEL_CALL) {
		put_call_item(j, call);
	} else if (sort == MODEL_THINKING) {
		put_reasoning_item(a, j, r, index, text);
	} else {
		json_put_cstr(j, "type", "message");
		json_put_cstr(j, "status", "completed");
		json_put_cstr(j, "role", "assistant");
		json_open_key(j, "content", '[');
		put_content(j, sort, text);
		json_close(j, ']');
	}
	json_close(j, '}');
}

struct str reply_item(struct arena *a, const struct reply *r, size_t index)
{
	_cleanup_(buf) struct buf item = BUF_INIT(ITEM_MAX_BYTES);
	struct json_out j = JSON_OUT(&item);

	put_item(a, &j, r, index);
	return (struct str){arena_strndup(a, item.data, item.len), item.len};
}

static void put_responses(struct arena *a, struct json_out *j, const struct reply *r)
{
	bool whole = r->stop != MODEL_STOP_LENGTH;

	json_put_cstr(j, "object", "response");
	json_put_cstr(j, "status", whole ? "completed" : "incomplete");
	json_put_null(j, "error");
	if (whole) {
		json_put_null(j, "incomplete_details");
	} else {
		json_open_key(j, "incomplete_details", '{');
		json_put_cstr(j, "reason", "max_output_tokens");
		json_close(j, '}');
	}
	json_open_key(j, "output", '[');
	for (size_t i = 0; i < reply_blocks(r); i++)
		put_item(a, j, r, i);
	json_close(j, ']');
	json_put_bool(j, "parallel_tool_calls", true);
	json_put_cstr(j, "tool_choice", "auto");
	json_open_key(j, "tools", '[');
	json_close(j, ']');
	json_open_key(j, "usage", '{');
	json_put_i64(j, "input_tokens", r->usage.input);
	json_open_key(j, "input_tokens_details", '{');
	json_put_i64(j, "cached_tokens", known(r->usage.cached));
	json_close(j, '}');
	json_put_i64(j, "output_tokens", r->usage.output);
	json_open_key(j, "output_tokens_details", '{');
	json_put_i64(j, "reasoning_tokens", known(r->usage.reasoning));
	json_close(j, '}');
	json_put_i64(j, "total_tokens", total(&r->usage));
	json_close(j, '}');
}

/* Chat completions */

static void put_chat_calls(struct json_out *j, const struct reply *r)
{
	json_open_key(j, "tool_calls", '[');
	for (size_t i = 0; i < r->call_count; i++) {
		json_open(j, '{');
		json_put_str(j, "id", r->calls[i].id);
		json_put_cstr(j, "type", "function");
		json_open_key(j, "function", '{');
		json_put_str(j, "name", r->calls[i].tool);
		json_put_str(j, "arguments", r->calls[i].arguments);
		json_close(j, '}');
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_chat(struct json_out *j, const struct reply *r)
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

	json_put_cstr(j, "object", "chat.completion");
	json_open_key(j, "choices", '[');
	json_open(j, '{');
	json_put_i64(j, "index", 0);
	json_open_key(j, "message", '{');
	json_put_cstr(j, "role", "assistant");
	json_put_str(j, "content", r->say);
	json_put_str(j, "refusal", r->refuse);
	if (r->think.p)
		json_put_str(j, "reasoning_content", r->think);
	if (r->call_count > 0)
		put_chat_calls(j, r);
	json_close(j, '}');
	json_put_null(j, "logprobs");
	json_put_cstr(j, "finish_reason", reasons[r->stop]);
	json_close(j, '}');
	json_close(j, ']');
	json_open_key(j, "usage", '{');
	json_put_i64(j, "prompt_tokens", r->usage.input);
	json_put_i64(j, "completion_tokens", r->usage.output);
	json_put_i64(j, "total_tokens", total(&r->usage));
	json_open_key(j, "prompt_tokens_details", '{');
	json_put_i64(j, "cached_tokens", known(r->usage.cached));
	json_close(j, '}');
	json_close(j, '}');
}

/* Anthropic's messages */

static void put_claude_block(struct arena *a, struct json_out *j, const struct reply *r, size_t i)
{
	const struct reply_call *call;
	struct str text;
	enum model_block sort = reply_block(r, i, &text, &call);

	json_open(j, '{');
	if (sort == MODEL_CALL) {
		json_put_cstr(j, "type", "tool_use");
		json_put_str(j, "id", call->id);
		json_put_str(j, "name", call->tool);
		json_put_raw(j, "input", text);
	} else if (sort == MODEL_THINKING) {
		json_put_cstr(j, "type", "thinking");
		json_put_str(j, "thinking", text);
		json_put_cstr(j, "signature", ask_make_id(a, "signed", r->ask, i));
	} else {
		json_put_cstr(j, "type", "text");
		json_put_str(j, "text", text);
	}
	json_close(j, '}');
}

static void put_claude(struct arena *a, struct json_out *j, const struct reply *r)
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
	int64_t cached = known(r->usage.cached), written = known(r->usage.cache_write);

	json_put_cstr(j, "type", "message");
	json_put_cstr(j, "role", "assistant");
	json_open_key(j, "content", '[');
	for (size_t i = 0; i < reply_blocks(r); i++)
		put_claude_block(a, j, r, i);
	json_close(j, ']');
	json_put_cstr(j, "stop_reason", reasons[r->stop]);
	json_put_null(j, "stop_sequence");
	json_open_key(j, "usage", '{');
	json_put_i64(j, "input_tokens", known(r->usage.input - cached - written));
	json_put_i64(j, "cache_creation_input_tokens", written);
	json_put_i64(j, "cache_read_input_tokens", cached);
	json_put_i64(j, "output_tokens", r->usage.output);
	json_close(j, '}');
}

void reply_whole(const struct reply *r, int64_t now_ms, struct buf *to)
{
	_cleanup_(arena) struct arena a = {NULL, 0};
	struct json_out j = JSON_OUT(to);

	json_open(&j, '{');
	json_put_cstr(&j, "id", r->id);
	json_put_str(&j, "model", r->ask->model);
	if (r->ask->family == MODEL_MESSAGES)
		put_claude(&a, &j, r);
	else
		json_put_i64(
			&j, r->ask->family == MODEL_CHAT ? "created" : "created_at", now_ms / 1000);
	if (r->ask->family == MODEL_RESPONSES)
		put_responses(&a, &j, r);
	else if (r->ask->family == MODEL_CHAT)
		put_chat(&j, r);
	json_close(&j, '}');
}
