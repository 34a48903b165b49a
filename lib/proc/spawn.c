/*
 * proc: starting a program. The child runs on our memory and on a stack of its own until it execs
 * (CLONE_VM and CLONE_VFORK), so it costs the same however large we are, and says what went wrong
 * by writing it down. Until then it calls nothing but system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "internal.h"
#include "os/os.h"

enum {
	CHILD_STACK_BYTES = 65536, /* ours: a few frames, and whatever a sanitizer's wrappers add */
	FIRST_FREE_FD = 3,
	SUPERVISOR_ARGS = 5, /* itself, parent, group or session, start descriptor, program */
	NUMBER_SIZE = 16,    /* an int in decimal */
};

const struct error_kind PROC_START_FAILED = {"process_start_failed", ERROR_CLASS_IO};

/* What the child is told and what it answers. Shared memory: it writes here while we stand still.
 */
struct launch {
	const char *program;
	char *const *argv;
	char *const *env;
	const char *cwd;
	const struct proc_fd *fds;
	int *moved; /* one for each of fds */
	size_t fd_count;
	int above; /* the first number over every fds[].as */
	bool new_session;
	struct rlimit files; /* as we were started with */
	int failed;          /* errno, or 0 */
	const char *step;
};

/* What comes through the start pipe of a supervised command, see agent/helper/supervise.c: once
 * before it execs and, when that fails, once more. */
struct start_record {
	int32_t failed; /* errno, or 0 */
	int32_t pid;    /* the command's */
};

/* In the child. Frames there must not leave marks in a sanitizer's shadow of our memory: they never
 * return, so nobody would wipe them off. */
#define IN_CHILD __attribute__((no_sanitize("address"))) __attribute__((no_sanitize("undefined")))

IN_CHILD static int child_failed(struct launch *x, const char *step)
{
	x->failed = errno;
	x->step = step;
	return -1;
}

/* What rt_sigaction(2) takes; all zero is the default disposition. */
struct kernel_sigaction {
	unsigned long words[3]; /* handler, flags, restorer */
	uint64_t mask;
};

/* Handlers run nothing any more after exec, but what is ignored stays so. And until then a handler
 * of ours would run on our memory. By the kernel's own call, since glibc's refuses the two signals
 * that it keeps to itself, and its posix_spawn leaves just those ignored in whoever it started: a
 * shell below make, for instance. */
IN_CHILD static void child_reset_signals(void)
{
	static const struct kernel_sigaction usual = {.mask = 0};

	/* refused for SIGKILL and SIGSTOP, which have no other disposition */
	for (int i = 1; i < NSIG; i++)
		(void)syscall(SYS_rt_sigaction, i, &usual, NULL, sizeof(usual.mask));
}

/* Puts every descriptor above all numbers asked for, then each at its own: no order can clash. */
IN_CHILD static int child_place_fds(struct launch *x)
{
	bool named[FIRST_FREE_FD] = {false, false, false};
	int null;

	for (size_t i = 0; i < x->fd_count; i++) {
		x->moved[i] = fcntl(x->fds[i].fd, F_DUPFD_CLOEXEC, x->above);
		if (x->moved[i] < 0)
			return child_failed(x, "pass a descriptor");
		if (x->fds[i].as < FIRST_FREE_FD)
			named[x->fds[i].as] = true;
	}
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	null = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, x->above);
	if (null < 0)
		return child_failed(x, "open /dev/null");
	if (close_range(FIRST_FREE_FD, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return child_failed(x, "close descriptors");
	for (int i = 0; i < FIRST_FREE_FD; i++) {
		if (!named[i] && dup2(null, i) < 0)
			return child_failed(x, "pass /dev/null");
	}
	for (size_t i = 0; i < x->fd_count; i++) {
		if (dup2(x->moved[i], x->fds[i].as) < 0)
			return child_failed(x, "pass a descriptor");
	}
	return 0;
}

IN_CHILD static int child_prepare(struct launch *x)
{
	child_reset_signals();
	if ((x->new_session ? setsid() : setpgid(0, 0)) < 0)
		return child_failed(x, "leave our process group");
	if (x->cwd && chdir(x->cwd) < 0)
		return child_failed(x, "change to its folder");
	if (child_place_fds(x) < 0)
		return -1;
	if (setrlimit(RLIMIT_NOFILE, &x->files) < 0)
		return child_failed(x, "limit the descriptors of");
	return 0;
}

IN_CHILD static int child_main(void *arg)
{
	struct launch *x = arg;
	sigset_t none;

	if (child_prepare(x) == 0) {
		(void)sigemptyset(&none);                    /* a valid set: cannot fail */
		(void)sigprocmask(SIG_SETMASK, &none, NULL); /* nor this */
		(void)execve(x->program, x->argv, x->env);   /* returns only when it failed */
		(void)child_failed(x, "start");
	}
	_exit(127);
}

/* Runs the launch: fills in pid and pidfd. The child has execed or is gone when clone returns. */
static int run_child(struct launch *x, struct proc_started *s)
{
	_cleanup_(mem) char *stack = xmalloc(CHILD_STACK_BYTES);
	sigset_t all, before;
	int pidfd = -1, pid, sys;

	(void)sigfillset(&all); /* a valid set: cannot fail */
	must(pthread_sigmask(SIG_SETMASK, &all, &before) ==
		0); /* no handler of ours in the child */
	pid = clone(child_main, stack + CHILD_STACK_BYTES,
		CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, x, &pidfd);
	sys = errno;
	must(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
	if (pid < 0) {
		x->failed = sys;
		x->step = "make a process for";
		return -1;
	}
	s->pid = s->command = pid;
	s->pidfd = pidfd;
	if (x->failed == 0)
		return 0;
	proc_abandon(s);
	return -1;
}

static int above_all(const struct proc_fd *fds, size_t count)
{
	int above = FIRST_FREE_FD;

	for (size_t i = 0; i < count; i++) {
		must(fds[i].as >= 0);
		if (fds[i].as >= above)
			above = fds[i].as + 1;
	}
	return above;
}

static int launch(
	struct launch *x, const struct proc_spec *spec, struct proc_started *s, struct error *err)
{
	_cleanup_(mem) int *moved = xcalloc(x->fd_count + 1, sizeof(*moved));

	x->moved = moved;
	x->above = above_all(x->fds, x->fd_count);
	x->env = spec->env ? spec->env : environ;
	x->cwd = spec->cwd;
	x->new_session = spec->new_session;
	x->files = os_fd_limit_given();
	if (run_child(x, s) == 0)
		return 0;
	errno = x->failed;
	return error_sys_kind(err, &PROC_START_FAILED, "%s '%s'", x->step, x->program);
}

/* The supervisor */

/* Waits until the command has execed, or could not. Until it has, nothing of it can be in the way.
 */
static int read_start(
	int fd, const struct proc_spec *spec, struct proc_started *s, struct error *err)
{
	struct start_record r[2] = {{0}};
	size_t len = 0;

	if (os_read_full(fd, r, sizeof(r), &len, NULL) == 0 && len == sizeof(r[0]) &&
		r[0].failed == 0 && r[0].pid > 1) { /* 0 and 1 mean something else to kill(2) */
		s->command = r[0].pid;
		return 0;
	}
	proc_abandon(s);
	if (len < sizeof(r[0]))
		return error_set(err, &PROC_START_FAILED, "the supervisor '%s' ended too early",
			spec->supervisor);
	errno = r[len / sizeof(r[0]) - 1].failed;
	return error_sys_kind(err, &PROC_START_FAILED, "start '%s'", spec->program);
}

static char **supervisor_argv(
	const struct proc_spec *spec, int start_fd, char (*numbers)[NUMBER_SIZE])
{
	size_t count = 0;
	char **argv;

	while (spec->argv[count])
		count++;
	argv = xcalloc(SUPERVISOR_ARGS + count + 1, sizeof(*argv));
	(void)snprintf(numbers[0], NUMBER_SIZE, "%d", (int)getpid()); /* fits any int */
	(void)snprintf(numbers[1], NUMBER_SIZE, "%d", start_fd);      /* fits any int */
	argv[0] = (char *)"consort-supervise"; /* execve takes them as const in all but name */
	argv[1] = numbers[0];
	argv[2] = (char *)(spec->new_session ? "session" : "group");
	argv[3] = numbers[1];
	argv[4] = (char *)spec->program;
	memcpy(argv + SUPERVISOR_ARGS, spec->argv, count * sizeof(*argv));
	return argv;
}

static int start_supervised(const struct proc_spec *spec, struct proc_started *s, struct error *err)
{
	_cleanup_(mem) struct proc_fd *fds = xcalloc(spec->fd_count + 1, sizeof(*fds));
	_cleanup_(mem) char **argv = NULL;
	_cleanup_(fd) int ours = -1;
	char numbers[2][NUMBER_SIZE];
	struct launch x;
	int start[2], rc;

	if (pipe2(start, O_CLOEXEC) < 0)
		return error_sys_kind(
			err, &PROC_START_FAILED, "make a pipe for '%s'", spec->program);
	ours = start[0];
	if (spec->fd_count > 0)
		memcpy(fds, spec->fds, spec->fd_count * sizeof(*fds));
	fds[spec->fd_count] = (struct proc_fd){start[1], above_all(spec->fds, spec->fd_count)};
	argv = supervisor_argv(spec, fds[spec->fd_count].as, numbers);
	x = (struct launch){.program = spec->supervisor,
		.argv = argv,
		.fds = fds,
		.fd_count = spec->fd_count + 1};
	rc = launch(&x, spec, s, err);
	os_close(start[1]);
	return rc < 0 ? -1 : read_start(ours, spec, s, err);
}

int proc_start(const struct proc_spec *spec, struct proc_started *ret, struct error *err)
{
	struct launch x = {.program = spec->program,
		.argv = spec->argv,
		.fds = spec->fds,
		.fd_count = spec->fd_count};

	if (spec->supervisor)
		return start_supervised(spec, ret, err);
	return launch(&x, spec, ret, err);
}

void proc_abandon(const struct proc_started *s)
{
	siginfo_t info;

	(void)kill(-s->pid, SIGKILL); /* it may have no group yet, or be gone */
	(void)kill(s->pid, SIGKILL);
	while (waitid(P_PIDFD, (id_t)s->pidfd, &info, WEXITED) < 0 && errno == EINTR)
		;
	os_close(s->pidfd);
}

int proc_spawn(const struct proc_spec *spec, pid_t *ret_pid, int *ret_pidfd, struct error *err)
{
	struct proc_started s;

	if (proc_start(spec, &s, err) < 0)
		return -1;
	*ret_pid = s.pid;
	*ret_pidfd = s.pidfd;
	return 0;
}
