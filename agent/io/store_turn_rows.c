/*
 * Turns as rows: reading them, and the line a running one adds nodes to.
 */
#include "agent/io/store_internal.h"

const struct error_kind STORE_TURN_NOT_FOUND = {"turn_not_found", ERROR_CLASS_NOT_FOUND};
const struct error_kind STORE_STALE_TURN = {"stale_turn", ERROR_CLASS_CONFLICT};

const char *const turn_status_names[] = {
	[TURN_QUEUED] = "queued",
	[TURN_READY] = "ready",
	[TURN_RUNNING] = "running",
	[TURN_WAITING] = "waiting",
	[TURN_PACED] = "paced",
	[TURN_COMPLETED] = "completed",
	[TURN_FAILED] = "failed",
	[TURN_INTERRUPTED] = "interrupted",
	[TURN_STEERED] = "steered",
	NULL,
};
const char *const delivery_names[] = {
	[DELIVERY_REJECT] = "reject",
	[DELIVERY_QUEUE] = "queue",
	[DELIVERY_STEER] = "steer",
	NULL,
};

/* Columns, as TURN_COLUMNS names them. */
enum {
	COL_ID,
	COL_BOT,
	COL_BOT_NAME,
	COL_REQUEST_ID,
	COL_STATUS,
	COL_WORKSPACE,
	COL_MODEL,
	COL_FROM_BOT,
	COL_FROM_BOT_ID,
	COL_FROM_TURN,
	COL_ERROR,
	COL_DETAIL,
	COL_CHECKPOINT,
	COL_INPUT_TOKENS,
	COL_OUTPUT_TOKENS,
	COL_CACHED_INPUT_TOKENS,
	COL_ROUNDS,
	COL_STARTED_MS,
	COL_FINISHED_MS,
	COL_FAMILY,
	COL_INTO_TURN,
	COL_STEERED_NODE,
	COL_ORIGIN,
	COL_RETRIES,
	COL_PACED_MS,
	COL_BUDGET_TOKENS,
	COL_DENIALS,
	COL_PROMPT,
};

int store_turn_from_row(
	struct db_stmt *s, struct arena *a, struct store_turn *ret, struct error *err)
{
	int status = store_index_of(turn_status_names, db_col_str(s, COL_STATUS));

	if (status < 0)
		return error_set(err, &DB_ERROR, "the row of turn %lld is damaged: status",
			(long long)db_col_i64(s, COL_ID));
	*ret = (struct store_turn){
		.id = db_col_i64(s, COL_ID),
		.bot = db_col_i64(s, COL_BOT),
		.bot_name = store_col(s, COL_BOT_NAME, a),
		.request_id = store_col(s, COL_REQUEST_ID, a),
		.prompt = store_col(s, COL_PROMPT, a),
		.status = (enum turn_status)status,
		.workspace = store_col(s, COL_WORKSPACE, a),
		.model = store_col(s, COL_MODEL, a),
		.from_bot = store_col(s, COL_FROM_BOT, a),
		.from_bot_id = db_col_i64(s, COL_FROM_BOT_ID),
		.from_turn = db_col_i64(s, COL_FROM_TURN),
		.denials = db_col_i64(s, COL_DENIALS),
		.error = store_col(s, COL_ERROR, a),
		.detail = store_col(s, COL_DETAIL, a),
		.checkpoint = db_col_i64(s, COL_CHECKPOINT),
		.input_tokens = db_col_i64(s, COL_INPUT_TOKENS),
		.output_tokens = db_col_i64(s, COL_OUTPUT_TOKENS),
		.cached_input_tokens = db_col_i64(s, COL_CACHED_INPUT_TOKENS),
		.rounds = db_col_i64(s, COL_ROUNDS),
		.started_ms = db_col_i64(s, COL_STARTED_MS),
		.finished_ms = db_col_i64(s, COL_FINISHED_MS),
		.family = store_col(s, COL_FAMILY, a),
		.into_turn = db_col_i64(s, COL_INTO_TURN),
		.steered_node = db_col_i64(s, COL_STEERED_NODE),
		.origin = store_col(s, COL_ORIGIN, a),
		.retries = db_col_i64(s, COL_RETRIES),
		.paced_ms = db_col_i64(s, COL_PACED_MS),
		.budget_tokens = db_col_i64(s, COL_BUDGET_TOKENS),
	};
	return 0;
}

int store_turn_pictures(
	struct store_view *v, int64_t turn, struct arena *a, struct str *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_PICTURES);
	int rc;

	db_bind_i64(s, 1, turn);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = store_col(s, 0, a);
	db_reset(s);
	must(rc != 0); /* the caller has its row */
	return rc < 0 ? -1 : 0;
}

static int not_found(int64_t turn, struct error *err)
{
	return error_set(err, &STORE_TURN_NOT_FOUND, "the bot has no turn %lld", (long long)turn);
}

int store_turn_get(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_turn *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_BY_ID);
	struct store_turn t;
	int rc;

	db_bind_i64(s, 1, turn);
	rc = db_step(s, err);
	if (rc == 1 && store_turn_from_row(s, a, &t, err) < 0)
		rc = -1;
	db_reset(s);
	if (rc < 0)
		return -1;
	if (rc == 0 || t.bot != bot)
		return not_found(turn, err);
	*ret = t;
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
int store_turn_list(struct store_view *v, int64_t bot, int64_t after, int limit, struct arena *a,
	struct store_turn **ret, size_t *ret_count, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_LIST);
	struct store_turn *list = arena_alloc(a, (size_t)limit * sizeof(*list));
	size_t count = 0;
	int rc;

	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, after);
	db_bind_i64(s, 3, limit);
	while ((rc = db_step(s, err)) == 1) {
		if (store_turn_from_row(s, a, &list[count], err) < 0) {
			rc = -1;
			break;
		}
		count++;
	}
	db_reset(s);
	if (rc < 0)
		return -1;
	*ret = list;
	*ret_count = count;
	return 0;
}

static int read_item(
	struct store_view *v, int64_t node, struct arena *a, struct str *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_NODE_ITEM);
	int rc;

	db_bind_i64(s, 1, node);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = store_col(s, 1, a);
	db_reset(s);
	if (rc == 0)
		return error_set(err, &DB_ERROR, "node %lld is missing", (long long)node);
	return rc < 0 ? -1 : 0;
}

int store_turn_last_item(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct str *ret_item, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_LAST_MESSAGE);
	int64_t node = 0;
	int rc;

	db_bind_i64(s, 1, turn);
	db_bind_i64(s, 2, bot);
	rc = db_step(s, err);
	if (rc == 1)
		node = db_col_i64(s, 0);
	db_reset(s);
	if (rc <= 0)
		return rc < 0 ? -1 : not_found(turn, err);
	if (!node) {
		*ret_item = (struct str){NULL, 0};
		return 0;
	}
	return read_item(v, node, a, ret_item, err);
}

int store_queued_counts(
	struct store_view *v, int64_t *ret_turns, int64_t *ret_bytes, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_STORE_QUEUED);
	int rc = db_step(s, err);

	if (rc == 1) {
		*ret_turns = db_col_i64(s, 0);
		*ret_bytes = db_col_i64(s, 1);
	}
	db_reset(s);
	must(rc != 0); /* made when the store was opened */
	return rc < 0 ? -1 : 0;
}

int store_line_open(const struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_line *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_LINE);
	struct store_line l = {
		.at = {.bot = bot, .turn = turn}
        };
	bool running = false;
	int rc;

	db_bind_i64(s, 1, turn);
	db_bind_i64(s, 2, bot);
	rc = db_step(s, err);
	if (rc == 1) {
		l.at.bot_name = store_col(s, 0, a);
		running = str_is(db_col_str(s, 1), turn_status_names[TURN_RUNNING]);
		l.head = db_col_i64(s, 2);
		l.depth = db_col_i64(s, 3);
		l.total_bytes = db_col_i64(s, 4);
		l.family = item_family(db_col_str(s, 5));
	}
	db_reset(s);
	if (rc <= 0)
		return rc < 0 ? -1 : not_found(turn, err);
	if (!running)
		return error_set(
			err, &STORE_STALE_TURN, "turn %lld is not running", (long long)turn);
	*ret = l;
	return 0;
}

int store_line_add(struct store_tx *tx, struct store_line *l, struct str item, int64_t *ret_node,
	struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_NODE_INSERT);

	store_bind_id(s, 1, l->head);
	db_bind_i64(s, 2, l->at.turn);
	db_bind_i64(s, 3, l->depth + 1);
	db_bind_i64(s, 4, l->total_bytes + (int64_t)item.len);
	db_bind_str(s, 5, item);
	if (db_run(s, err) < 0)
		return -1;
	l->head = db_last_id(tx->view.db);
	l->depth++;
	l->total_bytes += (int64_t)item.len;
	*ret_node = l->head;
	return 0;
}

int store_line_save(struct store_tx *tx, const struct store_line *l, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_SET_HEAD);

	db_bind_i64(s, 1, l->at.bot);
	db_bind_i64(s, 2, l->head);
	return db_run(s, err);
}

int store_line_close(struct store_tx *tx, const struct store_line *l, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_CLOSE);

	db_bind_i64(s, 1, l->at.bot);
	db_bind_i64(s, 2, l->at.turn);
	return db_run(s, err);
}
