/* The andon cord: what it stops. */
#include "agent/serve/pause.h"

#include "agent/serve/background.h"
#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "log/log.h"

enum { RETRY_MS = 1000 /* agent spec 3.4: the longest wait for a store that refuses */ };

static const char cause[] = "paused";

/* Everything that runs for a bot and outlives its turn. What is added to the daemon of that kind is
 * ended here too. */
static void end_commands(struct daemon *d)
{
	backgrounds_cancel(d);
}

/* Once more does no harm: what has been told to end is not told again. */
static void stop_all(struct daemon *d)
{
	size_t at = 0;
	struct live_turn *t;
	struct parked *p;

	while ((t = table_next(d->live, &at)))
		live_stop(t, cause);
	at = 0;
	while ((p = table_next(d->parks.by_bot, &at)))
		parked_stop(p, cause, NULL);
	end_commands(d);
}

static void on_again(void *arg)
{
	struct daemon *d = arg;

	if (d->pause.now.on && d->store)
		stop_all(d);
}

void pause_init(struct daemon *d)
{
	d->pause.again = loop_timer_new(d->loop, on_again, d);
}

void pause_release(struct daemon *d)
{
	loop_timer_free(mem_take(&d->pause.again));
}

bool pause_holds(const struct daemon *d)
{
	return d->pause.now.on || d->pause.pulling > 0;
}

void pause_retry(struct daemon *d)
{
	if (d->pause.now.on && d->pause.again)
		loop_timer_set(d->pause.again, RETRY_MS);
}

void pause_pulling(struct daemon *d)
{
	d->pause.pulling++;
}

static void hold(struct daemon *d, const struct store_pause *p)
{
	d->pause.now = *p;
	log_event(LOG_WARN, "daemon.paused", LOG_CSTR("by", p->by[0] ? p->by : "a client"),
		LOG_I64("by_id", p->by_id), LOG_I64("active", d->sched.active),
		LOG_I64("parked", d->parks.waiting + d->parks.paced),
		LOG_I64("processes", (int64_t)d->background_count));
	stop_all(d);
}

/* What was held back by the asking alone goes on. */
static void let_go(struct daemon *d)
{
	if (pause_holds(d))
		return;
	d->sched.ready = true;
	schedule_kick(d);
}

void pause_pulled(struct daemon *d, const struct store_pause *p)
{
	must(d->pause.pulling > 0);
	d->pause.pulling--;
	if (!d->store) /* heard after the end: the next daemon finds it */
		return;
	if (p)
		hold(d, p);
	else
		let_go(d);
}

void pause_found(struct daemon *d, const struct store_pause *p)
{
	if (p->on)
		hold(d, p);
}

void pause_ended(struct daemon *d)
{
	if (!d->store)
		return;
	d->pause.now.on = false;
	loop_timer_stop(d->pause.again);
	log_event(LOG_WARN, "daemon.resumed");
	let_go(d);
}
