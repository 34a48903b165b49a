#ifndef LOOP_INTERNAL_H
#define LOOP_INTERNAL_H
/*
 * What the files of lib/loop share: the loop itself, and tasks: calls made after the round.
 */
#include <pthread.h>
#include <uv.h>

#include "loop/loop.h"

enum {
	LOOP_READ_BYTES = 65536, /* ours: what a pipe holds; one read a round keeps streams fair */
};

/* A call to make after the round, in order. Embedded in its owner; linked while it is due. */
struct loop_task {
	struct list node;
	void (*fn)(void *arg);
	void *arg;
};

struct loop_post; /* a call another thread asked for */

struct loop {
	uv_loop_t uv;
	uv_async_t wake; /* posts arrived */
	uv_check_t after_round;
	uv_idle_t busy; /* active while tasks are due, so that polling does not wait */
	struct list tasks;
	pthread_mutex_t posts_lock; /* guards the two below, nothing else is shared */
	struct loop_post *posts_first, *posts_last;
	unsigned holds;
	struct list orphans; /* children that were let go while they ran */
	struct list exits;   /* loop_exit: what loop_free closes itself */
	char *read_buffer;   /* LOOP_READ_BYTES, lent to one data() at a time */
};

void loop_task_init(struct loop_task *t, void (*fn)(void *arg), void *arg);
void loop_task_add(struct loop *l, struct loop_task *t); /* due already: does nothing */
void loop_task_cancel(struct loop_task *t);
bool loop_task_due(const struct loop_task *t);

/* Closes what waits for children nobody watches any more. */
void loop_orphans_close(struct loop *l);

/* ERROR_SYS from what libuv returned. Returns -1. */
int loop_uv_error(struct error *err, int status, const char *what);

#endif
