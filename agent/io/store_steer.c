/*
 * Steers: queued submissions that a running turn takes up between two rounds (spec 3.3).
 *
 * They are taken in the order they came, as user items of the turn that runs. One that names
 * another workspace or model, or that has no room, stays queued, and no later one overtakes it. A
 * strict steer whose turn ends without it fails: it never becomes work of its own.
 */
#include "agent/io/store_steer.h"

#include "agent/io/store_internal.h"

enum {
	BATCH_MAX = 32,               /* spec 2.6 */
	BATCH_MAX_BYTES = 256 * 1024, /* spec 2.6 */
	ROOM_PARTS = 4,
	ROOM_TAKEN = 3, /* spec 3.3: three quarters of the context budgets */
};

/* What is taken up, and where it goes. */
struct batch {
	const struct store_steer *s;
	struct store_turn turn;
	struct bot bot;
	struct store_line line;
	int64_t bytes, items; /* of what the next call has to hold: pinned texts and the turn */
	int64_t batch_bytes;
	size_t count;
	bool more;
};

/* A row of the queue. */
struct steer_row {
	int64_t id;
	bool workspace_given, model_given;
};

static int list_steers(struct store_view *v, int64_t bot, struct steer_row list[BATCH_MAX + 1],
	size_t *ret_count, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_STEERS_QUEUED);
	size_t count = 0;
	int rc;

	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, BATCH_MAX + 1);
	while ((rc = db_step(s, err)) == 1) {
		must(count <= BATCH_MAX);
		list[count++] = (struct steer_row){
			db_col_i64(s, 0), db_col_i64(s, 1) != 0, db_col_i64(s, 2) != 0};
	}
	db_reset(s);
	*ret_count = count;
	return rc;
}

/* Two numbers of one row, which there is. */
static int get_pair(struct db_stmt *s, int64_t *ret_x, int64_t *ret_y, struct error *err)
{
	int rc = db_step(s, err);

	if (rc == 1) {
		*ret_x = db_col_i64(s, 0);
		*ret_y = db_col_i64(s, 1);
	}
	db_reset(s);
	must(rc != 0);
	return rc < 0 ? -1 : 0;
}

/* How much the turn and what is pinned take already. */
static int measure(struct store_view *v, struct batch *b, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_BEGINNING);
	int64_t depth = 0, total = 0, pinned_bytes = 0, pinned = 0;

	db_bind_i64(s, 1, b->s->turn);
	if (get_pair(s, &depth, &total, err) < 0)
		return -1;
	s = store_stmt(v, SQL_BOT_PINNED);
	db_bind_i64(s, 1, b->s->bot);
	if (get_pair(s, &pinned_bytes, &pinned, err) < 0)
		return -1;
	b->bytes = b->line.total_bytes - total + pinned_bytes;
	b->items = b->line.depth - depth + pinned;
	return 0;
}

static bool has_room(const struct batch *b, const struct store_turn *steer, struct str item)
{
	const struct bot_limits *l = &b->bot.set.limits;

	return b->bytes + (int64_t)item.len <= l->context_bytes / ROOM_PARTS * ROOM_TAKEN &&
	       b->items + 1 <= l->context_items * ROOM_TAKEN / ROOM_PARTS &&
	       (b->count == 0 || b->batch_bytes + (int64_t)steer->prompt.len <= BATCH_MAX_BYTES);
}

static bool fits_turn(
	const struct batch *b, const struct steer_row *row, const struct store_turn *steer)
{
	if (row->workspace_given && !str_eq(steer->workspace, b->turn.workspace))
		return false;
	return !row->model_given || str_eq(steer->model, b->turn.model);
}

static int set_steered(
	struct store_tx *tx, int64_t steer, int64_t into, int64_t node, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_TURN_STEER);

	db_bind_i64(s, 1, steer);
	db_bind_i64(s, 2, into);
	db_bind_i64(s, 3, node);
	db_bind_i64(s, 4, clock_real_ms(tx->clock));
	return db_run(s, err);
}

/* The turn that takes it up says so; the steer has ended. */
static int record(struct store_tx *tx, const struct batch *b, const struct store_turn *steer,
	int64_t node, struct error *err)
{
	const struct store_place at = {steer->bot, steer->id, steer->bot_name};
	_cleanup_(buf) struct buf taken = BUF_INIT(EVENT_MAX_BYTES);
	_cleanup_(buf) struct buf ended = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&taken), k = JSON_OUT(&ended);

	json_open(&j, '{');
	json_put_i64(&j, "turn", steer->id);
	json_put_i64(&j, "node", node);
	json_close(&j, '}');
	json_open(&k, '{');
	json_put_cstr(&k, "status", turn_status_names[TURN_STEERED]);
	json_put_null(&k, "checkpoint");
	json_put_null(&k, "error");
	json_put_null(&k, "detail");
	json_put_i64(&k, "into", b->s->turn);
	json_put_i64(&k, "node", node);
	json_close(&k, '}');
	if (store_record(tx, &b->line.at, "steered", &taken, err) < 0)
		return -1;
	return store_record(tx, &at, "turn_finished", &ended, err);
}

/* 1 taken, 0 it stays, and all behind it, -1. */
static int take(
	struct store_tx *tx, struct batch *b, const struct steer_row *row, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_turn steer;
	struct str item;
	int64_t node;

	if (store_turn_get(&tx->view, b->s->bot, row->id, &scratch, &steer, err) < 0 ||
		store_turn_pictures(&tx->view, row->id, &scratch, &steer.pictures, err) < 0)
		return -1;
	item = b->s->user_item(&scratch, &steer);
	if (!fits_turn(b, row, &steer) || !has_room(b, &steer, item))
		return 0;
	if (store_line_add(tx, &b->line, item, &node, err) < 0 ||
		set_steered(tx, row->id, b->s->turn, node, err) < 0 ||
		store_queue_add(tx, -1, -store_queued_bytes(steer.prompt, steer.pictures), err) <
			0 ||
		record(tx, b, &steer, node, err) < 0)
		return -1;
	b->bytes += (int64_t)item.len;
	b->items++;
	b->batch_bytes += (int64_t)steer.prompt.len;
	b->count++;
	return 1;
}

static int take_all(struct store_tx *tx, struct batch *b, const struct steer_row *list,
	size_t count, struct error *err)
{
	int rc = 1;

	for (size_t i = 0; i < count && rc == 1; i++) {
		b->more = b->count == BATCH_MAX;
		if (b->more)
			break;
		rc = take(tx, b, &list[i], err);
	}
	return rc < 0 ? -1 : 0;
}

int store_steers_take(struct store_tx *tx, const struct store_steer *s, size_t *ret_count,
	bool *ret_more, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct steer_row list[BATCH_MAX + 1];
	struct batch b = {.s = s};
	size_t count;

	*ret_count = 0;
	*ret_more = false;
	if (list_steers(&tx->view, s->bot, list, &count, err) < 0)
		return -1;
	if (count == 0)
		return 0;
	if (store_line_open(&tx->view, s->bot, s->turn, &scratch, &b.line, err) < 0 ||
		store_turn_get(&tx->view, s->bot, s->turn, &scratch, &b.turn, err) < 0 ||
		store_bot_get_id(&tx->view, s->bot, &scratch, &b.bot, err) < 0 ||
		measure(&tx->view, &b, err) < 0)
		return -1;
	if (b.bot.set.budget_tokens && b.bot.tokens_used >= b.bot.set.budget_tokens)
		return 0; /* no call would follow */
	if (take_all(tx, &b, list, count, err) < 0)
		return -1;
	if (b.count > 0 && store_line_save(tx, &b.line, err) < 0)
		return -1;
	*ret_count = b.count;
	*ret_more = b.more;
	return 0;
}

/* 1 and the next strict steer of that turn, 0 there is none, -1. */
static int next_missed(
	struct store_view *v, int64_t bot, int64_t turn, int64_t *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_STEER_MISSED);
	int rc;

	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, turn);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = db_col_i64(s, 0);
	db_reset(s);
	return rc;
}

int store_steers_miss(struct store_tx *tx, int64_t bot, int64_t turn, struct error *err)
{
	int64_t steer = 0;
	int rc;

	while ((rc = next_missed(&tx->view, bot, turn, &steer, err)) == 1) {
		const struct store_finish f = {
			.bot = bot,
			.turn = steer,
			.status = TURN_FAILED,
			.error = STR("stale_turn"),
			.detail = STR("the turn it was meant for ended without it"),
		};

		if (store_turn_drop(tx, &f, err) < 0)
			return -1;
	}
	return rc;
}
