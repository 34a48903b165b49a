/* Bodies of chat completions, as OpenAI, Ollama and many others take them. */
#include "agent/io/body.h"

static void put_message(struct body *b, const char *role, struct str text)
{
	struct json_out *j = &b->json;

	if (!text.p)
		return;
	json_open(j, '{');
	json_put_cstr(j, "role", role);
	json_put_str(j, "content", text);
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
		json_open_key(j, "function", '{');
		json_put_cstr(j, "name", r->tools[i].name);
		json_put_cstr(j, "description", r->tools[i].description);
		body_schema(b, "parameters", r->tools[i].parameters);
		json_close(j, '}');
		json_close(j, '}');
	}
	json_close(j, ']');
}

void body_chat(struct body *b, const struct provider_request *r, const struct transcript *t,
	const struct body_options *o)
{
	struct json_out *j = &b->json;

	json_open(j, '{');
	json_put_str(j, "model", r->model);
	json_put_bool(j, "stream", true);
	json_put_raw(j, "stream_options", STR("{\"include_usage\":true}"));
	if (r->reasoning.p)
		json_put_str(j, "reasoning_effort",
			str_is(r->reasoning, "max") ? STR("xhigh") : r->reasoning);
	/* OpenAI's newer models refuse the name that all others know */
	if (r->max_output_tokens > 0)
		json_put_i64(j, o->full_openai ? "max_completion_tokens" : "max_tokens",
			r->max_output_tokens);
	if (r->cache_key.p && o->full_openai)
		json_put_str(j, "prompt_cache_key", r->cache_key);
	if (r->tool_count > 0)
		put_tools(b, r);
	json_open_key(j, "messages", '[');
	if (r->instructions.len > 0)
		put_message(b, "system", r->instructions);
	put_message(b, "user", r->summary);
	put_message(b, "user", r->note);
	put_message(b, "user", r->omitted);
	for (size_t i = 0; i < t->count; i++)
		body_item(b, &t->entries[i], true);
	json_close(j, ']');
	json_close(j, '}');
}
