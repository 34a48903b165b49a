/* wait: outcomes of turns and of background commands, now or when they end. */
#include "agent/serve/wait.h"

#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/session.h"

static const struct error_kind INVALID_TIMEOUT = {"invalid_timeout", ERROR_CLASS_USAGE};

struct wait {
	struct request *r;
	struct daemon *d;
	struct loop_timer *timer;
	struct handle *handles;
	struct handle_watch *watches;
	size_t count;
	bool any, looking, again, expired;
};

static void look(struct wait *w);

static void wait_free(struct wait *w)
{
	for (size_t i = 0; i < w->count; i++)
		handle_unwatch(w->d, &w->watches[i]);
	loop_timer_free(w->timer);
	free(w);
}

static void answer(struct wait *w)
{
	struct request *r = w->r;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	handles_put(&j, w->handles, w->count, 0);
	json_close(&j, '}');
	wait_free(w);
	request_end(r, &j);
}

/* Runs on the reader's thread; the request's arena is this job's meanwhile. */
static int run_look(struct store_view *v, void *arg, struct error *err)
{
	struct wait *w = arg;

	return handles_look(v, w->handles, w->count, 0, &w->r->arena, err);
}

static void look_done(void *arg, int rc, const struct error *err)
{
	struct wait *w = arg;
	struct request *r = w->r;

	w->looking = false;
	if (rc < 0) {
		wait_free(w);
		request_fail(r, err);
	} else if (!r->session || handles_satisfied(w->handles, w->count, w->any) || w->expired) {
		answer(w); /* to nobody when the session left */
	} else if (w->again) {
		look(w);
	}
}

static void look(struct wait *w)
{
	w->again = w->looking;
	if (w->looking)
		return;
	w->looking = true;
	store_read(w->d->store, run_look, look_done, w);
}

static void on_ended(struct handle_watch *watch)
{
	look(watch->arg);
}

static void on_timeout(void *arg)
{
	struct wait *w = arg;

	w->expired = true;
	if (!w->looking)
		answer(w);
}

static void on_abandoned(struct request *r)
{
	struct wait *w = r->work;

	if (!w->looking)
		answer(w);
}

static void watch_all(struct wait *w)
{
	w->watches = arena_alloc(&w->r->arena, w->count * sizeof(*w->watches));
	for (size_t i = 0; i < w->count; i++) {
		w->watches[i] = (struct handle_watch){.ended = on_ended, .arg = w};
		handle_watch(w->d, &w->handles[i], &w->watches[i]);
	}
}

void op_wait(struct request *r, const void *raw)
{
	const struct wait_args *args = raw;
	struct handle *handles = NULL;
	struct error err = ERROR_INIT;
	struct wait *w;

	if (args->timeout_ms < 0 || args->timeout_ms > WAIT_MAX_MS)
		(void)error_set(&err, &INVALID_TIMEOUT, "timeout_ms: 0 to %d", WAIT_MAX_MS);
	if (err.kind || handles_read(&r->arena, &args->handles, &handles, &err) < 0) {
		request_fail(r, &err);
		return;
	}
	w = xcalloc(1, sizeof(*w));
	w->r = r;
	w->d = r->d;
	w->handles = handles;
	w->count = args->handles.count;
	w->any = args->any;
	w->expired = (r->seen & 2) != 0 && args->timeout_ms == 0; /* 0 polls */
	w->timer = loop_timer_new(r->d->loop, on_timeout, w);
	r->work = w;
	r->abandoned = on_abandoned;
	watch_all(w);
	if (args->timeout_ms > 0)
		loop_timer_set(w->timer, args->timeout_ms);
	look(w);
}
