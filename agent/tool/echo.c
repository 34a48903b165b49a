/*
 * echo: gives its text back. For trying a bot's set-up without an effect.
 */
#include "agent/tool/entries.h"
#include "agent/tool/internal.h"

enum { ECHO_TEXT_MAX_BYTES = 65536 }; /* ours: as much as any result shows at once */

struct echo_args {
	struct str text;
};

static const struct json_field echo_fields[] = {
	JSON_STR(struct echo_args, text, .required = true, .max = ECHO_TEXT_MAX_BYTES),
};

static void echo_release(struct tool_run *r)
{
	free(r);
}

static int echo_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct echo_args *e = args;
	_cleanup_(buf) struct buf text = BUF_INIT(4 * ECHO_TEXT_MAX_BYTES); /* room to redact */
	struct tool_run *r;

	(void)a;
	if (secret_redact(c->host->secrets, e->text, &text) < 0)
		return error_set(err, &ERROR_LIMIT, "the text grew past %zu bytes", text.max);
	r = xcalloc(1, sizeof(*r));
	tool_run_init(r, c, o, echo_release);
	tool_run_finish(r, tool_keep(&r->arena, &text), false);
	*ret = r;
	return 0;
}

const struct tool tool_echo = {
	.name = "echo",
	.description = "Returns the text it is given. It has no other effect.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
		      "\"text\":{\"type\":\"string\",\"description\":\"What to return, at most "
		      "65536 bytes.\"}"
		      "},\"required\":[\"text\"],\"additionalProperties\":false}",
	.fields = echo_fields,
	.field_count = ARRAY_LEN(echo_fields),
	.args_size = sizeof(struct echo_args),
	.start = echo_start,
	.cancel = tool_run_cancel,
	.free = tool_run_free,
};
