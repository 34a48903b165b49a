/* answer and approvals. */
#include <stdlib.h>

#include "agent/serve/live.h"
#include "agent/serve/op.h"

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

/* No live turn of that number: say which of the reasons it is. */
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

static void op_answer(struct request *r, const void *raw)
{
	const struct answer_args *args = raw;
	struct verdict_answer answer;
	struct error err = ERROR_INIT;
	struct live_turn *t;
	struct json_out j;

	if (read_answer(args, &answer, &err) < 0) {
		request_fail(r, &err);
		return;
	}
	t = live_find(r->d, args->bot);
	if (!t || t->info.id != args->turn) {
		op_read(r, run_missing, never);
		return;
	}
	if (live_answer(t, args->call_id, &answer, &err) < 0) {
		request_fail(r, &err);
		return;
	}
	j = request_begin(r);
	json_open_key(&j, "result", '{');
	json_put_str(&j, "call_id", args->call_id);
	json_put_str(&j, "decision", args->decision);
	json_close(&j, '}');
	request_end(r, &j);
}

/*
 * approvals
 */
struct approvals_args {
	struct str bot, tag, after;
	int64_t limit;
};
static const struct json_field approvals_fields[] = {
	JSON_STR(struct approvals_args, bot),
	JSON_STR(struct approvals_args, tag),
	JSON_STR(struct approvals_args, after, .nullable = true),
	JSON_I64(struct approvals_args, limit, .min = INT64_MIN),
};

/* Each string of the arguments is cut to what is shown; what was cut is said. */
static void put_arguments(struct json_out *j, const struct live_call *c)
{
	struct arena a = {.blocks = NULL};
	const struct json *doc;
	bool cut = false;

	if (json_parse(&a, c->arguments, &doc, NULL) < 0 || doc->type != JSON_OBJECT) {
		json_put_bool(j, "arguments_omitted", true);
		arena_release(&a);
		return;
	}
	json_open_key(j, "arguments", '{');
	json_for_each (m, doc) {
		struct json shown = *m;

		if (m->type == JSON_STRING)
			shown.text = str_cut(m->text, ARGUMENTS_SHOWN_BYTES);
		cut = cut || shown.text.len < m->text.len;
		json_put_member(j, m->key, &shown);
	}
	json_close(j, '}');
	json_put_bool(j, "arguments_cut", cut);
	arena_release(&a);
}

static void put_escalation(struct json_out *j, const struct live_call *c)
{
	if (c->judged.reach != TOOL_LEAVES) {
		json_put_null(j, "escalation");
		return;
	}
	json_open_key(j, "escalation", '{');
	json_put_cstr(j, "kind", c->judged.why);
	json_put_str(j, "justification", c->judged.justification);
	json_open_key(j, "paths", '[');
	for (size_t i = 0; i < c->judged.path_count; i++)
		json_put_str(j, NULL, c->judged.paths[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void put_gates(struct json_out *j, const struct verdicts *v)
{
	static const char *const decisions[] = {
		[VERDICT_OPEN] = NULL, [VERDICT_ALLOWED] = "allow", [VERDICT_DENIED] = "deny"};

	json_open_key(j, "gates", '[');
	for (size_t i = 0; i < v->count; i++) {
		json_open(j, '{');
		json_put_str(j, "tag", v->slots[i].gate.tag);
		json_put_cstr(j, "decision", decisions[v->slots[i].state]);
		if (v->slots[i].gate.expire_ms > 0)
			json_put_i64(j, "expires_ms", v->announced_ms + v->slots[i].gate.expire_ms);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_approval(struct json_out *j, const struct live_turn *t, const struct live_call *c)
{
	json_open(j, '{');
	json_put_str(j, "bot", t->bot.name);
	json_put_i64(j, "bot_id", t->bot.id);
	json_put_i64(j, "turn", t->info.id);
	json_put_str(j, "call_id", c->call_id);
	json_put_i64(j, "request", c->verdicts.request);
	json_put_i64(j, "announced_ms", c->verdicts.announced_ms);
	json_put_str(j, "name", c->name);
	json_put_i64(j, "node", c->node);
	put_arguments(j, c);
	put_gates(j, &c->verdicts);
	json_put_str(j, "workspace", t->workspace);
	json_put_cstr(j, "sandbox", sandbox_mode_names[t->bot.set.sandbox]);
	put_escalation(j, c);
	json_put_str(j, "from", t->info.from_bot);
	json_close(j, '}');
}

static bool has_open_tag(const struct live_call *c, struct str tag)
{
	for (size_t i = 0; i < c->verdicts.count; i++) {
		const struct verdict_slot *s = &c->verdicts.slots[i];

		if (s->state == VERDICT_OPEN && (!tag.p || str_eq(s->gate.tag, tag)))
			return true;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	const struct live_turn *const *x = a, *const *y = b;

	return strcmp((*x)->bot.name.p, (*y)->bot.name.p);
}

/* The live turns in order of their bots' names, in the request's arena. */
static const struct live_turn **sorted_turns(struct request *r, size_t *ret_count)
{
	struct table *live = r->d->live;
	const struct live_turn **list = arena_alloc(
		&r->arena, (table_count(live) + 1) * sizeof(const void *));
	size_t at = 0, count = 0;

	while ((list[count] = table_next(live, &at)))
		count++;
	qsort(list, count, sizeof(const void *), by_name);
	*ret_count = count;
	return list;
}

/* What of a turn waits for an answer: how many. Calls run in order, so the first are those to
 * answer: what a page has no room for shows when they are. */
static size_t put_turn(
	const struct request *r, struct json_out *j, const struct live_turn *t, struct str tag)
{
	size_t put = 0;

	for (size_t k = 0; k < t->call_count && r->reply.len <= APPROVALS_MAX_BYTES; k++) {
		if (!live_call_pending(t, k) || !has_open_tag(&t->calls[k], tag))
			continue;
		put_approval(j, t, &t->calls[k]);
		put++;
	}
	return put;
}

static void answer_approvals(struct request *r, const struct approvals_args *args, int limit)
{
	size_t count, put = 0;
	const struct live_turn **list = sorted_turns(r, &count);
	struct json_out j = request_begin(r);
	struct str last = {NULL, 0};
	bool more = false;

	json_open_key(&j, "result", '{');
	json_open_key(&j, "approvals", '[');
	for (size_t i = 0; i < count; i++) {
		const struct live_turn *t = list[i];

		if ((args->bot.p && !str_eq(args->bot, t->bot.name)) ||
			(args->after.p && strcmp(t->bot.name.p, args->after.p) <= 0))
			continue;
		more = put >= (size_t)limit || r->reply.len > APPROVALS_MAX_BYTES;
		if (more)
			break;
		put += put_turn(r, &j, t, args->tag);
		last = t->bot.name;
	}
	json_close(&j, ']');
	json_put_str(&j, "next_after", more ? last : (struct str){NULL, 0});
	json_close(&j, '}');
	request_end(r, &j);
}

static void op_approvals(struct request *r, const void *raw)
{
	const struct approvals_args *args = raw;
	struct error err = ERROR_INIT;
	int limit = op_page_limit((r->seen & 8) != 0, args->limit);

	if ((args->bot.p && bot_check_name(args->bot, "bot", &err) < 0) ||
		(args->after.p && bot_check_name(args->after, "after", &err) < 0) ||
		(args->tag.p && bot_check_name(args->tag, "tag", &err) < 0)) {
		request_fail(r, &err);
	} else if (limit == 0) {
		(void)error_set(&err, &REQUEST_INVALID, "approvals.limit: 1 to %d", PAGE_MAX);
		request_fail(r, &err);
	} else {
		answer_approvals(r, args, limit);
	}
}

const struct request_row approval_requests[] = {
	{"answer",    answer_fields,    ARRAY_LEN(answer_fields),    sizeof(struct answer_args),    op_answer,
         false												      },
	{"approvals", approvals_fields, ARRAY_LEN(approvals_fields), sizeof(struct approvals_args),
         op_approvals,											 false},
	{NULL,        NULL,             0,			   0,			     NULL,      false},
};
