/*
 * read: pages of a file or of an artifact (spec 5.3).
 *
 * It runs in the daemon and no sandbox confines it (AG-140), so that guard keeps it to regular
 * files, none of procfs among them (AG-176). A worker reads, redacts and cuts the page: a slow file
 * system holds up nobody. Everything is redacted before it is paged, so that no page's border
 * splits a secret.
 */
#include "agent/core/edit.h"
#include "agent/tool/entries.h"
#include "agent/tool/internal.h"
#include "agent/tool/page.h"

enum {
	REFERENCE_MAX_BYTES = 512, /* ours: a turn, a call id, a stream */
	/* ours: a text redacted in full grows, by 10 bytes for 6 at most */
	REDACTED_MAX_BYTES = 2 * EDIT_FILE_MAX_BYTES + 65536,
};

struct read_args {
	struct str path, artifact;
	int64_t offset, limit;
};

static const struct json_field read_fields[] = {
	JSON_STR(struct read_args, path, .min = 1, .max = GUARD_PATH_MAX_BYTES),
	JSON_STR(struct read_args, artifact, .min = 1, .max = REFERENCE_MAX_BYTES),
	JSON_I64(struct read_args, offset, .min = 1, .max = INT32_MAX),
	JSON_I64(struct read_args, limit, .min = 1, .max = PAGE_LINES_MAX),
};

/* What the worker owns until it is back. */
struct read_run {
	struct tool_run run;
	const struct secret_set *secrets; /* the host's, as long as the daemon */
	const struct guard_id *never;
	size_t never_count;
	struct guard_path path;
	struct buf bytes; /* of the file or the artifact */
	struct buf page;
	int64_t offset, limit;
	int64_t before, total; /* lines, of an artifact of which this is a part */
	bool has_bytes;
	struct error err;
	int rc;
};

static int read_check(const void *args, struct error *err)
{
	const struct read_args *r = args;

	if (!r->path.p == !r->artifact.p)
		return error_set(err, &TOOL_INVALID_ARGUMENTS, "give either path or artifact");
	if (tool_check_text(r->path, "path", err) < 0 ||
		tool_check_text(r->artifact, "artifact", err) < 0)
		return -1;
	return 0;
}

static void read_release(struct tool_run *r)
{
	struct read_run *d = container_of(r, struct read_run, run);

	guard_path_release(&d->path);
	buf_release(&d->bytes);
	buf_release(&d->page);
	free(d);
}

/* The page of the bytes. */
static int make_page(struct read_run *d, struct error *err)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(REDACTED_MAX_BYTES);
	struct page_source source;

	if (secret_redact(d->secrets, buf_str(&d->bytes), &clean) < 0)
		return error_set(
			err, &ERROR_LIMIT, "the text grew past %d bytes", REDACTED_MAX_BYTES);
	source.text = buf_str(&clean);
	source.before = (size_t)d->before;
	source.total = (size_t)d->total;
	source.redacted = !str_eq(source.text, buf_str(&d->bytes));
	return page_write(&source, d->offset, d->limit, &d->page, err);
}

/* On a worker. */
static void work(void *arg)
{
	struct read_run *d = arg;

	d->rc = d->has_bytes ? 0
			     : guard_read(&d->path, EDIT_FILE_MAX_BYTES, d->never, d->never_count,
				       &d->bytes, &d->err);
	if (d->rc == 0)
		d->rc = make_page(d, &d->err);
}

static void worked(void *arg)
{
	struct read_run *d = arg;

	if (tool_run_back(&d->run))
		return;
	if (d->rc < 0)
		tool_run_fail(&d->run, &d->err);
	else
		tool_run_finish(&d->run, buf_str(&d->page), false);
}

static void start_work(struct read_run *d)
{
	d->run.busy = true;
	loop_work(d->run.context->host->loop, work, worked, d);
}

/* The artifact is there, or is not. */
static void got_artifact(void *run, const struct tool_text *text, const struct error *err)
{
	struct read_run *d = run;

	if (tool_run_back(&d->run) || d->run.over)
		return;
	if (err) {
		tool_run_fail(&d->run, err);
		return;
	}
	d->before = text->lines_before;
	d->total = text->lines_total;
	if (buf_put_str(&d->bytes, text->bytes) < 0) {
		(void)error_set(&d->err, &GUARD_TOO_LARGE, "the artifact is over %d bytes",
			EDIT_FILE_MAX_BYTES);
		tool_run_fail(&d->run, &d->err);
		return;
	}
	d->has_bytes = true;
	start_work(d);
}

static int begin(struct read_run *d, const struct read_args *in, struct error *err)
{
	const struct tool_context *c = d->run.context;

	if (!in->artifact.p) {
		if (tool_resolve(c, in->path, &d->path, err) < 0)
			return -1;
		if (!d->path.exists)
			return error_set(
				err, &GUARD_NOT_FOUND, "'%s' does not exist", d->path.real);
		if (tool_check_allowed(c, &d->path, err) < 0)
			return -1;
		start_work(d);
		return 0;
	}
	if (!c->host->artifact)
		return error_set(err, &GUARD_NOT_FOUND, "artifacts cannot be read here");
	d->run.busy = true;
	c->host->artifact(
		c->host->artifact_arg, c->bot->id, in->artifact, d->offset, d, got_artifact);
	return 0;
}

static int read_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct read_args *in = args;
	struct read_run *d = xcalloc(1, sizeof(*d));

	(void)a;
	tool_run_init(&d->run, c, o, read_release);
	d->secrets = c->host->secrets;
	d->never = c->host->never;
	d->never_count = c->host->never_count;
	d->bytes = (struct buf)BUF_INIT(EDIT_FILE_MAX_BYTES);
	d->page = (struct buf)BUF_INIT(PAGE_SHOWN_MAX_BYTES);
	d->offset = in->offset > 0 ? in->offset : 1;
	d->limit = in->limit > 0 ? in->limit : PAGE_LINES_DEFAULT;
	if (begin(d, in, err) < 0) {
		tool_run_free(&d->run);
		return -1;
	}
	*ret = &d->run;
	return 0;
}

const struct tool tool_read = {
	.name = "read",
	.description =
		"Shows lines of a text file with their numbers, or of an artifact that another "
		"tool's result "
		"named. A page holds at most `limit` lines and 64 KiB; a notice in brackets at its "
		"end says "
		"where to go on. Line ends are not part of what is shown. Files up to 4 MiB.",
	.parameters =
		"{\"type\":\"object\",\"properties\":{"
		"\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,"
		"\"description\":\"The file, absolute or relative to the workspace. Either this or "
		"artifact.\"},"
		"\"artifact\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":512,"
		"\"description\":\"An artifact as a result names it, such as 12/call-3/stdout.\"},"
		"\"offset\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483647,"
		"\"description\":\"The first line to show; 1 when left out.\"},"
		"\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":5000,"
		"\"description\":\"How many lines at most; 500 when left out.\"}"
		"},\"additionalProperties\":false}",
	.fields = read_fields,
	.field_count = ARRAY_LEN(read_fields),
	.args_size = sizeof(struct read_args),
	.check = read_check,
	.start = read_start,
	.cancel = tool_run_cancel,
	.free = tool_run_free,
};
