/*
 * One turn of a bot's own conversation, as the tool history reads it. A fork holds a turn of its
 * source up to its point, so the lineage is gone back turn by turn, not the turn's rows taken.
 */
#include "agent/io/store_context.h"
#include "agent/io/store_internal.h"

const struct error_kind STORE_TURN_NOT_IN_HISTORY = {"turn_not_in_history", ERROR_CLASS_NOT_FOUND};

/* Where a node belongs: its turn and what comes before it. */
static int get_place(struct store_view *v, int64_t node, int64_t *ret_turn, int64_t *ret_parent,
	struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_NODE_LINK);
	int rc;

	db_bind_i64(s, 1, node);
	rc = db_step(s, err);
	if (rc == 1) {
		*ret_parent = db_col_i64(s, 0);
		*ret_turn = db_col_i64(s, 1);
	}
	db_reset(s);
	if (rc == 0)
		return error_set(err, &DB_ERROR, "node %lld is missing", (long long)node);
	return rc < 0 ? -1 : 0;
}

/* The node before the first of a turn; 0: none. */
static int before_turn(struct store_view *v, int64_t turn, int64_t *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_FIRST_NODE);
	int64_t first = 0, same;
	int rc;

	db_bind_i64(s, 1, turn);
	rc = db_step(s, err);
	if (rc == 1)
		first = db_col_i64(s, 0);
	db_reset(s);
	return rc < 0 ? -1 : get_place(v, first, &same, ret, err);
}

static int get_item(
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

/* The newest node of the turn that the lineage holds; 0: none. Goes back turn by turn. */
static int last_of_turn(
	struct store_view *v, int64_t head, int64_t turn, int64_t *ret, struct error *err)
{
	int64_t node = head;

	*ret = 0;
	while (node) {
		int64_t at, parent;

		if (get_place(v, node, &at, &parent, err) < 0)
			return -1;
		if (at == turn) {
			*ret = node;
			return 0;
		}
		if (before_turn(v, at, &node, err) < 0)
			return -1;
	}
	return 0;
}

struct ids {
	int64_t *list;
	size_t count, cap;
};

static int list_nodes(
	struct store_view *v, int64_t turn, int64_t last, struct ids *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_NODES);
	int rc;

	db_bind_i64(s, 1, turn);
	db_bind_i64(s, 2, last);
	while ((rc = db_step(s, err)) == 1) {
		if (ret->count == ret->cap) {
			ret->cap = ret->cap ? ret->cap * 2 : 64;
			ret->list = xrealloc(ret->list, ret->cap, sizeof(*ret->list));
		}
		ret->list[ret->count++] = db_col_i64(s, 0);
	}
	db_reset(s);
	return rc;
}

int store_turn_items(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_turn_items *ret, struct error *err)
{
	struct store_turn_items out = {.items = NULL};
	_cleanup_(mem) int64_t *owned = NULL;
	struct ids ids = {0};
	struct bot b;
	int64_t last, items;
	int rc;

	if (store_bot_get_id(v, bot, a, &b, err) < 0 ||
		last_of_turn(v, b.head, turn, &last, err) < 0)
		return -1;
	if (!last)
		return error_set(err, &STORE_TURN_NOT_IN_HISTORY,
			"this conversation has no turn %lld", (long long)turn);
	rc = list_nodes(v, turn, last, &ids, err);
	owned = ids.list;
	if (rc < 0 || store_context_room(v, bot, &out.room_bytes, &items, err) < 0)
		return -1;
	if (items < 1)
		out.room_bytes = 0;
	out.items = arena_alloc(a, (ids.count + 1) * sizeof(*out.items));
	for (size_t i = 0; i < ids.count; i++) {
		if (get_item(v, ids.list[i], a, &out.items[out.count++], err) < 0)
			return -1;
	}
	*ret = out;
	return 0;
}
