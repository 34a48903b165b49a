/*
 * Live turns: parking and coming back. What the turn waits for is committed, then its task ends:
 * what stays is a row and a small entry (serve/park.h). Coming back is the same way in reverse: the
 * round is rebuilt from the store and goes on where it was.
 */
#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "log/log.h"

/*
 * Between two rounds.
 */
void live_boundary(struct live_turn *t)
{
	live_step(t, EV_CLEAR);
}

/*
 * Parking.
 */
static int run_park(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;

	return store_park(tx, &t->park, err);
}

void live_commit_park(struct live_turn *t)
{
	live_commit(t, run_park, NULL);
}

/* What it holds by name goes with it: the entry keeps copies. */
void live_leave(struct live_turn *t)
{
	struct daemon *d = t->d;
	struct parked *p;

	log_event(LOG_INFO, "turn.parked", LOG_I64("bot", t->bot.id), LOG_I64("turn", t->info.id),
		LOG_CSTR("for", t->park.kind == PARK_PACED ? "provider" : t->park.call_id.p));
	live_release(t);
	p = parked_enter(d, &t->park, t->park_offset_ms);
	/* a shutdown leaves parked turns parked */
	if (t->stop && !d->closing)
		parked_stop(p, t->stop_cause, NULL);
	schedule_kick(d);
}

static void set_park(struct live_turn *t, enum park_kind kind, int64_t offset_ms)
{
	t->park_offset_ms = offset_ms;
	t->park = (struct store_park){
		.bot = t->bot.id,
		.turn = t->info.id,
		.bot_name = t->bot.name,
		.kind = kind,
		.parked_ms = clock_mono_ms(t->d->clock) + offset_ms,
	};
}

void live_park_paced(struct live_turn *t, int64_t until_mono_ms)
{
	int64_t now_ms = clock_mono_ms(t->d->clock);

	provider_call_cancel(mem_take(&t->call));
	set_park(t, PARK_PACED, clock_real_ms(t->d->clock) - now_ms);
	t->park.deadline_ms = until_mono_ms + t->park_offset_ms;
	live_step(t, EV_PACED);
}

/*
 * Coming back.
 */
void live_resume(
	struct daemon *d, const struct store_round *r, int64_t offset_ms, const char *cause)
{
	struct live_turn *t = live_new(d, &r->turn, &r->bot);

	t->state = TURN_RESUMING;
	t->park_offset_ms = offset_ms;
	log_event(LOG_INFO, "turn.resumed", LOG_I64("bot", t->bot.id), LOG_I64("turn", t->info.id));
	live_step(t, EV_RESUMED);
	if (cause)
		live_stop(t, cause);
	else if (d->closing)
		live_stop(t, "daemon_shutdown");
}
