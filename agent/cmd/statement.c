/* What is stated of a call, and what came of it. */
#include "agent/cmd/statement.h"

#include <inttypes.h>

#include "agent/cmd/style.h"

enum { SHOWN_BYTES = 200 /* ours: of a text that was looked for */ };

/* A shell's result says so; that of another tool is a text, or an error. */
static bool has_failed(const struct json *result)
{
	const struct json *success = json_get(result, "success");

	return json_get(result, "error") != NULL || (success && !json_is_true(success));
}

static char *unlike_text(const char *what, struct str text)
{
	_cleanup_(buf) struct buf b = BUF_INIT(4096);

	(void)buf_puts(&b, what); /* small texts: fit */
	style_line(&b, false, STYLE_PLAIN, text, SHOWN_BYTES);
	(void)buf_putc(&b, '\'');
	return buf_take(&b);
}

static char *unlike_code(int64_t stated, const struct json *result)
{
	int64_t code = 0;

	if (json_i64(json_get(result, "exit_code"), &code) < 0)
		return xasprintf("it has no exit status, stated is %" PRId64, stated);
	if (code == stated)
		return NULL;
	return xasprintf("the exit status is %" PRId64 ", stated is %" PRId64, code, stated);
}

static char *unlike_result(const struct drill_expect *e, struct str output)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const struct json *result = NULL;

	if (output.len > 0 && output.p[0] == '{' && json_parse(&a, output, &result, NULL) < 0)
		result = NULL;
	if (e->has_fails && e->fails != has_failed(result))
		return xstrdup(e->fails ? "it succeeded, and is stated to fail"
					: "it failed, and is stated to succeed");
	return e->has_exit_code ? unlike_code(e->exit_code, result) : NULL;
}

char *statement_unlike(const struct drill_expect *e, enum drill_verdict verdict, struct str output)
{
	char *unlike;

	if (e->has_verdict && e->verdict != (int)verdict)
		return xasprintf(
			"it is %s, stated is %s", drill_names[verdict], drill_names[e->verdict]);
	unlike = unlike_result(e, output);
	if (unlike)
		return unlike;
	if (e->result_has.p && str_find(output, e->result_has, 0) < 0)
		return unlike_text("the result lacks '", e->result_has);
	if (e->result_lacks.p && str_find(output, e->result_lacks, 0) >= 0)
		return unlike_text("the result has '", e->result_lacks);
	return NULL;
}
