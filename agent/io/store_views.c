/*
 * Views of a conversation as rows: the note, summaries, stubs and where the window begins. Each is
 * a version that names the one before, so that a fork finds those that held at its point.
 */
#include "agent/io/store_context.h"
#include "agent/io/store_internal.h"

/* Makes a row that was just inserted the version that holds. */
static int adopt(struct store_tx *tx, enum store_sql set, int64_t bot, int64_t *ret_version,
	struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, set);
	int64_t version = db_last_id(tx->view.db);

	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, version);
	if (db_run(s, err) < 0)
		return -1;
	*ret_version = version;
	return 0;
}

int store_note_set(
	struct store_tx *tx, int64_t bot, int64_t node, struct str text, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_NOTE_INSERT);
	int64_t version;

	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, node);
	db_bind_str(s, 3, text);
	if (db_run(s, err) < 0)
		return -1;
	return adopt(tx, SQL_BOT_SET_NOTE, bot, &version, err);
}

/*
 * The window.
 */
static int set_start(
	struct store_tx *tx, int64_t bot, const struct store_window *w, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_SET_START);

	db_bind_i64(s, 1, bot);
	store_bind_id(s, 2, w->start);
	if (db_run(s, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_OMISSION_SET);
	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, w->first);
	db_bind_i64(s, 3, w->omitted_turns);
	db_bind_str(s, 4, w->omission);
	return db_run(s, err);
}

static int record_elided(struct store_tx *tx, const struct store_place *at,
	const struct store_window *w, int64_t version, struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_i64(&j, "version", version);
	json_put_i64(&j, "floor", w->floor);
	json_put_u64(&j, "results", w->stub_count);
	json_put_i64(&j, "context_before", w->bytes);
	json_put_i64(&j, "context_after", w->bytes - w->saved_bytes);
	json_close(&j, '}');
	return store_record(tx, at, "elided", &data, err);
}

static int elide(struct store_tx *tx, const struct store_line *l, const struct store_window *w,
	struct error *err)
{
	struct db_stmt *s;
	int64_t version;

	for (size_t i = 0; i < w->stub_count; i++) {
		s = store_stmt(&tx->view, SQL_STUB_INSERT);
		db_bind_i64(s, 1, w->stubs[i].node);
		db_bind_i64(s, 2, (int64_t)w->stubs[i].item.len);
		db_bind_str(s, 3, w->stubs[i].item);
		if (db_run(s, err) < 0)
			return -1;
	}
	s = store_stmt(&tx->view, SQL_ELISION_INSERT);
	db_bind_i64(s, 1, l->at.bot);
	db_bind_i64(s, 2, l->head);
	db_bind_i64(s, 3, w->floor);
	if (db_run(s, err) < 0 || adopt(tx, SQL_BOT_SET_ELISION, l->at.bot, &version, err) < 0)
		return -1;
	return record_elided(tx, &l->at, w, version, err);
}

int store_window_set(
	struct store_tx *tx, int64_t turn, const struct store_window *w, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_line l;

	if (store_line_open(&tx->view, w->now.id, turn, &scratch, &l, err) < 0)
		return -1;
	must(w->need == STORE_BEGIN || w->need == STORE_ELIDE);
	return w->need == STORE_BEGIN ? set_start(tx, w->now.id, w, err) : elide(tx, &l, w, err);
}

/*
 * Summaries.
 */
static int record_usage(struct store_tx *tx, const struct store_place *at,
	const struct store_usage *u, struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_i64(&j, "input_tokens", u->input_tokens);
	json_put_i64(&j, "output_tokens", u->output_tokens);
	json_put_i64(&j, "cached_input_tokens", u->cached_input_tokens);
	json_put_cstr(&j, "purpose", "compaction");
	json_put_i64(&j, "sent_ms", u->sent_ms);
	json_close(&j, '}');
	return store_record(tx, at, "usage", &data, err);
}

/* Tokens on the turn's and the bot's account; no round of the turn. */
static int charge(struct store_tx *tx, const struct store_compaction *c, struct error *err)
{
	static const enum store_sql accounts[] = {SQL_TURN_CHARGE, SQL_BOT_USAGE};
	const int64_t whose[] = {c->turn, c->bot};

	for (size_t i = 0; i < ARRAY_LEN(accounts); i++) {
		struct db_stmt *s = store_stmt(&tx->view, accounts[i]);

		db_bind_i64(s, 1, whose[i]);
		db_bind_i64(s, 2, c->usage.input_tokens);
		db_bind_i64(s, 3, c->usage.output_tokens);
		db_bind_i64(s, 4, c->usage.cached_input_tokens);
		if (db_run(s, err) < 0)
			return -1;
	}
	return 0;
}

static int record_compacted(struct store_tx *tx, const struct store_place *at,
	const struct store_compaction *c, int64_t version, struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_i64(&j, "version", version);
	json_put_i64(&j, "coverage", c->coverage);
	json_put_i64(&j, "context_before", c->context_before);
	json_put_i64(&j, "context_after", c->context_after);
	json_put_u64(&j, "summary_bytes", c->text.len);
	json_put_str(&j, "model", c->model);
	json_close(&j, '}');
	return store_record(tx, at, "compacted", &data, err);
}

static int insert_summary(struct store_tx *tx, const struct store_line *l,
	const struct store_compaction *c, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_COMPACTION_INSERT);
	int64_t version;

	db_bind_i64(s, 1, c->bot);
	db_bind_i64(s, 2, l->head);
	db_bind_i64(s, 3, c->coverage);
	db_bind_str(s, 4, c->text);
	if (db_run(s, err) < 0 || adopt(tx, SQL_BOT_SET_COMPACTION, c->bot, &version, err) < 0)
		return -1;
	return record_compacted(tx, &l->at, c, version, err);
}

int store_compact(struct store_tx *tx, const struct store_compaction *c, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_line l;

	if (store_line_open(&tx->view, c->bot, c->turn, &scratch, &l, err) < 0)
		return -1;
	if (c->has_usage && (charge(tx, c, err) < 0 || record_usage(tx, &l.at, &c->usage, err) < 0))
		return -1;
	return c->text.p ? insert_summary(tx, &l, c, err) : 0;
}

/*
 * Forks.
 */
/* The newest version at or before the node, from `version` back. 0: none. */
static int at_point(struct store_view *v, enum store_sql get, int64_t version, int64_t point,
	int64_t *ret, struct error *err)
{
	while (version) {
		struct db_stmt *s = store_stmt(v, get);
		int64_t node = 0, previous = 0;
		int rc;

		db_bind_i64(s, 1, version);
		rc = db_step(s, err);
		if (rc == 1) {
			node = db_col_i64(s, 0);
			previous = db_col_i64(s, 1);
		}
		db_reset(s);
		if (rc < 0)
			return -1;
		if (rc == 1 && node <= point)
			break;
		version = rc == 1 ? previous : 0;
	}
	*ret = version;
	return 0;
}

int store_views_fork(struct store_tx *tx, const struct bot *source, int64_t point, int64_t fork,
	struct error *err)
{
	struct store_view *v = &tx->view;
	int64_t note, compaction, elision, start = source->context_start;
	struct db_stmt *s;

	if (at_point(v, SQL_NOTE_GET, source->note, point, &note, err) < 0 ||
		at_point(v, SQL_COMPACTION_GET, source->compaction, point, &compaction, err) < 0 ||
		at_point(v, SQL_ELISION_GET, source->elision, point, &elision, err) < 0)
		return -1;
	/* A window that began where it does because of what came later begins anew. */
	if (start > point || compaction != source->compaction)
		start = 0;
	s = store_stmt(v, SQL_BOT_BIND);
	db_bind_i64(s, 1, fork);
	store_bind_id(s, 2, note);
	store_bind_id(s, 3, compaction);
	store_bind_id(s, 4, elision);
	store_bind_id(s, 5, start);
	return db_run(s, err);
}
