/* answer and approvals. */
#include <stdlib.h>

#include "agent/serve/approvals.h"
#include "agent/serve/live.h"
#include "agent/serve/op.h"
#include "agent/serve/round.h"

static const struct error_kind INVALID_DECISION = {"invalid_decision", ERROR_CLASS_USAGE};
static const struct error_kind INVALID_REASON = {"invalid_reason", ERROR_CLASS_USAGE};
static const struct error_kind REASON_LIMIT = {"reason_limit", ERROR_CLASS_LIMIT};
static const struct error_kind INVALID_BY = {"invalid_by", ERROR_CLASS_USAGE};

/*
 * answer
 */
struct answer_args {
	struct str bot, call_id, tag, decision, reason, by;
	int64_t turn, request;
};
static const struct json_field answer_fields[] = {
	JSON_STR(struct answer_args, bot, .required = true),
	JSON_I64(struct answer_args, turn, .required = true, .min = 1),
	JSON_STR(struct answer_args, call_id, .required = true),
	JSON_I64(struct answer_args, request, .required = true, .min = 1),
	JSON_STR(struct answer_args, decision, .required = true),
	JSON_STR(struct answer_args, tag),
	JSON_STR(struct answer_args, reason),
	JSON_STR(struct answer_args, by),
};

static int read_answer(
	const struct answer_args *args, struct verdict_answer *ret, struct error *err)
{
	bool allow = str_is(args->decision, "allow");

	if (bot_check_name(args->bot, "bot", err) < 0)
		return -1;
	if (!allow && !str_is(args->decision, "deny"))
		return error_set(err, &INVALID_DECISION, "decision: allow or deny");
	if (allow && args->reason.p)
		return error_set(err, &INVALID_REASON, "reason: goes with deny only");
	if (args->reason.len > REASON_MAX_BYTES)
		return error_set(err, &REASON_LIMIT, "reason: %zu bytes are over %d",
			args->reason.len, REASON_MAX_BYTES);
	if (args->by.p && (args->by.len == 0 || args->by.len > BY_MAX_BYTES))
		return error_set(err, &INVALID_BY, "by: 1 to %d bytes", BY_MAX_BYTES);
	if (args->by.p && memchr(args->by.p, '\0', args->by.len))
		return error_set(err, &INVALID_BY, "by: holds a NUL");
	*ret = (struct verdict_answer){.tag = args->tag,
		.request = args->request,
		.allow = allow,
		.by = args->by,
		.reason = args->reason};
	return 0;
}

/* No live or parked turn of that number: say which of the reasons it is. */
static int run_missing(struct store_view *v, struct request *r, struct error *err)
{
	const struct answer_args *args = r->args;
	struct store_turn turn;
	struct bot b;

	if (store_bot_get(v, args->bot, &r->arena, &b, err) < 0)
		return -1;
	if (store_turn_get(v, b.id, args->turn, &r->arena, &turn, NULL) < 0 ||
		b.running_turn != args->turn)
		return error_set(err, &STORE_STALE_TURN, "turn %lld is not the bot's running turn",
			(long long)args->turn);
	return error_set(err, &VERDICT_NONE_PENDING, "no call of turn %lld waits for a verdict",
		(long long)args->turn);
}

static void never(struct request *r)
{
	(void)r;
	must(!"run_missing always fails");
}

static void reply(struct request *r)
{
	const struct answer_args *args = r->args;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_str(&j, "call_id", args->call_id);
	json_put_str(&j, "decision", args->decision);
	json_close(&j, '}');
	request_end(r, &j);
}

/*
 * A parked turn: the verdict is committed before it is acknowledged, and then the turn goes on.
 */
struct parked_answer {
	struct verdict_answer answer;
	int64_t bot, now_ms;
	bool gone;    /* it is parked no more: the answer is for the live turn */
	bool whole;   /* nothing is open on the call now */
	bool resumes; /* it is the one the turn waits for */
};

static const struct store_open_call *find_call(
	const struct store_round *round, struct str call_id, struct error *err)
{
	for (size_t i = 0; i < round->call_count; i++) {
		const struct store_open_call *c = &round->calls[i];

		if (str_eq(c->call_id, call_id) && !c->executing)
			return c;
	}
	(void)error_set(err, &VERDICT_NONE_PENDING,
		"no call '%.*s' of turn %lld waits for a verdict",
		(int)str_cut(call_id, BOT_NAME_MAX_BYTES).len, call_id.p,
		(long long)round->turn.id);
	return NULL;
}

/* What was decided on the call, with this answer. */
static int decide(struct store_tx *tx, struct parked_answer *w, const struct store_round *round,
	const struct store_open_call *c, struct error *err)
{
	struct store_verdict rows[BOT_GATES_MAX];
	struct store_partial now = {.call_id = c->call_id, .verdicts = rows};
	struct verdicts v;
	int rc;

	round_verdicts(c, &v);
	rc = verdicts_answer(&v, &w->answer, w->now_ms, err);
	if (rc == 0) {
		now.count = round_decided(&v, rows);
		w->whole = verdicts_outcome(&v) != VERDICT_OPEN;
		w->resumes = w->whole && str_eq(c->call_id, round->park.call_id);
		rc = store_call_verdicts(tx, &round->park, &now, w->whole, err);
	}
	verdicts_release(&v);
	return rc;
}

static int run_answer(struct store_tx *tx, struct request *r, struct error *err)
{
	const struct answer_args *args = r->args;
	struct parked_answer *w = r->work;
	const struct store_open_call *c;
	struct store_round round;
	struct error cause = ERROR_INIT;

	if (store_parked_get(store_tx_view(tx), w->bot, args->turn, &r->arena, &round, &cause) <
		0) {
		w->gone = error_is(&cause, &STORE_STALE_TURN);
		if (!w->gone && err)
			*err = cause;
		return w->gone ? 0 : -1;
	}
	c = find_call(&round, args->call_id, err);
	return c ? decide(tx, w, &round, c, err) : -1;
}

static void answer_now(struct request *r, const struct verdict_answer *answer);

static void parked_decided(struct request *r)
{
	const struct answer_args *args = r->args;
	const struct parked_answer w = *(const struct parked_answer *)r->work;
	struct parked *p = parked_find(r->d, args->bot);

	if (w.gone && r->session) { /* without one nobody hears it */
		answer_now(r, &w.answer);
		return;
	}
	if (p && (p->turn != args->turn || !w.whole))
		p = NULL;
	reply(r);
	if (!p)
		return;
	parked_answered(p);
	if (w.resumes)
		parked_resume(p);
}

static void answer_by_store(
	struct request *r, const struct verdict_answer *answer, int64_t bot, int64_t now_ms)
{
	struct parked_answer *w = arena_alloc(&r->arena, sizeof(*w));

	*w = (struct parked_answer){.answer = *answer, .bot = bot, .now_ms = now_ms};
	r->work = w;
	op_write(r, run_answer, parked_decided);
}

/* To the live turn, or to the row of the parked one. What a turn that is just parking had heard is
 * in its record already: an answer goes behind that. */
static void answer_now(struct request *r, const struct verdict_answer *answer)
{
	const struct answer_args *args = r->args;
	struct live_turn *t = live_find(r->d, args->bot);
	struct parked *p = parked_find(r->d, args->bot);
	struct error err = ERROR_INIT;

	if (t && t->info.id == args->turn && t->state == TURN_PARKING && t->call_count > 0)
		answer_by_store(r, answer, t->bot.id, live_gate_now(t, &t->calls[t->at]));
	else if (p && p->turn == args->turn && p->kind == PARK_VERDICT)
		answer_by_store(r, answer, p->bot, parked_now(p));
	else if (!t || t->info.id != args->turn)
		op_read(r, run_missing, never);
	else if (live_answer(t, args->call_id, answer, &err) < 0)
		request_fail(r, &err);
	else
		reply(r);
}

static void op_answer(struct request *r, const void *raw)
{
	struct verdict_answer answer;
	struct error err = ERROR_INIT;

	if (read_answer(raw, &answer, &err) < 0)
		request_fail(r, &err);
	else
		answer_now(r, &answer);
}

/*
 * approvals
 */
static const struct json_field approvals_fields[] = {
	JSON_STR(struct approvals_args, bot),
	JSON_STR(struct approvals_args, tag),
	JSON_STR(struct approvals_args, after, .nullable = true),
	JSON_I64(struct approvals_args, limit, .min = INT64_MIN),
};

const struct request_row approval_requests[] = {
	{"answer",                  answer_fields, ARRAY_LEN(answer_fields), sizeof(struct answer_args), op_answer,
         REQUEST_OWNER, false},
	{"approvals", approvals_fields, ARRAY_LEN(approvals_fields), sizeof(struct approvals_args),
         op_approvals, REQUEST_READS, false},
	{.op = NULL               },
};
