/*
 * What commands wrote. A stream over BLOCK_BYTES is stored packed where that is smaller (agent spec
 * 4.2, 4.3); what is too long for the store lies in a file, as does all of a command that runs
 * (spill.h).
 */
#include "agent/io/blocks.h"
#include "agent/io/spill.h"
#include "agent/io/store_internal.h"

const struct error_kind STORE_ARTIFACT_NOT_FOUND = {"artifact_not_found", ERROR_CLASS_NOT_FOUND};
const struct error_kind STORE_ARTIFACT_PRUNED = {"artifact_pruned", ERROR_CLASS_NOT_FOUND};

enum {
	STREAMS_MAX = 8,          /* ours: four times the streams that there are */
	CHUNK_BYTES = 256 * 1024, /* ours: of a file, while lines are counted */
	LINES_BYTES = 256 * 1024, /* ours: four pages of `read` */
};

static const char raw[] = "raw", blocks[] = "blocks", spill[] = "spill";

static int add(struct store_tx *tx, int64_t turn, struct str call_id,
	const struct store_artifact *one, struct error *err)
{
	_cleanup_(buf) struct buf packed = BUF_INIT(BLOCKS_BYTES_MAX);
	struct db_stmt *s = store_stmt(&tx->view, SQL_ARTIFACT_INSERT);
	bool pack = !one->spilled && one->bytes.len > BLOCK_BYTES &&
		    one->bytes.len <= BLOCKS_BYTES_MAX && blocks_pack(one->bytes, &packed) == 1;
	struct str bytes = one->spilled ? one->name : pack ? buf_str(&packed) : one->bytes;
	const char *encoding = one->spilled ? spill : pack ? blocks : raw;

	db_bind_i64(s, 1, turn);
	db_bind_str(s, 2, call_id);
	db_bind_str(s, 3, one->stream);
	db_bind_str(s, 4, str_from(encoding));
	db_bind_i64(s, 5, one->spilled ? one->spilled : (int64_t)one->bytes.len);
	db_bind_blob(s, 6, bytes.p, bytes.len);
	return db_run(s, err);
}

int store_artifacts_add(
	struct store_tx *tx, int64_t turn, const struct store_result *r, struct error *err)
{
	for (size_t i = 0; i < r->artifact_count; i++) {
		if (add(tx, turn, r->call_id, &r->artifacts[i], err) < 0)
			return -1;
	}
	return 0;
}

/*
 * Who may read it
 */
/* 1 and its bot, 0 there is no such turn, -1. */
static int find_turn(
	struct store_view *v, int64_t turn, int64_t *ret_bot, bool *ret_pruned, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURN_PRUNED);
	int rc;

	db_bind_i64(s, 1, turn);
	rc = db_step(s, err);
	if (rc == 1) {
		*ret_bot = db_col_i64(s, 0);
		*ret_pruned = db_col_i64(s, 1) != 0;
	}
	db_reset(s);
	return rc;
}

int store_turn_is_pruned(struct store_view *v, int64_t turn, bool *ret, struct error *err)
{
	int64_t bot;

	return find_turn(v, turn, &bot, ret, err) < 0 ? -1 : 0;
}

/* The first column of the only row, 0 without one. */
static int find_id(struct db_stmt *s, int64_t *ret, struct error *err)
{
	int rc = db_step(s, err);

	*ret = rc == 1 ? db_col_i64(s, 0) : 0;
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

/* Another bot's call that this one's history shares: the node of its result, or while that is not
 * known any more the turn's first. 0: none. */
static int shared_node(struct store_view *v, const struct store_artifact_ref *ref, bool pruned,
	int64_t *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_PROCESS_OF_CALL);
	int64_t process;

	*ret = 0;
	db_bind_i64(s, 1, ref->turn);
	db_bind_str(s, 2, ref->call_id);
	if (find_id(s, &process, err) < 0 || process)
		return process ? 0 : -1; /* a background command is its bot's alone */
	s = store_stmt(v, pruned ? SQL_TURN_FIRST_NODE : SQL_CALL_RESULT);
	db_bind_i64(s, 1, ref->turn);
	if (!pruned)
		db_bind_str(s, 2, ref->call_id);
	return find_id(s, ret, err);
}

static int check_shared(
	struct store_view *v, const struct store_artifact_ref *ref, bool pruned, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	int64_t node = 0;
	struct bot b;
	struct error cause = ERROR_INIT;
	int there;

	if (store_bot_get_id(v, ref->bot, &scratch, &b, &cause) < 0) {
		if (!error_is(&cause, &STORE_BOT_NOT_FOUND)) {
			if (err)
				*err = cause;
			return -1;
		}
	} else if (shared_node(v, ref, pruned, &node, err) < 0) {
		return -1;
	}
	there = node ? store_in_lineage(v, b.id, b.head, node, err) : 0;
	if (there == 0)
		return error_set(err, &STORE_TURN_NOT_FOUND, "the bot has no turn %lld",
			(long long)ref->turn);
	return there < 0 ? -1 : 0;
}

static int check_readable(struct store_view *v, const struct store_artifact_ref *ref,
	int64_t *ret_owner, struct error *err)
{
	int64_t owner = 0;
	bool pruned = false;
	int rc = find_turn(v, ref->turn, &owner, &pruned, err);

	if (rc < 0)
		return -1;
	if (rc == 0)
		return error_set(err, &STORE_TURN_NOT_FOUND, "the bot has no turn %lld",
			(long long)ref->turn);
	if (owner != ref->bot && check_shared(v, ref, pruned, err) < 0)
		return -1;
	if (pruned)
		return error_set(err, &STORE_ARTIFACT_PRUNED,
			"the artifacts of turn %lld were pruned", (long long)ref->turn);
	*ret_owner = owner;
	return 0;
}

static int no_artifact(const struct store_artifact_ref *ref, struct error *err)
{
	return error_set(err, &STORE_ARTIFACT_NOT_FOUND, "turn %lld has no such artifact",
		(long long)ref->turn);
}

/*
 * Reading
 */
static int damaged(const struct store_artifact_ref *ref, const char *what, struct error *err)
{
	return error_set(err, &DB_ERROR, "an artifact of turn %lld is damaged: %s",
		(long long)ref->turn, what);
}

/* Where a stream lies. A row's bytes live until the statement is reset. */
struct place {
	int64_t owner;          /* the turn's bot */
	int64_t total;          /* as recorded; of a command that runs: not known yet */
	struct str encoding;    /* of a row */
	struct str bytes;       /* of a row: as they are stored */
	struct str name;        /* of a file */
	bool running;           /* of a command that goes on */
	struct db_stmt *of_row; /* to reset, or NULL */
};

static void place_cleanup(struct place *p)
{
	if (p->of_row)
		db_reset(p->of_row);
}

static int find_live(struct store_view *v, const struct store_artifact_ref *ref, struct arena *a,
	struct place *ret, struct error *err)
{
	struct spill_place at = {
		.root = v->spill, .bot = ret->owner, .turn = ref->turn, .call_id = ref->call_id};
	int rc = store_spill_live(v, ref, ret->owner, &at.process, err);

	for (size_t i = 0; rc == 1 && i < SPILL_STREAMS; i++) {
		if (str_is(ref->stream, spill_streams[i]))
			ret->name = str_from(spill_name(a, &at, i));
	}
	ret->running = rc == 1;
	return rc;
}

static int find_place(struct store_view *v, const struct store_artifact_ref *ref, struct arena *a,
	struct place *ret, struct error *err)
{
	struct db_stmt *s;
	int rc;

	if (check_readable(v, ref, &ret->owner, err) < 0)
		return -1;
	rc = find_live(v, ref, a, ret, err);
	if (rc < 0 || ret->name.p)
		return rc < 0 ? -1 : 0;
	s = ret->of_row = store_stmt(v, SQL_ARTIFACT_GET);
	db_bind_i64(s, 1, ref->turn);
	db_bind_str(s, 2, ref->call_id);
	db_bind_str(s, 3, ref->stream);
	rc = db_step(s, err);
	if (rc == 0)
		return no_artifact(ref, err);
	if (rc < 0)
		return -1;
	ret->encoding = db_col_str(s, 0);
	ret->bytes = db_col_str(s, 2);
	ret->total = str_is(ret->encoding, raw) ? (int64_t)ret->bytes.len : db_col_i64(s, 1);
	if (str_is(ret->encoding, spill))
		ret->name = ret->bytes;
	return 0;
}

/* Of a file. */
/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
static int read_file(struct store_view *v, const struct place *p,
	const struct store_artifact_ref *ref, int64_t offset, int64_t limit, struct arena *a,
	struct store_page *ret, struct error *err)
{
	struct spill_part part = {.bytes = STR("")};
	int rc = spill_read(v->spill, p->owner, ref->turn, p->name, offset, limit, a, &part, err);

	if (rc < 0)
		return -1;
	if (rc == 0 && !p->running)
		return error_set(err, &STORE_ARTIFACT_NOT_FOUND,
			"the file that held this artifact of turn %lld is gone",
			(long long)ref->turn);
	*ret = (struct store_page){part.bytes, part.total, p->running};
	return 0;
}

/* Of a row, as it is stored. */
/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
static int read_row(const struct place *p, const struct store_artifact_ref *ref, int64_t offset,
	int64_t limit, struct arena *a, struct store_page *ret, struct error *err)
{
	struct error cause = ERROR_INIT;
	bool whole = str_is(p->encoding, raw);
	struct store_page page = {.total = p->total};

	if (offset > page.total)
		offset = page.total;
	if (limit > page.total - offset)
		limit = page.total - offset;
	if (!whole && !str_is(p->encoding, blocks))
		return damaged(ref, "encoding", err);
	if (!whole && blocks_read(p->bytes, page.total, offset, limit, a, &page.bytes, &cause) < 0)
		return damaged(ref, cause.text, err);
	if (whole && limit > 0)
		page.bytes = store_keep(a, (struct str){p->bytes.p + offset, (size_t)limit});
	if (!page.bytes.p)
		page.bytes = STR("");
	*ret = page;
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
int store_artifact_page(struct store_view *v, const struct store_artifact_ref *ref, int64_t offset,
	int64_t limit, struct arena *a, struct store_page *ret, struct error *err)
{
	_cleanup_(place) struct place p = {.of_row = NULL};

	if (find_place(v, ref, a, &p, err) < 0)
		return -1;
	return p.name.p ? read_file(v, &p, ref, offset, limit, a, ret, err)
			: read_row(&p, ref, offset, limit, a, ret, err);
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
int store_artifact_get(struct store_view *v, int64_t bot, int64_t turn, struct str call_id,
	struct str stream, struct arena *a, struct str *ret_bytes, struct error *err)
{
	const struct store_artifact_ref ref = {bot, turn, call_id, stream};
	struct store_page p;

	if (store_artifact_page(v, &ref, 0, INT64_MAX, a, &p, err) < 0)
		return -1;
	*ret_bytes = p.bytes;
	return 0;
}

/* What a walk over the lines of a file has seen. */
struct walk {
	int64_t first, line; /* from where on; the line that the next byte belongs to */
	int64_t begin;       /* offset of `first`, -1: not there yet */
	int64_t offset;
	bool open; /* the last line seen has no end */
};

static void look_at_lines(struct walk *w, struct str bytes)
{
	const char *p = bytes.p, *end = bytes.p + bytes.len;

	while (p < end) {
		const char *feed = memchr(p, '\n', (size_t)(end - p));

		if (w->begin < 0 && w->line == w->first)
			w->begin = w->offset + (p - bytes.p);
		w->open = !feed;
		w->line += feed != NULL;
		p = feed ? feed + 1 : end;
	}
	w->offset += (int64_t)bytes.len;
}

static int walk_file(struct store_view *v, const struct place *p,
	const struct store_artifact_ref *ref, struct walk *w, struct error *err)
{
	for (;;) {
		_cleanup_(arena) struct arena chunk = {.blocks = NULL};
		struct store_page page;

		if (read_file(v, p, ref, w->offset, CHUNK_BYTES, &chunk, &page, err) < 0)
			return -1;
		if (page.bytes.len == 0)
			return 0;
		look_at_lines(w, page.bytes);
	}
}

int store_artifact_lines(struct store_view *v, const struct store_artifact_ref *ref, int64_t first,
	struct arena *a, struct store_lines *ret, struct error *err)
{
	_cleanup_(place) struct place p = {.of_row = NULL};
	struct walk w = {.first = first, .line = 1, .begin = -1};
	struct store_page page = {.bytes = STR("")};

	if (find_place(v, ref, a, &p, err) < 0)
		return -1;
	if (!p.name.p) {
		if (read_row(&p, ref, 0, INT64_MAX, a, &page, err) < 0)
			return -1;
		*ret = (struct store_lines){.bytes = page.bytes};
		return 0;
	}
	if (walk_file(v, &p, ref, &w, err) < 0 ||
		(w.begin >= 0 && read_file(v, &p, ref, w.begin, LINES_BYTES, a, &page, err) < 0))
		return -1;
	*ret = (struct store_lines){
		page.bytes, w.begin < 0 ? 0 : first - 1, w.line - 1 + (w.open ? 1 : 0)};
	return 0;
}

/* Of a command that runs: both, whatever it has written by now. */
static struct str_list live_streams(struct arena *a)
{
	struct str_list l = {arena_alloc(a, SPILL_STREAMS * sizeof(struct str)), 0};

	for (size_t i = SPILL_STREAMS; i-- > 0;)
		l.items[l.count++] = str_from(spill_streams[i]); /* by name */
	return l;
}

int store_artifact_streams(struct store_view *v, const struct store_artifact_ref *ref,
	struct arena *a, struct str_list *ret, struct error *err)
{
	struct str_list l = {arena_alloc(a, STREAMS_MAX * sizeof(struct str)), 0};
	struct db_stmt *s;
	int64_t owner, process;
	int rc;

	if (check_readable(v, ref, &owner, err) < 0)
		return -1;
	rc = store_spill_live(v, ref, owner, &process, err);
	if (rc == 1)
		*ret = live_streams(a);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	s = store_stmt(v, SQL_ARTIFACTS_OF_CALL);
	db_bind_i64(s, 1, ref->turn);
	db_bind_str(s, 2, ref->call_id);
	db_bind_i64(s, 3, STREAMS_MAX);
	while ((rc = db_step(s, err)) == 1) {
		must(l.count < STREAMS_MAX);
		l.items[l.count++] = store_col(s, 0, a);
	}
	db_reset(s);
	if (rc < 0)
		return -1;
	if (l.count == 0)
		return no_artifact(ref, err);
	*ret = l;
	return 0;
}
