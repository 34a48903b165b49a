/*
 * view_image: a picture for the model to see (spec 5.6, AG-005).
 *
 * It runs in the daemon, and guard keeps it to regular files, as `read`. The picture goes into the
 * conversation beside the call's text, as it is.
 */
#include "agent/tool/entries.h"
#include "agent/tool/internal.h"
#include "agent/tool/picture.h"

struct view_args {
	struct str path;
};

static const struct json_field view_fields[] = {
	JSON_STR(struct view_args, path, .required = true, .min = 1, .max = GUARD_PATH_MAX_BYTES),
};

/* What the worker owns until it is back. */
struct view_run {
	struct tool_run run;
	const struct guard_id *never; /* the host's */
	size_t never_count;
	struct guard_path path;
	struct buf bytes;
	struct arena arena; /* of the picture */
	struct item_picture picture;
	struct error err;
	int rc;
};

static int view_check(const void *args, struct error *err)
{
	const struct view_args *v = args;

	return tool_check_text(v->path, "path", err);
}

static void view_release(struct tool_run *r)
{
	struct view_run *v = container_of(r, struct view_run, run);

	guard_path_release(&v->path);
	buf_release(&v->bytes);
	arena_release(&v->arena);
	free(v);
}

/* On a worker. */
static void work(void *arg)
{
	struct view_run *v = arg;

	v->rc = guard_read(
		&v->path, PICTURE_MAX_BYTES, v->never, v->never_count, &v->bytes, &v->err);
	if (v->rc == 0)
		v->rc = picture_read(
			&v->arena, buf_str(&v->bytes), v->path.real, &v->picture, &v->err);
}

static void worked(void *arg)
{
	struct view_run *v = arg;
	char *said;

	if (tool_run_back(&v->run))
		return;
	if (v->rc < 0) {
		tool_run_fail(&v->run, &v->err);
		return;
	}
	said = arena_printf(&v->run.arena, "%s: " STR_FMT ", %zu bytes", v->path.real,
		STR_ARG(v->picture.media_type), v->bytes.len);
	v->run.result.pictures = &v->picture;
	v->run.result.picture_count = 1;
	tool_run_finish(&v->run, str_from(said), false);
}

static int view_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct view_args *in = args;
	struct view_run *v = xcalloc(1, sizeof(*v));

	(void)a;
	tool_run_init(&v->run, c, o, view_release);
	v->never = c->host->never;
	v->never_count = c->host->never_count;
	v->bytes = (struct buf)BUF_INIT(PICTURE_MAX_BYTES);
	if (tool_resolve(c, in->path, &v->path, err) < 0) {
		tool_run_free(&v->run);
		return -1;
	}
	if (!v->path.exists) {
		(void)error_set(err, &GUARD_NOT_FOUND, "'%s' does not exist", v->path.real);
		tool_run_free(&v->run);
		return -1;
	}
	v->run.busy = true;
	loop_work(c->host->loop, work, worked, v);
	*ret = &v->run;
	return 0;
}

const struct tool tool_view_image = {
	.name = "view_image",
	.description =
		"Shows you a picture: a PNG, JPEG, GIF or WebP file of up to 4 MiB. You see it "
		"with the result of the call.",
	.parameters = "{\"type\":\"object\",\"properties\":{"
		      "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,"
		      "\"description\":\"The file, absolute or relative to the workspace.\"}"
		      "},\"required\":[\"path\"],\"additionalProperties\":false}",
	.fields = view_fields,
	.field_count = ARRAY_LEN(view_fields),
	.args_size = sizeof(struct view_args),
	.check = view_check,
	.start = view_start,
	.cancel = tool_run_cancel,
	.free = tool_run_free,
};
