/*
 * shell: one command with /bin/sh, inside the bot's sandbox or outside it (spec 5.1).
 *
 * The supervisor ends with the command everything it started, and all of it when the daemon dies.
 * Inside, bubblewrap's pid namespace does the first too, but it binds its life to ours only when
 * all is mounted: a daemon killed before would leave a command behind that nobody watches.
 */
#include "agent/core/limits.h"
#include "agent/tool/entries.h"
#include "agent/tool/internal.h"
#include "agent/tool/shell_output.h"
#include "os/os.h"
#include "proc/proc.h"

enum {
	COMMAND_MAX_BYTES = 16384,      /* spec 5.1 */
	TIMEOUT_MAX_MS = 600000,        /* spec 5.1 */
	TIMEOUT_DEFAULT_MS = 120000,    /* spec 5.1 */
	JUSTIFICATION_MAX_BYTES = 4096, /* ours: a person reads it */
	STREAMS = 2,                    /* stdout, stderr */
	/* ours: twice the shown text of both streams, each byte escaped as \u00XX */
	RESULT_MAX_BYTES = 2 * STREAMS * 6 * TOOL_OUTPUT_SHOWN_BYTES + TOOL_INCIDENTS_MAX_BYTES,
	/* ours: a stream may shrink on its way through the filter (a key's whole body becomes one
	 * mark), but what is read and thrown away has an end as well */
	RAW_MAX_BYTES = 16 * TOOL_OUTPUT_KEPT_BYTES,
	RAW_SPILLED_MAX_BYTES = 2 * TOOL_SPILLED_MAX_BYTES,
};

static const struct error_kind SHELL_OUTPUT_LIMIT = {"shell_output_limit", ERROR_CLASS_LIMIT};
static const struct error_kind SHELL_CANCELLED = {"cancelled", ERROR_CLASS_CONFLICT};

enum permissions { USE_DEFAULT, REQUIRE_ESCALATED };
static const char *const permission_names[] = {"use_default", "require_escalated", NULL};

struct shell_args {
	struct str command, workdir, justification;
	int64_t timeout_ms;
	int sandbox_permissions;
	bool background;
};

static const struct json_field shell_fields[] = {
	JSON_STR(struct shell_args, command, .required = true, .min = 1, .max = COMMAND_MAX_BYTES),
	JSON_I64(struct shell_args, timeout_ms, .min = 1, .max = TIMEOUT_MAX_MS),
	JSON_BOOL(struct shell_args, background),
	JSON_STR(struct shell_args, workdir, .min = 1, .max = GUARD_PATH_MAX_BYTES),
	JSON_ENUM(struct shell_args, sandbox_permissions, permission_names),
	JSON_STR(struct shell_args, justification, .max = JUSTIFICATION_MAX_BYTES),
};

struct shell_run {
	struct tool_run run;
	struct sandbox_command *box;   /* NULL outside */
	struct tool_door *door;        /* NULL outside */
	struct sandbox_survey *survey; /* likewise */
	const char *cwd;
	char **inner;
	struct proc_command *command;
	struct proc_outcome outcome; /* of one that has ended */
	struct shell_stream streams[STREAMS];
	int64_t timeout_ms;
	bool overflowed, cancelled, ended;
};

static int shell_check(const void *args, struct error *err)
{
	const struct shell_args *s = args;

	if (tool_check_text(s->command, "command", err) < 0 ||
		tool_check_text(s->workdir, "workdir", err) < 0 ||
		tool_check_text(s->justification, "justification", err) < 0)
		return -1;
	return 0;
}

static int shell_judge(const struct tool_context *c, struct arena *a, const void *args,
	struct tool_judgement *ret, struct error *err)
{
	const struct shell_args *s = args;

	*ret = (struct tool_judgement){.reach = TOOL_CONFINED, .justification = s->justification};
	if (!tool_sandboxed(c)) {
		ret->reach = TOOL_OUTSIDE;
	} else if (s->sandbox_permissions == REQUIRE_ESCALATED) {
		ret->reach = TOOL_LEAVES;
		ret->why = TOOL_WHY_ESCALATED;
	}
	return tool_rules_judge(c, a, s->command, ret, err); /* what /bin/sh -c gets */
}

/*
 * The result.
 */

/* Names the artifact of a stream that is shown in part, and hands its bytes over. What could be
 * read while the command ran can be read afterwards too. */
static const char *add_artifact(struct shell_run *s, const struct shell_stream *stream)
{
	struct tool_run *r = &s->run;
	bool cut = shell_stream_is_cut(stream);

	if (!cut && (!r->context->spill || stream->kept.len == 0))
		return NULL;
	r->result.artifacts[r->result.artifact_count++] = (struct tool_artifact){
		str_from(stream->name), buf_str(&stream->kept), shell_stream_spilled(stream)};
	if (!cut)
		return NULL;
	return arena_printf(&r->arena, "%lld/" STR_FMT "/%s", (long long)r->context->turn,
		STR_ARG(r->context->call_id), stream->name);
}

static void write_streams(struct shell_run *s, struct json_out *j)
{
	const char *references[STREAMS];

	for (size_t i = 0; i < STREAMS; i++) {
		references[i] = add_artifact(s, &s->streams[i]);
		shell_stream_write(&s->streams[i], j, references[i]);
	}
	if (!references[0] && !references[1])
		return;
	json_open_key(j, "artifacts", '[');
	for (size_t i = 0; i < STREAMS; i++) {
		if (references[i])
			json_put_cstr(j, NULL, references[i]);
	}
	json_close(j, ']');
}

static void write_error(struct json_out *j, const struct error_kind *kind, const char *detail)
{
	json_put_cstr(j, "error", kind->code);
	json_put_cstr(j, "detail", detail);
}

/* Why it was ended: the first stream that was over, and what its limit was. */
static void write_overflow(struct shell_run *s, struct json_out *j)
{
	const struct shell_stream *stream = &s->streams[s->streams[0].over ? 0 : 1];
	const struct error *err = &stream->spill_err;

	if (err->kind)
		write_error(j, err->kind,
			arena_printf(&s->run.arena,
				"the command was ended, since its output is over %d bytes and "
				"could not go to disk: %s",
				TOOL_OUTPUT_KEPT_BYTES, err->text));
	else
		write_error(j, &SHELL_OUTPUT_LIMIT,
			arena_printf(&s->run.arena,
				"the command was ended, since one of its streams is over %lld "
				"bytes: write large output to a file",
				(long long)shell_stream_limit(stream)));
}

static void write_outcome(struct shell_run *s, struct json_out *j, const struct proc_outcome *o)
{
	if (s->cancelled && o->end == PROC_CANCELLED) {
		write_error(j, &SHELL_CANCELLED, "the command was ended before it was done");
	} else if (s->overflowed) {
		write_overflow(s, j);
	} else if (o->end == PROC_TIMED_OUT) {
		json_put_null(j, "exit_code");
		json_put_bool(j, "success", false);
		json_put_bool(j, "timed_out", true);
	} else {
		json_put_i64(j, "exit_code", o->code);
		json_put_bool(j, "success", o->code == 0);
	}
}

static bool has_failed(const struct shell_run *s, const struct proc_outcome *o)
{
	return s->cancelled || s->overflowed || o->end != PROC_EXITED || o->code != 0;
}

static void finish(struct shell_run *s, const struct proc_outcome *o)
{
	_cleanup_(buf) struct buf out = BUF_INIT(RESULT_MAX_BYTES);
	struct json_out j = JSON_OUT(&out);

	json_open(&j, '{');
	write_streams(s, &j);
	write_outcome(s, &j, o);
	tool_incidents_put(&s->run, s->survey, &j);
	json_close(&j, '}');
	must(!out.full);
	s->run.result.cancelled = s->cancelled;
	tool_run_finish(&s->run, tool_keep(&s->run.arena, &out),
		has_failed(s, o) || s->run.result.incidents.count > 0);
}

/*
 * The command.
 */

static void on_output(void *arg, int stream, const char *p, size_t len)
{
	struct shell_run *s = arg;

	if (shell_stream_put(&s->streams[stream - 1], p, len) || s->overflowed)
		return;
	s->overflowed = true;
	proc_command_cancel(s->command);
}

static void close_door(struct shell_run *s)
{
	if (s->door)
		s->run.context->host->close_door(mem_take(&s->door));
}

/*
 * What lies protected in the writable folders is looked at before the command, and what of it git
 * would run once more afterwards, both on a worker.
 */

static void compare(void *arg)
{
	struct shell_run *s = arg;

	sandbox_survey_compare(s->survey);
}

static void compared(void *arg)
{
	struct shell_run *s = arg;

	if (!tool_run_back(&s->run) && !s->run.over)
		finish(s, &s->outcome);
}

static void on_ended(void *arg, const struct proc_outcome *o)
{
	struct shell_run *s = arg;

	for (size_t i = 0; i < STREAMS; i++) {
		shell_stream_end(&s->streams[i]);
		s->overflowed = s->overflowed || s->streams[i].over;
	}
	s->overflowed = s->overflowed || o->end == PROC_OVERFLOWED;
	s->ended = true;
	close_door(s);
	sandbox_command_free(mem_take(&s->box));
	if (!s->survey || !sandbox_survey_has_marks(s->survey)) {
		finish(s, o);
		return;
	}
	s->outcome = *o;
	s->run.busy = true;
	loop_work(s->run.context->host->loop, compare, compared, s);
}

static const struct proc_callbacks command_callbacks = {.output = on_output, .ended = on_ended};

static void shell_release(struct tool_run *r)
{
	struct shell_run *s = container_of(r, struct shell_run, run);

	proc_command_free(s->command);
	close_door(s);
	sandbox_command_free(
		s->box); /* only now: what it covers is covered until the tree has ended */
	sandbox_survey_free(s->survey);
	for (size_t i = 0; i < STREAMS; i++)
		shell_stream_release(&s->streams[i]);
	free(s);
}

/* Where the command starts: the workspace, or a folder named from there. */
static int find_folder(const struct tool_context *c, struct arena *a, struct str workdir,
	const char **ret, struct error *err)
{
	_cleanup_(guard_path) struct guard_path at = {.real = NULL};

	if (tool_check_workspace(c, err) < 0)
		return -1;
	if (!workdir.p) {
		*ret = tool_cstr(a, c->workspace);
		return 0;
	}
	if (tool_resolve(c, workdir, &at, err) < 0)
		return error_prefix(err, "workdir");
	if (!at.exists || !at.is_dir)
		return error_set(err, &GUARD_NOT_FOUND, "workdir: '%s' is no folder", at.real);
	*ret = arena_strndup(a, at.real, strlen(at.real));
	return 0;
}

static struct proc_limits limits_of(const struct shell_run *s)
{
	return (struct proc_limits){
		s->timeout_ms, s->run.context->spill ? RAW_SPILLED_MAX_BYTES : RAW_MAX_BYTES};
}

/* The bot's own socket is the one name it sees of all the bots'. */
static int make_box(struct shell_run *s, struct error *err)
{
	const struct tool_context *c = s->run.context;
	struct sandbox_policy policy = *tool_policy(c, &s->run.arena);

	if (c->host->open_door && c->host->open_door(c->host->door_arg, c, &s->door, err) < 0)
		return -1;
	if (s->door)
		policy.own_socket = s->door->socket;
	policy.survey = s->survey;
	return sandbox_command_new(c->host->sandbox, &policy, s->cwd, s->inner, &s->box, err);
}

static int start_inside(struct shell_run *s, struct error *err)
{
	const struct tool_context *c = s->run.context;
	struct proc_job job = {.limits = limits_of(s)};
	struct proc_fd *fds;
	size_t count;
	int rc;

	if (make_box(s, err) < 0)
		return -1;
	count = s->box->fd_count;
	fds = arena_alloc(&s->run.arena, (count + 1) * sizeof(*fds));
	for (size_t i = 0; i < count; i++)
		fds[i] = (struct proc_fd){s->box->fds[i].fd, s->box->fds[i].as};
	if (s->door)
		fds[count++] = (struct proc_fd){s->door->fd, TOOL_DOOR_FD};
	job.spec = (struct proc_spec){
		.program = s->box->program,
		.argv = s->box->argv,
		.env = tool_environ(c, &s->run.arena, false, s->door),
		.cwd = "/", /* bubblewrap goes to cwd itself, inside */
		.fds = fds,
		.fd_count = count,
		.supervisor = c->host->supervisor,
	};
	rc = proc_command_start(c->host->loop, &job, &command_callbacks, s, &s->command, err);
	if (s->door)
		os_close(fd_take(&s->door->fd)); /* the command's alone from here on */
	return rc;
}

static void survey(void *arg)
{
	struct shell_run *s = arg;

	sandbox_survey_run(s->survey);
}

static void surveyed(void *arg)
{
	struct shell_run *s = arg;
	struct error err = ERROR_INIT;

	if (tool_run_back(&s->run) || s->run.over)
		return;
	if (start_inside(s, &err) < 0)
		tool_run_fail(&s->run, &err);
}

static int start_surveyed(struct shell_run *s, struct error *err)
{
	const struct tool_context *c = s->run.context;

	if (sandbox_available(c->host->sandbox, err) < 0)
		return -1;
	s->survey = sandbox_survey_new(c->host->sandbox, tool_policy(c, &s->run.arena));
	s->run.busy = true;
	loop_work(c->host->loop, survey, surveyed, s);
	return 0;
}

static int start_outside(struct shell_run *s, struct error *err)
{
	const struct tool_context *c = s->run.context;
	const struct proc_spec spec = {
		.program = s->inner[0],
		.argv = s->inner,
		.env = tool_environ(c, &s->run.arena, true, NULL),
		.cwd = s->cwd,
		.new_session = true, /* no terminal to reach */
		.supervisor = c->host->supervisor,
	};
	const struct proc_job job = {.spec = spec, .limits = limits_of(s)};

	return proc_command_start(c->host->loop, &job, &command_callbacks, s, &s->command, err);
}

static int shell_start(const struct tool_context *c, struct arena *a, const void *args,
	const struct tool_order *o, struct tool_run **ret, struct error *err)
{
	const struct shell_args *in = args;
	struct shell_run *s;
	const char *cwd;
	int rc;

	if (find_folder(c, a, in->workdir, &cwd, err) < 0)
		return -1;
	s = xcalloc(1, sizeof(*s));
	tool_run_init(&s->run, c, o, shell_release);
	s->cwd = arena_strndup(&s->run.arena, cwd, strlen(cwd));
	s->inner = arena_alloc(&s->run.arena, 4 * sizeof(*s->inner));
	s->inner[0] = "/bin/sh";
	s->inner[1] = "-c";
	s->inner[2] = tool_cstr(&s->run.arena, in->command);
	s->timeout_ms = in->timeout_ms > 0 ? in->timeout_ms : TIMEOUT_DEFAULT_MS;
	for (size_t i = 0; i < STREAMS; i++)
		shell_stream_init(&s->streams[i], i, c->host->secrets, c->spill);
	if (tool_sandboxed(c) && !o->outside)
		rc = start_surveyed(s, err);
	else
		rc = start_outside(s, err);
	if (rc < 0) {
		tool_run_free(&s->run);
		return -1;
	}
	*ret = &s->run;
	return 0;
}

static void shell_cancel(struct tool_run *r)
{
	struct shell_run *s = container_of(r, struct shell_run, run);

	if (r->over || s->cancelled || s->ended)
		return;
	if (!s->command) {
		tool_run_cancelled(r); /* nothing was started yet, and will not be */
		return;
	}
	s->cancelled = true;
	proc_command_cancel(s->command);
}

static bool shell_background(const void *args)
{
	const struct shell_args *s = args;

	return s->background;
}

const struct tool tool_shell = {
	.name = "shell",
	.description =
		"Runs a command with /bin/sh -c, by default in the workspace, and returns "
		"JSON: stdout, stderr, "
		"exit_code, success, and timed_out when it took longer than timeout_ms. "
		"There is no terminal "
		"and no input. When the command ends, everything it started is ended too. "
		"With background you get {\"handle\":\"proc:N\"} at once, the command goes "
		"on, and `wait` gives its result; what it has written so far `read` finds as "
		"the artifact TURN/CALL_ID/stdout or stderr. Of a stream over 64 KiB you get "
		"the first and the last 32 KiB; "
		"`artifacts` names "
		"where `read` finds the whole. Over 1 MiB on a stream (64 MiB in the "
		"background) ends the command. If "
		"you run in a "
		"sandbox, writing outside the writable folders and the network fail; a "
		"command that needs them "
		"must ask with sandbox_permissions.",
	.parameters =
		"{\"type\":\"object\",\"properties\":{"
		"\"command\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":16384,"
		"\"description\":\"The script for /bin/sh.\"},"
		"\"timeout_ms\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":600000,"
		"\"description\":\"Ends the command after this time; 120000 when left out.\"},"
		"\"background\":{\"type\":\"boolean\",\"description\":\"Go on at once, with a "
		"handle to wait for.\"},"
		"\"workdir\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096,"
		"\"description\":\"Folder to run in, absolute or relative to the workspace.\"},"
		"\"sandbox_permissions\":{\"type\":\"string\",\"enum\":[\"use_default\",\"require_"
		"escalated\"],"
		"\"description\":\"require_escalated asks to run outside the sandbox: somebody "
		"decides, and may "
		"refuse. Only for what cannot work inside.\"},"
		"\"justification\":{\"type\":\"string\",\"maxLength\":4096,"
		"\"description\":\"With require_escalated: one sentence for whoever decides, "
		"saying why the "
		"command must run outside.\"}"
		"},\"required\":[\"command\"],\"additionalProperties\":false}",
	.fields = shell_fields,
	.field_count = ARRAY_LEN(shell_fields),
	.args_size = sizeof(struct shell_args),
	.confined = true,
	.check = shell_check,
	.judge = shell_judge,
	.start = shell_start,
	.cancel = shell_cancel,
	.free = tool_run_free,
	.background = shell_background,
};
