/*
 * Live turns: parking and coming back. What the turn waits for is committed, then its task ends:
 * what stays is a row and a small entry (serve/park.h). Coming back is the same way in reverse: the
 * round is rebuilt from the store and goes on where it was.
 */
#include "agent/core/limits.h"
#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "agent/serve/round.h"
#include "log/log.h"

/*
 * Between two rounds.
 */
int live_take_steers(struct store_tx *tx, struct live_turn *t, struct error *err)
{
	const struct store_steer s = {t->info.bot, t->info.id, live_user_item};

	return store_steers_take(tx, &s, &t->steers_taken, &t->steers_more, err);
}

static int run_take(struct store_tx *tx, void *arg, struct error *err)
{
	return live_take_steers(tx, arg, err);
}

static void taken(struct live_turn *t)
{
	t->steers = t->steers_more;
}

/* Steers that come while this passes are found at the next boundary, or by the commit of the last
 * reply, which looks in any case. Where no call could follow they are left to be turns of their
 * own. */
void live_boundary(struct live_turn *t)
{
	if (t->steers && t->rounds < ROUNDS_MAX)
		live_commit(t, run_take, taken);
	else
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

/* What was decided while the calls waited live is kept with the park. */
static void keep_decided(struct live_turn *t)
{
	struct store_partial *list = arena_alloc(&t->round, (t->call_count + 1) * sizeof(*list));
	struct str *after = arena_alloc(&t->round, (t->call_count + 1) * sizeof(*after));

	for (size_t i = t->at; i < t->call_count; i++) {
		const struct live_call *c = &t->calls[i];
		struct store_verdict *rows = arena_alloc(&t->round, BOT_GATES_MAX * sizeof(*rows));
		size_t count = round_decided(&c->verdicts, rows);

		if (count > 0)
			list[t->park.partial_count++] = (struct store_partial){
				.call_id = c->call_id, .verdicts = rows, .count = count};
		t->park.requests += live_call_pending(t, i);
		if (c->verdicts.prior_done)
			after[t->park.prior_done.count++] = c->call_id;
	}
	t->park.prior_done.items = after;
	t->park.partials = list;
}

void live_park_verdict(struct live_turn *t)
{
	const struct live_call *c = &t->calls[t->at];
	int64_t now_ms = live_gate_now(t, c), in = verdicts_expire_in(&c->verdicts, now_ms);

	set_park(t, PARK_VERDICT, now_ms - clock_mono_ms(t->d->clock));
	t->park.call_id = c->call_id;
	t->park.deadline_ms = in >= 0 ? now_ms + in : 0;
	keep_decided(t);
	live_step(t, EV_PARK);
}

void live_wait_host(struct live_turn *t)
{
	loop_timer_set(t->timer, t->bot.set.limits.approval_hold_ms);
}

/* Nothing was given to anybody: the call is planned still. */
void live_park_host(struct live_turn *t)
{
	set_park(t, PARK_HOST, clock_real_ms(t->d->clock) - clock_mono_ms(t->d->clock));
	t->park.call_id = t->calls[t->at].call_id;
	t->park.host = t->calls[t->at].served->host;
	keep_decided(t);
	live_step(t, EV_PARK);
}

void live_park_handles(struct live_turn *t, const struct tool_wait *w)
{
	set_park(t, PARK_HANDLES, clock_real_ms(t->d->clock) - clock_mono_ms(t->d->clock));
	t->park.call_id = t->calls[t->at].call_id;
	t->park.handles = w->handles;
	t->park.any = w->any;
	if (t->wait_until_mono_ms > 0)
		t->park.deadline_ms = t->wait_until_mono_ms + t->park_offset_ms;
	live_step(t, EV_PARK);
}

/*
 * Coming back.
 */

/* A call of the round. What nobody was asked for is planned anew; what was keeps its verdicts and
 * what they were asked for, and is judged against that when it runs. */
static void rebuild_call(
	struct live_turn *t, const struct store_round *r, const struct store_open_call *row)
{
	struct live_call *c = &t->calls[t->call_count];
	struct error err = ERROR_INIT;

	if (round_call(&t->round, row, t->park_offset_ms, c, &err) < 0) {
		log_event(LOG_ERROR, "turn.call_damaged", LOG_I64("turn", t->info.id),
			LOG_I64("node", row->node), LOG_ERR(&err));
		c->call_id = (struct str){
			arena_strndup(&t->round, row->call_id.p, row->call_id.len),
			row->call_id.len};
		c->name = STR("");
		c->refusal = err;
	} else if (c->required || c->started) {
		(void)live_prepare_call(t, c); /* or it is refused */
	} else {
		live_plan_call(t, c);
	}
	c->verdicts.prior_done = c->required && round_is_after(&r->park, c->call_id);
	t->call_count++;
}

static void rebuild(struct live_turn *t, const struct store_round *r)
{
	t->calls = arena_alloc(&t->round, (r->call_count + 1) * sizeof(*t->calls));
	for (size_t i = 0; i < r->call_count; i++)
		rebuild_call(t, r, &r->calls[i]);
}

void live_resume(
	struct daemon *d, const struct store_round *r, int64_t offset_ms, const char *cause)
{
	static const enum turn_event events[] = {
		[PARK_PACED] = EV_RESUMED,
		[PARK_HANDLES] = EV_RESUMED_WAIT,
		[PARK_VERDICT] = EV_RESUMED_CALL,
		[PARK_HOST] = EV_RESUMED_CALL,
	};
	struct live_turn *t = live_new(d, &r->turn, &r->bot);

	t->state = TURN_RESUMING;
	t->park_offset_ms = offset_ms;
	log_event(LOG_INFO, "turn.resumed", LOG_I64("bot", t->bot.id), LOG_I64("turn", t->info.id));
	t->steers = true;
	rebuild(t, r);
	t->wait_resumed = r->park.kind == PARK_HANDLES;
	if (r->park.deadline_ms > 0)
		t->wait_until_mono_ms = r->park.deadline_ms - offset_ms;
	live_step(t, events[r->park.kind]);
	if (cause)
		live_stop(t, cause);
	else if (d->closing)
		live_stop(t, "daemon_shutdown");
}
