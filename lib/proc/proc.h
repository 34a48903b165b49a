#ifndef PROC_PROC_H
#define PROC_PROC_H
/*
 * proc: start programs, watch their output and their end. The only place that forks, always to exec
 * (as vfork(2) does, so that a large daemon does not copy its page tables). Needs Linux 5.11.
 *
 * A group or a session is all that one process can end by itself; what called setsid or was left
 * behind by its parent gets away. So a command that no pid namespace holds is started under the
 * supervisor, a small program that adopts what its descendants leave behind and ends all of them
 * when the command has ended, when it is told to, and when whoever started it dies.
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
	size_t fd_count;        /* 0, 1, 2 that are not named are /dev/null */
	bool new_session;       /* setsid; else an own process group */
	const char *supervisor; /* absolute path of consort-supervise, or NULL */
};
/* Starts it with default signal dispositions, an empty mask, umask as ours, oom_score_adj as ours.
 * *ret_pidfd is O_CLOEXEC. Failure to exec is reported here, with errno.
 *
 * With a supervisor *ret_pid is the supervisor: its exit status, or the signal that ends it, is the
 * command's and comes when no descendant is left. SIGTERM to it ends the tree. It dies with the
 * thread that started it, so that should be the one that lives as long as the process. */
int proc_spawn(const struct proc_spec *spec, pid_t *ret_pid, int *ret_pidfd, struct error *err);

/* A command: its output captured under caps, its end awaited, its tree ended. */
struct proc_command;
enum proc_end { PROC_EXITED, PROC_SIGNALED, PROC_TIMED_OUT, PROC_OVERFLOWED, PROC_CANCELLED };
struct proc_outcome {
	enum proc_end end;
	int code;   /* exit status, or 128 + signal */
	int signal; /* 0, or what ended it */
};
struct proc_limits {
	int64_t timeout_ms;        /* 0: none */
	uint64_t output_max_bytes; /* per stream; above: ended as PROC_OVERFLOWED. 0: none */
};
/* What is to be done; nothing of it is looked at after the start. */
struct proc_job {
	struct proc_spec spec;
	struct str input; /* stdin is a pipe fed with it, then closed; absent: /dev/null */
	struct proc_limits limits;
};
struct proc_callbacks {
	/* stream 1 or 2, as it comes, up to output_max_bytes; order between the two is as read */
	void (*output)(void *arg, int stream, const char *p, size_t len);
	/* once, when the process has ended and its output is drained. After the main process ended,
	 * output that survivors still hold open is waited for 0 ms: the tree is ended first. */
	void (*ended)(void *arg, const struct proc_outcome *o);
};
/* Timeout, overflow and cancel end the process with its group by SIGKILL; under a supervisor the
 * whole tree, by SIGTERM to the supervisor. Should that not be done after 1 s, the command's group
 * gets SIGKILL, and after 5 s the supervisor too. The same is done to what is left when the process
 * has ended. A stream that spec.fds names is the caller's: it is not captured, or not fed. */
int proc_command_start(struct loop *l, const struct proc_job *job, const struct proc_callbacks *cb,
	void *arg, struct proc_command **ret, struct error *err);
pid_t proc_command_pid(
	const struct proc_command *c); /* the command's own, also under a supervisor */
/* Tells the command alone to end, by SIGTERM; it may take its time, or not. Needs a supervisor, for
 * whom the command's number is surely its own. */
void proc_command_ask_end(struct proc_command *c);
/* Ends the tree; ended() follows with PROC_CANCELLED, unless another reason came first. After
 * ended() nothing happens. */
void proc_command_cancel(struct proc_command *c);
/* Ends it silently if it still runs: the loop is kept until its tree has ended, and is free to be
 * freed before. NULL does nothing. */
void proc_command_free(struct proc_command *c);

#endif
