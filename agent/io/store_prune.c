/*
 * Old turns' records: events, calls, ended processes and artifacts go, the transcript and the turns
 * themselves stay, so that history, forks, accounting and idempotency are as they were (agent spec
 * 3.6). Up to which event something may be missing is kept, of the bot and of the store.
 */
#include "agent/io/store_internal.h"

static int delete_of_turn(struct store_tx *tx, enum store_sql which, int64_t turn,
	int64_t *ret_rows, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, which);

	db_bind_i64(s, 1, turn);
	if (db_run(s, err) < 0)
		return -1;
	*ret_rows = db_changes(tx->view.db);
	return 0;
}

static int last_event(struct store_view *v, int64_t turn, int64_t *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_EVENT_LAST_OF_TURN);
	int rc;

	db_bind_i64(s, 1, turn);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = db_col_i64(s, 0);
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

int store_drop_records(
	struct store_tx *tx, int64_t turn, int64_t *events, int64_t *cursor, struct error *err)
{
	int64_t last = 0, dropped, ignored;

	if (last_event(&tx->view, turn, &last, err) < 0 || store_spill_drop(tx, turn, err) < 0 ||
		delete_of_turn(tx, SQL_EVENTS_DELETE_TURN, turn, &dropped, err) < 0 ||
		delete_of_turn(tx, SQL_CALLS_DELETE, turn, &ignored, err) < 0 ||
		delete_of_turn(tx, SQL_ARTIFACTS_DELETE, turn, &ignored, err) < 0 ||
		delete_of_turn(tx, SQL_PROCESSES_DELETE_TURN, turn, &ignored, err) < 0)
		return -1;
	*events += dropped;
	if (last > *cursor)
		*cursor = last;
	return 0;
}

int store_set_pruned(struct store_tx *tx, int64_t bot, int64_t cursor, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_SET_PRUNED);

	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, cursor);
	if (db_run(s, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_STORE_SET_PRUNED);
	db_bind_i64(s, 1, cursor);
	return db_run(s, err);
}

/* What is pruned: the oldest of the bot's finished turns, but for the newest `keep` and `except`.
 */
struct scope {
	int64_t bot, keep, except;
};

/* Whose records go now. *ret_count below STORE_PIECE_TURNS: there are no more. */
static int list_turns(struct store_view *v, const struct scope *scope,
	int64_t turns[STORE_PIECE_TURNS], size_t *ret_count, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_KEPT);
	int64_t newest = 0;
	size_t count = 0;
	int rc;

	*ret_count = 0;
	db_bind_i64(s, 1, scope->bot);
	db_bind_i64(s, 2, scope->keep);
	rc = db_step(s, err);
	if (rc == 1)
		newest = db_col_i64(s, 0);
	db_reset(s);
	if (rc <= 0)
		return rc;
	s = store_stmt(v, SQL_TURNS_TO_PRUNE);
	db_bind_i64(s, 1, scope->bot);
	db_bind_i64(s, 2, newest);
	db_bind_i64(s, 3, scope->except);
	db_bind_i64(s, 4, STORE_PIECE_TURNS);
	while ((rc = db_step(s, err)) == 1) {
		must(count < STORE_PIECE_TURNS);
		turns[count++] = db_col_i64(s, 0);
	}
	db_reset(s);
	*ret_count = count;
	return rc;
}

static int mark_pruned(struct store_tx *tx, int64_t turn, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_TURN_SET_PRUNED);

	db_bind_i64(s, 1, turn);
	return db_run(s, err);
}

static int prune_piece(struct store_tx *tx, const struct scope *scope, int64_t *events,
	size_t *ret_turns, struct error *err)
{
	int64_t turns[STORE_PIECE_TURNS], cursor = 0;

	if (list_turns(&tx->view, scope, turns, ret_turns, err) < 0)
		return -1;
	for (size_t i = 0; i < *ret_turns; i++) {
		if (store_drop_records(tx, turns[i], events, &cursor, err) < 0 ||
			mark_pruned(tx, turns[i], err) < 0)
			return -1;
	}
	return cursor ? store_set_pruned(tx, scope->bot, cursor, err) : 0;
}

int store_bot_prune_piece(struct store_tx *tx, int64_t bot, int64_t keep, struct store_pruned *sum,
	bool *ret_done, struct error *err)
{
	const struct scope scope = {.bot = bot, .keep = keep};
	int64_t events = 0, cursor;
	size_t turns;
	bool there;

	if (prune_piece(tx, &scope, &events, &turns, err) < 0 ||
		store_pruned_cursor(&tx->view, bot, &cursor, &there, err) < 0)
		return -1;
	if (!there)
		return error_set(
			err, &STORE_BOT_NOT_FOUND, "there is no bot with id %lld", (long long)bot);
	sum->events += events;
	sum->cursor = cursor;
	*ret_done = turns < STORE_PIECE_TURNS;
	return 0;
}

int store_retain(struct store_tx *tx, int64_t bot, int64_t turn, int64_t retain, struct error *err)
{
	const struct scope scope = {.bot = bot, .keep = retain, .except = turn};
	int64_t events = 0;
	size_t turns;

	return retain ? prune_piece(tx, &scope, &events, &turns, err) : 0;
}

int store_pruned_cursor(
	struct store_view *v, int64_t bot, int64_t *ret, bool *ret_there, struct error *err)
{
	struct db_stmt *s = store_stmt(v, bot ? SQL_BOT_PRUNED : SQL_STORE_PRUNED);
	int rc;

	if (bot)
		db_bind_i64(s, 1, bot);
	rc = db_step(s, err);
	*ret = rc == 1 ? db_col_i64(s, 0) : 0;
	*ret_there = rc == 1;
	db_reset(s);
	return rc < 0 ? -1 : 0;
}
