/*
 * The way of a write: targets, a worker's computing, the helper, its answers.
 */
#include "agent/tool/writer.h"

#include <errno.h>
#include <sys/stat.h>

#include "agent/core/edit.h"

enum {
	HELPER_TIMEOUT_MS = 60000,   /* ours: a file system that takes longer is as good as gone */
	COMPLAINT_MAX_BYTES = 300,   /* ours: of stderr, in an error of 512 */
	SAID_MAX_BYTES = 256 * 1024, /* ours: 1,024 files of a patch, a line each */
};

static const struct error_kind WRITER_CANCELLED = {"cancelled", ERROR_CLASS_CONFLICT};
static const struct error_kind WRITER_TIMED_OUT = {"write_timed_out", ERROR_CLASS_UNAVAILABLE};

int writer_expect(
	const struct tool_target *t, struct guard_expect *ret, mode_t *ret_mode, struct error *err)
{
	struct stat st;

	*ret_mode = 0;
	if (lstat(t->path.real, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return error_sys(err, "look at '%s'", t->path.real);
		*ret = (struct guard_expect){.kind = GUARD_EXPECT_ABSENT};
		return 0;
	}
	if (S_ISLNK(st.st_mode))
		return error_set(err, &GUARD_CHANGED, "'%s' has become a link", t->path.real);
	if (!S_ISREG(st.st_mode))
		return error_set(err, &GUARD_NOT_REGULAR, "'%s' is %s, not a regular file",
			t->path.real,
			S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
	*ret = guard_expect_stat(&st);
	*ret_mode = st.st_mode & 0777;
	return 0;
}

int writer_read(
	struct writer_run *w, const struct tool_target *t, struct str *ret, struct error *err)
{
	_cleanup_(buf) struct buf content = BUF_INIT(EDIT_FILE_MAX_BYTES);

	if (guard_read(&t->path, EDIT_FILE_MAX_BYTES, w->never, w->never_count, &content, err) < 0)
		return -1;
	*ret = tool_keep(&w->work, &content);
	return 0;
}

void writer_say(struct writer_run *w, const struct buf *text)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(2 * SAID_MAX_BYTES);

	if (secret_redact(w->run.context->host->secrets, buf_str(text), &clean) < 0)
		buf_clear(&clean);
	tool_run_finish(&w->run, tool_keep(&w->run.arena, &clean), false);
}

void writer_put_lines(struct buf *to, size_t count, const size_t *lines)
{
	(void)buf_puts(
		to, count == 1 ? "line " : "lines "); /* as are the rest: what is over is cut */
	for (size_t i = 0; i < count && i < EDIT_PLACES_SHOWN; i++)
		(void)buf_printf(to, "%s%zu", i > 0 ? ", " : "", lines[i]);
	if (count > EDIT_PLACES_SHOWN)
		(void)buf_puts(to, " …");
}

static void writer_release(struct tool_run *r)
{
	struct writer_run *w = container_of(r, struct writer_run, run);

	proc_command_free(w->command);
	sandbox_command_free(w->box);
	sandbox_survey_free(w->survey);
	tool_targets_release(&w->targets);
	arena_release(&w->work);
	buf_release(&w->request);
	buf_release(&w->answers);
	buf_release(&w->complaint);
	w->release(w);
}

/*
 * The helper.
 */

static void on_output(void *arg, int stream, const char *p, size_t len)
{
	struct writer_run *w = arg;
	struct buf *to = stream == 1 ? &w->answers : &w->complaint;
	size_t room = to->max - to->len;

	(void)buf_put(to, p, len < room ? len : room); /* fits; more than that is nobody's answer */
}

/* What to say of a helper that ended without having done all. */
static void explain(struct writer_run *w, const struct proc_outcome *o, struct error *err)
{
	if (o->end == PROC_TIMED_OUT)
		(void)error_set(err, &WRITER_TIMED_OUT,
			"writing took longer than %d ms and was ended", HELPER_TIMEOUT_MS);
	else if (w->cancelled && o->end == PROC_CANCELLED)
		(void)error_set(
			err, &WRITER_CANCELLED, "the call was ended while files were written");
	else if (error_is(err, &WRITE_UNANSWERED) && w->complaint.len > 0)
		(void)error_set(err, &WRITE_UNANSWERED,
			"the write helper ended before it answered: " STR_FMT,
			STR_ARG(str_trim(buf_str(&w->complaint))));
}

static void on_ended(void *arg, const struct proc_outcome *o)
{
	struct writer_run *w = arg;
	struct error err = ERROR_INIT;
	size_t done;
	int rc = write_answers(buf_str(&w->answers), w->op_count, &done, &err);

	sandbox_command_free(mem_take(&w->box));
	w->run.result.cancelled = w->cancelled;
	if (rc < 0)
		explain(w, o, &err);
	w->report(w, done, rc < 0 ? &err : NULL);
	must(w->run.over);
}

static const struct proc_callbacks helper_callbacks = {.output = on_output, .ended = on_ended};

static int start_helper(struct writer_run *w, struct error *err)
{
	const struct tool_context *c = w->run.context;
	char *inner[] = {(char *)c->host->writer, NULL}; /* proc and sandbox change no argument */
	char *env[] = {NULL};
	struct proc_spec spec = {.program = inner[0], .argv = inner, .env = env, .cwd = "/"};
	struct proc_job job = {.input = buf_str(&w->request)};
	struct sandbox_policy policy;
	struct proc_fd *fds;

	if (w->survey) {
		policy = *tool_policy(c, &w->run.arena);
		policy.survey = w->survey;
		if (sandbox_command_new(c->host->sandbox, &policy, "/", inner, &w->box, err) < 0)
			return -1;
		fds = arena_alloc(&w->run.arena, (w->box->fd_count + 1) * sizeof(*fds));
		for (size_t i = 0; i < w->box->fd_count; i++)
			fds[i] = (struct proc_fd){w->box->fds[i].fd, w->box->fds[i].as};
		spec.program = w->box->program;
		spec.argv = w->box->argv;
		spec.fds = fds;
		spec.fd_count = w->box->fd_count;
	}
	job.spec = spec;
	job.limits.timeout_ms = HELPER_TIMEOUT_MS;
	return proc_command_start(c->host->loop, &job, &helper_callbacks, w, &w->command, err);
}

/*
 * The worker.
 */

static void work(void *arg)
{
	struct writer_run *w = arg;

	if (w->survey)
		sandbox_survey_run(w->survey);
	w->rc = w->compute(w, &w->err);
	if (w->rc == 0)
		w->rc = write_encode(w->ops, w->op_count, &w->request, &w->err);
}

static void worked(void *arg)
{
	struct writer_run *w = arg;

	if (tool_run_back(&w->run) || w->run.over)
		return;
	if (w->rc < 0 || start_helper(w, &w->err) < 0)
		tool_run_fail(&w->run, &w->err);
}

int writer_start(struct writer_run *w, const struct tool_context *c, const struct str_list *paths,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	tool_run_init(&w->run, c, o, writer_release);
	w->outside = o->outside;
	w->never = c->host->never;
	w->never_count = c->host->never_count;
	w->request = (struct buf)BUF_INIT(WRITE_REQUEST_MAX_BYTES);
	w->answers = (struct buf)BUF_INIT(WRITE_ANSWERS_MAX_BYTES);
	w->complaint = (struct buf)BUF_INIT(COMPLAINT_MAX_BYTES);
	if (tool_targets_find(c, paths, o->outside, &w->targets, err) < 0) {
		tool_run_free(&w->run);
		return -1;
	}
	/* No comparing afterwards: what the helper writes is what was asked for. */
	if (tool_sandboxed(c) && !o->outside)
		w->survey = sandbox_survey_new(c->host->sandbox, tool_policy(c, &w->run.arena));
	w->run.busy = true;
	loop_work(c->host->loop, work, worked, w);
	*ret = &w->run;
	return 0;
}

void writer_cancel(struct tool_run *r)
{
	struct writer_run *w = container_of(r, struct writer_run, run);

	if (r->over || w->cancelled)
		return;
	if (!w->command) {
		tool_run_cancelled(r); /* nothing was written yet, and will not be */
		return;
	}
	w->cancelled = true;
	proc_command_cancel(w->command);
}
