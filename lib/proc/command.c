/*
 * proc: a command: its output captured, its input fed, its tree ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "internal.h"
#include "os/os.h"

enum {
	SUPERVISOR_SLOW_MS = 1000, /* proc.h: when the command's group is ended over its head */
	SUPERVISOR_LOST_MS = 4000, /* proc.h: when, after that, it is given up itself */
	DRAIN_MAX_BYTES = 1024 *
			  1024, /* the largest a pipe gets by default (pipe(7)): what was written
				   is read, what someone goes on writing is not waited out */
	OUTPUTS = 2,
};

struct output {
	struct proc_command *command;
	struct loop_stream *stream;
	uint64_t total_bytes;
};

struct proc_command {
	struct loop *loop;
	struct proc_limits limits;
	struct proc_callbacks cb;
	void *arg;
	struct proc_started process;
	bool supervised;
	struct loop_child *child;
	struct output outputs[OUTPUTS];
	struct loop_stream *input;
	struct loop_timer *timeout;
	struct loop_timer *force;
	struct loop_exit *exit; /* once it is nobody's */
	bool ending;            /* the tree was told to end, for this reason: */
	enum proc_end reason;
	bool forced, exited, silent;
};

/* Ending */

static void release(void *arg)
{
	struct proc_command *c = arg;

	free(c);
}

static void close_pipes(struct proc_command *c)
{
	loop_stream_close(mem_take(&c->input));
	for (size_t i = 0; i < OUTPUTS; i++)
		loop_stream_close(mem_take(&c->outputs[i].stream));
}

static void destroy(struct proc_command *c)
{
	close_pipes(c);
	loop_child_free(mem_take(&c->child));
	loop_timer_free(mem_take(&c->timeout));
	loop_timer_free(mem_take(&c->force));
	loop_exit_free(mem_take(&c->exit));
	loop_defer(c->loop, release, c); /* this may be inside one of its callbacks */
}

/* Our child is not reaped while these can be called, so the numbers are its own. */
static void kill_group(const struct proc_command *c)
{
	(void)kill(-c->process.command, SIGKILL); /* may be empty already */
}

static void kill_child(const struct proc_command *c)
{
	(void)kill(-c->process.pid, SIGKILL); /* may be empty: it moved */
	(void)kill(c->process.pid, SIGKILL);
}

/* The supervisor was told and is not done. As long as it works on it, it does better than anyone
 * could over its head: it alone has all of the tree below it. */
static void on_force(void *arg)
{
	struct proc_command *c = arg;

	if (c->forced) {
		kill_child(c);
		return;
	}
	c->forced = true;
	kill_group(c);
	(void)kill(c->process.pid, SIGCONT); /* should someone have stopped it again */
	loop_timer_set(c->force, SUPERVISOR_LOST_MS);
}

static void end_tree(struct proc_command *c, enum proc_end reason)
{
	if (c->ending || c->exited)
		return;
	c->ending = true;
	c->reason = reason;
	loop_timer_stop(c->timeout);
	if (!c->supervised) {
		kill_child(c);
		return;
	}
	(void)kill(c->process.pid, SIGTERM); /* not reaped: it is there */
	(void)kill(c->process.pid, SIGCONT); /* should someone have stopped it */
	loop_timer_set(c->force, SUPERVISOR_SLOW_MS);
}

static void on_timeout(void *arg)
{
	end_tree(arg, PROC_TIMED_OUT);
}

static void on_exited(void *arg, int code, int signum)
{
	struct proc_command *c = arg;
	struct proc_outcome o = {.code = code, .signal = signum};

	/* What is left of the group goes too. A supervisor has seen to that, unless it was killed.
	 */
	if (!c->supervised)
		(void)kill(-c->process.pid, SIGKILL); /* most often there is nobody */
	else if (signum == SIGKILL)
		kill_group(c);
	c->exited = true;
	if (c->silent) {
		destroy(c);
		return;
	}
	for (size_t i = 0; i < OUTPUTS; i++) {
		if (c->outputs[i].stream)
			loop_stream_drain(c->outputs[i].stream, DRAIN_MAX_BYTES);
	}
	if (c->silent) /* freed inside output() */
		return;
	close_pipes(c);
	loop_timer_stop(c->timeout);
	loop_timer_stop(c->force);
	o.end = signum ? PROC_SIGNALED : PROC_EXITED;
	if (c->ending)
		o.end = c->reason;
	c->cb.ended(c->arg, &o);
}

/* Pipes */

static void on_output(void *arg, const char *p, size_t len)
{
	struct output *o = arg;
	struct proc_command *c = o->command;
	uint64_t max = c->limits.output_max_bytes;
	uint64_t before = o->total_bytes;
	size_t fits = len;

	o->total_bytes += len;
	if (max > 0 && o->total_bytes > max) {
		fits = before < max ? (size_t)(max - before) : 0;
		if (c->exited && !c->ending) { /* the last of what it wrote was too much */
			c->ending = true;
			c->reason = PROC_OVERFLOWED;
		}
		end_tree(c, PROC_OVERFLOWED);
	}
	if (fits > 0 && !c->silent)
		c->cb.output(c->arg, (int)(o - c->outputs) + 1, p, fits);
}

static void on_output_ended(void *arg, const struct error *err)
{
	struct output *o = arg;

	(void)err; /* a pipe of ours has no failure that is not an end */
	loop_stream_close(mem_take(&o->stream));
}

static void on_input_data(void *arg, const char *p, size_t len)
{
	(void)arg;
	(void)p;
	(void)len; /* there is nothing to read on this side */
}

/* The command closed its input, or has ended: its own affair. */
static void on_input_ended(void *arg, const struct error *err)
{
	struct proc_command *c = arg;

	(void)err;
	loop_stream_close(mem_take(&c->input));
}

static void on_input_drained(void *arg)
{
	struct proc_command *c = arg;

	loop_stream_close(mem_take(&c->input));
}

/* Starting */

/* The pipes of a command while it is started: theirs go to it, ours stay. */
struct pipes {
	struct proc_fd *fds; /* the caller's and theirs */
	size_t count;
	int ours[1 + OUTPUTS], theirs[1 + OUTPUTS];
};

static void pipes_cleanup(struct pipes *p)
{
	for (size_t i = 0; i < ARRAY_LEN(p->ours); i++) {
		os_close(p->ours[i]);
		os_close(p->theirs[i]);
	}
	free(p->fds);
}

static bool is_named(const struct proc_spec *spec, int as)
{
	for (size_t i = 0; i < spec->fd_count; i++) {
		if (spec->fds[i].as == as)
			return true;
	}
	return false;
}

static int open_pipe(struct pipes *p, int as, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys_kind(err, &PROC_START_FAILED, "make a pipe");
	p->ours[as] = as == STDIN_FILENO ? ends[1] : ends[0];
	p->theirs[as] = as == STDIN_FILENO ? ends[0] : ends[1];
	p->fds[p->count++] = (struct proc_fd){p->theirs[as], as};
	return 0;
}

static int open_pipes(
	struct pipes *p, const struct proc_spec *spec, bool has_input, struct error *err)
{
	p->fds = xcalloc(spec->fd_count + ARRAY_LEN(p->ours), sizeof(*p->fds));
	if (spec->fd_count > 0)
		memcpy(p->fds, spec->fds, spec->fd_count * sizeof(*p->fds));
	p->count = spec->fd_count;
	for (int as = has_input ? STDIN_FILENO : STDOUT_FILENO; as <= STDERR_FILENO; as++) {
		if (!is_named(spec, as) && open_pipe(p, as, err) < 0)
			return -1;
	}
	return 0;
}

/* Pipe ends become streams. */
static void watch_pipes(struct proc_command *c, struct pipes *p, struct str input)
{
	static const struct loop_stream_callbacks output = {on_output, on_output_ended, NULL};
	static const struct loop_stream_callbacks feed = {
		on_input_data, on_input_ended, on_input_drained};

	for (size_t i = 0; i < OUTPUTS; i++) {
		c->outputs[i].command = c;
		if (p->ours[i + 1] >= 0)
			c->outputs[i].stream = loop_stream_new(
				c->loop, fd_take(&p->ours[i + 1]), -1, &output, &c->outputs[i]);
	}
	if (p->ours[STDIN_FILENO] < 0 || input.len == 0)
		return; /* an empty input is a pipe that is closed at once */
	c->input = loop_stream_new(c->loop, -1, fd_take(&p->ours[STDIN_FILENO]), &feed, c);
	loop_stream_write(c->input, input.p, input.len);
	loop_stream_end_writes(c->input);
}

int proc_command_start(struct loop *l, const struct proc_job *job, const struct proc_callbacks *cb,
	void *arg, struct proc_command **ret, struct error *err)
{
	_cleanup_(pipes) struct pipes p = {
		.ours = {-1, -1, -1},
                  .theirs = {-1, -1, -1}
        };
	_cleanup_(mem) struct proc_command *c = xcalloc(1, sizeof(*c));
	struct proc_spec with_pipes = job->spec;

	if (open_pipes(&p, &job->spec, job->input.p != NULL, err) < 0)
		return -1;
	with_pipes.fds = p.fds;
	with_pipes.fd_count = p.count;
	if (proc_start(&with_pipes, &c->process, err) < 0)
		return -1;
	c->child = loop_child_watch(l, c->process.pidfd, on_exited, c, err);
	if (!c->child) {
		proc_abandon(&c->process);
		return -1;
	}
	c->loop = l;
	c->limits = job->limits;
	c->cb = *cb;
	c->arg = arg;
	c->supervised = job->spec.supervisor != NULL;
	c->timeout = loop_timer_new(l, on_timeout, c);
	c->force = loop_timer_new(l, on_force, c);
	watch_pipes(c, &p, job->input);
	if (c->limits.timeout_ms > 0)
		loop_timer_set(c->timeout, c->limits.timeout_ms);
	*ret = mem_take(&c);
	return 0;
}

pid_t proc_command_pid(const struct proc_command *c)
{
	return c->process.command;
}

void proc_command_ask_end(struct proc_command *c)
{
	must(c->supervised);
	if (!c->exited)
		(void)kill(c->process.pid, SIGUSR1); /* not reaped: it is there */
}

void proc_command_cancel(struct proc_command *c)
{
	end_tree(c, PROC_CANCELLED);
}

static void on_loop_exit(void *arg)
{
	destroy(arg);
}

void proc_command_free(struct proc_command *c)
{
	if (!c || c->silent)
		return;
	c->silent = true;
	if (c->exited) {
		destroy(c);
		return;
	}
	end_tree(c, PROC_CANCELLED);
	close_pipes(c);
	c->exit = loop_exit_new(c->loop, on_loop_exit, c);
}
