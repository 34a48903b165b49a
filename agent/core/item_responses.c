/*
 * Items of family responses. Those of a reply are the provider's own, kept verbatim: the reader
 * takes what it knows and passes over the rest.
 */
#include "agent/core/item_internal.h"

void item_responses_parts(
	struct json_out *j, struct str text, const struct item_picture *p, size_t n)
{
	json_open(j, '{');
	json_put_cstr(j, "type", "input_text");
	json_put_str(j, "text", text);
	json_close(j, '}');
	for (size_t i = 0; i < n; i++) {
		_cleanup_(buf) struct buf url = BUF_INIT(ITEM_MAX_BYTES);

		(void)buf_printf(&url, "data:" STR_FMT ";base64,", STR_ARG(p[i].media_type));
		(void)buf_put_str(&url, p[i].base64);
		json_open(j, '{');
		json_put_cstr(j, "type", "input_image");
		json_put_str(j, "image_url", buf_str(&url));
		json_close(j, '}');
	}
}

static int read_message(struct arena *a, const struct json *doc, struct item *it, struct error *err)
{
	static const char *const types[] = {
		"output_text:text", "input_text:text", "refusal:refusal", NULL};
	const struct json *content = json_get(doc, "content");
	struct str role = json_str(json_get(doc, "role"));

	if (!str_is(role, "user") && !str_is(role, "assistant"))
		return error_set(err, &ERROR_INVALID, "item.role: is none of user, assistant");
	it->role = str_is(role, "user") ? ITEM_USER : ITEM_ASSISTANT;
	it->text = item_content(a, content, types);
	it->picture_count = item_count_parts(content, "input_image");
	return 0;
}

static int read_call(struct arena *a, const struct json *doc, struct item *it, struct error *err)
{
	struct item_call *c = arena_alloc(a, sizeof(*c));

	*c = (struct item_call){json_str(json_get(doc, "call_id")), json_str(json_get(doc, "name")),
		json_str(json_get(doc, "arguments"))};
	if (!c->call_id.p || !c->name.p || !c->arguments.p)
		return error_set(err, &ERROR_INVALID,
			"item: a function_call needs call_id, name and arguments");
	it->role = ITEM_ASSISTANT;
	it->calls = c;
	it->call_count = 1;
	return 0;
}

static int read_output(struct arena *a, const struct json *doc, struct item *it, struct error *err)
{
	static const char *const types[] = {"input_text:text", "output_text:text", NULL};
	const struct json *output = json_get(doc, "output");

	it->role = ITEM_RESULT;
	it->call_id = json_str(json_get(doc, "call_id"));
	it->text = item_content(a, output, types);
	it->picture_count = item_count_parts(output, "input_image");
	if (!it->call_id.p || !output)
		return error_set(err, &ERROR_INVALID,
			"item: a function_call_output needs call_id and output");
	return 0;
}

int item_read_responses(struct arena *a, const struct json *doc, struct item *it, struct error *err)
{
	static const char *const summary[] = {"summary_text:text", "reasoning_text:text", NULL};
	struct str type = json_str(json_get(doc, "type"));

	if (!type.p || str_is(type, "message"))
		return read_message(a, doc, it, err);
	if (str_is(type, "function_call"))
		return read_call(a, doc, it, err);
	if (str_is(type, "function_call_output"))
		return read_output(a, doc, it, err);
	it->role = str_is(type, "reasoning") ? ITEM_REASONING : ITEM_OTHER;
	if (it->role == ITEM_REASONING)
		it->text = item_join(a, json_get(doc, "summary"), summary);
	return 0;
}
