/*
 * Items of family messages. A reply's content blocks are the provider's own, kept verbatim: the
 * reader takes what it knows and passes over the rest.
 */
#include "agent/core/item_internal.h"

void item_messages_parts(
	struct json_out *j, struct str text, const struct item_picture *p, size_t n)
{
	json_open(j, '{');
	json_put_cstr(j, "type", "text");
	json_put_str(j, "text", text);
	json_close(j, '}');
	for (size_t i = 0; i < n; i++) {
		json_open(j, '{');
		json_put_cstr(j, "type", "image");
		json_open_key(j, "source", '{');
		json_put_cstr(j, "type", "base64");
		json_put_str(j, "media_type", p[i].media_type);
		json_put_str(j, "data", p[i].base64);
		json_close(j, '}');
		json_close(j, '}');
	}
}

/* The JSON text of a value, number texts kept. */
static struct str text_of(struct arena *a, const struct json *value)
{
	_cleanup_(buf) struct buf b = BUF_INIT(ITEM_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_put(&j, NULL, value);
	return item_finish(a, &b);
}

static int read_use(
	struct arena *a, const struct json *block, struct item_call *c, struct error *err)
{
	const struct json *input = json_get(block, "input");

	*c = (struct item_call){
		json_str(json_get(block, "id")), json_str(json_get(block, "name")), STR("{}")};
	if (input)
		c->arguments = text_of(a, input);
	if (!c->call_id.p || !c->name.p)
		return error_set(err, &ERROR_INVALID, "item: a tool_use needs id and name");
	return 0;
}

static int read_assistant(
	struct arena *a, const struct json *content, struct item *it, struct error *err)
{
	static const char *const types[] = {"text:text", NULL};
	struct item_call *calls = arena_alloc(a, (content->count + 1) * sizeof(*calls));

	it->role = ITEM_ASSISTANT;
	it->text = item_content(a, content, types);
	if (content->type != JSON_ARRAY)
		return 0;
	json_for_each (block, content) {
		if (str_is(json_str(json_get(block, "type")), "tool_use") &&
			read_use(a, block, &calls[it->call_count++], err) < 0)
			return -1;
	}
	it->calls = calls;
	return 0;
}

static int read_result(
	struct arena *a, const struct json *block, struct item *it, struct error *err)
{
	static const char *const types[] = {"text:text", NULL};
	const struct json *content = json_get(block, "content");

	it->role = ITEM_RESULT;
	it->call_id = json_str(json_get(block, "tool_use_id"));
	it->text = item_content(a, content, types);
	it->picture_count = item_count_parts(content, "image");
	if (!it->call_id.p)
		return error_set(err, &ERROR_INVALID, "item: a tool_result needs tool_use_id");
	return 0;
}

int item_read_messages(struct arena *a, const struct json *doc, struct item *it, struct error *err)
{
	static const char *const types[] = {"text:text", NULL};
	const struct json *content = json_get(doc, "content");
	struct str role = json_str(json_get(doc, "role"));

	if (!content)
		return error_set(err, &ERROR_INVALID, "item.content: is missing");
	if (str_is(role, "assistant"))
		return read_assistant(a, content, it, err);
	if (!str_is(role, "user"))
		return error_set(err, &ERROR_INVALID, "item.role: is none of user, assistant");
	if (content->type == JSON_ARRAY && content->child &&
		str_is(json_str(json_get(content->child, "type")), "tool_result"))
		return read_result(a, content->child, it, err);
	it->role = ITEM_USER;
	it->text = item_content(a, content, types);
	it->picture_count = item_count_parts(content, "image");
	return 0;
}
