/*
 * Deleting a bot (agent spec 3.6), newest turns first, in pieces. From the first one on its status
 * is `deleting` and nobody finds it; what a crash leaves of it is deleted at the next open.
 *
 * Its head goes back over its history as nodes are deleted, and is taken away at the first one that
 * somebody else needs: whose history holds a node holds all before it. So the nodes of a bot that
 * is long gone are deleted with the last fork that shares them.
 */
#include "agent/io/store_internal.h"

enum { PIECE_ROWS = 256 /* ours: shared nodes, or events of no turn, that one job deletes */ };

/* Refusing */

static int refuse(struct str name, const char *what, int64_t id, struct error *err)
{
	return error_set(err, &STORE_BOT_BUSY, "bot '" STR_FMT "' has %s %lld", STR_ARG(name), what,
		(long long)id);
}

static int check_free(struct store_view *v, const struct bot *b, struct error *err)
{
	static const char *const what[] = {
		"a turn that is not over,", "a turn in the queue,", "a command in the background,"};
	struct db_stmt *s = store_stmt(v, SQL_BOT_IN_USE);
	int64_t ids[ARRAY_LEN(what)] = {0};
	int rc;

	db_bind_i64(s, 1, b->id);
	rc = db_step(s, err);
	for (size_t i = 0; rc == 1 && i < ARRAY_LEN(what); i++)
		ids[i] = db_col_i64(s, (int)i);
	db_reset(s);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(what); i++) {
		if (ids[i])
			return refuse(b->name, what[i], ids[i], err);
	}
	return 0;
}

/* 1 and its id: it is deleting; 0, -1. */
static int find_begun(struct store_view *v, struct str name, int64_t *ret_bot, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_BOT_DELETING_NAME);
	int rc;

	db_bind_str(s, 1, name);
	rc = db_step(s, err);
	if (rc == 1)
		*ret_bot = db_col_i64(s, 0);
	db_reset(s);
	return rc;
}

static int run_on_bot(struct store_tx *tx, enum store_sql which, int64_t bot, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, which);

	db_bind_i64(s, 1, bot);
	return db_run(s, err);
}

int store_bot_delete(struct store_tx *tx, struct str name, int64_t *ret_bot, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct bot b;
	int begun = find_begun(&tx->view, name, ret_bot, err);

	if (begun)
		return begun < 0 ? -1 : 0;
	if (store_bot_get(&tx->view, name, &scratch, &b, err) < 0 ||
		check_free(&tx->view, &b, err) < 0 ||
		run_on_bot(tx, SQL_BOT_SET_DELETING, b.id, err) < 0)
		return -1;
	*ret_bot = b.id;
	return 0;
}

/* Nodes */

/* The bot that goes, as far as its history is still there. */
struct going {
	int64_t bot, head;
	struct store_deleted *sum;
	int64_t cursor; /* newest event deleted */
};

/* What there is to know of the node at the head. */
struct top {
	int64_t parent, turn;
	bool used;
};

static int look_at_top(
	struct store_view *v, const struct going *g, struct top *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_NODE_USED);
	int rc;

	db_bind_i64(s, 1, g->head);
	db_bind_i64(s, 2, g->bot);
	rc = db_step(s, err);
	/* one that is missing went with another bot that was deleted meanwhile */
	*ret = rc == 1 ? (struct top){db_col_i64(s, 0), db_col_i64(s, 1), db_col_i64(s, 2) != 0}
		       : (struct top){.used = true};
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

/* Versions of views that hold from the node on go with it. */
static int delete_top(struct store_tx *tx, struct going *g, int64_t parent, struct error *err)
{
	if (run_on_bot(tx, SQL_NODE_DELETE, g->head, err) < 0)
		return -1;
	g->sum->nodes++;
	g->head = parent;
	return 0;
}

/* Those of one turn (0: of any, at most `limit`), from the head back. */
static int delete_nodes(
	struct store_tx *tx, struct going *g, int64_t turn, int64_t limit, struct error *err)
{
	while (g->head && limit-- > 0) {
		struct top top;

		if (look_at_top(&tx->view, g, &top, err) < 0)
			return -1;
		if (top.used)
			g->head = 0;
		else if (turn && top.turn != turn)
			return 0;
		else if (delete_top(tx, g, top.parent, err) < 0)
			return -1;
	}
	return 0;
}

static int save_head(struct store_tx *tx, const struct going *g, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_SET_HEAD);

	db_bind_i64(s, 1, g->bot);
	store_bind_id(s, 2, g->head);
	return db_run(s, err);
}

/* Turns */

static int list_turns(struct store_view *v, int64_t bot, int64_t turns[STORE_PIECE_TURNS],
	size_t *ret_count, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURNS_NEWEST);
	size_t count = 0;
	int rc;

	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, STORE_PIECE_TURNS);
	while ((rc = db_step(s, err)) == 1) {
		must(count < STORE_PIECE_TURNS);
		turns[count++] = db_col_i64(s, 0);
	}
	db_reset(s);
	*ret_count = count;
	return rc;
}

static int delete_turns(
	struct store_tx *tx, struct going *g, const int64_t *turns, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (store_drop_records(tx, turns[i], &g->sum->events, &g->cursor, err) < 0 ||
			delete_nodes(tx, g, turns[i], INT64_MAX, err) < 0 ||
			run_on_bot(tx, SQL_TURN_DELETE, turns[i], err) < 0)
			return -1;
		g->sum->turns++;
	}
	return 0;
}

/* What belongs to no turn */

/* Events; *ret_left: there may be more. */
static int delete_events(struct store_tx *tx, struct going *g, bool *ret_left, struct error *err)
{
	for (int i = 0; i < PIECE_ROWS; i++) {
		struct db_stmt *s = store_stmt(&tx->view, SQL_EVENT_FIRST_OF_BOT);
		int64_t id = 0;
		int rc;

		db_bind_i64(s, 1, g->bot);
		rc = db_step(s, err);
		if (rc == 1)
			id = db_col_i64(s, 0);
		db_reset(s);
		*ret_left = rc == 1;
		if (rc <= 0)
			return rc;
		if (run_on_bot(tx, SQL_EVENT_DELETE, id, err) < 0)
			return -1;
		g->sum->events++;
		if (id > g->cursor)
			g->cursor = id;
	}
	return 0;
}

static int delete_bot(struct store_tx *tx, const struct going *g, struct error *err)
{
	if (run_on_bot(tx, SQL_PROCESSES_DELETE_BOT, g->bot, err) < 0)
		return -1;
	return run_on_bot(tx, SQL_BOT_DELETE, g->bot, err);
}

static int delete_rest(struct store_tx *tx, struct going *g, bool *ret_done, struct error *err)
{
	bool left = false;

	if (g->head)
		return delete_nodes(tx, g, 0, PIECE_ROWS, err);
	if (delete_events(tx, g, &left, err) < 0)
		return -1;
	*ret_done = !left;
	return left ? 0 : delete_bot(tx, g, err);
}

/* 1 and where its history stands, 0 it is gone, -1. */
static int find(struct store_view *v, int64_t bot, int64_t *ret_head, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_BOT_DELETING);
	int rc;

	db_bind_i64(s, 1, bot);
	rc = db_step(s, err);
	if (rc == 1)
		*ret_head = db_col_i64(s, 0);
	db_reset(s);
	return rc;
}

int store_bot_delete_piece(struct store_tx *tx, int64_t bot, struct store_deleted *sum,
	bool *ret_done, struct error *err)
{
	struct store_deleted piece = *sum;
	struct going g = {.bot = bot, .sum = &piece};
	int64_t turns[STORE_PIECE_TURNS];
	bool done = false;
	size_t count;
	int rc = find(&tx->view, bot, &g.head, err);

	if (rc <= 0) {
		*ret_done = rc == 0; /* another request for the same bot did the last piece */
		return rc;
	}
	if (list_turns(&tx->view, bot, turns, &count, err) < 0 ||
		(count ? delete_turns(tx, &g, turns, count, err)
		       : delete_rest(tx, &g, &done, err)) < 0)
		return -1;
	if (!done && save_head(tx, &g, err) < 0)
		return -1;
	if (g.cursor && store_set_pruned(tx, bot, g.cursor, err) < 0)
		return -1;
	*sum = piece;
	*ret_done = done;
	return 0;
}
