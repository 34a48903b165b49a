/*
 * Forks (agent spec 3.6): a new bot whose conversation begins where another one's stands, or stood.
 * Nothing is copied of the history and nothing changes in the source; the fork's head is a node of
 * the source's lineage, and what either adds hangs on it.
 */
#include "agent/io/store_context.h"
#include "agent/io/store_internal.h"

const struct error_kind STORE_FORK_NODE = {"node_not_in_source_history", ERROR_CLASS_NOT_FOUND};
const struct error_kind STORE_FORK_OPEN = {"fork_point_has_open_tool_calls", ERROR_CLASS_CONFLICT};
const struct error_kind STORE_FORK_REASONING = {
	"fork_point_splits_reasoning", ERROR_CLASS_CONFLICT};
const struct error_kind STORE_ALLOW_WIDENS = {"allow_widens", ERROR_CLASS_DENIED};

/*
 * Where it begins
 */
struct node {
	int64_t parent, turn;
	struct str item;
};

static int read_node(
	struct store_view *v, int64_t id, struct arena *a, struct node *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_NODE_WHOLE);
	int rc;

	db_bind_i64(s, 1, id);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = (struct node){db_col_i64(s, 0), db_col_i64(s, 1), store_col(s, 2, a)};
	db_reset(s);
	if (rc == 0)
		return error_set(err, &DB_ERROR, "node %lld is missing", (long long)id);
	return rc < 0 ? -1 : 0;
}

/* Results met on the way back from the fork's point, newest first. */
struct answered {
	struct str call_id;
	struct answered *next;
};

/* Whether there was one for the call; it serves one call only. */
static bool take_answer(struct answered **list, struct str call_id)
{
	for (struct answered **at = list; *at; at = &(*at)->next) {
		if (str_eq((*at)->call_id, call_id)) {
			*at = (*at)->next;
			return true;
		}
	}
	return false;
}

/* One step back of the walk below. */
struct walk {
	struct answered *answers;
	bool in_calls, done;
};

static int walk_item(struct walk *w, struct arena *a, const struct item *it, struct error *err)
{
	if (it->role == ITEM_RESULT && !w->in_calls) {
		struct answered *one = arena_alloc(a, sizeof(*one));

		*one = (struct answered){it->call_id, w->answers};
		w->answers = one;
		return 0;
	}
	/* A prompt and the results of an earlier round both have nothing open before them. */
	w->done = it->role == ITEM_USER || it->role == ITEM_RESULT;
	for (size_t i = 0; i < it->call_count; i++) {
		w->in_calls = true;
		if (!take_answer(&w->answers, it->calls[i].call_id))
			return error_set(err, &STORE_FORK_OPEN,
				"checkpoint: call '%.*s' has no result up to there",
				(int)str_cut(it->calls[i].call_id, 128).len,
				it->calls[i].call_id.p);
	}
	return 0;
}

/* The newest round before the point, in which alone a call can be open. */
static int check_calls(struct store_view *v, int64_t point, struct error *err)
{
	struct walk w = {.answers = NULL};
	_cleanup_(arena) struct arena a = {0};
	struct node n;
	int64_t turn = 0;

	for (int64_t at = point; at && !w.done; at = n.parent) {
		struct item it;

		if (read_node(v, at, &a, &n, err) < 0)
			return -1;
		if (turn && n.turn != turn)
			break; /* a turn that is over leaves no call open */
		turn = n.turn;
		if (item_read(&a, n.item, &it, err) < 0 || walk_item(&w, &a, &it, err) < 0)
			return -1;
	}
	return 0;
}

/* A provider of family responses takes reasoning back only before the item it led to. */
static int check_reasoning(
	struct store_view *v, const struct bot *source, int64_t point, struct error *err)
{
	_cleanup_(arena) struct arena a = {0};
	struct node n;
	struct item it;

	if (item_family(source->family) != ITEM_RESPONSES || point == source->head)
		return 0;
	if (read_node(v, point, &a, &n, err) < 0 || item_read(&a, n.item, &it, err) < 0)
		return -1;
	if (it.role == ITEM_REASONING)
		return error_set(err, &STORE_FORK_REASONING,
			"checkpoint: node %lld is reasoning, and the item it led to comes after it",
			(long long)point);
	return 0;
}

static int check_point(
	struct store_view *v, const struct bot *source, int64_t point, struct error *err)
{
	int there = store_in_lineage(v, source->id, source->head, point, err);

	if (there < 0)
		return -1;
	if (!there)
		return error_set(err, &STORE_FORK_NODE,
			"checkpoint: the history of '" STR_FMT "' has no node %lld",
			STR_ARG(source->name), (long long)point);
	if (check_reasoning(v, source, point, err) < 0)
		return -1;
	return check_calls(v, point, err);
}

/* An idle source's head; of one that has a turn under way, the newest node that is closed. */
static int choose_point(struct store_view *v, const struct bot *source, int64_t checkpoint,
	int64_t *ret, struct error *err)
{
	if (checkpoint && check_point(v, source, checkpoint, err) < 0)
		return -1;
	*ret = checkpoint ? checkpoint : source->running_turn ? source->closed : source->head;
	return 0;
}

/*
 * What it is
 */
static bool is_listed(const struct str_list *l, struct str s)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_eq(l->items[i], s))
			return true;
	}
	return false;
}

static int narrow(const struct store_fork *f, struct bot_settings *set, struct error *err)
{
	const struct str_list *may = set->has_allowed ? &set->allowed : &set->tools;

	if (!f->has_allow)
		return 0;
	for (size_t i = 0; i < f->allow.count; i++) {
		if (!is_listed(may, f->allow.items[i]) &&
			(set->has_allowed || !served_tools_find(&set->served, f->allow.items[i])))
			return error_set(err, &STORE_ALLOW_WIDENS,
				"allow[%zu]: the source may not call '%.*s'", i,
				(int)str_cut(f->allow.items[i], BOT_NAME_MAX_BYTES).len,
				f->allow.items[i].p);
	}
	set->has_allowed = true;
	set->allowed = f->allow;
	return 0;
}

static int make_settings(const struct store_fork *f, const struct bot *source, struct arena *a,
	struct bot_settings *ret, struct error *err)
{
	struct bot_settings set = f->confined ? *f->confined : source->set;

	if (f->workspace.p)
		set.workspace = f->workspace;
	if (f->budget_tokens)
		set.budget_tokens = f->budget_tokens;
	if (narrow(f, &set, err) < 0 || bot_add_gates(a, &set, f->gates, f->gate_count, err) < 0)
		return -1;
	*ret = set;
	return 0;
}

/* The history it shares, the views that hold there, the prompt cache. */
static int attach(struct store_tx *tx, int64_t fork, const struct bot *source, int64_t point,
	struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_FORK);

	db_bind_i64(s, 1, fork);
	store_bind_id(s, 2, point);
	db_bind_i64(s, 3, source->cache_bot);
	if (db_run(s, err) < 0)
		return -1;
	return store_views_fork(tx, source, point, fork, err);
}

static void put_id(struct json_out *j, const char *name, int64_t id)
{
	if (id)
		json_put_i64(j, name, id);
	else
		json_put_null(j, name);
}

static int record_forked(struct store_tx *tx, const struct bot *b, const struct bot *source,
	int64_t checkpoint, struct error *err)
{
	const struct store_place at = {.bot = b->id, .bot_name = b->name};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_i64(&j, "id", b->id);
	json_put_str(&j, "provider", b->provider);
	json_put_str(&j, "model", b->set.model);
	json_put_str(&j, "workspace", b->set.workspace);
	json_put_cstr(&j, "status", bot_status_names[b->status]);
	json_put_null(&j, "running_turn");
	json_put_str(&j, "created_by", b->created_by);
	put_id(&j, "created_by_id", b->created_by_id);
	json_put_str(&j, "source", source->name);
	json_put_i64(&j, "source_id", source->id);
	put_id(&j, "checkpoint", checkpoint);
	put_id(&j, "node", b->head);
	json_close(&j, '}');
	return store_record(tx, &at, "forked", &data, err);
}

int store_bot_fork(struct store_tx *tx, const struct store_fork *f, struct arena *a,
	struct bot *ret, struct error *err)
{
	struct store_view *v = &tx->view;
	struct store_create c = {
		.name = f->name, .created_by = f->created_by, .created_by_id = f->created_by_id};
	struct bot source, b;
	int64_t point;

	if (store_bot_get(v, f->source, a, &source, err) < 0)
		return error_prefix(err, "source");
	c.provider = source.provider;
	c.family = source.family;
	if (make_settings(f, &source, a, &c.set, err) < 0 ||
		choose_point(v, &source, f->checkpoint, &point, err) < 0 ||
		store_bot_add(tx, &c, a, &b, err) < 0 ||
		attach(tx, b.id, &source, point, err) < 0 ||
		store_bot_get_id(v, b.id, a, &b, err) < 0 ||
		record_forked(tx, &b, &source, f->checkpoint, err) < 0)
		return -1;
	*ret = b;
	return 0;
}
