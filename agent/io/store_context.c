/*
 * The context of a model call: a walk back from the head to where the window begins, what stands
 * before it, and what has to be done first when it has grown too large.
 */
#include "agent/io/store_context.h"

#include "agent/core/stub.h"
#include "agent/io/store_internal.h"

const struct error_kind STORE_CONTEXT_LIMIT = {"context_limit", ERROR_CLASS_LIMIT};

enum {
	/* ours: a conversation that has no beginning of its window yet is walked so many budgets
	 * far, and further only within its newest turn */
	WALK_BUDGETS = 4,
	/* ours: beyond its guaranteed minimum a stub shows 512 bytes and some words */
	STUB_BYTES_ABOUT = 768,
	OMISSION_PARTS = 16, /* ours: of the budget, at most so large a part may say what is gone */
	OMISSION_MIN_BYTES = 256,
	OMISSION_LINE_BYTES = 120, /* spec 4.4 */
	ELIDE_PARTS = 16,          /* spec 4.4: a move saves at least this part of the budget */
};

/* A node of the walk, by what it added to its lineage. */
struct link {
	int64_t id, parent, turn, total_bytes, stub_bytes;
};

static int get_link(struct store_view *v, int64_t node, struct link *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_NODE_WINDOW);
	int rc;

	db_bind_i64(s, 1, node);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = (struct link){
			.id = node,
			.parent = db_col_i64(s, 0),
			.turn = db_col_i64(s, 1),
			.total_bytes = db_col_i64(s, 2),
			.stub_bytes = db_col_i64(s, 3),
		};
	db_reset(s);
	if (rc == 0)
		return error_set(err, &DB_ERROR, "node %lld is missing", (long long)node);
	return rc < 0 ? -1 : 0;
}

/* A whole number of one row, 0 where it is NULL or there is no row. */
static int get_number(struct db_stmt *s, int64_t *ret, struct error *err)
{
	int rc = db_step(s, err);

	*ret = rc == 1 ? db_col_i64(s, 0) : 0;
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

static int first_node(struct store_view *v, int64_t turn, int64_t *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_FIRST_NODE);

	db_bind_i64(s, 1, turn);
	return get_number(s, ret, err);
}

/* A text that the statement finds under an id, in this column. */
struct text_at {
	enum store_sql which;
	int col;
	int64_t id;
};

static int get_text(struct store_view *v, const struct text_at *at, struct arena *a,
	struct str *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, at->which);
	int rc;

	db_bind_i64(s, 1, at->id);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = store_col(s, at->col, a);
	db_reset(s);
	if (rc == 0)
		return error_set(err, &DB_ERROR, "row %lld is missing", (long long)at->id);
	return rc < 0 ? -1 : 0;
}

static int get_item(
	struct store_view *v, int64_t node, struct arena *a, struct str *ret, struct error *err)
{
	return get_text(v, &(struct text_at){SQL_NODE_ITEM, 1, node}, a, ret, err);
}

/*
 * The walk.
 */
struct walk {
	struct store_view *v;
	struct arena *arena; /* of the results */
	const struct store_ask *ask;
	struct store_window *out;
	int64_t base;     /* node before the window; 0: it begins with the conversation */
	int64_t coverage; /* of the summary; 0: none */
	int64_t floor;    /* results up to it go as stubs */
	int64_t prompt;   /* node that goes although a summary stands for it; 0: none */
	int64_t omission_start, omission_turns;
	bool first;    /* what it shows first is the first of all */
	bool abridged; /* the items are not the whole conversation as it was said */
	bool partial;  /* older items than the walk went for would be in the window */
	struct window window;
	struct window_item *list; /* newest first while walking, then oldest first */
	size_t count, cap;
};

static void walk_release(struct walk *w)
{
	free(w->list);
}
static inline void walk_cleanup(struct walk *w)
{
	walk_release(w);
}

static void push(struct walk *w, const struct link *at, const struct link *before)
{
	bool stubbed = at->stub_bytes > 0 && at->id <= w->floor;

	if (w->count == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 64;
		w->list = xrealloc(w->list, w->cap, sizeof(*w->list));
	}
	w->list[w->count++] = (struct window_item){
		.node = at->id,
		.turn = at->turn,
		.bytes = stubbed ? at->stub_bytes : at->total_bytes - before->total_bytes,
		.begins_turn = before->turn != at->turn,
		.stubbed = stubbed,
	};
	w->abridged = w->abridged || stubbed;
}

/* Far past the budget, and not in the newest turn any more. */
static bool is_far(const struct walk *w, const struct link *head, const struct link *at)
{
	const struct bot_limits *l = &w->window.limits;

	return at->turn != head->turn &&
	       (head->total_bytes - at->total_bytes > WALK_BUDGETS * l->context_bytes ||
		       (int64_t)w->count > WALK_BUDGETS * l->context_items);
}

static void turn_round(struct walk *w)
{
	for (size_t i = 0; i < w->count / 2; i++) {
		struct window_item other = w->list[i];

		w->list[i] = w->list[w->count - 1 - i];
		w->list[w->count - 1 - i] = other;
	}
	w->window.items = w->list;
	w->window.count = w->count;
}

/* From the head back to the base. */
static int walk_back(struct walk *w, struct error *err)
{
	struct link at, head, before = {0};

	if (w->out->now.head == 0 || w->out->now.head <= w->base)
		return 0;
	if (get_link(w->v, w->out->now.head, &at, err) < 0)
		return -1;
	head = at;
	for (;;) {
		before = (struct link){0};
		if (at.parent && get_link(w->v, at.parent, &before, err) < 0)
			return -1;
		push(w, &at, &before);
		if (before.id <= w->base)
			break;
		if (is_far(w, &head, &before)) {
			w->partial = true;
			break;
		}
		at = before;
	}
	w->abridged = w->abridged || before.id > 0;
	w->first = before.id == 0;
	turn_round(w);
	return 0;
}

/* What divides a turn keeps its prompt. */
static int find_prompt(struct walk *w, struct error *err)
{
	int64_t before = 0;
	struct link at, parent = {0};

	if (w->count == 0 || w->list[0].begins_turn || w->partial)
		return 0;
	if (first_node(w->v, w->list[0].turn, &w->prompt, err) < 0 ||
		get_link(w->v, w->prompt, &at, err) < 0)
		return -1;
	before = at.parent;
	w->first = before == 0;
	if (before && get_link(w->v, before, &parent, err) < 0)
		return -1;
	w->window.prompt_bytes = at.total_bytes - parent.total_bytes;
	return 0;
}

/*
 * What stands before the items.
 */
static int load_summary(struct walk *w, struct error *err)
{
	struct db_stmt *s;
	int rc;

	if (!w->out->now.compaction)
		return 0;
	s = store_stmt(w->v, SQL_COMPACTION_GET);
	db_bind_i64(s, 1, w->out->now.compaction);
	rc = db_step(s, err);
	if (rc == 1) {
		w->out->summary = store_col(s, 2, w->arena);
		w->coverage = db_col_i64(s, 3);
	}
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

static int load_omission(struct walk *w, struct error *err)
{
	struct db_stmt *s = store_stmt(w->v, SQL_OMISSION_GET);
	int rc;

	db_bind_i64(s, 1, w->out->now.id);
	rc = db_step(s, err);
	if (rc == 1) {
		w->omission_start = db_col_i64(s, 0);
		w->omission_turns = db_col_i64(s, 1);
		w->out->omitted = store_col(s, 2, w->arena);
	}
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

static int load_floor(struct walk *w, struct error *err)
{
	struct db_stmt *s;
	int rc;

	if (!w->out->now.elision)
		return 0;
	s = store_stmt(w->v, SQL_ELISION_GET);
	db_bind_i64(s, 1, w->out->now.elision);
	rc = db_step(s, err);
	if (rc == 1)
		w->floor = db_col_i64(s, 2);
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

/* The window begins behind what a summary stands for, or where it was moved to since. */
static int find_base(struct walk *w, struct error *err)
{
	struct link start;

	w->base = w->coverage;
	if (w->out->now.context_start <= w->coverage)
		return 0;
	if (get_link(w->v, w->out->now.context_start, &start, err) < 0)
		return -1;
	w->base = start.parent;
	return 0;
}

static int load_views(struct walk *w, struct error *err)
{
	const struct bot *b = &w->out->now;

	if (load_summary(w, err) < 0 || load_floor(w, err) < 0 || find_base(w, err) < 0)
		return -1;
	if (b->note && get_text(w->v, &(struct text_at){SQL_NOTE_GET, 2, b->note}, w->arena,
			       &w->out->note, err) < 0)
		return -1;
	return w->base ? load_omission(w, err) : 0;
}

static int64_t pinned_bytes(const struct store_window *out)
{
	return (int64_t)(out->summary.len + out->note.len + out->omitted.len);
}

static int open_walk(struct walk *w, struct error *err)
{
	if (store_bot_get_id(w->v, w->ask->bot, w->arena, &w->out->now, err) < 0)
		return -1;
	w->window.limits = w->out->now.set.limits;
	if (load_views(w, err) < 0)
		return -1;
	if (walk_back(w, err) < 0 || find_prompt(w, err) < 0)
		return -1;
	if (w->first)
		w->out->omitted = (struct str){NULL, 0};
	w->window.pinned_bytes = pinned_bytes(w->out);
	return 0;
}

/*
 * What was left out: the turns before the window.
 */
struct omission {
	struct walk *w;
	int64_t turns[1000]; /* the newest of them, newest first: as many as note_turns allows */
	size_t count;
	int64_t total;
};

/* Turn by turn back from a node, which is the newest of its turn here. */
static int count_omitted(struct omission *o, int64_t node, struct error *err)
{
	size_t max = (size_t)o->w->window.limits.note_turns;

	if (max > ARRAY_LEN(o->turns))
		max = ARRAY_LEN(o->turns);
	while (node) {
		struct link at;
		int64_t first;

		if (get_link(o->w->v, node, &at, err) < 0 ||
			first_node(o->w->v, at.turn, &first, err) < 0)
			return -1;
		if (o->count < max)
			o->turns[o->count++] = first;
		o->total++;
		if (first == o->w->omission_start && o->count == max) {
			o->total += o->w->omission_turns; /* counted then */
			return 0;
		}
		if (get_link(o->w->v, first, &at, err) < 0)
			return -1;
		node = at.parent;
	}
	return 0;
}

/* A prompt's first line, as a list shows it. */
static int first_line(struct omission *o, int64_t node, struct arena *a, struct str *ret,
	int64_t *ret_turn, struct error *err)
{
	struct str item, line, rest;
	struct item it = {.role = ITEM_OTHER};
	struct link at;

	if (get_link(o->w->v, node, &at, err) < 0 || get_item(o->w->v, node, a, &item, err) < 0)
		return -1;
	*ret_turn = at.turn;
	*ret = STR("");
	if (item_read(a, item, &it, NULL) < 0 || !it.text.p)
		return 0;
	rest = str_trim(it.text);
	if (str_next(&rest, '\n', &line))
		*ret = str_cut(str_trim(line), OMISSION_LINE_BYTES);
	return 0;
}

static bool has_tool(const struct bot *b, const char *name)
{
	for (size_t i = 0; i < b->set.tools.count; i++) {
		if (str_is(b->set.tools.items[i], name))
			return true;
	}
	return false;
}

/* Its lines from the newest on, while there is room; then all of it in order. */
static int write_omission(struct omission *o, struct str *ret, struct error *err)
{
	const struct store_window *out = o->w->out;
	int64_t max = out->now.set.limits.context_bytes / OMISSION_PARTS;
	const char *how = has_tool(&out->now, "history") ? " The tool history shows one." : "";
	const char *head = arena_printf(o->w->arena,
		"[%lld earlier turn%s of this conversation %s not shown here.%s]",
		(long long)o->total, o->total == 1 ? "" : "s", o->total == 1 ? "is" : "are", how);
	_cleanup_(buf) struct buf b = BUF_INIT(1024 * 1024);
	const char **lines = arena_alloc(o->w->arena, (o->count + 1) * sizeof(*lines));
	size_t bytes = strlen(head), shown = 0;

	if (max < OMISSION_MIN_BYTES)
		max = OMISSION_MIN_BYTES;
	for (; shown < o->count; shown++) {
		_cleanup_(arena) struct arena scratch = {0};
		struct str line;
		int64_t turn;

		if (first_line(o, o->turns[shown], &scratch, &line, &turn, err) < 0)
			return -1;
		lines[shown] = arena_printf(
			o->w->arena, "\nturn %lld: " STR_FMT, (long long)turn, STR_ARG(line));
		bytes += strlen(lines[shown]);
		if (bytes > (size_t)max)
			break;
	}
	(void)buf_puts(&b, head);
	for (size_t i = shown; i > 0; i--)
		(void)buf_puts(&b, lines[i - 1]);
	*ret = (struct str){arena_strndup(o->w->arena, b.data, b.len), b.len};
	return 0;
}

/* The window is to begin with this node: tells what is gone then. */
static int plan_begin(struct walk *w, int64_t start, struct error *err)
{
	_cleanup_(mem) struct omission *o = xcalloc(1, sizeof(*o));
	struct link at;

	o->w = w;
	w->out->first = start;
	if (get_link(w->v, start, &at, err) < 0)
		return -1;
	/* of a turn that a summary divides the prompt is shown: it is not gone */
	if (w->list[0].node == start && !w->list[0].begins_turn &&
		(first_node(w->v, at.turn, &start, err) < 0 || get_link(w->v, start, &at, err) < 0))
		return -1;
	if (count_omitted(o, at.parent, err) < 0)
		return -1;
	if (o->total > 0 && write_omission(o, &w->out->omission, err) < 0)
		return -1;
	w->out->omitted_turns = o->total;
	if (!w->out->omission.p)
		w->out->omission = STR("");
	w->out->need = STORE_BEGIN;
	return 0;
}

/*
 * What has to be done first.
 */
static int fill_roles(struct walk *w, struct error *err)
{
	for (size_t i = 0; i < w->count; i++) {
		struct db_stmt *s = store_stmt(w->v, SQL_NODE_ITEM_HEAD);
		int rc;

		db_bind_i64(s, 1, w->list[i].node);
		db_bind_i64(s, 2, WINDOW_HEAD_BYTES);
		rc = db_step(s, err);
		if (rc == 1)
			w->list[i].role = window_role(db_col_str(s, 0));
		db_reset(s);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* What a stub of it would save, about: the item is not looked at yet. */
static int64_t may_save(const struct window_item *it)
{
	if (it->stubbed || it->role != ITEM_RESULT ||
		it->bytes < STUB_SAVES_MIN_BYTES + STUB_BYTES_ABOUT)
		return 0;
	return it->bytes - STUB_BYTES_ABOUT;
}

/* Whether stubs would save enough if all that is so large were a result: else nothing is read. */
static bool may_elide(const struct walk *w)
{
	int64_t most = 0;

	if (!has_tool(&w->out->now, "read"))
		return false;
	for (size_t i = 0; i < w->count; i++) {
		struct window_item it = w->list[i];

		it.role = ITEM_RESULT;
		most += may_save(&it);
	}
	return most >= w->window.limits.context_bytes / ELIDE_PARTS;
}

static bool may_compact(const struct walk *w)
{
	return w->out->now.set.compaction_instructions.p &&
	       w->out->bytes >= w->ask->compact_from_bytes;
}

static int make_stubs(struct walk *w, size_t settled, struct error *err)
{
	struct store_window *out = w->out;

	out->stubs = arena_alloc(w->arena, (settled + 1) * sizeof(*out->stubs));
	for (size_t i = 0; i < settled; i++) {
		_cleanup_(arena) struct arena scratch = {0};
		const struct window_item *it = &w->list[i];
		struct str item, stub;

		if (!may_save(it))
			continue;
		if (get_item(w->v, it->node, &scratch, &item, err) < 0)
			return -1;
		if (!stub_make(&scratch, item, it->node, &stub))
			continue;
		out->saved_bytes += it->bytes - (int64_t)stub.len;
		out->stubs[out->stub_count++] = (struct store_stub){
			it->node, store_keep(w->arena, stub)};
	}
	return 0;
}

/* Results as stubs, where that saves enough. */
static int plan_elision(struct walk *w, struct error *err)
{
	int64_t enough = w->window.limits.context_bytes / ELIDE_PARTS, most = 0;
	size_t settled;

	if (!may_elide(w))
		return 0;
	settled = window_settled(&w->window);
	for (size_t i = 0; i < settled; i++)
		most += may_save(&w->list[i]);
	if (settled == 0 || most < enough || most < STUB_SAVES_MIN_BYTES)
		return 0;
	if (make_stubs(w, settled, err) < 0)
		return -1;
	if (w->out->stub_count == 0 || w->out->saved_bytes < enough)
		return 0;
	w->out->floor = w->list[settled - 1].node;
	if (w->out->floor < w->floor)
		w->out->floor = w->floor;
	w->out->need = STORE_ELIDE;
	return 0;
}

static int load_items(struct walk *w, size_t count, struct error *err);

/* Of the prompt that goes all the same when a summary stands for what is before list[cut]. */
static int64_t divided_prompt(const struct walk *w, size_t cut)
{
	if (w->list[cut].begins_turn)
		return 0;
	for (size_t i = cut; i > 0; i--) {
		if (w->list[i - 1].begins_turn)
			return w->list[i - 1].bytes;
	}
	return w->window.prompt_bytes;
}

static int plan_compaction(struct walk *w, struct error *err)
{
	size_t cut;

	if (!may_compact(w))
		return 0;
	cut = window_cut(&w->window);
	if (cut == 0)
		return 0;
	w->out->need = STORE_COMPACT;
	w->out->coverage = w->list[cut - 1].node;
	w->out->covered_bytes = (int64_t)w->out->summary.len + w->window.prompt_bytes;
	for (size_t i = 0; i < cut; i++)
		w->out->covered_bytes += w->list[i].bytes;
	w->out->prompt_bytes = divided_prompt(w, cut);
	return load_items(w, cut, err);
}

static int over(const struct walk *w, struct error *err)
{
	return error_set(err, &STORE_CONTEXT_LIMIT,
		"the turn alone is over %lld bytes or %lld items of context",
		(long long)w->window.limits.context_bytes,
		(long long)w->window.limits.context_items);
}

/* The beginning moves on: to where it should, or, of a walk that was broken off, at least up to the
 * newest turn. */
static int plan_move(struct walk *w, struct error *err)
{
	ptrdiff_t start = window_start(&w->window);

	if (start < 0 && w->partial)
		start = window_newest_turn(&w->window);
	if (start <= 0 && !(start == 0 && w->partial))
		return over(w, err);
	w->out->start = w->list[start].node;
	return plan_begin(w, w->out->start, err);
}

static int plan_due(struct walk *w, struct error *err)
{
	if (!may_elide(w) && !may_compact(w))
		return 0;
	if (fill_roles(w, err) < 0 || plan_elision(w, err) < 0)
		return -1;
	if (w->out->need == STORE_FITS && plan_compaction(w, err) < 0)
		return -1;
	return 0;
}

/* What the request says of the turns that are gone does not go with where it begins. */
static bool tells_other(const struct walk *w)
{
	return w->count > 0 && !w->first && w->omission_start != w->list[0].node;
}

static int plan(struct walk *w, struct error *err)
{
	if (w->partial)
		return plan_move(w, err);
	if (tells_other(w)) {
		w->out->start = w->out->now.context_start;
		return plan_begin(w, w->list[0].node, err);
	}
	if (window_is_due(&w->window) && plan_due(w, err) < 0)
		return -1;
	if (w->out->need == STORE_FITS && window_is_over(&w->window))
		return plan_move(w, err);
	return 0;
}

/*
 * The items.
 */
static int load_items(struct walk *w, size_t count, struct error *err)
{
	struct store_window *out = w->out;
	size_t n = 0;

	out->items = arena_alloc(w->arena, (count + 2) * sizeof(*out->items));
	if (w->prompt && get_item(w->v, w->prompt, w->arena, &out->items[n++], err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct window_item *it = &w->list[i];
		struct text_at at = {SQL_NODE_ITEM, 1, it->node};

		if (it->stubbed)
			at = (struct text_at){SQL_STUB_GET, 0, it->node};
		if (get_text(w->v, &at, w->arena, &out->items[n++], err) < 0)
			return -1;
	}
	out->item_count = n;
	return 0;
}

/* All of it, however long: who asks for it knows why. */
static int load_whole(struct walk *w, struct error *err)
{
	_cleanup_(walk) struct walk all = {
		.v = w->v, .arena = w->arena, .ask = w->ask, .out = w->out};
	struct store_window *out = w->out;

	all.window.limits.context_bytes = INT64_MAX / WALK_BUDGETS;
	all.window.limits.context_items = INT64_MAX / WALK_BUDGETS;
	if (walk_back(&all, err) < 0)
		return -1;
	out->whole = arena_alloc(w->arena, (all.count + 1) * sizeof(*out->whole));
	for (size_t i = 0; i < all.count; i++) {
		if (get_item(w->v, all.list[i].node, w->arena, &out->whole[i], err) < 0)
			return -1;
	}
	out->whole_count = all.count;
	return 0;
}

static int load(struct walk *w, struct error *err)
{
	struct store_window *out = w->out;

	if (out->need == STORE_FITS && load_items(w, w->count, err) < 0)
		return -1;
	if (out->need != STORE_FITS && out->need != STORE_COMPACT)
		return 0;
	/* what is to be summarised is a part of it anyway */
	return w->ask->whole && (w->abridged || out->need == STORE_COMPACT) ? load_whole(w, err)
									    : 0;
}

int store_window(struct store_view *v, const struct store_ask *ask, struct arena *a,
	struct store_window *ret, struct error *err)
{
	struct store_window out = {.need = STORE_FITS};
	_cleanup_(walk) struct walk w = {.v = v, .arena = a, .ask = ask, .out = &out};

	if (open_walk(&w, err) < 0)
		return -1;
	out.item_bytes = window_bytes(&w.window, 0) - w.window.pinned_bytes;
	out.bytes = window_bytes(&w.window, 0);
	if (plan(&w, err) < 0 || load(&w, err) < 0)
		return -1;
	*ret = out;
	return 0;
}

int store_context_room(struct store_view *v, int64_t bot, int64_t *ret_bytes, int64_t *ret_items,
	struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	const struct store_ask ask = {.bot = bot};
	struct store_window out = {.need = STORE_FITS};
	_cleanup_(walk) struct walk w = {.v = v, .arena = &scratch, .ask = &ask, .out = &out};
	ptrdiff_t newest;

	if (open_walk(&w, err) < 0)
		return -1;
	/* What is older than the running turn can go: it does not count. */
	newest = window_newest_turn(&w.window);
	if (newest > 0) {
		w.window.items += newest;
		w.window.count -= (size_t)newest;
		w.window.prompt_bytes = 0;
	}
	*ret_bytes = window_room_bytes(&w.window);
	*ret_items = window_room_items(&w.window);
	return 0;
}
