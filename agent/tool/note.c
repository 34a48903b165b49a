/*
 * note: the bot's own note, which goes before the conversation in every later call (spec 5.7). It
 * takes effect in the commit of its result and replaces the note before.
 */
#include "agent/tool/entries.h"
#include "agent/tool/internal.h"

static const struct error_kind NOTE_CONTEXT_LIMIT = {"note_context_limit", ERROR_CLASS_LIMIT};

enum {
	NOTE_MAX_BYTES = 8192, /* spec 2.6 */
	NOTE_BUDGET_PARTS = 8, /* ours: of a small context it may take this part */
};

struct note_args {
	struct str text;
};

static const struct json_field note_fields[] = {
	JSON_STR(struct note_args, text, .required = true, .max = NOTE_MAX_BYTES),
};

static void note_release(struct tool_run *r)
{
	free(r);
}

static int note_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct note_args *n = args;
	int64_t max = c->bot->set.limits.context_bytes / NOTE_BUDGET_PARTS;
	struct tool_run *r;

	(void)a;
	if ((int64_t)n->text.len > max)
		return error_set(err, &NOTE_CONTEXT_LIMIT,
			"text: %zu bytes are over %lld, the part of this bot's context a note may "
			"take",
			n->text.len, (long long)max);
	r = xcalloc(1, sizeof(*r));
	tool_run_init(r, c, o, note_release);
	r->result.pin = (struct str){arena_strndup(&r->arena, n->text.p, n->text.len), n->text.len};
	tool_run_finish(
		r, str_from(arena_printf(&r->arena, "{\"noted_bytes\":%zu}", n->text.len)), false);
	*ret = r;
	return 0;
}

const struct tool tool_note = {
	.name = "note",
	.description = "Keeps a note that you are shown before the conversation from now on, also "
		       "when its older turns no longer are. It replaces the note before; an empty "
		       "text removes it.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
		      "\"text\":{\"type\":\"string\",\"description\":\"The whole note, at most "
		      "8192 bytes.\"}"
		      "},\"required\":[\"text\"],\"additionalProperties\":false}",
	.fields = note_fields,
	.field_count = ARRAY_LEN(note_fields),
	.args_size = sizeof(struct note_args),
	.start = note_start,
	.cancel = tool_run_cancel,
	.free = tool_run_free,
};
