/* answer and approvals. */
#include <stdlib.h>

#include "agent/serve/approvals.h"
#include "agent/serve/leases.h"
#include "agent/serve/live.h"
#include "agent/serve/op.h"
#include "agent/serve/round.h"
#include "agent/serve/steps.h"

static const struct error_kind INVALID_DECISION = {"invalid_decision", ERROR_CLASS_USAGE};
static const struct error_kind INVALID_REASON = {"invalid_reason", ERROR_CLASS_USAGE};
static const struct error_kind REASON_LIMIT = {"reason_limit", ERROR_CLASS_LIMIT};
static const struct error_kind INVALID_BY = {"invalid_by", ERROR_CLASS_USAGE};

/*
 * answer
 */
struct answer_args {
	struct str bot, call_id, step, tag, decision, reason, by, lease, path;
	int64_t turn, request;
	bool until_prior;
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
	JSON_STR(struct answer_args, lease),
	JSON_STR(struct answer_args, step),
	JSON_STR(struct answer_args, path, .cstr = true, .min = 1, .max = GUARD_PATH_MAX_BYTES),
	JSON_BOOL(struct answer_args, until_prior),
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
	if (!allow && (args->path.p || args->until_prior))
		return error_set(err, &INVALID_DECISION, "%s: goes with allow only",
			args->path.p ? "path" : "until_prior");
	if (args->path.p && args->path.p[0] != '/')
		return error_set(err, &REQUEST_INVALID, "answer.path: must be absolute");
	*ret = (struct verdict_answer){.tag = args->tag,
		.request = args->request,
		.allow = allow,
		.by = args->by,
		.reason = args->reason,
		.path = args->path,
		.until_prior = args->until_prior};
	return 0;
}

/* An answer under a lease is one for the lease's tag, and keeps it. */
static int use_lease(struct request *r, struct verdict_answer *answer, struct error *err)
{
	const struct answer_args *args = r->args;
	struct lease *l;

	if (!args->lease.p)
		return 0;
	if (lease_use(r->d, args->lease, &l, err) < 0)
		return -1;
	if (l->kind != LEASE_APPROVALS || (args->tag.p && !str_is(args->tag, l->tag)))
		return error_set(err, &REQUEST_INVALID, "answer.lease: is one of %s '%s'",
			l->kind == LEASE_APPROVALS ? "tag" : "the tools of", l->tag);
	answer->tag = str_from(arena_strndup(&r->arena, l->tag, strlen(l->tag)));
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

static void set_subject(const struct store_open_call *c, struct verdicts *v)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	struct live_call whole = {.node = 0};

	if (round_call(&scratch, c, 0, &whole, NULL) == 0) {
		memcpy(v->subject, whole.verdicts.subject, sizeof(v->subject));
		verdicts_release(&whole.verdicts);
	}
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
	v.prior_done = round_is_after(&round->park, c->call_id);
	set_subject(c, &v);
	rc = round_path_fits(c->name, &w->answer, err);
	if (rc == 0)
		rc = verdicts_answer(&v, &w->answer, w->now_ms, err);
	if (rc == 0) {
		now.count = round_decided(&v, rows);
		/* one that has lapsed is asked for anew by the turn, once it goes on */
		w->whole = verdicts_outcome(&v) != VERDICT_OPEN || verdicts_lapsed(&v);
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

static void answer_step(struct request *r, struct live_turn *t, const struct verdict_answer *answer)
{
	const struct answer_args *args = r->args;
	struct error err = ERROR_INIT;

	if (!t || t->info.id != args->turn)
		op_read(r, run_missing, never);
	else if (steps_answer(t, args->call_id, args->step, answer, &err) < 0)
		request_fail(r, &err);
	else
		reply(r);
}

/* To the live turn, or to the row of the parked one. What a turn that is just parking had heard is
 * in its record already: an answer goes behind that. */
static void answer_now(struct request *r, const struct verdict_answer *answer)
{
	const struct answer_args *args = r->args;
	struct live_turn *t = live_find(r->d, args->bot);
	struct parked *p = parked_find(r->d, args->bot);
	struct error err = ERROR_INIT;

	if (args->step.p)
		answer_step(r, t, answer);
	else if (t && t->info.id == args->turn && t->state == TURN_PARKING && t->call_count > 0)
		answer_by_store(r, answer, t->bot.id, live_gate_now(t, &t->calls[t->at]));
	else if (p && p->turn == args->turn && parked_is_asked(p))
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

	if (read_answer(raw, &answer, &err) < 0 || use_lease(r, &answer, &err) < 0)
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

/*
 * serve_approvals and renew
 */
static const struct json_field serve_fields[] = {
	JSON_STR(struct serve_args, tag, .required = true),
	JSON_I64(struct serve_args, lease_ms, .required = true, .min = LEASE_MIN_MS,
		.max = LEASE_MAX_MS),
};

struct renew_args {
	struct str lease;
};
static const struct json_field renew_fields[] = {
	JSON_STR(struct renew_args, lease, .required = true),
};

static void op_renew(struct request *r, const void *raw)
{
	const struct renew_args *args = raw;
	struct error err = ERROR_INIT;
	struct json_out j;
	struct lease *l;

	if (lease_use(r->d, args->lease, &l, &err) < 0) {
		request_fail(r, &err);
		return;
	}
	j = request_begin(r);
	json_open_key(&j, "result", '{');
	json_put_cstr(&j, "tag", l->tag);
	json_put_i64(&j, "lease_ms", l->ms);
	json_close(&j, '}');
	request_end(r, &j);
}

const struct request_row approval_requests[] = {
	{"answer",                  answer_fields, ARRAY_LEN(answer_fields), sizeof(struct answer_args), op_answer,
         REQUEST_OWNER, false},
	{"approvals", approvals_fields, ARRAY_LEN(approvals_fields), sizeof(struct approvals_args),
         op_approvals, REQUEST_READS, false},
	{"serve_approvals",                serve_fields, ARRAY_LEN(serve_fields), sizeof(struct serve_args),
         op_serve_approvals, REQUEST_OWNER, false},
	{"renew",		    renew_fields, ARRAY_LEN(renew_fields), sizeof(struct renew_args), op_renew,
         REQUEST_OWNER, false},
	{.op = NULL              },
};
