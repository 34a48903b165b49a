/*
 * apply_patch: changes to several files, all or, should a write fail, what is reported (spec 5.5).
 *
 * Every path is judged before anything is read, every new content is worked out before anything is
 * written.
 */
#include "agent/core/edit.h"
#include "agent/tool/entries.h"
#include "agent/tool/writer.h"

enum { SAID_MAX_BYTES = 256 * 1024 }; /* ours: as writer_say takes */

static const struct error_kind PATCH_FILE_EXISTS = {"file_exists", ERROR_CLASS_CONFLICT};

struct patch_args {
	struct str patch;
};

static const struct json_field patch_fields[] = {
	JSON_STR(struct patch_args, patch, .required = true, .min = 1, .max = EDIT_TEXT_MAX_BYTES),
};

struct patch_run {
	struct writer_run writer;
	const struct patch_op *ops; /* in writer.work, as all they point to */
	size_t count;
	size_t *first_write; /* of each operation, in writer.ops; its last one stands before the
				next's */
	struct edit_report *reports;
	size_t made_bytes;
};

/* The paths of all operations in order, a move's new one after its old one. */
static struct str_list paths_of(struct arena *a, const struct patch_op *ops, size_t count)
{
	struct str_list l = {.items = arena_alloc(a, (2 * count + 1) * sizeof(*l.items))};

	for (size_t i = 0; i < count; i++) {
		l.items[l.count++] = ops[i].path;
		if (ops[i].move_to.p)
			l.items[l.count++] = ops[i].move_to;
	}
	return l;
}

static int patch_judge(const struct tool_context *c, struct arena *a, const void *args,
	struct tool_judgement *ret, struct error *err)
{
	const struct patch_args *p = args;
	const struct patch_op *ops;
	struct str_list paths;
	size_t count;

	if (patch_parse(a, p->patch, &ops, &count, err) < 0)
		return -1;
	paths = paths_of(a, ops, count);
	return tool_targets_judge(c, a, &paths, ret, err);
}

/*
 * What is to be written.
 */

/* Two names of one file would undo each other's changes. */
static int check_distinct(const struct tool_targets *t, struct error *err)
{
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(t->items[i].path.real, t->items[k].path.real) == 0)
				return error_set(err, &PATCH_INVALID,
					"two of the patch's paths are '%s'", t->items[i].path.real);
		}
	}
	return 0;
}

static struct write_op *next_write(
	struct patch_run *p, enum write_verb verb, const struct tool_target *t)
{
	struct write_op *op = &p->writer.ops[p->writer.op_count++];

	*op = (struct write_op){
		.verb = verb,
		.path = str_from(t->path.real),
		.content = STR(""),
		.how = {.make_parents = verb == WRITE_PUBLISH},
	};
	return op;
}

/* A path where there must be nothing. */
static int expect_absent(const struct tool_target *t, struct write_op *op, struct error *err)
{
	mode_t mode;

	if (writer_expect(t, &op->how.expect, &mode, err) < 0)
		return -1;
	if (op->how.expect.kind != GUARD_EXPECT_ABSENT)
		return error_set(err, &PATCH_FILE_EXISTS, "'%s' exists already", t->path.real);
	return 0;
}

/* A path where there must be a file. */
static int expect_present(
	const struct tool_target *t, struct guard_expect *ret, mode_t *ret_mode, struct error *err)
{
	if (writer_expect(t, ret, ret_mode, err) < 0)
		return -1;
	if (ret->kind != GUARD_EXPECT_SAME)
		return error_set(err, &GUARD_NOT_FOUND, "'%s' does not exist", t->path.real);
	return 0;
}

static int compute_add(struct patch_run *p, const struct patch_op *in, const struct tool_target *t,
	struct error *err)
{
	struct write_op *op = next_write(p, WRITE_PUBLISH, t);

	op->content = in->added;
	return expect_absent(t, op, err);
}

static int compute_delete(struct patch_run *p, const struct tool_target *t, struct error *err)
{
	struct write_op *op = next_write(p, WRITE_UNLINK, t);
	mode_t mode;

	return expect_present(t, &op->how.expect, &mode, err);
}

/* `to` is where it moves, or NULL. */
static int compute_update(struct patch_run *p, const struct patch_op *in,
	const struct tool_target *t, const struct tool_target *to, struct edit_report *report,
	struct error *err)
{
	_cleanup_(buf) struct buf made = BUF_INIT(EDIT_FILE_MAX_BYTES);
	struct write_op *op = next_write(p, WRITE_PUBLISH, to ? to : t);
	struct guard_expect expect;
	struct str content;
	mode_t mode;

	if (expect_present(t, &expect, &mode, err) < 0 ||
		writer_read(&p->writer, t, &content, err) < 0 ||
		patch_apply(in, content, &made, report, err) < 0)
		return -1;
	p->made_bytes += made.len;
	if (p->made_bytes > WRITE_REQUEST_MAX_BYTES)
		return error_set(err, &EDIT_TOO_LARGE,
			"the patch makes more than %d bytes of files", WRITE_REQUEST_MAX_BYTES);
	op->content = tool_keep(&p->writer.work, &made);
	op->how.expect = expect;
	if (!to)
		return 0;
	op->how.new_mode = mode;
	if (expect_absent(to, op, err) < 0)
		return -1;
	next_write(p, WRITE_UNLINK, t)->how.expect = expect;
	return 0;
}

static int compute_one(
	struct patch_run *p, size_t i, const struct tool_target *t, struct error *err)
{
	const struct patch_op *in = &p->ops[i];

	switch (in->kind) {
	case PATCH_ADD:
		return compute_add(p, in, t, err);
	case PATCH_DELETE:
		return compute_delete(p, t, err);
	case PATCH_UPDATE:
		break;
	}
	return compute_update(p, in, t, in->move_to.p ? t + 1 : NULL, &p->reports[i], err);
}

static int compute(struct writer_run *w, struct error *err)
{
	struct patch_run *p = container_of(w, struct patch_run, writer);
	const struct tool_target *t = w->targets.items;

	if (check_distinct(&w->targets, err) < 0)
		return -1;
	w->ops = arena_alloc(&w->work, (w->targets.count + 1) * sizeof(*w->ops));
	p->first_write = arena_alloc(&w->work, (p->count + 1) * sizeof(*p->first_write));
	p->reports = arena_alloc(&w->work, (p->count + 1) * sizeof(*p->reports));
	for (size_t i = 0; i < p->count; i++) {
		p->first_write[i] = w->op_count;
		if (compute_one(p, i, t, err) < 0)
			return error_prefix(err, "line %d of the patch, '" STR_FMT "'",
				p->ops[i].line, STR_ARG(str_cut(p->ops[i].path, 128)));
		t += p->ops[i].move_to.p ? 2 : 1;
	}
	p->first_write[p->count] = w->op_count;
	return 0;
}

/*
 * The result.
 */

static void say_one(const struct patch_run *p, size_t i, struct buf *to)
{
	static const char *const words[] = {
		[PATCH_ADD] = "added", [PATCH_DELETE] = "deleted", [PATCH_UPDATE] = "updated"};
	const struct patch_op *op = &p->ops[i];

	(void)buf_printf(
		to, "%s " STR_FMT, words[op->kind], STR_ARG(op->path)); /* what is over is cut */
	if (op->move_to.p)
		(void)buf_printf(to, ", moved to " STR_FMT, STR_ARG(op->move_to));
	if (p->reports[i].count > 0) {
		(void)buf_puts(to, ": ");
		writer_put_lines(to, p->reports[i].count, p->reports[i].lines);
	}
	(void)buf_putc(to, '\n');
}

static void list(
	const struct patch_run *p, size_t from, size_t to, struct json_out *j, const char *name)
{
	json_open_key(j, name, '[');
	for (size_t i = from; i < to; i++)
		json_put_str(j, NULL, p->ops[i].path);
	json_close(j, ']');
}

/* A write failed on the way: what is on disk must be said. */
static void report_failure(struct patch_run *p, size_t done, const struct error *err)
{
	_cleanup_(buf) struct buf said = BUF_INIT(8 * SAID_MAX_BYTES),
				  clean = BUF_INIT(16 * SAID_MAX_BYTES);
	struct tool_run *r = &p->writer.run;
	struct json_out j = JSON_OUT(&said);
	size_t whole = 0;

	while (whole < p->count && p->first_write[whole + 1] <= done)
		whole++;
	json_open(&j, '{');
	json_put_cstr(&j, "error", error_code(err));
	json_put_cstr(&j, "detail", err->text);
	list(p, 0, whole, &j, "written");
	if (whole < p->count && done > p->first_write[whole])
		json_put_str(&j, "half_moved",
			p->ops[whole].path); /* the old file is still there, too */
	list(p, whole, p->count, &j, "not_written");
	json_close(&j, '}');
	if (said.full || secret_redact(r->context->host->secrets, buf_str(&said), &clean) < 0)
		tool_run_fail(r, err);
	else
		tool_run_finish(r, tool_keep(&r->arena, &clean), true);
}

static void report(struct writer_run *w, size_t done, const struct error *err)
{
	struct patch_run *p = container_of(w, struct patch_run, writer);
	_cleanup_(buf) struct buf said = BUF_INIT(SAID_MAX_BYTES);

	if (err) {
		report_failure(p, done, err);
		return;
	}
	for (size_t i = 0; i < p->count; i++)
		say_one(p, i, &said);
	writer_say(w, &said);
}

static void release(struct writer_run *w)
{
	free(container_of(w, struct patch_run, writer));
}

static int patch_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct patch_args *in = args;
	struct patch_run *p = xcalloc(1, sizeof(*p));
	struct arena *work = &p->writer.work;
	struct str text = {arena_strndup(work, in->patch.p, in->patch.len), in->patch.len};
	struct str_list paths;

	(void)a;
	p->writer.compute = compute;
	p->writer.report = report;
	p->writer.release = release;
	if (patch_parse(work, text, &p->ops, &p->count, err) < 0) {
		arena_release(work);
		free(p);
		return -1;
	}
	paths = paths_of(work, p->ops, p->count);
	return writer_start(&p->writer, c, &paths, o, ret, err);
}

const struct tool tool_apply_patch = {
	.name = "apply_patch",
	.description = "Adds, changes, moves and deletes text files by a patch of this form:\n"
		       "*** Begin Patch\n"
		       "*** Add File: new.txt\n"
		       "+its first line\n"
		       "*** Update File: src/a.c\n"
		       "*** Move to: src/b.c\n"
		       "@@ int main(void)\n"
		       " a line that stays\n"
		       "-a line that goes\n"
		       "+a line that comes\n"
		       "*** Delete File: old.txt\n"
		       "*** End Patch\n"
		       "A hunk starts with @@, alone or before a line of the file above it that "
		       "leads to the right "
		       "place. Give about three lines that stay before and after a change; a hunk "
		       "that fits in "
		       "several places is refused. `*** End of File` after a hunk ties it to the "
		       "end. A hunk of `+` "
		       "lines alone goes right after its @@ line, or to the end of the file. "
		       "Nothing is written "
		       "unless every hunk fits.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
		      "\"patch\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1048576,"
		      "\"description\":\"The whole patch, from *** Begin Patch to *** End Patch. "
		      "Paths are absolute "
		      "or relative to the workspace.\"}"
		      "},\"required\":[\"patch\"],\"additionalProperties\":false}",
	.fields = patch_fields,
	.field_count = ARRAY_LEN(patch_fields),
	.args_size = sizeof(struct patch_args),
	.confined = true,
	.judge = patch_judge,
	.start = patch_start,
	.cancel = writer_cancel,
	.free = tool_run_free,
};
