/* Steps of a served call. */
#include "agent/serve/steps.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/served.h"
#include "agent/io/store_steps.h"
#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "agent/serve/round.h"
#include "agent/serve/served.h"
#include "agent/serve/session.h"

const struct error_kind STEP_EXISTS = {"step_exists", ERROR_CLASS_CONFLICT};
const struct error_kind STEP_LIMIT = {"step_limit", ERROR_CLASS_LIMIT};
const struct error_kind STEP_NOT_OPEN = {"no_pending_step", ERROR_CLASS_NOT_FOUND};

enum {
	ARGUMENTS_MAX_BYTES = 1024 * 1024,             /* what a request's line can hold */
	CLEAN_MAX_BYTES = 16 * STEP_SUMMARY_MAX_BYTES, /* with what redaction puts in */
};

enum step_state {
	STEP_ANNOUNCING,
	STEP_WAITING,
	STEP_DECIDING,
	STEP_DECIDED,
	STEP_ENDED,
};

/* In memory of its own: a job may hold it longer than its turn lives. */
struct step {
	struct list in_turn;
	struct daemon *d;
	struct live_turn *turn; /* NULL: its call is over */
	struct request *asker;  /* NULL: answered */
	struct arena arena;
	enum step_state state;
	bool busy; /* a store job holds it */
	struct store_step row;
	struct str arguments;
	struct verdicts verdicts;
	struct store_verdict rows[BOT_GATES_MAX];
	size_t row_count;
	int64_t announced_ms, announced_mono_ms;
	struct loop_timer *timer;
};

static void step_free(struct step *s)
{
	verdicts_release(&s->verdicts);
	loop_timer_free(s->timer);
	arena_release(&s->arena);
	free(s);
}

static struct str keep(struct step *s, struct str text)
{
	return (struct str){arena_strndup(&s->arena, text.p, text.len), text.len};
}

/* Back from a job: false when nobody waits for it any more, and it is gone. */
static bool is_back(struct step *s)
{
	s->busy = false;
	if (s->turn)
		return true;
	step_free(s);
	return false;
}

static void start_job(struct step *s, int (*run)(struct store_tx *, void *, struct error *),
	void (*done)(void *, int, const struct error *))
{
	s->busy = true;
	store_write(s->d->store, run, done, s);
}

static int64_t gate_now(const struct step *s)
{
	return s->verdicts.announced_ms + clock_mono_ms(s->d->clock) - s->announced_mono_ms;
}

static struct asked as_asked(const struct step *s)
{
	return (struct asked){.bot = &s->turn->bot,
		.turn = &s->turn->info,
		.call_id = s->row.call_id,
		.step = s->row.step,
		.name = s->row.name,
		.arguments = s->arguments,
		.node = s->row.node,
		.verdicts = &s->verdicts};
}

/*
 * The verdict.
 */
static int run_decide(struct store_tx *tx, void *arg, struct error *err)
{
	struct step *s = arg;

	return store_step_decide(tx, &s->row, s->rows, s->row_count,
		verdicts_outcome(&s->verdicts) == VERDICT_ALLOWED, err);
}

/* Who decided: the one that denied, or the last that allowed. */
static const struct verdict_slot *decider(const struct verdicts *v)
{
	const struct verdict_slot *slot = verdicts_denier(v);

	for (size_t i = 0; i < v->count && !verdicts_denier(v); i++) {
		if (!slot || v->slots[i].at_ms >= slot->at_ms)
			slot = &v->slots[i];
	}
	return slot;
}

static void answer_asker(struct step *s)
{
	const struct verdict_slot *slot = decider(&s->verdicts);
	struct request *r = mem_take(&s->asker);
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_cstr(&j, "decision",
		verdicts_outcome(&s->verdicts) == VERDICT_ALLOWED ? "allow" : "deny");
	json_put_cstr(&j, "reason", slot ? slot->reason : NULL);
	json_put_cstr(&j, "by", slot && slot->by[0] ? slot->by : NULL);
	json_close(&j, '}');
	request_end(r, &j);
}

static void count_verdict(struct step *s)
{
	if (verdicts_outcome(&s->verdicts) == VERDICT_DENIED) {
		s->turn->bot.denials_in_row++;
		s->turn->info.denials++;
	} else if (s->verdicts.count > 0) {
		s->turn->bot.denials_in_row = 0;
	}
}

static void decided(void *arg, int rc, const struct error *err)
{
	struct step *s = arg;

	if (!is_back(s))
		return;
	s->state = STEP_DECIDED;
	if (rc < 0) { /* not on record: so it must not be done */
		s->state = STEP_ENDED;
		request_fail(mem_take(&s->asker), err);
		return;
	}
	count_verdict(s);
	answer_asker(s);
}

static void decide(struct step *s)
{
	loop_timer_stop(s->timer);
	s->state = STEP_DECIDING;
	s->row_count = round_decided(&s->verdicts, s->rows);
	start_job(s, run_decide, decided);
}

static void on_timer(void *arg)
{
	struct step *s = arg;

	if (s->state != STEP_WAITING)
		return;
	(void)verdicts_expire(&s->verdicts, gate_now(s));
	if (verdicts_outcome(&s->verdicts) == VERDICT_DENIED)
		decide(s);
	else
		loop_timer_set(s->timer, verdicts_expire_in(&s->verdicts, gate_now(s)));
}

/*
 * Asking.
 */
static int run_announce(struct store_tx *tx, void *arg, struct error *err)
{
	struct step *s = arg;

	return store_step_announce(tx, &s->row, &s->announced_ms, err);
}

static void announced(void *arg, int rc, const struct error *err)
{
	struct step *s = arg;
	struct asked one;

	if (!is_back(s))
		return;
	if (rc < 0) {
		s->state = STEP_ENDED;
		request_fail(mem_take(&s->asker), err);
		return;
	}
	s->state = STEP_WAITING;
	verdicts_announce(&s->verdicts, 1, s->announced_ms);
	s->announced_mono_ms = clock_mono_ms(s->d->clock);
	if (verdicts_expire_in(&s->verdicts, gate_now(s)) >= 0)
		loop_timer_set(s->timer, verdicts_expire_in(&s->verdicts, gate_now(s)));
	one = as_asked(s);
	asked_push(s->d, &one, 1);
}

static struct step *find(const struct live_turn *t, struct str step)
{
	list_for_each (s, &t->steps, struct step, in_turn) {
		if (str_eq(s->row.step, step))
			return s;
	}
	return NULL;
}

static bool is_listed(const struct str_list *l, struct str name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_eq(l->items[i], name))
			return true;
	}
	return false;
}

/* Those it asks for by their tags; or those that name the call's tool, or the step itself. */
static bool judges(const struct gate *g, const struct step_ask *ask, struct str tool)
{
	if (ask->gates.count > 0)
		return is_listed(&ask->gates, g->tag);
	return gate_names_tool(g, tool) || gate_names_tool(g, ask->name);
}

static int add_gates(struct step *s, const struct step_ask *ask, struct error *err)
{
	const struct bot_settings *set = &s->turn->bot.set;
	struct str tool = s->turn->calls[s->turn->at].name;

	for (size_t i = 0; i < set->gate_count && s->verdicts.count < BOT_GATES_MAX; i++) {
		struct gate *g = &s->verdicts.slots[s->verdicts.count].gate;

		if (!judges(&set->gates[i], ask, tool))
			continue;
		*g = (struct gate){
			.tag = keep(s, set->gates[i].tag), .expire_ms = set->gates[i].expire_ms};
		s->verdicts.count++;
	}
	if (ask->gates.count > s->verdicts.count)
		return error_set(err, &BOT_INVALID_GATE,
			"approve_step.gates: the bot has no gate of one of these tags");
	if (s->verdicts.count == 0 && set->sandbox != SANDBOX_FULL_ACCESS)
		return error_set(err, &TOOL_NO_GATE,
			"the bot has a sandbox, and no gate of it judges '" STR_FMT "'",
			STR_ARG(str_cut(ask->name, STEP_NAME_MAX_BYTES)));
	return 0;
}

static int check_ask(const struct live_turn *t, const struct step_ask *ask, struct error *err)
{
	size_t count = 0;

	if (bot_check_name(ask->step, "step", err) < 0)
		return -1;
	if (ask->name.len == 0 || ask->name.len > STEP_NAME_MAX_BYTES)
		return error_set(err, &REQUEST_INVALID,
			"approve_step.name: must have 1 to %d bytes", STEP_NAME_MAX_BYTES);
	if (ask->arguments->type != JSON_OBJECT)
		return error_set(
			err, &REQUEST_INVALID, "approve_step.arguments: must be an object");
	if (find(t, ask->step))
		return error_set(err, &STEP_EXISTS, "the call has a step '" STR_FMT "' already",
			STR_ARG(ask->step));
	list_for_each (s, &t->steps, struct step, in_turn)
		count++;
	if (count >= STEPS_MAX)
		return error_set(
			err, &STEP_LIMIT, "the call has %d steps, which is the limit", STEPS_MAX);
	return 0;
}

static void keep_arguments(struct step *s, const struct json *arguments)
{
	_cleanup_(buf) struct buf text = BUF_INIT(ARGUMENTS_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	json_put(&j, NULL, arguments);
	must(!text.full); /* it came in a line that is no longer */
	s->arguments = keep(s, buf_str(&text));
}

static struct step *step_new(struct live_turn *t, const struct step_ask *ask)
{
	struct step *s = xcalloc(1, sizeof(*s));

	s->d = t->d;
	s->turn = t;
	s->timer = loop_timer_new(t->d->loop, on_timer, s);
	s->row = (struct store_step){.bot = t->bot.id,
		.turn = t->info.id,
		.call_id = keep(s, ask->call_id),
		.step = keep(s, ask->step),
		.name = keep(s, ask->name),
		.node = t->calls[t->at].node};
	keep_arguments(s, ask->arguments);
	round_subject(s->row.name, s->arguments, &s->verdicts);
	return s;
}

static void keep_gates(struct step *s)
{
	struct gate *gates = arena_alloc(&s->arena, BOT_GATES_MAX * sizeof(*gates));

	for (size_t i = 0; i < s->verdicts.count; i++)
		gates[i] = s->verdicts.slots[i].gate;
	s->row.gates = gates;
	s->row.gate_count = s->verdicts.count;
}

int steps_ask(struct request *r, const struct step_ask *ask, struct error *err)
{
	struct live_turn *t = served_turn(r->d, ask->bot, ask->turn, ask->call_id, ask->lease, err);
	struct step *s;

	if (!t || check_ask(t, ask, err) < 0)
		return -1;
	s = step_new(t, ask);
	if (add_gates(s, ask, err) < 0) {
		step_free(s);
		return -1;
	}
	keep_gates(s);
	s->asker = r;
	list_add_tail(&t->steps, &s->in_turn);
	if (s->verdicts.count > 0)
		start_job(s, run_announce, announced);
	else
		decide(s); /* no sandbox and no gate: allowed, and on record */
	return 0;
}

int steps_answer(struct live_turn *t, struct str call_id, struct str step,
	const struct verdict_answer *a, struct error *err)
{
	struct step *s = find(t, step);

	if (!s || !str_eq(s->row.call_id, call_id) || s->state < STEP_WAITING)
		return error_set(err, &VERDICT_NONE_PENDING, "no such step waits for a verdict");
	if (a->path.p || a->until_prior)
		return error_set(err, &REQUEST_INVALID, "answer.%s: does not go with a step",
			a->path.p ? "path" : "until_prior");
	if (verdicts_answer(&s->verdicts, a, gate_now(s), err) < 0)
		return -1;
	if (verdicts_outcome(&s->verdicts) != VERDICT_OPEN)
		decide(s);
	return 0;
}

/*
 * The end.
 */
struct ending {
	struct daemon *d;
	struct request *request;
	struct arena arena;
	struct store_step row;
	struct str summary;
	bool ok;
};

static int run_end(struct store_tx *tx, void *arg, struct error *err)
{
	const struct ending *e = arg;

	return store_step_end(tx, &e->row, e->ok, e->summary, err);
}

static void end_done(void *arg, int rc, const struct error *err)
{
	struct ending *e = arg;

	if (rc < 0)
		request_fail(e->request, err);
	else
		request_answer(e->request, STR("{\"recorded\":true}"));
	arena_release(&e->arena);
	free(e);
}

static struct str copy(struct ending *e, struct str s)
{
	return (struct str){arena_strndup(&e->arena, s.p, s.len), s.len};
}

static void set_summary(struct ending *e, struct str summary)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(CLEAN_MAX_BYTES);

	if (summary.p && secret_redact(e->d->secrets, summary, &clean) == 0)
		e->summary = copy(e, buf_str(&clean));
}

int steps_end(struct request *r, const struct step_end *end, struct error *err)
{
	struct live_turn *t = served_turn(r->d, end->bot, end->turn, end->call_id, end->lease, err);
	struct step *s = t ? find(t, end->step) : NULL;
	struct ending *e;

	if (!t)
		return -1;
	if (!s || s->state != STEP_DECIDED)
		return error_set(err, &STEP_NOT_OPEN,
			"step_result.step: no such step of this call was decided and is open");
	if (verdicts_outcome(&s->verdicts) == VERDICT_DENIED && end->ok)
		return error_set(err, &STEP_NOT_OPEN, "step_result.ok: the step was denied");
	s->state = STEP_ENDED;
	e = xcalloc(1, sizeof(*e));
	e->d = r->d;
	e->request = r;
	e->ok = end->ok;
	e->row = s->row;
	e->row.gates = NULL;
	e->row.call_id = copy(e, s->row.call_id);
	e->row.step = copy(e, s->row.step);
	e->row.name = copy(e, s->row.name);
	set_summary(e, end->summary);
	store_write(r->d->store, run_end, end_done, e);
	return 0;
}

size_t steps_asked(const struct live_turn *t, struct asked *ret)
{
	size_t count = 0;

	list_for_each (s, &t->steps, struct step, in_turn) {
		if (s->state == STEP_WAITING && verdicts_expire_in(&s->verdicts, gate_now(s)) != 0)
			ret[count++] = as_asked(s);
	}
	return count;
}

size_t steps_pending(const struct live_turn *t)
{
	size_t count = 0;

	list_for_each (s, &t->steps, struct step, in_turn)
		count += s->state == STEP_WAITING;
	return count;
}

void steps_over(struct live_turn *t)
{
	struct error err = ERROR_INIT;

	(void)error_set(&err, &STORE_STALE_TURN, "the call is over");
	list_for_each_safe (s, &t->steps, struct step, in_turn) {
		struct request *r = mem_take(&s->asker);

		list_remove(&s->in_turn);
		loop_timer_stop(s->timer);
		s->turn = NULL;
		if (!s->busy)
			step_free(s);
		if (r)
			request_fail(r, &err);
	}
}
