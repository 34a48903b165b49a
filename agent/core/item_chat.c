/*
 * Items of family chat. All of them are written here, so that the reader is strict about calls.
 */
#include "agent/core/item_internal.h"

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

static void write_url(struct json_out *j, const struct item_picture *p)
{
	_cleanup_(buf) struct buf url = BUF_INIT(ITEM_MAX_BYTES);

	(void)buf_printf(&url, "data:" STR_FMT ";base64,", STR_ARG(p->media_type));
	(void)buf_put_str(&url, p->base64);
	json_open(j, '{');
	json_put_cstr(j, "type", "image_url");
	json_open_key(j, "image_url", '{');
	json_put_str(j, "url", buf_str(&url));
	json_close(j, '}');
	json_close(j, '}');
}

void item_chat_parts(struct json_out *j, struct str text, const struct item_picture *p, size_t n)
{
	if (n == 0) {
		json_put_str(j, "content", text);
		return;
	}
	json_open_key(j, "content", '[');
	json_open(j, '{');
	json_put_cstr(j, "type", "text");
	json_put_str(j, "text", text);
	json_close(j, '}');
	for (size_t i = 0; i < n; i++)
		write_url(j, &p[i]);
	json_close(j, ']');
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
	return item_finish(a, &b);
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

static int read_role(const struct json *doc, struct item *it, struct error *err)
{
	struct str role = json_str(json_get(doc, "role"));

	if (str_is(role, "user"))
		it->role = ITEM_USER;
	else if (str_is(role, "assistant"))
		it->role = ITEM_ASSISTANT;
	else if (str_is(role, "tool"))
		it->role = ITEM_RESULT;
	else
		return error_set(
			err, &ERROR_INVALID, "item.role: is none of user, assistant, tool");
	it->call_id = json_str(json_get(doc, "tool_call_id"));
	if ((it->role == ITEM_RESULT) != (it->call_id.p != NULL))
		return error_set(err, &ERROR_INVALID,
			"item.tool_call_id: belongs to results, and only to them");
	if (json_get(doc, "tool_calls") && it->role != ITEM_ASSISTANT)
		return error_set(
			err, &ERROR_INVALID, "item.tool_calls: only an assistant calls tools");
	return 0;
}

int item_read_chat(struct arena *a, const struct json *doc, struct item *it, struct error *err)
{
	static const char *const types[] = {"text:text", NULL};
	const struct json *content = json_get(doc, "content");

	if (read_role(doc, it, err) < 0 || read_calls(a, json_get(doc, "tool_calls"), it, err) < 0)
		return -1;
	it->text = item_content(a, content, types);
	it->picture_count = item_count_parts(content, "image_url");
	if (content && content->type != JSON_NULL && !it->text.p)
		return error_set(err, &ERROR_INVALID, "item.content: must be text, parts or null");
	if (!it->text.p && it->call_count == 0)
		return error_set(err, &ERROR_INVALID, "item.content: must be text");
	return 0;
}
