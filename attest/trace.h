#ifndef ATTEST_TRACE_H
#define ATTEST_TRACE_H
/*
 * A program's system calls, as strace wrote them down. A line that cannot be read breaks the case:
 * a promise that is held by reading a trace must not be held by skipping what is not understood.
 */
#include "attest/attest.h"

/* The value of a call that did not return. */
#define TRACE_NO_VALUE INT64_MIN

struct trace_call {
	pid_t thread;
	int64_t at_us; /* since the epoch */
	const char *name;
	struct str args;  /* between the brackets, as strace prints them */
	struct str after; /* behind the equals sign */
	int64_t value;
};
struct trace {
	const struct trace_call *calls; /* in the order of their ends */
	size_t count;
};

/* Starts a daemon under strace. `calls` is what strace's -e trace= takes; the ones that make
 * processes and threads are added to it. The trace goes to `file`. */
struct attest_daemon *trace_daemon(
	struct attest *t, const struct attest_start *s, const char *file, const char *calls);
/* The argv of strace alone, to put before a program. */
const char *const *trace_argv(struct attest *t, const char *file, const char *calls);
/* The pid of the daemon itself: d->pid is strace's. */
pid_t trace_pid(struct attest *t, const struct attest_daemon *d);
/* SIGTERM to the daemon; broken unless it exits 0. Only then is the trace whole. */
void trace_stop(struct attest *t, struct attest_daemon *d);
struct trace trace_read(struct attest *t, const char *file);

/* One of the process's own threads made the call, not a child. */
bool trace_is_of(const struct trace *tr, const struct trace_call *c, pid_t process);
/* One of the calls that make threads and processes, which stand in every trace. */
bool trace_makes_thread(const struct trace_call *c);
bool trace_names(const struct trace_call *c, const char *name);
bool trace_has(const struct trace_call *c, const char *needle); /* in its arguments */
/* The index of the first call of that name at or after number `at` whose arguments hold the needle
 * (NULL: any), or -1. */
ptrdiff_t trace_find(const struct trace *tr, size_t at, const char *name, const char *needle);

#endif
