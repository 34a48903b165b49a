/*
 * The conversation: nodes linked to their parents. A bot's lineage is what is reached from its
 * head; a parent's id is always smaller than its child's, so a walk knows when it has passed what
 * it looks for.
 */
#include "agent/io/store_internal.h"

const struct error_kind STORE_NODE_NOT_FOUND = {"node_not_in_history", ERROR_CLASS_NOT_FOUND};

/* A node without its item. */
struct link {
	int64_t id, parent, turn, depth, total_bytes;
};

static int missing(int64_t node, struct error *err)
{
	return error_set(err, &DB_ERROR, "node %lld is missing", (long long)node);
}

static int get_link(struct store_view *v, int64_t node, struct link *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_NODE_LINK);
	int rc;

	db_bind_i64(s, 1, node);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = (struct link){
			.id = node,
			.parent = db_col_i64(s, 0),
			.turn = db_col_i64(s, 1),
			.depth = db_col_i64(s, 2),
			.total_bytes = db_col_i64(s, 3),
		};
	db_reset(s);
	if (rc == 0)
		return missing(node, err);
	return rc < 0 ? -1 : 0;
}

static int get_head(struct store_view *v, int64_t bot, int64_t *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_BOT_HEAD);
	int rc;

	db_bind_i64(s, 1, bot);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = db_col_i64(s, 0);
	db_reset(s);
	if (rc == 0)
		return error_set(
			err, &STORE_BOT_NOT_FOUND, "there is no bot with id %lld", (long long)bot);
	return rc < 0 ? -1 : 0;
}

/* 1 the node's turn is the bot's, 0 not (or there is no such node), -1. */
static int is_own(struct store_view *v, int64_t bot, int64_t node, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_NODE_OWNER);
	int64_t owner = 0;
	int rc;

	db_bind_i64(s, 1, node);
	rc = db_step(s, err);
	if (rc == 1)
		owner = db_col_i64(s, 0);
	db_reset(s);
	return rc < 0 ? -1 : rc == 1 && owner == bot;
}

/* Whether the lineage holds the node: at once for what the bot made itself, by walking for a prefix
 * it shares. 1, 0, -1. */
int store_in_lineage(
	struct store_view *v, int64_t bot, int64_t head, int64_t node, struct error *err)
{
	struct link at = {.id = head};
	int own = is_own(v, bot, node, err);

	if (own)
		return own;
	while (at.id > 0 && at.id > node) {
		if (get_link(v, at.id, &at, err) < 0)
			return -1;
		at.id = at.parent;
	}
	return at.id == node && node > 0;
}

static int check_lineage(
	struct store_view *v, int64_t bot, int64_t head, int64_t node, struct error *err)
{
	int there = store_in_lineage(v, bot, head, node, err);

	if (there == 0)
		return error_set(err, &STORE_NODE_NOT_FOUND, "the bot's history has no node %lld",
			(long long)node);
	return there < 0 ? -1 : 0;
}

/* A page of the walk from `from` to the first node below min_node. */
struct page {
	int64_t from, min_node;
	size_t limit;
	struct store_node *list;
	size_t count;
	int64_t next;
};

/* Newest first: the first `limit` of the walk. */
static int walk_newest(struct store_view *v, struct page *p, struct error *err)
{
	int64_t at = p->from;

	while (at && at >= p->min_node && p->count < p->limit) {
		struct link l;

		if (get_link(v, at, &l, err) < 0)
			return -1;
		p->list[p->count++] = (struct store_node){.id = l.id, .turn = l.turn};
		at = l.parent;
	}
	p->next = at >= p->min_node ? at : 0;
	return 0;
}

static void reverse(struct store_node *list, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct store_node other = list[i];

		list[i] = list[count - 1 - i];
		list[count - 1 - i] = other;
	}
}

/* Oldest first: the last `limit` of the walk, turned round. The next page starts above them. */
static int walk_oldest(struct store_view *v, struct page *p, struct error *err)
{
	size_t seen = 0, first;
	int64_t at = p->from;

	while (at && at >= p->min_node) {
		struct store_node *slot = &p->list[seen++ % p->limit];
		struct link l;

		if (get_link(v, at, &l, err) < 0)
			return -1;
		if (slot->id)
			p->next = slot->id; /* one more than fits: the oldest above the page */
		*slot = (struct store_node){.id = l.id, .turn = l.turn};
		at = l.parent;
	}
	p->count = seen < p->limit ? seen : p->limit;
	/* A ring, newest first, whose newest stands where the next would go: each part turned
	 * round, they follow each other oldest first. */
	first = p->count < p->limit ? 0 : seen % p->limit;
	reverse(p->list, first);
	reverse(p->list + first, p->count - first);
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): the arguments are the request's, one to one */
int store_history(struct store_view *v, int64_t bot, int64_t from, int64_t min_node, int limit,
	bool oldest_first, struct arena *a, struct store_node **ret, size_t *ret_count,
	int64_t *ret_next, struct error *err)
{
	struct page p = {.from = from, .min_node = min_node, .limit = (size_t)limit};
	int64_t head;

	must(limit > 0);
	if (get_head(v, bot, &head, err) < 0 ||
		(from && check_lineage(v, bot, head, from, err) < 0))
		return -1;
	if (!from)
		p.from = head;
	p.list = arena_alloc(a, p.limit * sizeof(*p.list));
	if ((oldest_first ? walk_oldest(v, &p, err) : walk_newest(v, &p, err)) < 0)
		return -1;
	*ret = p.list;
	*ret_count = p.count;
	*ret_next = p.next;
	return 0;
}

static int read_node(struct store_view *v, int64_t node, struct arena *a, struct store_node *ret,
	struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_NODE_ITEM);
	int rc;

	db_bind_i64(s, 1, node);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = (struct store_node){
			.id = node,
			.turn = db_col_i64(s, 0),
			.item = store_col(s, 1, a),
		};
	db_reset(s);
	if (rc == 0)
		return missing(node, err);
	return rc < 0 ? -1 : 0;
}

/* By what it added to its lineage: the item itself is not read. */
static int item_size(struct store_view *v, int64_t node, int64_t *ret, struct error *err)
{
	struct link at, before = {0};

	if (get_link(v, node, &at, err) < 0 ||
		(at.parent && get_link(v, at.parent, &before, err) < 0))
		return -1;
	*ret = at.total_bytes - before.total_bytes;
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
int store_items(struct store_view *v, int64_t bot, const int64_t *nodes, size_t count,
	struct arena *a, struct store_node **ret, struct error *err)
{
	struct store_node *list = arena_alloc(a, (count + 1) * sizeof(*list));
	int64_t head, bytes = 0;

	if (get_head(v, bot, &head, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		int64_t size;

		if (check_lineage(v, bot, head, nodes[i], err) < 0 ||
			item_size(v, nodes[i], &size, err) < 0)
			return -1;
		bytes += size;
		list[i] = (struct store_node){.id = nodes[i]};
		if (i > 0 && bytes > HISTORY_ITEMS_MAX_BYTES)
			continue;
		if (read_node(v, nodes[i], a, &list[i], err) < 0)
			return -1;
	}
	*ret = list;
	return 0;
}
