#ifndef PROC_TEST_FIXTURE_H
#define PROC_TEST_FIXTURE_H
/*
 * One command under test: what it said, how it ended, and whether anyone of its tree is left. The
 * last is told by a pipe whose write end the command gets as descriptor MARK and every descendant
 * inherits.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "loop/loop.h"
#include "os/os.h"
#include "proc/proc.h"
#include "testing.h"

enum {
	MARK = 9,
	FIXTURE_OUTPUT_MAX = 16 * 1024 * 1024,
};

struct fixture {
	struct loop *loop;
	struct proc_command *command;
	struct buf out[2];
	size_t output_calls;
	int ended;
	struct proc_outcome outcome;
	bool over; /* the last one started has ended */
	bool cancel_on_output, free_on_output, free_on_end, cancel_on_end;
	int mark; /* read end */
};

static inline void fixture_output(void *arg, int stream, const char *p, size_t len)
{
	struct fixture *f = arg;

	f->output_calls++;
	assert_true(stream == 1 || stream == 2);
	assert_false(f->over);
	must(buf_put(&f->out[stream - 1], p, len) == 0);
	if (f->cancel_on_output)
		proc_command_cancel(f->command);
	if (f->free_on_output)
		proc_command_free(mem_take(&f->command));
}

static inline void fixture_ended(void *arg, const struct proc_outcome *o)
{
	struct fixture *f = arg;

	f->ended++;
	f->over = true;
	f->outcome = *o;
	if (f->cancel_on_end)
		proc_command_cancel(f->command);
	if (f->free_on_end)
		proc_command_free(mem_take(&f->command));
}

static inline void fixture_init(struct fixture *f)
{
	*f = (struct fixture){
		.loop = loop_new(),
		.out = {BUF_INIT(FIXTURE_OUTPUT_MAX), BUF_INIT(FIXTURE_OUTPUT_MAX)},
		.mark = -1
        };
}

static inline void fixture_release(struct fixture *f)
{
	proc_command_free(f->command);
	loop_run(f->loop); /* whatever was let go is reaped */
	loop_free(f->loop);
	os_close(f->mark);
	buf_release(&f->out[0]);
	buf_release(&f->out[1]);
}

static inline int fixture_start(struct fixture *f, const struct proc_spec *spec, struct str input,
	const struct proc_limits *limits, struct error *err)
{
	static const struct proc_callbacks callbacks = {fixture_output, fixture_ended};
	struct proc_job job = {*spec, input, *limits};
	struct proc_fd fds[4];
	int mark[2], rc;

	must(pipe2(mark, O_CLOEXEC | O_NONBLOCK) == 0 && spec->fd_count < ARRAY_LEN(fds));
	if (spec->fd_count > 0)
		memcpy(fds, spec->fds, spec->fd_count * sizeof(*fds));
	fds[spec->fd_count] = (struct proc_fd){mark[1], MARK};
	job.spec.fds = fds;
	job.spec.fd_count = spec->fd_count + 1;
	os_close(f->mark);
	f->over = false;
	f->mark = mark[0];
	rc = proc_command_start(f->loop, &job, &callbacks, f, &f->command, err);
	os_close(mark[1]);
	return rc;
}

/* Whether no process of the tree is left, right now: what the supervisor promises. */
static inline bool fixture_is_gone(const struct fixture *f)
{
	char c;

	return read(f->mark, &c, 1) == 0;
}

/* The same, given a moment: a group that was sent SIGKILL is about to be gone. */
static inline bool fixture_is_soon_gone(const struct fixture *f)
{
	struct pollfd mark = {.fd = f->mark, .events = POLLIN};

	return poll(&mark, 1, 10000) == 1 && (mark.revents & POLLHUP) != 0;
}

static inline void fixture_stop(void *arg)
{
	loop_stop(arg);
}

/* Runs the loop until it has nothing left, for 20 s at most: a test that hangs should say where. */
static inline void fixture_run(struct fixture *f)
{
	struct loop_timer *t = loop_timer_new(f->loop, fixture_stop, f->loop);

	loop_timer_set(t, 20000);
	loop_timer_unref(t);
	loop_run(f->loop);
	must(loop_timer_active(t));
	loop_timer_free(t);
}

/* Starts `sh -c script` and runs it to its end. */
static inline void fixture_sh(struct fixture *f, const char *script, const char *supervisor,
	struct str input, const struct proc_limits *limits)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
	const struct proc_spec spec = {
		.program = "/bin/sh", .argv = argv, .supervisor = supervisor};
	struct error err = ERROR_INIT;

	assert_ok(fixture_start(f, &spec, input, limits, &err), &err);
	fixture_run(f);
}

static inline const char *fixture_said(const struct fixture *f, int stream)
{
	return f->out[stream - 1].data ? f->out[stream - 1].data : "";
}

static inline size_t count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t count = 0;

	must(d);
	while (readdir(d))
		count++;
	(void)closedir(d); /* opened here */
	return count;
}

#endif
