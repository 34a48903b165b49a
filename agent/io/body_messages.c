/*
 * Bodies of Anthropic's Messages API.
 *
 * Roles alternate: neighbouring messages of one role are one. What answers calls stands first in
 * it, which transcript_make has seen to. At most four cache marks: on the instructions, the
 * summary, the note, and the automatic one at the end of what is sent.
 */
#include "agent/io/body.h"
#include "agent/io/claude.h"

struct writer {
	struct body *b;
	const struct provider_request *r;
	const char *role; /* of the message that is open; NULL: none */
};

static void put_mark(struct json_out *j, const struct provider_request *r)
{
	json_open_key(j, "cache_control", '{');
	json_put_cstr(j, "type", "ephemeral");
	if (r->cache_hours > 0)
		json_put_cstr(j, "ttl", "1h");
	json_close(j, '}');
}

static void put_text(struct writer *w, struct str text, bool mark)
{
	struct json_out *j = &w->b->json;

	json_open(j, '{');
	json_put_cstr(j, "type", "text");
	json_put_str(j, "text", text);
	if (mark)
		put_mark(j, w->r);
	json_close(j, '}');
}

static void end_message(struct writer *w)
{
	struct json_out *j = &w->b->json;

	if (!w->role)
		return;
	json_close(j, ']');
	json_close(j, '}');
	w->role = NULL;
}

/* Whether it began one. */
static bool need_message(struct writer *w, const char *role)
{
	struct json_out *j = &w->b->json;

	if (w->role && strcmp(w->role, role) == 0)
		return false;
	end_message(w);
	json_open(j, '{');
	json_put_cstr(j, "role", role);
	json_open_key(j, "content", '[');
	w->role = role;
	return true;
}

static void put_pinned(struct writer *w, struct str text, bool mark)
{
	if (str_trim(text).len == 0)
		return;
	w->b->messages += need_message(w, "user");
	put_text(w, text, mark);
}

static void put_tools(struct body *b, const struct provider_request *r)
{
	struct json_out *j = &b->json;

	json_open_key(j, "tools", '[');
	for (size_t i = 0; i < r->tool_count; i++) {
		json_open(j, '{');
		json_put_cstr(j, "name", r->tools[i].name);
		json_put_cstr(j, "description", r->tools[i].description);
		body_schema(b, "input_schema", r->tools[i].parameters);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_adaptive(struct json_out *j, struct str level)
{
	json_open_key(j, "thinking", '{');
	json_put_cstr(j, "type", "adaptive");
	json_put_cstr(j, "display", "summarized");
	json_close(j, '}');
	json_open_key(j, "output_config", '{');
	json_put_str(j, "effort", level);
	json_close(j, '}');
}

static void put_thinking(
	struct json_out *j, const struct claude_model *m, struct str level, int64_t max_tokens)
{
	int64_t budget;

	if (!level.p || m->thinking == CLAUDE_NO_THINKING)
		return;
	if (m->thinking == CLAUDE_ADAPTIVE) {
		put_adaptive(j, level);
		return;
	}
	budget = claude_budget(level, max_tokens);
	if (budget == 0)
		return;
	json_open_key(j, "thinking", '{');
	json_put_cstr(j, "type", "enabled");
	json_put_i64(j, "budget_tokens", budget);
	json_close(j, '}');
}

static void put_settings(struct body *b, const struct provider_request *r)
{
	const struct claude_model *m = claude_model(r->model);
	struct json_out *j = &b->json;
	int64_t max_tokens = m->max_tokens;

	if (r->max_output_tokens > 0 && r->max_output_tokens < max_tokens)
		max_tokens = r->max_output_tokens;
	json_put_str(j, "model", r->model);
	json_put_i64(j, "max_tokens", r->warm ? 0 : max_tokens);
	json_put_bool(j, "stream", !r->warm);
	put_mark(j, r);
	put_thinking(j, m, r->reasoning, max_tokens);
}

static void put_system(struct writer *w)
{
	struct json_out *j = &w->b->json;

	if (str_trim(w->r->instructions).len == 0)
		return;
	json_open_key(j, "system", '[');
	put_text(w, w->r->instructions, true);
	json_close(j, ']');
}

void body_messages(struct body *b, const struct provider_request *r, const struct transcript *t,
	const struct body_options *o)
{
	struct writer w = {.b = b, .r = r};
	struct json_out *j = &b->json;

	(void)o;
	json_open(j, '{');
	put_settings(b, r);
	put_system(&w);
	if (r->tool_count > 0)
		put_tools(b, r);
	json_open_key(j, "messages", '[');
	put_pinned(&w, r->summary, true);
	put_pinned(&w, r->note, true);
	put_pinned(&w, r->omitted, false);
	for (size_t i = 0; i < t->count; i++) {
		const char *role = t->entries[i].role == ITEM_ASSISTANT ? "assistant" : "user";
		bool opens = need_message(&w, role);

		body_item(b, &t->entries[i], opens);
	}
	end_message(&w);
	json_close(j, ']');
	json_close(j, '}');
}
