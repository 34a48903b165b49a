/* Slots for turns and processes. */
#include "agent/serve/schedule.h"

#include <malloc.h>
#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "log/log.h"

enum {
	RETRY_MS = 1000,       /* agent spec 3.4: the longest wait for a store that refuses */
	BURST_TURNS = 32,      /* ours: so many at once leave something worth the search */
	TRIM_AFTER_MS = 2000,  /* ours: nothing ran for so long */
	TRIM_AGAIN_MS = 65000, /* ours: connections that were kept (fetch: 60 s) are gone too */
};

struct start {
	struct daemon *d;
	struct arena arena;
	struct store_turn turn;
	struct bot bot;
	bool found;
};

static void on_retry(void *arg)
{
	schedule_kick(arg);
}

/* What many turns at once took (streams, TLS, contexts) lies free in the heap, and malloc keeps it
 * for ever where something small stands behind it. Not for a turn at a time, and not between two
 * turns that follow each other. */
static void on_trim(void *arg)
{
	struct daemon *d = arg;

	if (d->sched.active > 0)
		return;       /* the last of these sets it again */
	(void)malloc_trim(0); /* whether there was something to give back */
	if (d->sched.most_active > 0)
		loop_timer_set(d->sched.trim, TRIM_AGAIN_MS);
	d->sched.most_active = 0;
}

void schedule_init(struct daemon *d, int64_t active_max, int64_t processes_max)
{
	struct schedule *s = &d->sched;

	*s = (struct schedule){.active_max = active_max, .processes_max = processes_max};
	list_init(&s->process_queue);
	s->retry = loop_timer_new(d->loop, on_retry, d);
	s->trim = loop_timer_new(d->loop, on_trim, d);
	loop_timer_unref(s->trim); /* nobody waits for it */
}

void schedule_release(struct daemon *d)
{
	loop_timer_free(mem_take(&d->sched.retry));
	loop_timer_free(mem_take(&d->sched.trim));
}

bool schedule_reserve(struct daemon *d)
{
	struct schedule *s = &d->sched;

	if (d->draining || pause_holds(d) || s->active >= s->active_max)
		return false;
	s->active++;
	if (s->active > s->most_active)
		s->most_active = s->active;
	return true;
}

void schedule_unreserve(struct daemon *d)
{
	must(d->sched.active > 0);
	d->sched.active--;
	if (d->sched.active == 0 && d->sched.most_active >= BURST_TURNS)
		loop_timer_set(d->sched.trim, TRIM_AFTER_MS);
	daemon_look_idle(d);
}

static int run_start(struct store_tx *tx, void *arg, struct error *err)
{
	struct start *s = arg;

	return store_turn_start_ready(
		tx, live_user_item, &s->arena, &s->turn, &s->bot, &s->found, err);
}

static void start_done(void *arg, int rc, const struct error *err)
{
	struct start *s = arg;
	struct daemon *d = s->d;

	d->sched.starting = false;
	if (rc == 0 && s->found) {
		live_start(d, &s->turn, &s->bot);
	} else {
		if (rc < 0)
			log_event(LOG_WARN, "turn.start_failed", LOG_ERR(err));
		else
			d->sched.ready = false;
		schedule_unreserve(d);
	}
	arena_release(&s->arena);
	free(s);
	if (rc == 0)
		schedule_kick(d);
	else
		loop_timer_set(d->sched.retry, RETRY_MS);
}

/* Parked turns that go on come before those that have not begun. */
void schedule_kick(struct daemon *d)
{
	struct start *s;

	while (parks_want(d) && schedule_reserve(d))
		parks_start_next(d);
	if (!d->sched.ready || d->sched.starting || !schedule_reserve(d))
		return;
	d->sched.starting = true;
	s = xcalloc(1, sizeof(*s));
	s->d = d;
	store_write(d->store, run_start, start_done, s);
}

static bool has_slot(const struct schedule *s)
{
	return s->processes_max == 0 || s->processes < s->processes_max;
}

bool schedule_process(struct daemon *d, struct process_claim *c)
{
	struct schedule *s = &d->sched;

	if (has_slot(s)) {
		s->processes++;
		return true;
	}
	list_add_tail(&s->process_queue, &c->in_queue);
	s->process_queued++;
	return false;
}

bool schedule_process_full(const struct daemon *d)
{
	const struct schedule *s = &d->sched;

	return !has_slot(s) && s->process_queued >= s->processes_max;
}

void schedule_process_done(struct daemon *d)
{
	struct schedule *s = &d->sched;

	must(s->processes > 0);
	s->processes--;
	if (s->granting)
		return; /* one that was granted did not start: the loop below goes on */
	s->granting = true;
	while (has_slot(s) && !list_empty(&s->process_queue)) {
		struct process_claim *c = list_first(
			&s->process_queue, struct process_claim, in_queue);

		schedule_process_forget(d, c);
		s->processes++;
		c->granted(c);
	}
	s->granting = false;
}

void schedule_process_forget(struct daemon *d, struct process_claim *c)
{
	if (list_empty(&c->in_queue))
		return;
	list_remove(&c->in_queue);
	d->sched.process_queued--;
}
