/* What a model request asks for. */
#include "test/harness/ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct error_kind ASK_INVALID = {"invalid_request_error", ERROR_CLASS_USAGE};
const struct error_kind ASK_NOT_FOUND = {"previous_response_not_found", ERROR_CLASS_NOT_FOUND};

enum {
	OPEN_MAX = 1024, /* calls that wait for their results */
	HASH_DIGITS = 12,
	NAME_LINES = 2, /* the name stands in the first line, or behind one that names a sender */
};

struct reader {
	struct arena *arena;
	const struct script *script;
	struct ask *ask;
	bool in_group; /* `responses`: the last item was the model's */
	struct str key;
	bool previous; /* `responses`: the request goes on from an earlier reply */
	struct str *open;
	size_t open_count;
	struct error *err;
};

/* Hashing: what a try has in common with its repetition, and not with the next round. */

static uint64_t mix(uint64_t h, struct str s)
{
	uint64_t word;
	size_t i = 0;

	for (; i + sizeof(word) <= s.len; i += sizeof(word)) {
		memcpy(&word, s.p + i, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	word = s.len;
	for (; i < s.len; i++)
		word = word << 8 | (unsigned char)s.p[i];
	h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

static uint64_t mix_json(uint64_t h, const struct json *j)
{
	h = mix(h, j->text);
	json_for_each (item, j)
		h = mix_json(mix(h, item->key), item);
	return h;
}

static bool holds(const struct json *j, struct str text)
{
	if (j->type == JSON_STRING && str_find(j->text, text, 0) >= 0)
		return true;
	json_for_each (item, j) {
		if (holds(item, text))
			return true;
	}
	return false;
}

static int look_for_refused(struct reader *r, const struct json *items)
{
	const struct str_list *texts = &script_settings(r->script)->refuse_text;

	for (size_t i = 0; i < texts->count; i++) {
		if (holds(items, texts->items[i]))
			return error_set(
				r->err, &ASK_INVALID, "an item holds text that is not accepted");
	}
	return 0;
}

/* Ids */

char *ask_make_id(struct arena *a, const char *prefix, const struct ask *ask, size_t index)
{
	return arena_printf(
		a, "%s_%012" PRIx64 "_%zu_%zu", prefix, ask->hash >> 16, ask->round, index);
}

char *ask_response_id(struct arena *a, const struct ask *ask)
{
	return arena_printf(a, "resp_%012" PRIx64 "_%zu_" STR_FMT, ask->hash >> 16, ask->round,
		STR_ARG(ask->name));
}

static bool is_hex(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!memchr("0123456789abcdef", s.p[i], 16))
			return false;
	}
	return true;
}

/* PREFIX_HASH_ROUND_REST into its parts. */
static bool split_id(struct str id, struct str *ret_key, uint64_t *ret_round, struct str *ret_rest)
{
	struct str prefix, hash, round;

	*ret_rest = id;
	if (!str_next(ret_rest, '_', &prefix) || !str_next(ret_rest, '_', &hash) ||
		!str_next(ret_rest, '_', &round) || !ret_rest->p)
		return false;
	if (hash.len != HASH_DIGITS || !is_hex(hash) ||
		text_u64(round, UINT32_MAX, "round", ret_round, NULL) < 0)
		return false;
	*ret_key = (struct str){hash.p, hash.len + 1 + round.len};
	return true;
}

struct str ask_id_key(struct str id)
{
	struct str key, rest;
	uint64_t round;

	return id.p && split_id(id, &key, &round, &rest) ? key : (struct str){NULL, 0};
}

/* What was said */

/* "#NAME " at the start of the first line, or of the second. */
static const struct script_conversation *find_name(
	const struct script *s, struct str text, struct str *ret_rest)
{
	const struct script_conversation *c;
	struct str line, rest = text;
	size_t end;

	for (int i = 0; i < NAME_LINES && str_next(&rest, '\n', &line); i++) {
		if (line.len < 2 || line.p[0] != '#')
			continue;
		for (end = 1; end < line.len && !memchr(" \t\r", line.p[end], 3);)
			end++;
		c = script_find(s, (struct str){line.p + 1, end - 1});
		if (!c)
			return NULL;
		*ret_rest = str_trim(
			(struct str){line.p + end, text.len - (size_t)(line.p + end - text.p)});
		return c;
	}
	return NULL;
}

/* Providers refuse a call without its result: at once where the order is fixed, else at the end. */
static int calls_are_closed(struct reader *r)
{
	if (r->open_count == 0 || script_settings(r->script)->lenient)
		return 0;
	return error_set(
		r->err, &ASK_INVALID, "call " STR_FMT " has no result", STR_ARG(r->open[0]));
}

static int saw_user(struct reader *r, struct str text)
{
	const struct script_conversation *c;
	struct str rest;

	r->in_group = false;
	if (r->ask->family != MODEL_RESPONSES && calls_are_closed(r) < 0)
		return -1;
	c = find_name(r->script, text, &rest);
	if (c) {
		r->ask->conversation = c;
		r->ask->name = c->name;
		r->ask->user = rest;
		r->ask->round = 0;
	} else if (!r->ask->conversation) {
		r->ask->user = text;
	}
	return 0;
}

/* `id`: of the item, as far as it has one. */
static int saw_model(struct reader *r, struct str id)
{
	struct str key = ask_id_key(id);
	bool same = r->in_group && (!key.p || !r->key.p || str_eq(key, r->key));

	if (r->ask->family != MODEL_RESPONSES) {
		if (calls_are_closed(r) < 0)
			return -1;
		same = false;
	} else if (!r->in_group && key.p && r->key.p && str_eq(key, r->key)) {
		same = true; /* calls of one reply, each followed by its result */
	}
	if (!same) {
		r->ask->round++;
		r->key = key;
	} else if (!r->key.p) {
		r->key = key;
	}
	r->in_group = true;
	return 0;
}

static int saw_call(struct reader *r, struct str id)
{
	if (!id.p || id.len == 0)
		return error_set(r->err, &ASK_INVALID, "a call has no id");
	for (size_t i = 0; i < r->open_count; i++) {
		if (str_eq(r->open[i], id))
			return error_set(r->err, &ASK_INVALID, "two calls have the id " STR_FMT,
				STR_ARG(id));
	}
	if (r->open_count == OPEN_MAX)
		return error_set(r->err, &ASK_INVALID, "over %d calls without results", OPEN_MAX);
	if (!r->open)
		r->open = arena_alloc(r->arena, OPEN_MAX * sizeof(*r->open));
	r->open[r->open_count++] = id;
	return 0;
}

static int saw_result(struct reader *r, struct str id, struct str text)
{
	r->in_group = false;
	r->ask->result = text.p ? text : STR("");
	for (size_t i = 0; i < r->open_count; i++) {
		if (!str_eq(r->open[i], id))
			continue;
		r->open[i] = r->open[--r->open_count];
		return 0;
	}
	if (r->previous || script_settings(r->script)->lenient)
		return 0;
	return error_set(
		r->err, &ASK_INVALID, "a result names no call before it: " STR_FMT, STR_ARG(id));
}

/* The first text of a content: a string, or a part of one of these sorts. */
static struct str content_text(const struct json *content)
{
	if (!content || content->type == JSON_STRING)
		return json_str(content);
	json_for_each (part, content) {
		struct str type = json_str(json_get(part, "type"));

		if (str_is(type, "text") || str_is(type, "input_text") ||
			str_is(type, "output_text"))
			return json_str(json_get(part, "text"));
	}
	return (struct str){NULL, 0};
}

/* Every text part of a user's content, in order. */
static int read_user(struct reader *r, const struct json *content)
{
	if (!content)
		return error_set(r->err, &ASK_INVALID, "a message has no content");
	if (content->type == JSON_STRING)
		return saw_user(r, content->text);
	json_for_each (part, content) {
		struct str text = json_str(json_get(part, "text"));

		if (text.p && saw_user(r, text) < 0)
			return -1;
	}
	return 0;
}

/* Responses */

static int read_item(struct reader *r, const struct json *item)
{
	struct str type = json_str(json_get(item, "type")), role = json_str(json_get(item, "role"));
	struct str id = json_str(json_get(item, "call_id"));

	if (item->type != JSON_OBJECT)
		return error_set(r->err, &ASK_INVALID, "input: an item is no object");
	if (str_is(role, "assistant"))
		return saw_model(r, json_str(json_get(item, "id")));
	if (role.p) /* developer and system messages break no group */
		return str_is(role, "user") ? read_user(r, json_get(item, "content")) : 0;
	if (str_is(type, "function_call"))
		return saw_model(r, id) < 0 ? -1 : saw_call(r, id);
	if (str_is(type, "function_call_output"))
		return saw_result(r, id, content_text(json_get(item, "output")));
	if (str_is(type, "reasoning"))
		return saw_model(r, json_str(json_get(item, "id")));
	if (!type.p)
		return error_set(r->err, &ASK_INVALID, "input: an item has neither type nor role");
	return 0;
}

/* The reply that an id names says where its conversation stood. */
static int go_on_from(struct reader *r, struct str id)
{
	struct str key, name;
	uint64_t round;

	if (!str_starts(id, STR("resp_")) || !split_id(id, &key, &round, &name))
		return error_set(r->err, &ASK_NOT_FOUND,
			"Previous response with id '" STR_FMT "' not found.", STR_ARG(id));
	r->previous = true;
	r->ask->conversation = script_find(r->script, name);
	r->ask->name = name;
	r->ask->round = round + 1;
	r->ask->hash = mix(r->ask->hash, id);
	return 0;
}

static int read_responses(struct reader *r, const struct json *body)
{
	const struct json *input = json_get(body, "input"), *include = json_get(body, "include");
	struct str previous = json_str(json_get(body, "previous_response_id"));

	if (previous.p && go_on_from(r, previous) < 0)
		return -1;
	if (include) {
		json_for_each (what, include)
			r->ask->wants_encrypted |= str_is(
				json_str(what), "reasoning.encrypted_content");
	}
	if (!input || (input->type != JSON_STRING && input->type != JSON_ARRAY))
		return error_set(r->err, &ASK_INVALID, "input: is no text and no list");
	r->ask->hash = mix_json(r->ask->hash, input);
	if (look_for_refused(r, input) < 0)
		return -1;
	if (input->type == JSON_STRING)
		return saw_user(r, input->text);
	json_for_each (item, input) {
		if (read_item(r, item) < 0)
			return -1;
	}
	return 0;
}

/* Chat completions */

static int read_chat_message(struct reader *r, const struct json *m)
{
	struct str role = json_str(json_get(m, "role"));
	const struct json *content = json_get(m, "content"), *calls = json_get(m, "tool_calls");

	if (str_is(role, "user"))
		return read_user(r, content);
	if (str_is(role, "tool"))
		return saw_result(r, json_str(json_get(m, "tool_call_id")), content_text(content));
	if (!role.p)
		return error_set(r->err, &ASK_INVALID, "messages: one has no role");
	if (!str_is(role, "assistant"))
		return 0;
	if (saw_model(r, (struct str){NULL, 0}) < 0)
		return -1;
	if (!calls)
		return 0;
	json_for_each (call, calls) {
		if (saw_call(r, json_str(json_get(call, "id"))) < 0)
			return -1;
	}
	return 0;
}

/* Anthropic's messages */

static int read_block(struct reader *r, bool user, const struct json *block)
{
	struct str type = json_str(json_get(block, "type"));

	if (str_is(type, "text")) {
		struct str text = json_str(json_get(block, "text"));

		if (text.len == 0)
			return error_set(r->err, &ASK_INVALID,
				"messages: text content blocks must be non-empty");
		return user ? saw_user(r, text) : 0;
	}
	if (str_is(type, "tool_use") && !user)
		return saw_call(r, json_str(json_get(block, "id")));
	if (str_is(type, "tool_result") && user)
		return saw_result(r, json_str(json_get(block, "tool_use_id")),
			content_text(json_get(block, "content")));
	if (!type.p || str_is(type, "tool_use") || str_is(type, "tool_result"))
		return error_set(
			r->err, &ASK_INVALID, "messages: a block has a wrong type for its role");
	return 0;
}

static int read_claude_message(struct reader *r, const struct json *m)
{
	struct str role = json_str(json_get(m, "role"));
	const struct json *content = json_get(m, "content");
	bool user = str_is(role, "user");

	if (!user && !str_is(role, "assistant"))
		return error_set(
			r->err, &ASK_INVALID, "messages: a role is neither user nor assistant");
	if (!content || (content->type == JSON_STRING && content->text.len == 0) ||
		(content->type == JSON_ARRAY && content->count == 0))
		return error_set(
			r->err, &ASK_INVALID, "messages: all messages must have non-empty content");
	if (!user && saw_model(r, (struct str){NULL, 0}) < 0)
		return -1;
	if (content->type == JSON_STRING)
		return user ? saw_user(r, content->text) : 0;
	json_for_each (block, content) {
		if (read_block(r, user, block) < 0)
			return -1;
	}
	return 0;
}

static int read_messages(struct reader *r, const struct json *body)
{
	const struct json *messages = json_get(body, "messages");
	bool claude = r->ask->family == MODEL_MESSAGES;
	int64_t max_tokens;

	if (!messages || messages->type != JSON_ARRAY || messages->count == 0)
		return error_set(r->err, &ASK_INVALID, "messages: is no list of at least one");
	if (claude &&
		(json_i64(json_get(body, "max_tokens"), &max_tokens) < 0 ||
			max_tokens < r->ask->stream)) /* 0: only to read the cache, no stream */
		return error_set(r->err, &ASK_INVALID, "max_tokens: field required");
	if (!claude)
		r->ask->wants_usage = json_is_true(
			json_get(json_get(body, "stream_options"), "include_usage"));
	r->ask->hash = mix_json(r->ask->hash, messages);
	if (look_for_refused(r, messages) < 0)
		return -1;
	json_for_each (m, messages) {
		if ((claude ? read_claude_message(r, m) : read_chat_message(r, m)) < 0)
			return -1;
	}
	return 0;
}

int ask_read(struct arena *a, const struct script *s, enum model_family family,
	const struct json *body, struct ask *ret, struct error *err)
{
	struct ask ask = {
		.family = family,
		.model = json_str(json_get(body, "model")),
		.stream = json_is_true(json_get(body, "stream")),
		.name = STR("default"),
		.hash = 0x243f6a8885a308d3ULL + (uint64_t)family,
		.user = STR(""),
		.result = STR(""),
	};
	struct reader r = {.arena = a, .script = s, .ask = &ask, .err = err};

	if (body->type != JSON_OBJECT)
		return error_set(err, &ASK_INVALID, "the body is no object");
	if (ask.model.len == 0)
		return error_set(err, &ASK_INVALID, "you must provide a model parameter");
	if ((family == MODEL_RESPONSES ? read_responses(&r, body) : read_messages(&r, body)) < 0 ||
		calls_are_closed(&r) < 0)
		return -1;
	if (!ask.conversation)
		ask.conversation = script_find(s, ask.name);
	ask.hash = mix(ask.hash, ask.name) + ask.round;
	*ret = ask;
	return 0;
}
