/* Live turns: what becomes of each call. */
#include "agent/serve/live.h"

#include <stdlib.h>

#include "agent/core/item.h"
#include "agent/io/chatgpt.h"
#include "agent/serve/background.h"
#include "agent/serve/daemon.h"
#include "agent/serve/pictures.h"
#include "agent/serve/round.h"
#include "agent/serve/rulebook.h"
#include "agent/serve/served.h"
#include "log/log.h"

static const struct error_kind CALL_DENIED = {"approval_denied", ERROR_CLASS_DENIED};
static const struct error_kind CAPACITY_EXHAUSTED = {"capacity_exhausted", ERROR_CLASS_LIMIT};
static const struct error_kind CALL_CANCELLED = {"cancelled", ERROR_CLASS_CONFLICT};
static const struct error_kind RULE_NO_GATE = {"rule_no_gate", ERROR_CLASS_DENIED};

void live_context(const struct live_turn *t, const struct live_call *c, struct tool_context *ret)
{
	chatgpt_look(t->d->chatgpt); /* a sign-in since the last call is redacted in this one */
	*ret = (struct tool_context){.host = &t->d->host,
		.bot = &t->bot,
		.workspace = t->workspace,
		.model = t->info.model,
		.turn = t->info.id,
		.call_id = c->call_id,
		.rules = t->rules ? t->rules->rules : NULL};
}

static bool is_listed(const struct str_list *l, struct str name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_eq(l->items[i], name))
			return true;
	}
	return false;
}

static int find_tool(const struct live_turn *t, struct live_call *c, struct error *err)
{
	struct str shown = str_cut(c->name, BOT_NAME_MAX_BYTES);

	c->tool = tool_find(c->name);
	c->served = c->tool ? NULL : served_tools_find(&t->bot.set.served, c->name);
	if (!c->tool && !c->served)
		return error_set(
			err, &TOOL_UNKNOWN, "there is no tool '" STR_FMT "'", STR_ARG(shown));
	if (c->tool && !is_listed(&t->bot.set.tools, c->name))
		return error_set(err, &TOOL_NOT_AVAILABLE, "this bot has no tool '" STR_FMT "'",
			STR_ARG(shown));
	if (t->bot.set.has_allowed && !is_listed(&t->bot.set.allowed, c->name))
		return error_set(err, &TOOL_NOT_AVAILABLE, "this bot may not call '" STR_FMT "'",
			STR_ARG(shown));
	return 0;
}

/* It is carried out outside every sandbox: of a sandboxed bot it waits when its declaration says so
 * (AG-157). */
static void judge_served(
	const struct live_turn *t, const struct live_call *c, struct tool_judgement *ret)
{
	if (t->bot.set.sandbox == SANDBOX_FULL_ACCESS) {
		ret->reach = TOOL_OUTSIDE;
	} else if (c->served->gate) {
		ret->reach = TOOL_LEAVES;
		ret->why = "served_tool";
	}
}

static int judge(
	struct live_turn *t, struct live_call *c, struct tool_judgement *ret, struct error *err)
{
	struct tool_context context;

	*ret = (struct tool_judgement){.reach = TOOL_IN_DAEMON};
	if (c->served) {
		judge_served(t, c, ret);
		return 0;
	}
	if (!c->tool->judge)
		return 0;
	live_context(t, c, &context);
	return c->tool->judge(&context, &t->round, c->args, ret, err);
}

/* Under a sandbox only a call that leaves it is judged (AG-155), and that no allow rule lets out
 * (AG-116); without one, every call a gate names. And what a prompt rule matches (AG-122). */
static bool is_judged(const struct live_turn *t, const struct tool_judgement *j)
{
	return t->bot.set.sandbox == SANDBOX_FULL_ACCESS || j->asks ||
	       (j->reach == TOOL_LEAVES && !j->free);
}

/* Nobody is there to ask. */
static void refuse_ungated(struct live_call *c, const struct tool_judgement *j)
{
	if (j->asks)
		(void)error_set(&c->refusal, &RULE_NO_GATE,
			"a command rule wants a verdict on this command, and no gate of this bot "
			"judges '" STR_FMT "': " STR_FMT,
			STR_ARG(c->name), STR_ARG(j->rule_shown));
	else if (j->reach == TOOL_LEAVES)
		(void)error_set(&c->refusal, &TOOL_NO_GATE,
			"the call would leave the sandbox (%s) and no gate of this bot judges "
			"'" STR_FMT "'",
			j->why ? j->why : "outside", STR_ARG(c->name));
}

static void require_verdicts(
	struct live_turn *t, struct live_call *c, const struct tool_judgement *j)
{
	c->judged = *j;
	if (!is_judged(t, j))
		return;
	verdicts_init(&c->verdicts, &t->bot, c->name);
	round_subject(c->name, c->arguments, &c->verdicts);
	c->required = c->verdicts.count > 0;
	if (c->verdicts.count == 0)
		refuse_ungated(c, j);
}

bool live_prepare_call(struct live_turn *t, struct live_call *c)
{
	if (find_tool(t, c, &c->refusal) < 0)
		return false;
	return c->served
		       ? served_tool_check(c->served, c->arguments, &c->refusal) == 0
		       : tool_prepare(c->tool, &t->round, c->arguments, &c->args, &c->refusal) == 0;
}

void live_plan_call(struct live_turn *t, struct live_call *c)
{
	struct tool_judgement j;

	if (!live_prepare_call(t, c))
		return;
	if (judge(t, c, &j, NULL) < 0)
		return; /* what stands in its way may be gone when its turn comes: see look_again */
	require_verdicts(t, c, &j);
}

/* Judged again when its turn comes, since an earlier call may have changed where it leads. What a
 * verdict was asked for has to be what would run now. */
static enum turn_event look_again(struct live_turn *t, struct live_call *c)
{
	struct tool_judgement now;

	c->judged_version = t->version;
	if (judge(t, c, &now, &c->refusal) < 0)
		return EV_REFUSED;
	if (c->required && !tool_judgement_same(&c->judged, &now)) {
		(void)error_set(&c->refusal, &GUARD_CHANGED,
			"what the call would touch, or a rule it goes by, has changed since its "
			"verdict was asked for");
		return EV_REFUSED;
	}
	if (!c->required)
		require_verdicts(t, c, &now);
	if (c->refusal.kind)
		return EV_REFUSED;
	if (c->verdicts.count > 0 && c->verdicts.request == 0)
		return EV_UNANNOUNCED;
	return EV_CLEAR;
}

/* Between its decision and its start the settings may have been replaced: whether they, too, would
 * let it run as it was decided. */
static bool still_holds(struct live_turn *t, struct live_call *c, struct error *err)
{
	struct tool_judgement now;

	if (c->judged_version == t->version)
		return true;
	c->judged_version = t->version;
	if (judge(t, c, &now, err) < 0)
		return false;
	if (!tool_judgement_same(&c->judged, &now) || now.free != c->judged.free ||
		(!c->required && now.asks)) {
		(void)error_set(err, &GUARD_CHANGED,
			"the bot's settings were replaced before the call started, and ask for "
			"another decision");
		return false;
	}
	return true;
}

void live_announced(const struct live_turn *t, struct live_call *c, int64_t request)
{
	verdicts_announce(&c->verdicts, request, t->announced_ms);
	c->announced_mono_ms = clock_mono_ms(t->d->clock);
}

int64_t live_gate_now(const struct live_turn *t, const struct live_call *c)
{
	return c->verdicts.announced_ms + clock_mono_ms(t->d->clock) - c->announced_mono_ms;
}

void live_decide(struct live_turn *t)
{
	struct live_call *c;
	enum turn_event e;

	if (t->at == t->call_count) {
		live_step(t, EV_NO_MORE_CALLS);
		return;
	}
	c = &t->calls[t->at];
	if (c->refusal.kind) {
		live_step(t, EV_REFUSED);
		return;
	}
	if (c->verdicts.request > 0) {
		(void)verdicts_expire(&c->verdicts, live_gate_now(t, c));
		if (verdicts_outcome(&c->verdicts) == VERDICT_DENIED) {
			live_step(t, EV_DENIED);
			return;
		}
		if (verdicts_lapsed(&c->verdicts)) {
			c->verdicts.request = 0; /* asked for anew */
		} else if (verdicts_outcome(&c->verdicts) == VERDICT_OPEN) {
			t->hold_until_mono_ms = clock_mono_ms(t->d->clock) +
						t->bot.set.limits.approval_hold_ms;
			live_step(t, EV_HELD);
			return;
		}
	}
	e = look_again(t, c);
	if (e == EV_CLEAR && c->served && !served_has_host(t->d, c->served->host))
		e = EV_UNHOSTED;
	live_step(t, e);
}

/*
 * Announcing.
 */
static void add_announce(struct live_turn *t, size_t at)
{
	const struct live_call *c = &t->calls[at];
	struct gate *gates = arena_alloc(&t->round, (c->verdicts.count + 1) * sizeof(*gates));

	for (size_t i = 0; i < c->verdicts.count; i++)
		gates[i] = c->verdicts.slots[i].gate;
	t->announced_calls[t->announce_count] = at;
	t->announce[t->announce_count++] = (struct store_call){.call_id = c->call_id,
		.name = c->name,
		.arguments = c->arguments,
		.gates = gates,
		.gate_count = c->verdicts.count,
		.judged = round_judged(&t->round, &c->judged)};
}

static void start_announce(struct live_turn *t)
{
	t->announce = arena_alloc(&t->round, (t->call_count + 1) * sizeof(*t->announce));
	t->announced_calls = arena_alloc(
		&t->round, (t->call_count + 1) * sizeof(*t->announced_calls));
	t->announce_count = 0;
}

static int run_announce(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;

	if (t->announce_count == 0)
		return 0;
	return store_announce(tx, t->info.bot, t->info.id, t->announce, t->announce_count,
		&t->round, &t->announce_requests, &t->announced_ms, err);
}

static void announced(struct live_turn *t)
{
	for (size_t i = 0; i < t->announce_count; i++)
		live_announced(t, &t->calls[t->announced_calls[i]], t->announce_requests[i]);
	live_push(t, t->announced_calls, t->announce_count);
	t->announce_count = 0;
}

struct asked live_asked(const struct live_turn *t, const struct live_call *c)
{
	return (struct asked){.bot = &t->bot,
		.turn = &t->info,
		.call_id = c->call_id,
		.name = c->name,
		.arguments = c->arguments,
		.node = c->node,
		.verdicts = &c->verdicts,
		.judged = &c->judged};
}

void live_push(struct live_turn *t, const size_t *calls, size_t count)
{
	struct asked list[CALLS_MAX];

	must(count <= CALLS_MAX);
	for (size_t i = 0; i < count; i++)
		list[i] = live_asked(t, &t->calls[calls[i]]);
	if (count > 0)
		asked_push(t->d, list, count);
}

void live_commit_announce(struct live_turn *t)
{
	start_announce(t);
	add_announce(t, t->at);
	live_commit(t, run_announce, announced);
}

/* After a denial or a failure the rest of the round is asked for anew (spec 6.2); and after any
 * call what was allowed until one finishes. */
static void announce_later_calls(struct live_turn *t)
{
	start_announce(t);
	for (size_t i = t->at + 1; i < t->call_count; i++) {
		const struct live_call *c = &t->calls[i];

		if (c->verdicts.count > 0 && !c->refusal.kind &&
			(t->last_failed || verdicts_may_lapse(&c->verdicts)))
			add_announce(t, i);
	}
}

/* Live for approval_hold_ms; then it parks (spec 6.2). */
void live_wait_verdicts(struct live_turn *t)
{
	const struct live_call *c = &t->calls[t->at];
	int64_t in = verdicts_expire_in(&c->verdicts, live_gate_now(t, c));
	int64_t held = t->hold_until_mono_ms - clock_mono_ms(t->d->clock);

	if (held < 0)
		held = 0;
	loop_timer_set(t->timer, in >= 0 && in < held ? in : held);
}

void live_gate_timer(struct live_turn *t)
{
	struct live_call *c = &t->calls[t->at];

	(void)verdicts_expire(&c->verdicts, live_gate_now(t, c));
	if (verdicts_outcome(&c->verdicts) == VERDICT_DENIED)
		live_step(t, EV_DENIED);
	else if (clock_mono_ms(t->d->clock) >= t->hold_until_mono_ms)
		live_park_verdict(t);
	else
		live_wait_verdicts(t);
}

bool live_call_pending(const struct live_turn *t, size_t at)
{
	const struct live_call *c = &t->calls[at];

	if (at < t->at || c->started || t->stop || t->state == TURN_ENDING || t->state == TURN_OVER)
		return false;
	return c->verdicts.request > 0 && !c->refusal.kind &&
	       verdicts_outcome(&c->verdicts) == VERDICT_OPEN &&
	       verdicts_expire_in(&c->verdicts, live_gate_now(t, c)) != 0;
}

int live_answer(
	struct live_turn *t, struct str call_id, const struct verdict_answer *a, struct error *err)
{
	for (size_t i = t->at; i < t->call_count; i++) {
		struct live_call *c = &t->calls[i];

		if (!str_eq(c->call_id, call_id))
			continue;
		if (t->stop || c->started || c->refusal.kind)
			break;
		if (round_path_fits(c->name, a, err) < 0 ||
			verdicts_answer(&c->verdicts, a, live_gate_now(t, c), err) < 0)
			return -1;
		if (i != t->at || t->state != TURN_GATED)
			return 0;
		loop_timer_stop(t->timer);
		if (verdicts_outcome(&c->verdicts) == VERDICT_DENIED)
			live_step(t, EV_DENIED);
		else if (verdicts_outcome(&c->verdicts) == VERDICT_ALLOWED ||
			 verdicts_lapsed(&c->verdicts))
			live_step(t, EV_ALLOWED);
		else
			live_wait_verdicts(t);
		return 0;
	}
	return error_set(err, &VERDICT_NONE_PENDING,
		"no call '%.*s' of turn %lld waits for a verdict",
		(int)str_cut(call_id, BOT_NAME_MAX_BYTES).len, call_id.p, (long long)t->info.id);
}

static void list_verdicts(struct live_turn *t, const struct live_call *c)
{
	t->verdict_count = round_decided(&c->verdicts, t->verdict_rows);
}

/*
 * Starting and running.
 */
static int run_start(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;

	return store_tool_start(tx, t->info.bot, t->info.id, t->calls[t->at].call_id,
		t->verdict_rows, t->verdict_count, t->sandboxed, err);
}

void live_commit_start(struct live_turn *t)
{
	struct live_call *c = &t->calls[t->at];

	c->started = true;
	list_verdicts(t, c);
	t->sandboxed = c->judged.reach == TOOL_CONFINED;
	live_commit(t, run_start, NULL);
}

static void release_process(struct live_turn *t)
{
	if (t->process_held) {
		t->process_held = false;
		schedule_process_done(t->d);
	}
}

void live_set_result_with(struct live_turn *t, struct str output, bool failed,
	const struct item_picture *pictures, size_t picture_count)
{
	const struct live_call *c = &t->calls[t->at];

	t->last_failed = failed;
	t->result = (struct store_result){.call_id = c->call_id,
		.item = item_result(&t->round, item_family(t->bot.family), c->call_id, output,
			pictures, picture_count)};
}

void live_set_result(struct live_turn *t, struct str output, bool failed)
{
	live_set_result_with(t, output, failed, NULL, 0);
}

static void keep_incidents(struct live_turn *t, const struct str_list *l)
{
	struct str_list *kept = &t->result.incidents;

	if (l->count == 0)
		return;
	kept->items = arena_alloc(&t->round, l->count * sizeof(*kept->items));
	for (size_t i = 0; i < l->count; i++) {
		struct str path = l->items[i];

		kept->items[kept->count++] = (struct str){
			arena_strndup(&t->round, path.p, path.len), path.len};
	}
}

static void tool_finished(void *arg, const struct tool_result *r)
{
	struct live_turn *t = arg;
	struct store_artifact *kept = arena_alloc(
		&t->round, (r->artifact_count + 1) * sizeof(*kept));

	live_set_result_with(t, r->output, r->failed, r->pictures, r->picture_count);
	t->result.cancelled = r->cancelled;
	if (r->pin.p)
		t->result.pin = (struct str){
			arena_strndup(&t->round, r->pin.p, r->pin.len), r->pin.len};
	for (size_t i = 0; i < r->artifact_count; i++) {
		struct str bytes = r->artifacts[i].bytes;
		struct str stream = r->artifacts[i].stream;

		kept[i].stream = (struct str){
			arena_strndup(&t->round, stream.p, stream.len), stream.len};
		kept[i].bytes = (struct str){
			arena_strndup(&t->round, bytes.p, bytes.len), bytes.len};
	}
	keep_incidents(t, &r->incidents);
	t->result.artifacts = kept;
	t->result.artifact_count = r->artifact_count;
	t->calls[t->at].tool->free(mem_take(&t->run));
	release_process(t);
	live_step(t, EV_TOOL_DONE);
}

void live_set_error(struct live_turn *t, const struct error *err)
{
	live_set_result(t, tool_error_output(&t->d->host, &t->round, err), true);
}

/* The files that verdicts on it named. */
static struct str_list allowed_paths(struct live_turn *t, const struct live_call *c)
{
	struct str_list l = {arena_alloc(&t->round, BOT_GATES_MAX * sizeof(struct str)), 0};

	for (size_t i = 0; i < c->verdicts.count; i++) {
		if (c->verdicts.slots[i].path)
			l.items[l.count++] = str_from(c->verdicts.slots[i].path);
	}
	return l;
}

static void process_granted(struct live_turn *t)
{
	struct live_call *c = &t->calls[t->at];
	struct tool_context *context = arena_alloc(&t->round, sizeof(*context));
	struct tool_order order = {c->judged.reach == TOOL_LEAVES, tool_finished, t};
	struct error err = ERROR_INIT;

	t->process_held = c->tool->confined;
	live_context(t, c, context);
	context->judged = &c->judged; /* a path that leads elsewhere by now is refused */
	context->allowed = allowed_paths(t, c);
	if (still_holds(t, c, &err) &&
		c->tool->start(context, &t->round, c->args, &order, &t->run, &err) == 0)
		return;
	release_process(t);
	live_set_error(t, &err);
	live_step(t, EV_TOOL_DONE);
}

static void on_granted(struct process_claim *c)
{
	process_granted(container_of(c, struct live_turn, claim));
}

void live_claim_init(struct live_turn *t)
{
	t->claim.granted = on_granted;
	list_init(&t->claim.in_queue);
}

/* Only made here: its row and the result that names it are one commit, and it starts behind that.
 */
static void run_in_background(struct live_turn *t)
{
	struct live_call *c = &t->calls[t->at];
	struct error err = ERROR_INIT;

	if (schedule_process_full(t->d)) {
		(void)error_set(&err, &CAPACITY_EXHAUSTED,
			"%lld commands run and as many wait to start, which is the limit",
			(long long)t->d->sched.processes);
		live_set_error(t, &err);
	} else {
		t->background = background_new(t, c);
		t->last_failed = false;
	}
	live_step(t, EV_TOOL_DONE);
}

void live_run_tool(struct live_turn *t)
{
	struct live_call *c = &t->calls[t->at];

	if (c->refusal.kind || !still_holds(t, c, &c->refusal)) {
		/* known at once when it started; no more after a park */
		live_set_error(t, &c->refusal);
		live_step(t, EV_TOOL_DONE);
	} else if (c->served) {
		served_run(t);
	} else if (c->tool->waits) {
		live_wait(t);
	} else if (c->tool->background && c->tool->background(c->args)) {
		run_in_background(t);
	} else if (!c->tool->confined || schedule_process(t->d, &t->claim)) {
		/* the tools the sandbox confines are the ones that start a process */
		process_granted(t);
	}
}

void live_stop_tool(struct live_turn *t)
{
	struct error err = ERROR_INIT;

	if (t->calls[t->at].served) {
		served_stop(t);
		return;
	}
	if (t->run) {
		t->calls[t->at].tool->cancel(t->run);
		return;
	}
	schedule_process_forget(t->d, &t->claim);
	(void)error_set(&err, &CALL_CANCELLED, "the call was stopped before its program started");
	live_set_error(t, &err);
	t->result.cancelled = true;
	live_step(t, EV_TOOL_DONE);
}

/*
 * Recording.
 */
static int run_result(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;
	int64_t node;

	if (t->background && background_insert(tx, t->background, &t->round, &t->result, err) < 0)
		return -1;
	if (store_tool_finish(tx, t->info.bot, t->info.id, &t->result, &node, err) < 0)
		return -1;
	return run_announce(tx, arg, err);
}

/* What the counts are by now, for the next that is shown them. */
static void count_verdict(struct live_turn *t, const struct live_call *c)
{
	if (t->result.denied) {
		t->bot.denials_in_row++;
		t->info.denials++;
	} else if (c->started && c->verdicts.count > 0) {
		t->bot.denials_in_row = 0;
	}
}

static void recorded(struct live_turn *t)
{
	served_recorded(t, true);
	count_verdict(t, &t->calls[t->at]);
	for (size_t i = t->at + 1; i < t->call_count; i++)
		verdicts_prior_done(&t->calls[i].verdicts);
	announced(t);
	t->at++;
	if (t->background)
		background_start(mem_take(&t->background), t->stop);
}

static void set_denial(struct live_turn *t, const struct live_call *c)
{
	const struct verdict_slot *slot = verdicts_denier(&c->verdicts);
	struct buf text = BUF_INIT(2 * REASON_MAX_BYTES * 6);
	struct json_out j = JSON_OUT(&text);

	json_open(&j, '{');
	json_put_cstr(&j, "error", CALL_DENIED.code);
	json_put_cstr(&j, "detail", slot->reason);
	json_close(&j, '}');
	live_set_result(t, buf_str(&text), true);
	buf_release(&text);
	list_verdicts(t, c);
	t->result.denied = true;
	t->result.verdicts = t->verdict_rows;
	t->result.verdict_count = t->verdict_count;
}

void live_commit_result(struct live_turn *t)
{
	const struct live_call *c = &t->calls[t->at];

	if (!c->started && c->refusal.kind)
		live_set_error(t, &c->refusal);
	else if (!c->started)
		set_denial(t, c);
	announce_later_calls(t);
	live_commit(t, run_result, recorded);
}

void live_commit_unrun(struct live_turn *t)
{
	struct error err = ERROR_INIT;

	(void)error_set(&err, &CALL_CANCELLED, "the turn was stopped before the call ran");
	live_set_error(t, &err);
	t->result.cancelled = true;
	start_announce(t);
	live_commit(t, run_result, recorded);
}

struct str live_user_item(struct arena *a, const struct store_turn *turn)
{
	struct str text = turn->prompt;
	const struct json *origin;
	struct item_picture *pictures;
	size_t count = pictures_take(a, turn->pictures, &pictures);

	if (turn->origin.p && json_parse(a, turn->origin, &origin, NULL) == 0)
		text = item_from_origin(a, json_str(json_get(origin, "kind")),
			json_str(json_get(origin, "name")), turn->prompt);
	else if (turn->from_bot.p)
		text = item_from_bot(
			a, turn->from_bot, turn->from_bot_id, turn->from_turn, turn->prompt);
	return item_user(a, item_family(turn->family), text, pictures, count);
}
