/*
 * Conversation items of family `chat`, written and read.
 */
#include "agent/core/item.h"

#include "agent/core/limits.h"

enum {
	/* ours: one item is at most a whole provider output, or a tool's output whose every byte
	 * was escaped; the buffer never meets this with what the daemon's limits let through */
	ITEM_MAX_BYTES = 16 * 1024 * 1024,
};

/* A message as stored. A `content` of null is none. */
struct item_fields {
	struct str role, tool_call_id;
	const struct json *content, *tool_calls;
};

static const struct json_field item_fields[] = {
	JSON_STR(struct item_fields, role, .required = true),
	JSON_NODE(struct item_fields, content, .nullable = true),
	JSON_STR(struct item_fields, tool_call_id),
	JSON_NODE(struct item_fields, tool_calls),
};

struct function_fields {
	struct str name, arguments;
};

struct call_fields {
	struct str id, type;
	struct function_fields function;
};

static const struct json_field function_fields[] = {
	JSON_STR(struct function_fields, name, .required = true),
	JSON_STR(struct function_fields, arguments, .required = true),
};

static const struct json_field call_fields[] = {
	JSON_STR(struct call_fields, id, .required = true),
	JSON_STR(struct call_fields, type, .required = true),
	JSON_OBJ(struct call_fields, function, function_fields, .required = true),
};

/* What was built, in the arena. */
static struct str finish(struct arena *a, const struct buf *b)
{
	struct str made = buf_str(b);

	must(!b->full);
	return (struct str){arena_strndup(a, made.p, made.len), made.len};
}

struct str item_user(struct arena *a, struct str text)
{
	_cleanup_(buf) struct buf b = BUF_INIT(ITEM_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_open(&j, '{');
	json_put_str(&j, "role", STR("user"));
	json_put_str(&j, "content", text);
	json_close(&j, '}');
	return finish(a, &b);
}

struct str item_result(struct arena *a, struct str call_id, struct str output)
{
	_cleanup_(buf) struct buf b = BUF_INIT(ITEM_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_open(&j, '{');
	json_put_str(&j, "role", STR("tool"));
	json_put_str(&j, "tool_call_id", call_id);
	json_put_str(&j, "content", output);
	json_close(&j, '}');
	return finish(a, &b);
}

static void write_call(struct json_out *j, const struct item_call *c)
{
	json_open(j, '{');
	json_put_str(j, "id", c->call_id);
	json_put_str(j, "type", STR("function"));
	json_open_key(j, "function", '{');
	json_put_str(j, "name", c->name);
	json_put_str(j, "arguments", c->arguments);
	json_close(j, '}');
	json_close(j, '}');
}

struct str item_assistant(
	struct arena *a, struct str text, const struct item_call *calls, size_t count)
{
	_cleanup_(buf) struct buf b = BUF_INIT(ITEM_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_open(&j, '{');
	json_put_str(&j, "role", STR("assistant"));
	/* What only calls says nothing: null, as providers write it. */
	json_put_str(&j, "content", text.len == 0 && count > 0 ? (struct str){NULL, 0} : text);
	if (count > 0) {
		json_open_key(&j, "tool_calls", '[');
		for (size_t i = 0; i < count; i++)
			write_call(&j, &calls[i]);
		json_close(&j, ']');
	}
	json_close(&j, '}');
	return finish(a, &b);
}

static int read_calls(struct arena *a, const struct json *list, struct item *it, struct error *err)
{
	static const struct json_table table = {
		call_fields, ARRAY_LEN(call_fields), "item.tool_calls", NULL};
	struct item_call *calls;
	size_t n = 0;

	if (!list)
		return 0;
	if (list->type != JSON_ARRAY || list->count == 0)
		return error_set(err, &ERROR_INVALID, "item.tool_calls: must be a list of calls");
	calls = arena_alloc(a, list->count * sizeof(*calls));
	json_for_each (value, list) {
		struct call_fields f = {
			.type = {NULL, 0}
                };

		if (json_decode(a, value, &table, &f, NULL, err) < 0)
			return -1;
		if (!str_is(f.type, "function"))
			return error_set(
				err, &ERROR_INVALID, "item.tool_calls: is no function's call");
		calls[n++] = (struct item_call){f.id, f.function.name, f.function.arguments};
	}
	it->calls = calls;
	it->call_count = n;
	return 0;
}

static int read_role(const struct item_fields *f, struct item *it, struct error *err)
{
	if (str_is(f->role, "user"))
		it->role = ITEM_USER;
	else if (str_is(f->role, "assistant"))
		it->role = ITEM_ASSISTANT;
	else if (str_is(f->role, "tool"))
		it->role = ITEM_RESULT;
	else
		return error_set(
			err, &ERROR_INVALID, "item.role: is none of user, assistant, tool");
	if ((it->role == ITEM_RESULT) != (f->tool_call_id.p != NULL))
		return error_set(err, &ERROR_INVALID,
			"item.tool_call_id: belongs to results, and only to them");
	if (f->tool_calls && it->role != ITEM_ASSISTANT)
		return error_set(
			err, &ERROR_INVALID, "item.tool_calls: only an assistant calls tools");
	it->call_id = f->tool_call_id;
	return 0;
}

int item_read(struct arena *a, struct str json, struct item *ret, struct error *err)
{
	static const struct json_table table = {item_fields, ARRAY_LEN(item_fields), "item", NULL};
	struct item_fields f = {.content = NULL};
	struct item it = {.role = ITEM_USER};
	const struct json *doc;

	if (json_parse(a, json, &doc, err) < 0)
		return error_prefix(err, "item");
	if (json_decode(a, doc, &table, &f, NULL, err) < 0)
		return -1;
	if (read_role(&f, &it, err) < 0 || read_calls(a, f.tool_calls, &it, err) < 0)
		return -1;
	it.text = json_str(f.content);
	if (!it.text.p && it.call_count == 0)
		return error_set(err, &ERROR_INVALID, "item.content: must be text");
	if (f.content && !it.text.p)
		return error_set(err, &ERROR_INVALID, "item.content: must be text or null");
	*ret = it;
	return 0;
}

struct str item_from_bot(
	struct arena *a, struct str name, int64_t id, int64_t turn, struct str text)
{
	char *line = arena_printf(a, "[message from bot " STR_FMT " (id %lld), turn %lld]\n",
		STR_ARG(name), (long long)id, (long long)turn);
	size_t line_len = strlen(line);
	char *whole = arena_alloc(a, line_len + text.len + 1);

	memcpy(whole, line, line_len);
	if (text.len > 0)
		memcpy(whole + line_len, text.p, text.len);
	return (struct str){whole, line_len + text.len};
}
