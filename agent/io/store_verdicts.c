/*
 * What verdicts leave beside their call: receipts, chained in the commit that the verdict takes
 * effect with, and how often the bot was denied.
 */
#include "agent/io/store_internal.h"

enum { RECEIPT_MAX_BYTES = 16 * 1024 /* ours: names and digests, each escaped at worst */ };

static int head_get(struct store_view *v, struct arena *a, struct str *ret_chain,
	struct receipt_head *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_STORE_RECEIPTS);
	struct str hash = {NULL, 0};
	int rc = db_step(s, err);

	if (rc == 1) {
		*ret_chain = store_col(s, 0, a);
		receipt_genesis(*ret_chain, ret);
		ret->count = db_col_i64(s, 1);
		hash = db_col_str(s, 2);
		if (hash.p && hash.len == RECEIPT_HASH_BYTES)
			memcpy(ret->hash, hash.p, RECEIPT_HASH_BYTES);
	}
	db_reset(s);
	if (rc == 0)
		return error_set(err, &DB_ERROR, "the store has no row of its own");
	return rc < 0 ? -1 : 0;
}

static int head_set(struct store_tx *tx, const struct receipt_head *h, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_STORE_SET_RECEIPTS);

	db_bind_i64(s, 1, h->count);
	db_bind_str(s, 2, str_from(h->hash));
	return db_run(s, err);
}

/* Nothing of what was asked or said but its digest: a receipt outlives the bot it is about. */
static void write_record(
	struct buf *to, const struct store_settled *s, const struct store_verdict *v)
{
	char reason[RECEIPT_HASH_BYTES + 1];
	struct json_out j = JSON_OUT(to);

	json_open(&j, '{');
	json_put_i64(&j, "at_ms", v->at_ms);
	json_put_i64(&j, "bot_id", s->at->bot);
	json_put_i64(&j, "turn", s->at->turn);
	json_put_str(&j, "call_id", s->call_id);
	if (s->step.p)
		json_put_str(&j, "step", s->step);
	json_put_i64(&j, "request", v->request);
	json_put_str(&j, "name", s->name);
	json_put_str(&j, "asked_sha256", v->subject);
	json_put_str(&j, "tag", v->tag);
	json_put_cstr(&j, "decision", v->allow ? "allow" : "deny");
	json_put_str(&j, "by", v->by);
	if (v->reason.p) {
		receipt_digest(v->reason, reason);
		json_put_cstr(&j, "reason_sha256", reason);
	}
	json_put_i64(&j, "waited_ms", v->waited_ms);
	json_close(&j, '}');
	must(!to->full); /* every part of it is bounded */
}

static int add_receipt(struct store_tx *tx, struct receipt_head *head,
	const struct store_settled *settled, const struct store_verdict *v, struct error *err)
{
	_cleanup_(buf) struct buf record = BUF_INIT(RECEIPT_MAX_BYTES);
	struct db_stmt *s = store_stmt(&tx->view, SQL_RECEIPT_INSERT);

	write_record(&record, settled, v);
	receipt_extend(head, buf_str(&record));
	db_bind_i64(s, 1, head->count);
	db_bind_str(s, 2, str_from(head->hash));
	db_bind_str(s, 3, buf_str(&record));
	return db_run(s, err);
}

static int add_receipts(struct store_tx *tx, const struct store_settled *s, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct receipt_head head;
	struct str chain;
	int64_t before;

	if (head_get(&tx->view, &scratch, &chain, &head, err) < 0)
		return -1;
	before = head.count;
	for (size_t i = 0; i < s->count; i++) {
		if (!s->verdicts[i].recorded && add_receipt(tx, &head, s, &s->verdicts[i], err) < 0)
			return -1;
	}
	return head.count > before ? head_set(tx, &head, err) : 0;
}

static int run_with(struct store_tx *tx, enum store_sql which, int64_t id, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, which);

	db_bind_i64(s, 1, id);
	return db_run(s, err);
}

int store_settle(struct store_tx *tx, const struct store_settled *s, struct error *err)
{
	if (s->count == 0)
		return 0;
	if (add_receipts(tx, s, err) < 0)
		return -1;
	if (s->outcome == SETTLED_ALLOWED)
		return run_with(tx, SQL_BOT_ALLOWED, s->at->bot, err);
	if (s->outcome == SETTLED_DENIED)
		return run_with(tx, SQL_BOT_DENIED, s->at->bot, err) < 0
			       ? -1
			       : run_with(tx, SQL_TURN_DENIED, s->at->turn, err);
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): which of them, and where they go */
int store_receipts_read(struct store_view *v, int64_t after, int limit, struct arena *a,
	struct store_receipts *ret, struct error *err)
{
	struct receipt *rows = arena_alloc(a, (size_t)limit * sizeof(*rows));
	struct store_receipts r = {.rows = rows};
	struct db_stmt *s;
	int rc;

	if (head_get(v, a, &r.chain, &r.head, err) < 0)
		return -1;
	s = store_stmt(v, SQL_RECEIPTS);
	db_bind_i64(s, 1, after);
	db_bind_i64(s, 2, limit);
	while ((rc = db_step(s, err)) == 1)
		rows[r.count++] = (struct receipt){.number = db_col_i64(s, 0),
			.hash = store_col(s, 1, a),
			.record = store_col(s, 2, a)};
	db_reset(s);
	if (rc < 0)
		return -1;
	*ret = r;
	return 0;
}
