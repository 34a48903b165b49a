/*
 * What commands wrote. A stream over BLOCK_BYTES is stored packed where that is smaller (agent spec
 * 4.2, 4.3).
 */
#include "agent/io/blocks.h"
#include "agent/io/store_internal.h"

const struct error_kind STORE_ARTIFACT_NOT_FOUND = {"artifact_not_found", ERROR_CLASS_NOT_FOUND};
const struct error_kind STORE_ARTIFACT_PRUNED = {"artifact_pruned", ERROR_CLASS_NOT_FOUND};

enum { STREAMS_MAX = 8 /* ours: four times the streams that there are */ };

static const char raw[] = "raw", blocks[] = "blocks";

static int add(struct store_tx *tx, int64_t turn, struct str call_id,
	const struct store_artifact *one, struct error *err)
{
	_cleanup_(buf) struct buf packed = BUF_INIT(BLOCKS_BYTES_MAX);
	struct db_stmt *s = store_stmt(&tx->view, SQL_ARTIFACT_INSERT);
	bool pack = one->bytes.len > BLOCK_BYTES && one->bytes.len <= BLOCKS_BYTES_MAX &&
		    blocks_pack(one->bytes, &packed) == 1;
	struct str bytes = pack ? buf_str(&packed) : one->bytes;

	db_bind_i64(s, 1, turn);
	db_bind_str(s, 2, call_id);
	db_bind_str(s, 3, one->stream);
	db_bind_str(s, 4, str_from(pack ? blocks : raw));
	db_bind_i64(s, 5, (int64_t)one->bytes.len);
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

static int check_readable(
	struct store_view *v, const struct store_artifact_ref *ref, struct error *err)
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

/* What was asked for of a row as it is stored. */
/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
static int read_row(struct db_stmt *s, const struct store_artifact_ref *ref, int64_t offset,
	int64_t limit, struct arena *a, struct store_page *ret, struct error *err)
{
	struct error cause = ERROR_INIT;
	bool whole = str_is(db_col_str(s, 0), raw);
	struct str stored = db_col_str(s, 2);
	struct store_page p = {.total = whole ? (int64_t)stored.len : db_col_i64(s, 1)};

	if (offset > p.total)
		offset = p.total;
	if (limit > p.total - offset)
		limit = p.total - offset;
	if (!whole && !str_is(db_col_str(s, 0), blocks))
		return damaged(ref, "encoding", err);
	if (!whole && blocks_read(stored, p.total, offset, limit, a, &p.bytes, &cause) < 0)
		return damaged(ref, cause.text, err);
	if (whole && limit > 0)
		p.bytes = store_keep(a, (struct str){stored.p + offset, (size_t)limit});
	if (!p.bytes.p)
		p.bytes = STR("");
	*ret = p;
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
int store_artifact_page(struct store_view *v, const struct store_artifact_ref *ref, int64_t offset,
	int64_t limit, struct arena *a, struct store_page *ret, struct error *err)
{
	struct db_stmt *s;
	int rc;

	if (check_readable(v, ref, err) < 0)
		return -1;
	s = store_stmt(v, SQL_ARTIFACT_GET);
	db_bind_i64(s, 1, ref->turn);
	db_bind_str(s, 2, ref->call_id);
	db_bind_str(s, 3, ref->stream);
	rc = db_step(s, err);
	if (rc == 1 && read_row(s, ref, offset, limit, a, ret, err) < 0)
		rc = -1;
	db_reset(s);
	if (rc == 0)
		return no_artifact(ref, err);
	return rc < 0 ? -1 : 0;
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

int store_artifact_streams(struct store_view *v, const struct store_artifact_ref *ref,
	struct arena *a, struct str_list *ret, struct error *err)
{
	struct str_list l = {arena_alloc(a, STREAMS_MAX * sizeof(struct str)), 0};
	struct db_stmt *s;
	int rc;

	if (check_readable(v, ref, err) < 0)
		return -1;
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
