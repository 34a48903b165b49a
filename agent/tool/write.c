/*
 * write: a whole file (spec 5.4).
 */
#include "agent/core/edit.h"
#include "agent/tool/entries.h"
#include "agent/tool/writer.h"

enum { SAID_MAX_BYTES = GUARD_PATH_MAX_BYTES + 256 }; /* ours: a path and a few words */

struct write_args {
	struct str path, content;
};

static const struct json_field write_fields[] = {
	JSON_STR(struct write_args, path, .required = true, .min = 1, .max = GUARD_PATH_MAX_BYTES),
	JSON_STR(struct write_args, content, .required = true, .max = EDIT_TEXT_MAX_BYTES),
};

struct write_run {
	struct writer_run writer;
	struct str content; /* in writer.work */
};

static int write_check(const void *args, struct error *err)
{
	const struct write_args *w = args;

	return tool_check_text(w->path, "path", err);
}

static int write_judge(const struct tool_context *c, struct arena *a, const void *args,
	struct tool_judgement *ret, struct error *err)
{
	struct str path = ((const struct write_args *)args)->path;

	return tool_targets_judge(c, a, &(struct str_list){&path, 1}, ret, err);
}

static int compute(struct writer_run *w, struct error *err)
{
	struct write_run *x = container_of(w, struct write_run, writer);
	struct write_op *op = arena_alloc(&w->work, sizeof(*op));
	mode_t mode;

	*op = (struct write_op){
		.verb = WRITE_PUBLISH,
		.path = str_from(w->targets.items[0].path.real),
		.content = x->content,
		.how = {.make_parents = true},
	};
	if (writer_expect(&w->targets.items[0], &op->how.expect, &mode, err) < 0)
		return -1;
	w->ops = op;
	w->op_count = 1;
	return 0;
}

static void report(struct writer_run *w, size_t done, const struct error *err)
{
	_cleanup_(buf) struct buf said = BUF_INIT(SAID_MAX_BYTES);
	const struct write_op *op = &w->ops[0];

	(void)done;
	if (err) {
		tool_run_fail(&w->run, err);
		return;
	}
	if (op->how.expect.kind == GUARD_EXPECT_ABSENT)
		(void)buf_printf(&said, "created " STR_FMT ": %zu bytes", STR_ARG(op->path),
			op->content.len);
	else
		(void)buf_printf(&said, "replaced " STR_FMT ": %zu bytes, before %llu",
			STR_ARG(op->path), op->content.len,
			(unsigned long long)op->how.expect.size_bytes);
	writer_say(w, &said);
}

static void release(struct writer_run *w)
{
	free(container_of(w, struct write_run, writer));
}

static int write_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct write_args *in = args;
	struct str path = in->path;
	struct write_run *x = xcalloc(1, sizeof(*x));

	(void)a;
	x->writer.compute = compute;
	x->writer.report = report;
	x->writer.release = release;
	x->content = (struct str){
		arena_strndup(&x->writer.work, in->content.p, in->content.len), in->content.len};
	return writer_start(&x->writer, c, &(struct str_list){&path, 1}, o, ret, err);
}

const struct tool tool_write = {
	.name = "write",
	.description = "Makes a text file, with its missing folders, or replaces the whole content "
		       "of one. To "
		       "change a part of a file use `edit` or `apply_patch`. Outside the writable "
		       "folders of "
		       "a sandbox somebody decides first.",
	.parameters =
		"{\"type\":\"object\",\"properties\":{"
		"\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,"
		"\"description\":\"The file, absolute or relative to the workspace.\"},"
		"\"content\":{\"type\":\"string\",\"maxLength\":1048576,"
		"\"description\":\"All of its new content, written as it is; at most 1 MiB.\"}"
		"},\"required\":[\"path\",\"content\"],\"additionalProperties\":false}",
	.fields = write_fields,
	.field_count = ARRAY_LEN(write_fields),
	.args_size = sizeof(struct write_args),
	.confined = true,
	.check = write_check,
	.judge = write_judge,
	.start = write_start,
	.cancel = writer_cancel,
	.free = tool_run_free,
};
