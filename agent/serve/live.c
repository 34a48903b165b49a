/* Live turns: the machine's actions, writing jobs, the beginning and the end. */
#include "agent/serve/live.h"

#include <stdlib.h>

#include "agent/serve/background.h"
#include "agent/serve/daemon.h"
#include "agent/serve/rulebook.h"
#include "agent/serve/served.h"
#include "agent/serve/steps.h"
#include "log/log.h"

enum {
	BACKOFF_FIRST_MS = 10, /* agent spec 3.4: 10 ms to 1 s */
	BACKOFF_MAX_MS = 1000,
};

static void stop_model(struct live_turn *t);
static void let_go(struct live_turn *t);

static void commit_append(struct live_turn *t)
{
	live_commit_append(t, false);
}

static void commit_last(struct live_turn *t)
{
	live_commit_append(t, true);
}

static void do_nothing(struct live_turn *t)
{
	(void)t;
}

static void (*const actions[])(struct live_turn *t) = {
	[DO_NOTHING] = do_nothing,
	[LOOK_ROUND] = live_boundary,
	[READ_CONTEXT] = live_read_context,
	[COMMIT_WINDOW] = live_commit_window,
	[ASK_SUMMARY] = live_ask_summary,
	[COMMIT_SUMMARY] = live_commit_summary,
	[ASK_MODEL] = live_ask_model,
	[STOP_MODEL] = stop_model,
	[COMMIT_APPEND] = commit_append,
	[COMMIT_LAST] = commit_last,
	[DECIDE_CALL] = live_decide,
	[COMMIT_ANNOUNCE] = live_commit_announce,
	[WAIT_VERDICTS] = live_wait_verdicts,
	[WAIT_HOST] = live_wait_host,
	[COMMIT_START] = live_commit_start,
	[RUN_TOOL] = live_run_tool,
	[STOP_TOOL] = live_stop_tool,
	[COMMIT_RESULT] = live_commit_result,
	[COMMIT_UNRUN] = live_commit_unrun,
	[COMMIT_PARK] = live_commit_park,
	[COMMIT_FINISH] = live_commit_finish,
	[LEAVE] = live_leave,
	[LET_GO] = let_go,
};

void live_step(struct live_turn *t, enum turn_event e)
{
	enum turn_state from = t->state;
	enum turn_action then;

	if (!turn_step(&t->state, e, &then)) {
		log_event(LOG_DEBUG, "turn.no_move", LOG_I64("turn", t->info.id),
			LOG_CSTR("state", turn_state_name(from)),
			LOG_CSTR("event", turn_event_name(e)));
		return;
	}
	actions[then](t);
}

/*
 * Writing jobs. One that the store refuses (a full disk) is tried again until it is taken; the bot
 * stays busy meanwhile and other bots go on.
 */
static void submit_job(struct live_turn *t);

static void retry_later(struct live_turn *t)
{
	t->backoff_ms = t->backoff_ms == 0 ? BACKOFF_FIRST_MS : t->backoff_ms * 2;
	if (t->backoff_ms > BACKOFF_MAX_MS)
		t->backoff_ms = BACKOFF_MAX_MS;
	loop_timer_set(t->timer, t->backoff_ms);
}

/* Refused for good: the turn fails with it, or, when that was its outcome already, is let go. The
 * next start of the daemon then finds it running and says so. */
static void job_failed(struct live_turn *t, const struct error *err)
{
	bool lost = t->state == TURN_ENDING && t->fault.kind;

	log_event(LOG_ERROR, "turn.store_failed", LOG_I64("turn", t->info.id),
		LOG_CSTR("state", turn_state_name(t->state)), LOG_ERR(err));
	t->job_pending = false;
	if (!t->fault.kind)
		t->fault = *err;
	live_step(t, lost ? EV_LOST : EV_COMMIT_FAILED);
}

static enum turn_event committed(const struct live_turn *t)
{
	if (t->state == TURN_CLOSING && t->steers_taken > 0)
		return t->stop ? EV_STEERED_STOP : EV_STEERED;
	return t->stop ? EV_COMMITTED_STOP : EV_COMMITTED;
}

static void on_job(void *arg, int rc, const struct error *err)
{
	struct live_turn *t = arg;

	if (t->abandoned)
		return;
	if (rc < 0 && !error_is(err, &DB_ERROR)) {
		job_failed(t, err);
		return;
	}
	if (rc < 0) {
		log_event(LOG_WARN, "turn.store_refused", LOG_I64("turn", t->info.id),
			LOG_CSTR("state", turn_state_name(t->state)), LOG_ERR(err));
		retry_later(t);
		return;
	}
	t->backoff_ms = 0;
	t->job_pending = false;
	if (t->job_done)
		t->job_done(t);
	live_step(t, committed(t));
}

static void submit_job(struct live_turn *t)
{
	store_write(t->d->store, t->job, on_job, t);
}

void live_commit(struct live_turn *t, int (*job)(struct store_tx *, void *, struct error *),
	void (*done)(struct live_turn *))
{
	must(!t->job_pending);
	loop_timer_stop(t->timer); /* no gate's expiry counts now: it is for the next try */
	t->job_pending = true;
	t->job = job;
	t->job_done = done;
	submit_job(t);
}

/* The one timer: the first step, a gate's expiry or the end of the hold while gated, the next try
 * of a model call, or of a job. */
static void on_timer(void *arg)
{
	struct live_turn *t = arg;

	if (t->job_pending)
		submit_job(t);
	else if (t->state == TURN_NEW)
		live_step(t, EV_BEGIN);
	else if (t->state == TURN_MODEL)
		live_step(t, EV_MODEL_AGAIN);
	else if (t->state == TURN_GATED)
		live_gate_timer(t);
	else if (t->state == TURN_HOSTLESS)
		live_park_host(t);
}

/* Deep copies of what outlives the call that started the turn. */
static struct str keep(struct arena *a, struct str s)
{
	return s.p ? (struct str){arena_strndup(a, s.p, s.len), s.len} : s;
}

static struct str_list keep_list(struct arena *a, struct str_list l)
{
	struct str *items = arena_alloc(a, (l.count + 1) * sizeof(*items));

	for (size_t i = 0; i < l.count; i++)
		items[i] = keep(a, l.items[i]);
	return (struct str_list){items, l.count};
}

static void keep_gates(struct arena *a, struct bot_settings *set)
{
	struct gate *gates = arena_alloc(a, (set->gate_count + 1) * sizeof(*gates));

	for (size_t i = 0; i < set->gate_count; i++) {
		gates[i].tag = keep(a, set->gates[i].tag);
		gates[i].tools = keep_list(a, set->gates[i].tools);
		gates[i].expire_ms = set->gates[i].expire_ms;
	}
	set->gates = gates;
}

void live_keep_bot(struct arena *a, const struct bot *b, struct bot *ret)
{
	struct bot_settings *set = &ret->set;

	*ret = *b;
	ret->name = keep(a, b->name);
	ret->provider = keep(a, b->provider);
	ret->family = keep(a, b->family);
	ret->created_by = keep(a, b->created_by);
	set->model = keep(a, set->model);
	set->instructions = keep(a, set->instructions);
	set->reasoning = keep(a, set->reasoning);
	set->tools = keep_list(a, set->tools);
	set->workspace = keep(a, set->workspace);
	set->writable_roots = keep_list(a, set->writable_roots);
	set->unix_sockets = keep_list(a, set->unix_sockets);
	set->compaction_instructions = keep(a, set->compaction_instructions);
	set->compaction_model = keep(a, set->compaction_model);
	set->fallbacks = keep_list(a, set->fallbacks);
	set->allowed = keep_list(a, set->allowed);
	set->rules = (struct str){NULL, 0};
	served_tools_keep(a, &set->served);
	keep_gates(a, set);
}

/* The settings as they are now. */
static void take_bot(struct live_turn *t, const struct bot *b)
{
	const struct ruleset *before = t->rules;

	live_keep_bot(&t->arena, b, &t->bot);
	t->rules = rulebook_take(t->d->rulebook, b->set.rules);
	if (t->rules)
		t->bot.set.rules = t->rules->text;
	rulebook_give(t->d->rulebook, before);
	t->version++;
}

struct live_turn *live_new(struct daemon *d, const struct store_turn *info, const struct bot *bot)
{
	struct live_turn *t = xcalloc(1, sizeof(*t));

	t->d = d;
	take_bot(t, bot);
	t->info = *info;
	t->info.bot_name = t->bot.name;
	t->info.request_id = keep(&t->arena, info->request_id);
	t->info.prompt = t->info.pictures = (struct str){NULL, 0};
	t->info.model = keep(&t->arena, info->model.p ? info->model : bot->set.model);
	t->info.from_bot = keep(&t->arena, info->from_bot);
	t->workspace = keep(&t->arena, info->workspace.p ? info->workspace : bot->set.workspace);
	t->info.workspace = t->workspace;
	t->info.origin = keep(&t->arena, info->origin);
	t->steers = info->was_queued;
	t->rounds = info->rounds;
	t->timer = loop_timer_new(d->loop, on_timer, t);
	live_claim_init(t);
	list_init(&t->steps);
	must(!table_set(d->live, t->bot.name, t));
	return t;
}

void live_start(struct daemon *d, const struct store_turn *info, const struct bot *bot)
{
	struct live_turn *t;

	if (!d->store) { /* heard after the end: the next daemon finds it interrupted */
		schedule_unreserve(d);
		return;
	}
	t = live_new(d, info, bot);
	t->state = TURN_NEW;
	log_event(LOG_INFO, "turn.started", LOG_I64("bot", t->bot.id), LOG_I64("turn", t->info.id));
	/* In the next round: the replies of one commit go out before its turns begin. */
	loop_timer_set(t->timer, 0);
	if (d->closing)
		live_stop(t, "daemon_shutdown");
}

struct live_turn *live_find(struct daemon *d, struct str bot)
{
	return table_get(d->live, bot);
}

void live_stop(struct live_turn *t, const char *cause)
{
	if (t->abandoned || t->stop || t->state == TURN_ENDING || t->state == TURN_OVER)
		return;
	t->stop = true;
	t->stop_cause = cause;
	live_step(t, EV_STOP);
}

void live_configured(struct daemon *d, const struct bot *b)
{
	struct live_turn *t = live_find(d, b->name);

	if (t && t->bot.id == b->id)
		take_bot(t, b);
}

void live_round_release(struct live_turn *t)
{
	for (size_t i = 0; i < t->call_count; i++)
		verdicts_release(&t->calls[i].verdicts);
	t->calls = NULL;
	t->call_count = t->at = 0;
	arena_release(&t->round);
}

static void stop_model(struct live_turn *t)
{
	provider_call_cancel(mem_take(&t->call));
	live_context_release(t);
	live_commit_finish(t);
}

static int run_finish(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;

	return store_turn_finish(tx, &t->finish, &t->finished, err);
}

/* The outcome by what happened: a stop's cause, a failure, or completed. */
static void set_finish(struct live_turn *t)
{
	t->finish = (struct store_finish){.bot = t->bot.id,
		.turn = t->info.id,
		.status = TURN_COMPLETED,
		.retain_turns = t->bot.set.limits.retain_turns};
	if (t->fault.kind) {
		t->finish.status = TURN_FAILED;
		t->finish.error = t->fault_code.p ? t->fault_code : str_from(error_code(&t->fault));
		t->finish.detail = str_from(t->fault.text);
	} else if (t->stop) {
		t->finish.status = TURN_INTERRUPTED;
		t->finish.error = str_from(t->stop_cause);
	}
}

void live_commit_finish(struct live_turn *t)
{
	set_finish(t);
	live_commit(t, run_finish, NULL);
}

static void turn_free(void *arg)
{
	struct live_turn *t = arg;

	steps_over(t);
	served_recorded(t, false);
	live_round_release(t);
	live_context_release(t);
	loop_timer_free(t->timer);
	rulebook_give(t->d->rulebook, t->rules);
	arena_release(&t->arena);
	free(t);
}

void live_release(struct live_turn *t)
{
	must(table_remove(t->d->live, t->bot.name) == t);
	live_warm_end(t);
	loop_timer_stop(t->timer);
	if (t->reads_pending == 0)
		loop_defer(t->d->loop, turn_free, t);
	schedule_unreserve(t->d);
}

static void let_go(struct live_turn *t)
{
	struct daemon *d = t->d;

	log_event(LOG_INFO, "turn.done", LOG_I64("bot", t->bot.id), LOG_I64("turn", t->info.id),
		LOG_CSTR("status", turn_status_names[t->finish.status]),
		LOG_I64("rounds", t->rounds));
	waiters_notify(d, t->info.id);
	d->sched.ready = d->sched.ready || t->finished.next_ready;
	live_release(t);
	schedule_kick(d);
}

void live_read_returned(struct live_turn *t)
{
	if (--t->reads_pending == 0 && t->state == TURN_OVER && !t->abandoned)
		loop_defer(t->d->loop, turn_free, t);
}

void live_abandon(struct live_turn *t)
{
	t->abandoned = true;
	live_warm_end(t);
	if (t->run)
		t->calls[t->at].tool->free(mem_take(&t->run));
	provider_call_cancel(mem_take(&t->call));
	schedule_process_forget(t->d, &t->claim);
	steps_over(t);
	loop_timer_stop(t->timer);
}

void live_free(struct live_turn *t)
{
	turn_free(t);
}
