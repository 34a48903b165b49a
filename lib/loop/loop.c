/*
 * loop: the loop itself: rounds, tasks after the round, posts from other threads, blocking work.
 */
#include "loop/loop.h"

#include <errno.h>
#include <signal.h>

#include "internal.h"

struct loop_post {
	struct loop_post *next;
	void (*fn)(void *arg);
	void *arg;
};

struct loop_exit {
	struct list node;
	void (*fn)(void *arg);
	void *arg;
};

struct deferred {
	struct loop_task task;
	void (*fn)(void *arg);
	void *arg;
};

struct work {
	uv_work_t req;
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

int loop_uv_error(struct error *err, int status, const char *what)
{
	errno = -status;
	return error_sys(err, "%s", what);
}

/* Tasks */

static void busy_tick(uv_idle_t *busy)
{
	(void)busy; /* being active is all it is for */
}

/* Runs what is due now. What these add is for the next round, or two tasks could starve the rest.
 */
static void run_tasks(uv_check_t *check)
{
	struct loop *l = check->data;
	struct list batch;

	list_add_head(&l->tasks, &batch); /* between the head and the first: becomes the new head */
	list_remove(&l->tasks);
	while (!list_empty(&batch)) {
		struct loop_task *t = list_first(&batch, struct loop_task, node);

		list_remove(&t->node);
		t->fn(t->arg);
	}
	if (list_empty(&l->tasks))
		(void)uv_idle_stop(&l->busy); /* documented never to fail */
}

void loop_task_init(struct loop_task *t, void (*fn)(void *arg), void *arg)
{
	*t = (struct loop_task){.fn = fn, .arg = arg};
	list_init(&t->node);
}

void loop_task_add(struct loop *l, struct loop_task *t)
{
	if (loop_task_due(t))
		return;
	list_add_tail(&l->tasks, &t->node);
	(void)uv_idle_start(&l->busy, busy_tick); /* fails only without a callback */
}

void loop_task_cancel(struct loop_task *t)
{
	list_remove(&t->node);
}

bool loop_task_due(const struct loop_task *t)
{
	return !list_empty(&t->node);
}

static void run_deferred(void *arg)
{
	struct deferred *d = arg;
	void (*fn)(void *) = d->fn;
	void *fn_arg = d->arg;

	free(d);
	fn(fn_arg);
}

void loop_defer(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct deferred *d = xcalloc(1, sizeof(*d));

	d->fn = fn;
	d->arg = arg;
	loop_task_init(&d->task, run_deferred, d);
	loop_task_add(l, &d->task);
}

/* Posts */

static struct loop_post *take_posts(struct loop *l)
{
	struct loop_post *first;

	must(pthread_mutex_lock(&l->posts_lock) == 0);
	first = l->posts_first;
	l->posts_first = l->posts_last = NULL;
	must(pthread_mutex_unlock(&l->posts_lock) == 0);
	return first;
}

static void run_posts(uv_async_t *wake)
{
	struct loop_post *next;

	for (struct loop_post *p = take_posts(wake->data); p; p = next) {
		void (*fn)(void *) = p->fn;
		void *arg = p->arg;

		next = p->next;
		free(p);
		fn(arg);
	}
}

static void drop_posts(struct loop *l)
{
	struct loop_post *next;

	for (struct loop_post *p = take_posts(l); p; p = next) {
		next = p->next;
		free(p);
	}
}

void loop_post(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct loop_post *p = xcalloc(1, sizeof(*p));

	p->fn = fn;
	p->arg = arg;
	must(pthread_mutex_lock(&l->posts_lock) == 0);
	if (l->posts_last)
		l->posts_last->next = p;
	else
		l->posts_first = p;
	l->posts_last = p;
	must(pthread_mutex_unlock(&l->posts_lock) == 0);
	must(uv_async_send(&l->wake) == 0);
}

void loop_hold(struct loop *l)
{
	if (l->holds++ == 0)
		uv_ref((uv_handle_t *)&l->wake);
}

void loop_unhold(struct loop *l)
{
	must(l->holds > 0);
	if (--l->holds == 0)
		uv_unref((uv_handle_t *)&l->wake);
}

/* Blocking work */

static void work_run(uv_work_t *req)
{
	struct work *w = req->data;

	w->work(w->arg);
}

static void work_done(uv_work_t *req, int status)
{
	struct work *w = req->data;
	void (*done)(void *) = w->done;
	void *arg = w->arg;

	(void)status; /* only uv_cancel, which nobody calls, makes it other than 0 */
	free(w);
	done(arg);
}

void loop_work(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	struct work *w = xcalloc(1, sizeof(*w));

	w->work = work;
	w->done = done;
	w->arg = arg;
	w->req.data = w;
	must(uv_queue_work(&l->uv, &w->req, work_run, work_done) == 0);
}

/* The loop */

struct loop *loop_new(void)
{
	struct loop *l = xcalloc(1, sizeof(*l));

	/* A peer that left is an EPIPE of that one write, never the end of the process. */
	must(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	must(uv_loop_init(&l->uv) == 0);
	list_init(&l->tasks);
	list_init(&l->orphans);
	list_init(&l->exits);
	must(pthread_mutex_init(&l->posts_lock, NULL) == 0);
	must(uv_async_init(&l->uv, &l->wake, run_posts) == 0);
	must(uv_check_init(&l->uv, &l->after_round) == 0);
	must(uv_check_start(&l->after_round, run_tasks) == 0);
	must(uv_idle_init(&l->uv, &l->busy) == 0);
	l->uv.data = l->wake.data = l->after_round.data = l->busy.data = l;
	uv_unref((uv_handle_t *)&l->wake);
	uv_unref((uv_handle_t *)&l->after_round);
	l->read_buffer = xmalloc(LOOP_READ_BYTES);
	return l;
}

void loop_run(struct loop *l)
{
	(void)uv_run(&l->uv, UV_RUN_DEFAULT); /* says only whether something is left */
}

void loop_stop(struct loop *l)
{
	uv_stop(&l->uv);
}

int64_t loop_now_ms(const struct loop *l)
{
	return (int64_t)uv_now(&l->uv);
}

struct loop_exit *loop_exit_new(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct loop_exit *e = xcalloc(1, sizeof(*e));

	e->fn = fn;
	e->arg = arg;
	list_add_tail(&l->exits, &e->node);
	return e;
}

void loop_exit_free(struct loop_exit *e)
{
	if (!e)
		return;
	list_remove(&e->node);
	free(e);
}

static void run_exits(struct loop *l)
{
	while (!list_empty(&l->exits)) {
		struct loop_exit *e = list_first(&l->exits, struct loop_exit, node);

		list_remove(&e->node); /* fn frees it with the rest of its object */
		e->fn(e->arg);
	}
}

/* What its owner forgot to close would call into freed memory, or be waited for without end. */
static void must_be_closed(uv_handle_t *h, void *arg)
{
	const struct loop *l = arg;

	must(uv_is_closing(h) || h == (const uv_handle_t *)&l->wake ||
		h == (const uv_handle_t *)&l->after_round || h == (const uv_handle_t *)&l->busy);
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	if (l->holds > 0)
		uv_unref((uv_handle_t *)&l->wake);
	l->holds = 0;
	drop_posts(l);
	run_exits(l);
	loop_orphans_close(l);
	uv_walk(&l->uv, must_be_closed, l);
	while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0)
		; /* deferred frees, work on its thread and handles that close; a stop asked for
		     counts once */
	drop_posts(l);
	uv_close((uv_handle_t *)&l->wake, NULL);
	uv_close((uv_handle_t *)&l->after_round, NULL);
	uv_close((uv_handle_t *)&l->busy, NULL);
	while (uv_run(&l->uv, UV_RUN_DEFAULT) != 0)
		;
	must(uv_loop_close(&l->uv) == 0);
	must(pthread_mutex_destroy(&l->posts_lock) == 0);
	free(l->read_buffer);
	free(l);
}
