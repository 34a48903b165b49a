/* Bodies of OpenAI's Responses API. */
#include "agent/io/body.h"

static void put_pinned(struct body *b, struct str text)
{
	struct json_out *j = &b->json;

	if (!text.p)
		return;
	json_open(j, '{');
	json_put_cstr(j, "role", "user");
	json_open_key(j, "content", '[');
	json_open(j, '{');
	json_put_cstr(j, "type", "input_text");
	json_put_str(j, "text", text);
	json_close(j, '}');
	json_close(j, ']');
	json_close(j, '}');
	b->messages++;
}

static void put_tools(struct body *b, const struct provider_request *r)
{
	struct json_out *j = &b->json;

	json_open_key(j, "tools", '[');
	for (size_t i = 0; i < r->tool_count; i++) {
		json_open(j, '{');
		json_put_cstr(j, "type", "function");
		json_put_cstr(j, "name", r->tools[i].name);
		json_put_cstr(j, "description", r->tools[i].description);
		body_schema(b, "parameters", r->tools[i].parameters);
		json_put_bool(j, "strict", false);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_reasoning(struct json_out *j, struct str level)
{
	if (!level.p)
		return;
	json_open_key(j, "reasoning", '{');
	/* this API's levels end one below ours */
	json_put_str(j, "effort", str_is(level, "max") ? STR("xhigh") : level);
	json_put_cstr(j, "summary", "auto");
	json_close(j, '}');
}

void body_responses(struct body *b, const struct provider_request *r, const struct transcript *t,
	const struct body_options *o)
{
	struct json_out *j = &b->json;

	json_open(j, '{');
	if (o->socket)
		json_put_cstr(j, "type", "response.create");
	json_put_str(j, "model", r->model);
	if (!o->socket)
		json_put_bool(j, "stream", true);
	json_put_bool(j, "store", false);
	json_put_raw(j, "include", STR("[\"reasoning.encrypted_content\"]"));
	if (r->cache_key.p)
		json_put_str(j, "prompt_cache_key", r->cache_key);
	put_reasoning(j, r->reasoning);
	if (r->max_output_tokens > 0)
		json_put_i64(j, "max_output_tokens", r->max_output_tokens);
	json_put_str(j, "instructions", r->instructions.p ? r->instructions : STR(""));
	if (r->tool_count > 0)
		put_tools(b, r);
	b->input_key_at = b->text.len;
	json_open_key(j, "input", '[');
	b->input_at = b->text.len;
	put_pinned(b, r->summary);
	put_pinned(b, r->note);
	put_pinned(b, r->omitted);
	for (size_t i = 0; i < t->count; i++)
		body_item(b, &t->entries[i], true);
	json_close(j, ']');
	json_close(j, '}');
}
