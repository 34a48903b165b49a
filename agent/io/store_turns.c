/*
 * Turns: admission, start, end (spec 3.2, 3.3).
 *
 * A bot's line is kept by its statuses alone: at most one turn of a bot is ready, running, waiting
 * or paced, and where one is queued there is such a one before it. Whatever ends that one makes the
 * oldest queued turn ready in the same commit.
 */
#include "agent/io/store_internal.h"

const struct error_kind STORE_BOT_BUSY = {"bot_busy", ERROR_CLASS_CONFLICT};
const struct error_kind STORE_ACTIVE_LIMIT = {"active_agent_limit", ERROR_CLASS_LIMIT};
const struct error_kind STORE_PAUSED = {"daemon_paused", ERROR_CLASS_UNAVAILABLE};
const struct error_kind STORE_PENDING_LIMIT = {"pending_limit", ERROR_CLASS_LIMIT};
const struct error_kind STORE_IDEMPOTENCY = {"idempotency_conflict", ERROR_CLASS_CONFLICT};
const struct error_kind STORE_BUDGET = {"budget_exhausted", ERROR_CLASS_LIMIT};
const struct error_kind STORE_WORKSPACE_REQUIRED = {"workspace_required", ERROR_CLASS_USAGE};

int store_queue_add(struct store_tx *tx, int64_t turns, int64_t bytes, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_STORE_QUEUE_ADD);

	db_bind_i64(s, 1, turns);
	db_bind_i64(s, 2, bytes);
	return db_run(s, err);
}

static void put_id(struct json_out *j, const char *name, int64_t id)
{
	if (id)
		json_put_i64(j, name, id);
	else
		json_put_null(j, name);
}

/* Starting */

static int record_accepted(
	struct store_tx *tx, const struct store_turn *t, int64_t node, struct error *err)
{
	const struct store_place at = {.bot = t->bot, .turn = t->id, .bot_name = t->bot_name};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_str(&j, "request_id", t->request_id);
	json_put_i64(&j, "node", node);
	json_put_str(&j, "workspace", t->workspace);
	json_put_str(&j, "model", t->model);
	if (t->from_bot.p) {
		json_open_key(&j, "from", '{');
		json_put_str(&j, "bot", t->from_bot);
		put_id(&j, "bot_id", t->from_bot_id);
		put_id(&j, "turn", t->from_turn);
		json_close(&j, '}');
	} else {
		json_put_null(&j, "from");
	}
	json_put_raw(&j, "origin", t->origin);
	json_close(&j, '}');
	return store_record(tx, &at, "accepted", &data, err);
}

/* The turn's row says running already: its user item, the bot busy, `accepted`. */
static int begin(struct store_tx *tx, const struct store_turn *t,
	struct str (*user_item)(struct arena *, const struct store_turn *), struct bot *b,
	struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct db_stmt *s;
	struct store_line l;
	int64_t node;

	if (store_line_open(&tx->view, t->bot, t->id, &scratch, &l, err) < 0 ||
		store_line_add(tx, &l, user_item(&scratch, t), &node, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_BOT_START);
	db_bind_i64(s, 1, t->bot);
	db_bind_i64(s, 2, t->id);
	db_bind_i64(s, 3, node);
	if (db_run(s, err) < 0 || record_accepted(tx, t, node, err) < 0)
		return -1;
	b->status = BOT_RUNNING;
	b->running_turn = t->id;
	b->head = node;
	return 0;
}

/* Admission */

/* 1 the bot has a turn that is ready or further, 0 it is free, -1. */
static int find_live(struct store_view *v, int64_t bot, int64_t *ret_turn,
	enum turn_status *ret_status, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_LIVE);
	int rc;

	db_bind_i64(s, 1, bot);
	rc = db_step(s, err);
	if (rc == 1) {
		int status = store_index_of(turn_status_names, db_col_str(s, 1));

		must(status >= 0);
		*ret_turn = db_col_i64(s, 0);
		*ret_status = (enum turn_status)status;
	}
	db_reset(s);
	return rc;
}

/* What an earlier submission under the same request id was, beside its turn. */
struct earlier {
	struct store_turn turn;
	enum delivery delivery;
	bool workspace_given, model_given;
	int64_t expected_turn;
	struct str pictures_digest;
};

/* 1 there is one, 0 not, -1. */
static int find_earlier(struct store_view *v, int64_t bot, struct str request_id, struct arena *a,
	struct earlier *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_BY_REQUEST);
	int rc;

	db_bind_i64(s, 1, bot);
	db_bind_str(s, 2, request_id);
	rc = db_step(s, err);
	if (rc == 1 && store_turn_from_row(s, a, &ret->turn, err) < 0)
		rc = -1;
	if (rc == 1) {
		int delivery = store_index_of(delivery_names, db_col_str(s, 28));

		ret->delivery = delivery < 0 ? DELIVERY_REJECT : (enum delivery)delivery;
		ret->workspace_given = db_col_i64(s, 29) != 0;
		ret->model_given = db_col_i64(s, 30) != 0;
		ret->expected_turn = db_col_i64(s, 31);
		ret->pictures_digest = store_col(s, 32, a);
	}
	db_reset(s);
	return rc;
}

/* Left out both times is the same, whatever the bot's own is by now. */
static bool same_choice(struct str was, bool was_given, struct str asked, struct str of_bot)
{
	if (!asked.p && !was_given)
		return true;
	return str_eq(was, asked.p ? asked : of_bot);
}

static int check_same(const struct earlier *was, const struct store_submit *s, const struct bot *b,
	struct error *err)
{
	const char *differs = NULL;

	if (!str_eq(was->turn.prompt, s->prompt))
		differs = "prompt";
	else if (was->delivery != s->delivery)
		differs = "delivery";
	else if (was->expected_turn != s->expected_turn)
		differs = "expected_turn";
	else if (!str_eq(was->pictures_digest, s->pictures_digest))
		differs = "images";
	else if (was->turn.budget_tokens != s->budget_tokens)
		differs = "turn_budget_tokens";
	else if (!same_choice(
			 was->turn.workspace, was->workspace_given, s->workspace, b->set.workspace))
		differs = "workspace";
	else if (!same_choice(was->turn.model, was->model_given, s->model, b->set.model))
		differs = "model";
	if (!differs)
		return 0;
	return error_set(err, &STORE_IDEMPOTENCY, "request_id: turn %lld had it with another %s",
		(long long)was->turn.id, differs);
}

static int find_bot(struct store_view *v, const struct store_submit *s, struct arena *a,
	struct bot *ret, struct error *err)
{
	struct bot b;

	if (store_bot_get(v, s->bot, a, &b, err) < 0)
		return -1;
	if (s->bot_id && s->bot_id != b.id)
		return error_set(err, &STORE_BOT_NOT_FOUND,
			"bot_id: the bot '" STR_FMT "' has id %lld now, not %lld", STR_ARG(b.name),
			(long long)b.id, (long long)s->bot_id);
	*ret = b;
	return 0;
}

static bool is_listed(const char *const *names, struct str name)
{
	return names && store_index_of(names, name) >= 0;
}

static int check_workspace(const struct store_submit *s, const struct bot *b, struct error *err)
{
	if (s->workspace.p || b->set.workspace.p)
		return 0;
	for (size_t i = 0; i < b->set.tools.count; i++) {
		if (is_listed(s->workspace_tools, b->set.tools.items[i]))
			return error_set(err, &STORE_WORKSPACE_REQUIRED,
				"workspace: the bot has none of its own, and its tool '" STR_FMT
				"' works in one",
				STR_ARG(b->set.tools.items[i]));
	}
	return 0;
}

static int check_pending(struct store_view *v, const struct store_submit *s, struct error *err)
{
	int64_t turns, bytes;

	if (!s->pending_max && !s->pending_max_bytes)
		return 0;
	if (store_queued_counts(v, &turns, &bytes, err) < 0)
		return -1;
	if (s->pending_max && turns >= s->pending_max)
		return error_set(err, &STORE_PENDING_LIMIT,
			"%lld submissions wait to start, which is the limit", (long long)turns);
	bytes += store_queued_bytes(s->prompt, s->pictures);
	if (s->pending_max_bytes && bytes > s->pending_max_bytes)
		return error_set(err, &STORE_PENDING_LIMIT,
			"%lld bytes of prompts would wait to start, this one among them; %lld are "
			"the limit",
			(long long)bytes, (long long)s->pending_max_bytes);
	return 0;
}

static int refuse_busy(
	const struct bot *b, int64_t turn, enum turn_status status, struct error *err)
{
	return error_set(err, &STORE_BOT_BUSY,
		"turn %lld of bot '" STR_FMT "' is %s; delivery \"queue\" waits for it",
		(long long)turn, STR_ARG(b->name), turn_status_names[status]);
}

static int refuse_stale(const struct store_submit *s, bool live, int64_t turn, struct error *err)
{
	if (!live)
		return error_set(err, &STORE_STALE_TURN,
			"expected_turn: turn %lld is over, and no other is under way",
			(long long)s->expected_turn);
	return error_set(err, &STORE_STALE_TURN, "expected_turn: turn %lld is under way, not %lld",
		(long long)turn, (long long)s->expected_turn);
}

/* What becomes of a submission: TURN_RUNNING, TURN_READY or TURN_QUEUED. */
static int admit(struct store_tx *tx, const struct store_submit *s, const struct bot *b,
	enum turn_status *ret, struct error *err)
{
	enum turn_status status = TURN_QUEUED;
	int64_t turn = 0;
	int live;

	if (b->set.budget_tokens && b->tokens_used >= b->set.budget_tokens)
		return error_set(err, &STORE_BUDGET, "%lld of %lld tokens are used",
			(long long)b->tokens_used, (long long)b->set.budget_tokens);
	if (check_workspace(s, b, err) < 0)
		return -1;
	live = find_live(&tx->view, b->id, &turn, &status, err);
	if (live < 0)
		return -1;
	if (s->expected_turn && (!live || turn != s->expected_turn))
		return refuse_stale(s, live, turn, err);
	if (s->paused && s->delivery == DELIVERY_REJECT)
		return error_set(err, &STORE_PAUSED,
			"no turn starts until somebody resumes; delivery \"queue\" waits for it");
	if (live && s->delivery == DELIVERY_REJECT)
		return refuse_busy(b, turn, status, err);
	if (!live && s->may_start) {
		*ret = TURN_RUNNING;
		return 0;
	}
	if (s->delivery == DELIVERY_REJECT)
		return error_set(err, &STORE_ACTIVE_LIMIT,
			"as many turns run as may; delivery \"queue\" waits for one to end");
	if (check_pending(&tx->view, s, err) < 0)
		return -1;
	*ret = live ? TURN_QUEUED : TURN_READY;
	return 0;
}

static int insert(struct store_tx *tx, const struct store_submit *s, const struct bot *b,
	enum turn_status status, struct error *err)
{
	struct db_stmt *q = store_stmt(&tx->view, SQL_TURN_INSERT);

	db_bind_i64(q, 1, b->id);
	db_bind_str(q, 2, s->request_id);
	db_bind_str(q, 3, str_from(turn_status_names[status]));
	db_bind_str(q, 4, str_from(delivery_names[s->delivery]));
	db_bind_str(q, 5, s->workspace.p ? s->workspace : b->set.workspace);
	db_bind_i64(q, 6, s->workspace.p != NULL);
	db_bind_str(q, 7, s->model.p ? s->model : b->set.model);
	db_bind_i64(q, 8, s->model.p != NULL);
	db_bind_str(q, 9, s->from_bot);
	store_bind_id(q, 10, s->from_bot.p ? s->from_bot_id : 0);
	store_bind_id(q, 11, s->from_bot.p ? s->from_turn : 0);
	store_bind_id(q, 12, status == TURN_RUNNING ? clock_real_ms(tx->clock) : 0);
	db_bind_str(q, 13, str_cut(s->prompt, PREVIEW_MAX_BYTES));
	db_bind_str(q, 14, s->prompt);
	store_bind_id(q, 15, s->expected_turn);
	db_bind_str(q, 16, s->origin);
	store_bind_id(q, 17, s->budget_tokens);
	db_bind_str(q, 18, s->pictures_digest);
	db_bind_str(q, 19, status == TURN_RUNNING ? (struct str){NULL, 0} : s->pictures);
	return db_run(q, err);
}

static int record_queued(
	struct store_tx *tx, const struct store_turn *t, enum delivery delivery, struct error *err)
{
	const struct store_place at = {.bot = t->bot, .turn = t->id, .bot_name = t->bot_name};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_str(&j, "request_id", t->request_id);
	json_put_cstr(&j, "status", turn_status_names[t->status]);
	json_put_cstr(&j, "delivery", delivery_names[delivery]);
	json_put_str(&j, "workspace", t->workspace);
	json_put_str(&j, "model", t->model);
	json_close(&j, '}');
	return store_record(tx, &at, "queued", &data, err);
}

/* A new turn, in the state it was admitted to. */
static int enter(struct store_tx *tx, const struct store_submit *s, enum turn_status status,
	struct arena *a, struct store_submitted *n, struct error *err)
{
	struct store_view *v = &tx->view;
	int rc;

	if (insert(tx, s, &n->bot, status, err) < 0 ||
		store_turn_get(v, n->bot.id, db_last_id(v->db), a, &n->turn, err) < 0)
		return -1;
	n->started = status == TURN_RUNNING;
	n->turn.pictures = s->pictures;
	if (n->started)
		rc = begin(tx, &n->turn, s->user_item, &n->bot, err);
	else if (store_queue_add(tx, 1, store_queued_bytes(s->prompt, s->pictures), err) < 0)
		rc = -1;
	else
		rc = record_queued(tx, &n->turn, s->delivery, err);
	if (rc == 0)
		n->cursor = tx->last->event.id;
	return rc;
}

int store_turn_submit(struct store_tx *tx, const struct store_submit *s, struct arena *a,
	struct store_submitted *ret, struct error *err)
{
	struct store_submitted n = {.duplicate = false};
	enum turn_status status = TURN_QUEUED;
	struct earlier was;
	int found;

	if (find_bot(&tx->view, s, a, &n.bot, err) < 0)
		return -1;
	found = find_earlier(&tx->view, n.bot.id, s->request_id, a, &was, err);
	if (found < 0 || (found && check_same(&was, s, &n.bot, err) < 0))
		return -1;
	if (found) {
		*ret = (struct store_submitted){.turn = was.turn, .bot = n.bot, .duplicate = true};
		return 0;
	}
	if (admit(tx, s, &n.bot, &status, err) < 0 || enter(tx, s, status, a, &n, err) < 0)
		return -1;
	*ret = n;
	return 0;
}

/* 1 and its id, 0 there is none, -1. For the statements that look for one. */
static int find_one(struct db_stmt *s, int64_t *ret, struct error *err)
{
	int rc = db_step(s, err);

	if (rc == 1)
		*ret = db_col_i64(s, 0);
	db_reset(s);
	return rc;
}

static int set_running(struct store_tx *tx, int64_t turn, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_TURN_START);

	db_bind_i64(s, 1, turn);
	db_bind_i64(s, 2, clock_real_ms(tx->clock));
	return db_run(s, err);
}

/* The turn, whosever it is. */
static int get_turn(struct store_view *v, int64_t turn, struct arena *a, struct store_turn *ret,
	struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_BY_ID);
	int rc;

	db_bind_i64(s, 1, turn);
	rc = db_step(s, err);
	if (rc == 1 && store_turn_from_row(s, a, ret, err) < 0)
		rc = -1;
	db_reset(s);
	must(rc != 0); /* found in this transaction */
	return rc < 0 ? -1 : 0;
}

/* NOLINTNEXTLINE(readability-function-size): how to start it, and three results */
int store_turn_start_ready(struct store_tx *tx,
	struct str (*user_item)(struct arena *, const struct store_turn *), struct arena *a,
	struct store_turn *ret_turn, struct bot *ret_bot, bool *ret_found, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct str pictures = {NULL, 0}; /* only for its item */
	struct store_turn t;
	struct bot b;
	int64_t turn = 0;
	int found = find_one(store_stmt(&tx->view, SQL_TURN_FIRST_READY), &turn, err);

	if (found < 0)
		return -1;
	if (!found) {
		*ret_found = false;
		return 0;
	}
	if (store_turn_pictures(&tx->view, turn, &scratch, &pictures, err) < 0 ||
		set_running(tx, turn, err) < 0 || get_turn(&tx->view, turn, a, &t, err) < 0)
		return -1;
	t.pictures = pictures;
	if (store_queue_add(tx, -1, -store_queued_bytes(t.prompt, t.pictures), err) < 0 ||
		store_bot_get_id(&tx->view, t.bot, a, &b, err) < 0 ||
		begin(tx, &t, user_item, &b, err) < 0)
		return -1;
	t.pictures = (struct str){NULL, 0};
	t.was_queued = true;
	*ret_turn = t;
	*ret_bot = b;
	*ret_found = true;
	return 0;
}

/* Ending */

static int set_finished(
	struct store_tx *tx, const struct store_finish *f, int64_t checkpoint, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_TURN_FINISH);

	db_bind_i64(s, 1, f->turn);
	db_bind_str(s, 2, str_from(turn_status_names[f->status]));
	db_bind_str(s, 3, f->error);
	db_bind_str(s, 4, f->detail);
	store_bind_id(s, 5, checkpoint);
	db_bind_i64(s, 6, clock_real_ms(tx->clock));
	return db_run(s, err);
}

static int record_finished(struct store_tx *tx, const struct store_place *at,
	const struct store_finish *f, int64_t checkpoint, struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_cstr(&j, "status", turn_status_names[f->status]);
	put_id(&j, "checkpoint", checkpoint);
	json_put_str(&j, "error", f->error);
	json_put_str(&j, "detail", f->detail);
	json_close(&j, '}');
	return store_record(tx, at, "turn_finished", &data, err);
}

/* The bot has no turn that is ready or further: its oldest queued one becomes that. */
static int promote(struct store_tx *tx, int64_t bot, bool *ret_found, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_TURN_NEXT_QUEUED);
	int64_t turn = 0;
	int found;

	db_bind_i64(s, 1, bot);
	found = find_one(s, &turn, err);
	*ret_found = found == 1;
	if (found <= 0)
		return found;
	s = store_stmt(&tx->view, SQL_TURN_SET_READY);
	db_bind_i64(s, 1, turn);
	return db_run(s, err);
}

static enum bot_status bot_status_after(enum turn_status s)
{
	if (s == TURN_COMPLETED)
		return BOT_COMPLETED;
	return s == TURN_FAILED ? BOT_FAILED : BOT_INTERRUPTED;
}

static int free_bot(struct store_tx *tx, const struct store_finish *f, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_FINISH);

	db_bind_i64(s, 1, f->bot);
	db_bind_str(s, 2, str_from(bot_status_names[bot_status_after(f->status)]));
	return db_run(s, err);
}

int store_turn_end(struct store_tx *tx, const struct store_finish *f, struct store_finished *ret,
	int64_t *ret_unknown, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_line l;
	int64_t unknown;
	bool next;

	must(turn_status_final(f->status));
	if (store_line_open(&tx->view, f->bot, f->turn, &scratch, &l, err) < 0 ||
		store_calls_close(tx, &l, &unknown, err) < 0 || store_line_save(tx, &l, err) < 0 ||
		set_finished(tx, f, l.head, err) < 0 || free_bot(tx, f, err) < 0 ||
		record_finished(tx, &l.at, f, l.head, err) < 0 ||
		store_steers_miss(tx, f->bot, f->turn, err) < 0 ||
		promote(tx, f->bot, &next, err) < 0 ||
		store_retain(tx, f->bot, f->turn, f->retain_turns, err) < 0)
		return -1;
	*ret = (struct store_finished){.next_ready = next};
	*ret_unknown = unknown;
	return 0;
}

int store_turn_finish(struct store_tx *tx, const struct store_finish *f, struct store_finished *ret,
	struct error *err)
{
	int64_t unknown;

	return store_turn_end(tx, f, ret, &unknown, err);
}

int store_turn_drop(struct store_tx *tx, const struct store_finish *f, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_turn t;

	if (store_turn_get(&tx->view, f->bot, f->turn, &scratch, &t, err) < 0 ||
		store_turn_pictures(&tx->view, f->turn, &scratch, &t.pictures, err) < 0 ||
		set_finished(tx, f, 0, err) < 0 ||
		store_queue_add(tx, -1, -store_queued_bytes(t.prompt, t.pictures), err) < 0)
		return -1;
	return record_finished(tx,
		&(struct store_place){.bot = f->bot, .turn = f->turn, .bot_name = t.bot_name}, f, 0,
		err);
}

int store_turn_cancel_queued(struct store_tx *tx, int64_t bot, int64_t turn, struct error *err)
{
	const struct store_finish f = {
		.bot = bot, .turn = turn, .status = TURN_INTERRUPTED, .error = STR("cancelled")};
	_cleanup_(arena) struct arena scratch = {0};
	struct store_turn t;
	bool next;

	if (store_turn_get(&tx->view, bot, turn, &scratch, &t, err) < 0)
		return -1;
	if (t.status != TURN_QUEUED && t.status != TURN_READY)
		return error_set(err, &STORE_STALE_TURN, "turn %lld is %s", (long long)turn,
			turn_status_names[t.status]);
	if (store_turn_drop(tx, &f, err) < 0)
		return -1;
	if (t.status != TURN_READY) /* a queued one leaves the line behind its head */
		return 0;
	if (store_steers_miss(tx, bot, turn, err) < 0)
		return -1;
	return promote(tx, bot, &next, err);
}
