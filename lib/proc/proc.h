#ifndef PROC_PROC_H
#define PROC_PROC_H
/*
 * proc: start programs, watch their output and their end. The only place that forks, always to exec
 * (vfork/posix_spawn, so that a large daemon does not copy its page tables).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error/error.h"
#include "loop/loop.h"
#include "text/text.h"

extern const struct error_kind PROC_START_FAILED; /* process_start_failed */

/* A descriptor the child gets under another number. Everything else is closed in the child. */
struct proc_fd {
	int fd, as;
};
struct proc_spec {
	const char *program; /* absolute path */
	char *const *argv;   /* NULL-terminated */
	char *const *env;    /* NULL-terminated; NULL: ours */
	const char *cwd;     /* NULL: ours */
	const struct proc_fd *fds;
	size_t fd_count;     /* 0, 1, 2 that are not named are /dev/null */
	bool new_session;    /* setsid; else an own process group */
};
/* Starts it with default signal dispositions, an empty mask, umask as ours, oom_score_adj as ours.
 * *ret_pidfd is O_CLOEXEC. Failure to exec is reported here, with errno. */
int proc_spawn(const struct proc_spec *spec, pid_t *ret_pid, int *ret_pidfd, struct error *err);

/*
 * A command: its output captured under caps, its end awaited, its tree ended. stdin is a pipe fed with
 * `input` (then closed), or /dev/null.
 */
struct proc_command;
struct proc_stream_result {
	struct str head, tail; /* of at most keep_head/keep_tail bytes each, see below */
	uint64_t total_bytes;
};
enum proc_end { PROC_EXITED, PROC_SIGNALED, PROC_TIMED_OUT, PROC_OVERFLOWED, PROC_CANCELLED };
struct proc_outcome {
	enum proc_end end;
	int code;   /* exit status, or 128 + signal */
	int signal; /* 0, or what ended it */
};
struct proc_limits {
	int64_t timeout_ms;         /* 0: none */
	uint64_t output_max_bytes;  /* per stream; above: ended as PROC_OVERFLOWED. 0: none */
};
struct proc_callbacks {
	/* stream 1 or 2, as it comes; order between the two is as read */
	void (*output)(void *arg, int stream, const char *p, size_t len);
	/* once, when the process has ended and its output is drained. After the main process ended, output
	 * that survivors still hold open is waited for 0 ms: the tree is ended first. */
	void (*ended)(void *arg, const struct proc_outcome *o);
};
/* kill_pidfd: what SIGKILL ends on timeout, overflow and cancel: the group of the process, and with a
 * supervisor (proc_supervised) its whole tree. */
int proc_command_start(struct loop *l, const struct proc_spec *spec, struct str input,
	const struct proc_limits *limits, const struct proc_callbacks *cb, void *arg,
	struct proc_command **ret, struct error *err);
pid_t proc_command_pid(const struct proc_command *c);
/* Ends the tree; ended() follows with PROC_CANCELLED. */
void proc_command_cancel(struct proc_command *c);
void proc_command_free(struct proc_command *c); /* ends it silently if it still runs */

#endif
