/*
 * edit: one text of a file replaced by another (spec 5.4).
 */
#include "agent/core/edit.h"
#include "agent/tool/entries.h"
#include "agent/tool/writer.h"

enum {
	SAID_MAX_BYTES = GUARD_PATH_MAX_BYTES + 1024
}; /* ours: a path, line numbers and a few words */

struct edit_args {
	struct str path, old, new;
	bool replace_all;
};

static const struct json_field edit_fields[] = {
	JSON_STR(struct edit_args, path, .required = true, .min = 1, .max = GUARD_PATH_MAX_BYTES),
	JSON_STR(struct edit_args, old, .required = true, .min = 1, .max = EDIT_TEXT_MAX_BYTES),
	JSON_STR(struct edit_args, new, .required = true, .max = EDIT_TEXT_MAX_BYTES),
	JSON_BOOL(struct edit_args, replace_all),
};

struct edit_run {
	struct writer_run writer;
	struct edit edit; /* texts in writer.work */
	struct edit_report report;
};

static int edit_check(const void *args, struct error *err)
{
	const struct edit_args *e = args;

	if (str_eq(e->old, e->new))
		return error_set(err, &TOOL_INVALID_ARGUMENTS, "old and new are the same");
	return tool_check_text(e->path, "path", err);
}

static int edit_judge(const struct tool_context *c, struct arena *a, const void *args,
	struct tool_judgement *ret, struct error *err)
{
	struct str path = ((const struct edit_args *)args)->path;

	return tool_targets_judge(c, a, &(struct str_list){&path, 1}, ret, err);
}

static int compute(struct writer_run *w, struct error *err)
{
	struct edit_run *e = container_of(w, struct edit_run, writer);
	_cleanup_(buf) struct buf made = BUF_INIT(EDIT_FILE_MAX_BYTES);
	const struct tool_target *t = &w->targets.items[0];
	struct write_op *op = arena_alloc(&w->work, sizeof(*op));
	struct str content;
	mode_t mode;

	/* Looked at before it is read: whoever changes it from here on makes the helper refuse. */
	if (writer_expect(t, &op->how.expect, &mode, err) < 0 ||
		writer_read(w, t, &content, err) < 0 ||
		edit_replace(content, &e->edit, &made, &e->report, err) < 0)
		return -1;
	op->verb = WRITE_PUBLISH;
	op->path = str_from(t->path.real);
	op->content = tool_keep(&w->work, &made);
	w->ops = op;
	w->op_count = 1;
	return 0;
}

static void report(struct writer_run *w, size_t done, const struct error *err)
{
	struct edit_run *e = container_of(w, struct edit_run, writer);
	_cleanup_(buf) struct buf said = BUF_INIT(SAID_MAX_BYTES);

	(void)done;
	if (err) {
		tool_run_fail(&w->run, err);
		return;
	}
	(void)buf_printf(&said, "edited " STR_FMT ": %zu place%s, at ", STR_ARG(w->ops[0].path),
		e->report.count, e->report.count == 1 ? "" : "s");
	writer_put_lines(&said, e->report.count, e->report.lines);
	writer_say(w, &said);
}

static void release(struct writer_run *w)
{
	free(container_of(w, struct edit_run, writer));
}

static struct str copy(struct arena *a, struct str s)
{
	return (struct str){arena_strndup(a, s.p, s.len), s.len};
}

static int edit_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct edit_args *in = args;
	struct str path = in->path;
	struct edit_run *e = xcalloc(1, sizeof(*e));

	(void)a;
	e->writer.compute = compute;
	e->writer.report = report;
	e->writer.release = release;
	e->edit.old = copy(&e->writer.work, in->old);
	e->edit.new = copy(&e->writer.work, in->new);
	e->edit.replace_all = in->replace_all;
	return writer_start(&e->writer, c, &(struct str_list){&path, 1}, o, ret, err);
}

const struct tool tool_edit = {
	.name = "edit",
	.description = "Replaces a text in a UTF-8 file. `old` must stand in the file exactly "
		       "once, white space and "
		       "all, or replace_all must be set; when it stands there more often the error "
		       "lists the lines. "
		       "Every other byte stays. Copy `old` from what `read` shows, without its "
		       "line numbers. Line "
		       "ends are matched and written as the file has them. The result names the "
		       "changed lines.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
		      "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,"
		      "\"description\":\"The file, absolute or relative to the workspace.\"},"
		      "\"old\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1048576,"
		      "\"description\":\"The text to replace, with enough around it to be there "
		      "only once.\"},"
		      "\"new\":{\"type\":\"string\",\"maxLength\":1048576,"
		      "\"description\":\"What stands there afterwards; empty to delete.\"},"
		      "\"replace_all\":{\"type\":\"boolean\","
		      "\"description\":\"Replace every place; false when left out.\"}"
		      "},\"required\":[\"path\",\"old\",\"new\"],\"additionalProperties\":false}",
	.fields = edit_fields,
	.field_count = ARRAY_LEN(edit_fields),
	.args_size = sizeof(struct edit_args),
	.confined = true,
	.check = edit_check,
	.judge = edit_judge,
	.start = edit_start,
	.cancel = writer_cancel,
	.free = tool_run_free,
};
