/*
 * Model responses and their calls: planned → executing → completed, each step a commit before what
 * it allows (spec 3.4, 4.1).
 */
#include "agent/io/store_internal.h"

const struct error_kind STORE_CALL_REPEATED = {"duplicate_call_id", ERROR_CLASS_CONFLICT};
const struct error_kind STORE_CALL_INVALID = {"invalid_tool_call", ERROR_CLASS_LIMIT};

static const char status_planned[] = "planned";
static const char status_completed[] = "completed";

/* Of a call that never ran. */
static const char output_cancelled[] = "{\"error\":\"cancelled\"}";
/* Of one that was under way: nobody saw how it ended. */
static const char output_unknown[] =
	"{\"error\":\"tool_outcome_unknown\",\"detail\":\"the call was started and its end was not "
	"recorded: it may have had effects and may still be running\"}";

/* A row of `tools`. */
struct call_row {
	int64_t id, node, request;
	struct str name, status, arguments;
	bool arguments_cut;
};

static int get_call(struct store_view *v, int64_t turn, struct str call_id, struct arena *a,
	struct call_row *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_CALL_GET);
	int rc;

	db_bind_i64(s, 1, turn);
	db_bind_str(s, 2, call_id);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = (struct call_row){
			.id = db_col_i64(s, 0),
			.name = store_col(s, 1, a),
			.status = store_col(s, 2, a),
			.node = db_col_i64(s, 3),
			.request = db_col_i64(s, 4),
			.arguments_cut = db_col_i64(s, 5) != 0,
			.arguments = store_col(s, 6, a),
		};
	db_reset(s);
	if (rc == 0)
		return error_set(err, &ERROR_BUG, "turn %lld has no such call", (long long)turn);
	return rc < 0 ? -1 : 0;
}

static int get_planned(struct store_view *v, int64_t turn, struct str call_id, struct arena *a,
	struct call_row *ret, struct error *err)
{
	if (get_call(v, turn, call_id, a, ret, err) < 0)
		return -1;
	if (!str_is(ret->status, status_planned))
		return error_set(err, &STORE_STALE_TURN, "the call is " STR_FMT " already",
			STR_ARG(ret->status));
	return 0;
}

/* What is shown of arguments: the first characters (not bytes) of the text. */
static struct str first_characters(struct str s, size_t max)
{
	size_t at = 0;
	uint32_t point;

	for (size_t n = 0; n < max && at < s.len; n++) {
		size_t len = utf8_decode(s.p + at, s.len - at, &point);

		at += len ? len : 1;
	}
	return (struct str){s.p, at};
}

/* Gates and verdicts as JSON */

/* Who must allow it, and how long they have. */
void store_put_gates(struct json_out *j, const char *name, const struct gate *gates, size_t count)
{
	if (name)
		json_open_key(j, name, '[');
	else
		json_open(j, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(j, '{');
		json_put_str(j, "tag", gates[i].tag);
		if (gates[i].expire_ms)
			json_put_i64(j, "expire_ms", gates[i].expire_ms);
		else
			json_put_null(j, "expire_ms");
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* As the record keeps them (spec 6.5). */
static void put_verdicts(struct json_out *j, const struct store_verdict *v, size_t count)
{
	json_open(j, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(j, '{');
		json_put_str(j, "tag", v[i].tag);
		json_put_cstr(j, "decision", v[i].allow ? "allow" : "deny");
		json_put_str(j, "by", v[i].by);
		json_put_str(j, "reason", v[i].reason);
		json_put_i64(j, "at_ms", v[i].at_ms);
		json_put_i64(j, "waited_ms", v[i].waited_ms);
		json_put_i64(j, "request", v[i].request);
		if (v[i].path.p)
			json_put_str(j, "path", v[i].path);
		if (v[i].until_prior)
			json_put_bool(j, "until_prior", true);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* As events show them. */
void store_put_approvals(struct json_out *j, const char *name, const struct store_verdict *v,
	size_t count, bool decision)
{
	json_open_key(j, name, '[');
	for (size_t i = 0; i < count; i++) {
		json_open(j, '{');
		json_put_str(j, "tag", v[i].tag);
		if (decision)
			json_put_cstr(j, "decision", v[i].allow ? "allow" : "deny");
		json_put_str(j, "by", v[i].by);
		json_put_i64(j, "waited_ms", v[i].waited_ms);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* The column's text; absent for none. */
static int verdicts_text(struct buf *b, const struct store_verdict *v, size_t count,
	struct str *ret, struct error *err)
{
	struct json_out j = JSON_OUT(b);

	*ret = (struct str){NULL, 0};
	if (!count)
		return 0;
	put_verdicts(&j, v, count);
	if (b->full)
		return error_set(
			err, &ERROR_LIMIT, "the verdicts are over %d bytes", CALL_JSON_MAX_BYTES);
	*ret = buf_str(b);
	return 0;
}

int store_call_decided(struct store_tx *tx, const struct store_place *at,
	const struct store_partial *p, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	_cleanup_(buf) struct buf text = BUF_INIT(CALL_JSON_MAX_BYTES);
	struct store_settled settled;
	struct call_row row;
	struct str decided;
	struct db_stmt *s;

	if (get_planned(&tx->view, at->turn, p->call_id, &scratch, &row, err) < 0 ||
		verdicts_text(&text, p->verdicts, p->count, &decided, err) < 0)
		return -1;
	settled = (struct store_settled){.at = at,
		.call_id = p->call_id,
		.name = row.name,
		.verdicts = p->verdicts,
		.count = p->count,
		.outcome = SETTLED_PART};
	if (store_settle(tx, &settled, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_CALL_DECIDED);
	db_bind_i64(s, 1, row.id);
	db_bind_str(s, 2, decided);
	return db_run(s, err);
}

/* Announcing */

/* One of `approval_requested`. */
struct announced {
	const struct store_call *call;
	struct str name;
	int64_t request, node, at_ms;
};

static int record_requested(struct store_tx *tx, const struct store_place *at,
	const struct announced *list, size_t count, struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_open_key(&j, "calls", '[');
	for (size_t i = 0; i < count; i++) {
		const struct store_call *c = list[i].call;

		json_open(&j, '{');
		json_put_str(&j, "call_id", c->call_id);
		json_put_i64(&j, "request", list[i].request);
		json_put_i64(&j, "announced_ms", list[i].at_ms);
		store_put_gates(&j, "gates", c->gates, c->gate_count);
		json_put_str(&j, "name", list[i].name);
		json_put_i64(&j, "node", list[i].node);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	return store_record(tx, at, "approval_requested", &data, err);
}

/* Fills in what the row knows of n->call. */
static int announce_one(
	struct store_tx *tx, int64_t turn, struct announced *n, struct arena *a, struct error *err)
{
	const struct store_call *c = n->call;
	_cleanup_(buf) struct buf gates = BUF_INIT(CALL_JSON_MAX_BYTES);
	struct json_out j = JSON_OUT(&gates);
	struct call_row row;
	struct db_stmt *s;

	if (get_planned(&tx->view, turn, c->call_id, a, &row, err) < 0)
		return -1;
	store_put_gates(&j, NULL, c->gates, c->gate_count);
	must(!gates.full); /* at most BOT_GATES_MAX short ones */
	s = store_stmt(&tx->view, SQL_CALL_ANNOUNCE);
	db_bind_i64(s, 1, row.id);
	db_bind_i64(s, 2, row.request + 1);
	db_bind_i64(s, 3, n->at_ms);
	db_bind_str(s, 4, buf_str(&gates));
	db_bind_str(s, 5, c->judged);
	if (db_run(s, err) < 0)
		return -1;
	n->name = row.name;
	n->request = row.request + 1;
	n->node = row.node;
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, where it goes, two results */
int store_announce(struct store_tx *tx, int64_t bot, int64_t turn, const struct store_call *calls,
	size_t count, struct arena *a, int64_t **ret_requests, int64_t *ret_announced_ms,
	struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct announced *list = arena_alloc(&scratch, count * sizeof(*list));
	int64_t *requests = arena_alloc(a, count * sizeof(*requests));
	int64_t now_ms = clock_real_ms(tx->clock);
	struct store_line l;

	if (store_line_open(&tx->view, bot, turn, &scratch, &l, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		list[i] = (struct announced){.call = &calls[i], .at_ms = now_ms};
		if (announce_one(tx, turn, &list[i], &scratch, err) < 0)
			return -1;
		requests[i] = list[i].request;
	}
	if (count && record_requested(tx, &l.at, list, count, err) < 0)
		return -1;
	*ret_requests = requests;
	*ret_announced_ms = now_ms;
	return 0;
}

/* A model's response */

static int add_items(struct store_tx *tx, struct store_line *l, const struct store_append *ap,
	int64_t *nodes, struct error *err)
{
	for (size_t i = 0; i < ap->item_count; i++) {
		_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
		struct json_out j = JSON_OUT(&data);

		if (store_line_add(tx, l, ap->items[i], &nodes[i], err) < 0)
			return -1;
		json_open(&j, '{');
		json_put_i64(&j, "node", nodes[i]);
		json_close(&j, '}');
		if (store_record(tx, &l->at, "message", &data, err) < 0)
			return -1;
	}
	return 0;
}

/* What comes from a model must not grow into an event that cannot be recorded: the turn could not
 * even be ended then. */
static int check_call(const struct store_call *c, struct error *err)
{
	if (c->call_id.len == 0 || c->call_id.len > STORE_CALL_NAME_MAX_BYTES)
		return error_set(err, &STORE_CALL_INVALID, "a call's id has %zu bytes, not 1 to %d",
			c->call_id.len, STORE_CALL_NAME_MAX_BYTES);
	if (c->name.len == 0 || c->name.len > STORE_CALL_NAME_MAX_BYTES)
		return error_set(err, &STORE_CALL_INVALID,
			"a call's name has %zu bytes, not 1 to %d", c->name.len,
			STORE_CALL_NAME_MAX_BYTES);
	return 0;
}

static int plan_call(struct store_tx *tx, int64_t turn, const struct store_call *c, int64_t node,
	int64_t now_ms, struct error *err)
{
	_cleanup_(buf) struct buf gates = BUF_INIT(CALL_JSON_MAX_BYTES);
	struct str shown = first_characters(c->arguments, ARGUMENTS_SHOWN_BYTES);
	struct json_out j = JSON_OUT(&gates);
	struct db_stmt *s;

	store_put_gates(&j, NULL, c->gates, c->gate_count);
	must(!gates.full); /* at most BOT_GATES_MAX short ones */
	s = store_stmt(&tx->view, SQL_CALL_INSERT);
	db_bind_i64(s, 1, turn);
	db_bind_str(s, 2, c->call_id);
	db_bind_str(s, 3, c->name);
	db_bind_i64(s, 4, node);
	db_bind_i64(s, 5, c->gate_count ? 1 : 0);
	store_bind_id(s, 6, c->gate_count ? now_ms : 0);
	db_bind_str(s, 7, c->gate_count ? buf_str(&gates) : (struct str){NULL, 0});
	db_bind_i64(s, 8, shown.len < c->arguments.len);
	db_bind_str(s, 9, shown);
	db_bind_str(s, 10, c->gate_count ? c->judged : (struct str){NULL, 0});
	if (db_run(s, err) < 0)
		return -1;
	if (db_changes(tx->view.db) == 0)
		return error_set(err, &STORE_CALL_REPEATED,
			"the model gave two open calls of turn %lld the same id", (long long)turn);
	return 0;
}

/* All calls as planned, one `approval_requested` for those that need a verdict. */
static int plan_calls(struct store_tx *tx, const struct store_line *l,
	const struct store_append *ap, const int64_t *nodes, int64_t now_ms, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct announced *list = arena_alloc(&scratch, ap->call_count * sizeof(*list));
	size_t gated = 0;

	for (size_t i = 0; i < ap->call_count; i++) {
		const struct store_call *c = &ap->calls[i];

		must(c->item < ap->item_count);
		if (check_call(c, err) < 0 ||
			plan_call(tx, ap->turn, c, nodes[c->item], now_ms, err) < 0)
			return -1;
		if (c->gate_count)
			list[gated++] = (struct announced){.call = c,
				.name = c->name,
				.request = 1,
				.node = nodes[c->item],
				.at_ms = now_ms};
	}
	return gated ? record_requested(tx, &l->at, list, gated, err) : 0;
}

int store_append(struct store_tx *tx, const struct store_append *ap, struct arena *a,
	int64_t **ret_nodes, int64_t *ret_announced_ms, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	int64_t *nodes = arena_alloc(a, (ap->item_count + 1) * sizeof(*nodes));
	int64_t now_ms = clock_real_ms(tx->clock);
	struct store_line l;

	if (store_line_open(&tx->view, ap->bot, ap->turn, &scratch, &l, err) < 0 ||
		add_items(tx, &l, ap, nodes, err) < 0 || store_line_save(tx, &l, err) < 0 ||
		store_account(tx, &l.at, &ap->usage, ap->item_count ? nodes[ap->item_count - 1] : 0,
			err) < 0 ||
		store_record_usage(tx, &l.at, &ap->usage, err) < 0 ||
		plan_calls(tx, &l, ap, nodes, now_ms, err) < 0 || store_line_close(tx, &l, err) < 0)
		return -1;
	*ret_nodes = nodes;
	*ret_announced_ms = now_ms;
	return 0;
}

/* Running */

/* A call that starts. */
struct starting {
	struct str call_id;
	const struct store_verdict *verdicts;
	size_t verdict_count;
	bool sandboxed;
	struct call_row row;
};

static int record_started(struct store_tx *tx, const struct store_place *at,
	const struct starting *c, struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_str(&j, "call_id", c->call_id);
	json_put_str(&j, "name", c->row.name);
	json_put_str(&j, "arguments", c->row.arguments);
	json_put_bool(&j, "arguments_truncated", c->row.arguments_cut);
	store_put_approvals(&j, "approvals", c->verdicts, c->verdict_count, false);
	json_put_bool(&j, "sandboxed", c->sandboxed);
	json_close(&j, '}');
	return store_record(tx, at, "tool_started", &data, err);
}

static int settle_started(struct store_tx *tx, const struct store_place *at,
	const struct starting *c, struct error *err)
{
	const struct store_settled settled = {.at = at,
		.call_id = c->call_id,
		.name = c->row.name,
		.verdicts = c->verdicts,
		.count = c->verdict_count,
		.outcome = SETTLED_ALLOWED};

	return store_settle(tx, &settled, err);
}

/* NOLINTNEXTLINE(readability-function-size): one call's row, told once */
int store_tool_start(struct store_tx *tx, int64_t bot, int64_t turn, struct str call_id,
	const struct store_verdict *verdicts, size_t verdict_count, bool sandboxed,
	struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	_cleanup_(buf) struct buf text = BUF_INIT(CALL_JSON_MAX_BYTES);
	struct starting c = {
		.call_id = call_id,
		.verdicts = verdicts,
		.verdict_count = verdict_count,
		.sandboxed = sandboxed,
	};
	struct store_line l;
	struct str decided;
	struct db_stmt *s;

	if (store_line_open(&tx->view, bot, turn, &scratch, &l, err) < 0 ||
		get_planned(&tx->view, turn, call_id, &scratch, &c.row, err) < 0 ||
		verdicts_text(&text, verdicts, verdict_count, &decided, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_CALL_START);
	db_bind_i64(s, 1, c.row.id);
	db_bind_str(s, 2, decided);
	return db_run(s, err) < 0 || settle_started(tx, &l.at, &c, err) < 0
		       ? -1
		       : record_started(tx, &l.at, &c, err);
}

/* References as results carry them: TURN/CALL/STREAM. */
static void put_artifacts(
	struct json_out *j, struct arena *a, int64_t turn, const struct store_result *r)
{
	json_open_key(j, "artifacts", '[');
	for (size_t i = 0; i < r->artifact_count; i++) {
		const char *text = arena_printf(a, "%lld/" STR_FMT "/" STR_FMT, (long long)turn,
			STR_ARG(r->call_id), STR_ARG(r->artifacts[i].stream));

		json_put_cstr(j, NULL, text);
	}
	json_close(j, ']');
}

static void put_incidents(struct json_out *j, const struct str_list *l)
{
	json_open_key(j, "incidents", '[');
	for (size_t i = 0; i < l->count; i++)
		json_put_str(j, NULL, l->items[i]);
	json_close(j, ']');
}

static int record_completed(struct store_tx *tx, const struct store_place *at,
	const struct store_result *r, int64_t node, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_str(&j, "call_id", r->call_id);
	json_put_i64(&j, "node", node);
	put_artifacts(&j, &scratch, at->turn, r);
	json_put_str(&j, "note", r->note);
	if (r->denied)
		json_put_bool(&j, "denied", true);
	if (r->verdict_count) /* AG-148: the denial says who decided */
		store_put_approvals(&j, "verdicts", r->verdicts, r->verdict_count, true);
	if (r->cancelled)
		json_put_bool(&j, "cancelled", true);
	if (r->outcome_unknown)
		json_put_bool(&j, "outcome_unknown", true);
	if (r->incidents.count > 0)
		put_incidents(&j, &r->incidents);
	json_close(&j, '}');
	return store_record(tx, at, "tool_completed", &data, err);
}

int store_call_complete(struct store_tx *tx, struct store_line *l, const struct store_result *r,
	int64_t *ret_node, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	_cleanup_(buf) struct buf text = BUF_INIT(CALL_JSON_MAX_BYTES);
	struct store_settled settled;
	struct call_row row;
	struct str decided;
	struct db_stmt *s;
	int64_t node;

	if (get_call(&tx->view, l->at.turn, r->call_id, &scratch, &row, err) < 0)
		return -1;
	if (str_is(row.status, status_completed))
		return error_set(err, &STORE_STALE_TURN, "the call has a result already");
	if (verdicts_text(&text, r->verdicts, r->verdict_count, &decided, err) < 0 ||
		store_line_add(tx, l, r->item, &node, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_CALL_FINISH);
	db_bind_i64(s, 1, row.id);
	db_bind_i64(s, 2, node);
	db_bind_str(s, 3, decided);
	settled = (struct store_settled){.at = &l->at,
		.call_id = r->call_id,
		.name = row.name,
		.verdicts = r->verdicts,
		.count = r->verdict_count,
		.outcome = SETTLED_DENIED};
	if (db_run(s, err) < 0 || (r->denied && store_settle(tx, &settled, err) < 0) ||
		store_artifacts_add(tx, l->at.turn, r, err) < 0 ||
		(r->pin.p && store_note_set(tx, l->at.bot, node, r->pin, err) < 0) ||
		record_completed(tx, &l->at, r, node, err) < 0)
		return -1;
	*ret_node = node;
	return 0;
}

int store_tool_finish(struct store_tx *tx, int64_t bot, int64_t turn, const struct store_result *r,
	int64_t *ret_node, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_line l;
	int64_t node;

	if (store_line_open(&tx->view, bot, turn, &scratch, &l, err) < 0 ||
		store_call_complete(tx, &l, r, &node, err) < 0 ||
		store_line_save(tx, &l, err) < 0 || store_line_close(tx, &l, err) < 0)
		return -1;
	*ret_node = node;
	return 0;
}

/* Ending without a result */

struct open_call {
	struct str call_id;
	bool planned;
	struct open_call *next;
};

/* In the order they were planned. */
static int list_open(struct store_view *v, int64_t turn, struct arena *a, struct open_call **ret,
	struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_CALLS_OPEN);
	struct open_call *first = NULL, **end = &first;
	int rc;

	db_bind_i64(s, 1, turn);
	while ((rc = db_step(s, err)) == 1) {
		struct open_call *c = arena_alloc(a, sizeof(*c));

		c->call_id = store_col(s, 0, a);
		c->planned = str_is(db_col_str(s, 1), status_planned);
		*end = c;
		end = &c->next;
	}
	db_reset(s);
	if (rc == 0)
		*ret = first;
	return rc;
}

int store_calls_close(
	struct store_tx *tx, struct store_line *l, int64_t *ret_unknown, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct open_call *first = NULL;
	int64_t unknown = 0, node;

	if (list_open(&tx->view, l->at.turn, &scratch, &first, err) < 0)
		return -1;
	for (struct open_call *c = first; c; c = c->next) {
		struct str output = c->planned ? STR(output_cancelled) : STR(output_unknown);
		struct store_result r = {
			.call_id = c->call_id,
			.item = item_result(&scratch, l->family, c->call_id, output, NULL, 0),
			.cancelled = c->planned,
			.outcome_unknown = !c->planned,
		};

		if (store_call_complete(tx, l, &r, &node, err) < 0)
			return -1;
		unknown += !c->planned;
	}
	*ret_unknown = unknown;
	return 0;
}
