/*
 * Parked turns as rows: the park record in turns.waiting, and what is read back of a round.
 */
#include "agent/io/store_park.h"

#include "agent/io/store_internal.h"

enum {
	WAITING_MAX_BYTES = 64 * 1024, /* ours: WAIT_HANDLES_MAX handles and what stands around */
	PIECE = 64,                    /* turns looked up at once: none is read while rows change */
};

static const char *const kind_names[] = {[PARK_PACED] = "paced",
	[PARK_HANDLES] = "handles",
	[PARK_VERDICT] = "verdict",
	[PARK_HOST] = "host",
	NULL};

static const struct json_field waiting_fields[] = {
	JSON_ENUM(struct store_park, kind, kind_names, .required = true),
	JSON_STR(struct store_park, call_id),
	JSON_STRS(struct store_park, handles),
	JSON_BOOL(struct store_park, any),
	JSON_I64(struct store_park, deadline_ms, .required = true),
	JSON_I64(struct store_park, parked_ms, .required = true),
	JSON_I64(struct store_park, requests),
	JSON_STRS(struct store_park, prior_done),
	JSON_STR(struct store_park, host),
};

static const char output_cancelled[] = "{\"error\":\"cancelled\"}";

static enum turn_status status_of(const struct store_park *p)
{
	return p->kind == PARK_PACED ? TURN_PACED : TURN_WAITING;
}

static void put_strings(struct json_out *j, const char *name, const struct str_list *l)
{
	json_open_key(j, name, '[');
	for (size_t i = 0; i < l->count; i++)
		json_put_str(j, NULL, l->items[i]);
	json_close(j, ']');
}

static void put_time(struct json_out *j, const char *name, int64_t ms)
{
	if (ms)
		json_put_i64(j, name, ms);
	else
		json_put_null(j, name);
}

static int write_waiting(struct buf *to, const struct store_park *p, struct error *err)
{
	struct json_out j = JSON_OUT(to);

	json_open(&j, '{');
	json_put_cstr(&j, "kind", kind_names[p->kind]);
	if (p->call_id.p)
		json_put_str(&j, "call_id", p->call_id);
	put_strings(&j, "handles", &p->handles);
	json_put_bool(&j, "any", p->any);
	json_put_i64(&j, "deadline_ms", p->deadline_ms);
	json_put_i64(&j, "parked_ms", p->parked_ms);
	if (p->requests)
		json_put_i64(&j, "requests", p->requests);
	if (p->prior_done.count)
		put_strings(&j, "prior_done", &p->prior_done);
	if (p->host.p)
		json_put_str(&j, "host", p->host);
	json_close(&j, '}');
	if (to->full)
		return error_set(err, &ERROR_LIMIT, "what the turn waits for is over %d bytes",
			WAITING_MAX_BYTES);
	return 0;
}

static int read_waiting(struct arena *a, struct str text, struct store_park *ret, struct error *err)
{
	static const struct json_table table = {
		waiting_fields, ARRAY_LEN(waiting_fields), "waiting", NULL};
	struct error cause = ERROR_INIT;
	const struct json *doc;

	if (json_parse(a, text, &doc, &cause) < 0 ||
		json_decode(a, doc, &table, ret, NULL, &cause) < 0)
		return error_set(err, &DB_ERROR, "the row of turn %lld is damaged: %s",
			(long long)ret->turn, cause.text);
	return 0;
}

/* Parking */

static int record_parked(struct store_tx *tx, const struct store_place *at,
	const struct store_park *p, struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	if (p->kind == PARK_PACED) {
		json_put_i64(&j, "resume_at_ms", p->deadline_ms);
	} else {
		json_put_str(&j, "call_id", p->call_id);
		put_strings(&j, "handles", &p->handles);
		put_time(&j, "deadline_ms", p->deadline_ms);
		json_put_bool(&j, "any", p->any);
		if (p->host.p)
			json_put_str(&j, "host", p->host);
	}
	json_close(&j, '}');
	return store_record(
		tx, at, p->kind == PARK_PACED ? "turn_paced" : "turn_waiting", &data, err);
}

static int set_bot_status(
	struct store_tx *tx, int64_t bot, enum turn_status status, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_STATUS);

	db_bind_i64(s, 1, bot);
	db_bind_str(s, 2, str_from(turn_status_names[status])); /* the bot's has the same name */
	return db_run(s, err);
}

static int set_parked(struct store_tx *tx, const struct store_park *p, struct error *err)
{
	_cleanup_(buf) struct buf waiting = BUF_INIT(WAITING_MAX_BYTES);
	struct db_stmt *s;

	if (write_waiting(&waiting, p, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_TURN_PARK);
	db_bind_i64(s, 1, p->turn);
	db_bind_str(s, 2, str_from(turn_status_names[status_of(p)]));
	db_bind_str(s, 3, buf_str(&waiting));
	store_bind_id(s, 4, p->deadline_ms);
	return db_run(s, err);
}

int store_park(struct store_tx *tx, const struct store_park *p, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_line l;

	if (store_line_open(&tx->view, p->bot, p->turn, &scratch, &l, err) < 0)
		return -1;
	for (size_t i = 0; i < p->partial_count; i++) {
		if (store_call_decided(tx, &l.at, &p->partials[i], err) < 0)
			return -1;
	}
	if (set_parked(tx, p, err) < 0 || set_bot_status(tx, p->bot, status_of(p), err) < 0)
		return -1;
	return record_parked(tx, &l.at, p, err);
}

/* Reading back */

int store_park_get(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_park *ret, struct error *err)
{
	struct store_park p = {.bot = bot, .turn = turn};
	struct db_stmt *s = store_stmt(v, SQL_TURN_WAITING);
	bool parked = false;
	int rc;

	db_bind_i64(s, 1, turn);
	db_bind_i64(s, 2, bot);
	rc = db_step(s, err);
	if (rc == 1) {
		p.bot_name = store_col(s, 0, a);
		parked = !db_col_null(s, 1);
		if (parked && read_waiting(a, db_col_str(s, 1), &p, err) < 0)
			rc = -1;
	}
	db_reset(s);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return error_set(
			err, &STORE_TURN_NOT_FOUND, "the bot has no turn %lld", (long long)turn);
	if (!parked)
		return error_set(
			err, &STORE_STALE_TURN, "turn %lld is not parked", (long long)turn);
	*ret = p;
	return 0;
}

int store_parked_get(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_round *ret, struct error *err)
{
	struct store_round r = {.call_count = 0};

	if (store_park_get(v, bot, turn, a, &r.park, err) < 0 ||
		store_turn_get(v, bot, turn, a, &r.turn, err) < 0 ||
		store_bot_get_id(v, bot, a, &r.bot, err) < 0 ||
		store_calls_read(v, turn, a, &r.calls, &r.call_count, err) < 0)
		return -1;
	*ret = r;
	return 0;
}

/* Going on */

static int set_running(
	struct store_tx *tx, const struct store_park *p, int64_t paced_ms, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_TURN_RESUME);

	db_bind_i64(s, 1, p->turn);
	db_bind_i64(s, 2, paced_ms);
	return db_run(s, err) < 0 ? -1 : set_bot_status(tx, p->bot, TURN_RUNNING, err);
}

static int record_resumed(struct store_tx *tx, const struct store_park *p, struct error *err)
{
	const struct store_place at = {p->bot, p->turn, p->bot_name};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_str(&j, "call_id", p->call_id);
	json_close(&j, '}');
	return store_record(tx, &at, "turn_resumed", &data, err);
}

/* NOLINTNEXTLINE(readability-function-size): which one, how long, and what comes of it */
int store_turn_resume(struct store_tx *tx, int64_t bot, int64_t turn, int64_t waited_ms,
	struct arena *a, struct store_round *ret, struct error *err)
{
	struct store_round r;
	int64_t paced_ms;

	if (store_parked_get(&tx->view, bot, turn, a, &r, err) < 0)
		return -1;
	paced_ms = r.park.kind == PARK_PACED ? waited_ms : 0;
	if (set_running(tx, &r.park, paced_ms, err) < 0 || record_resumed(tx, &r.park, err) < 0)
		return -1;
	r.turn.status = TURN_RUNNING;
	r.bot.status = BOT_RUNNING;
	*ret = r;
	return 0;
}

/* The call that waits has done nothing but wait: its end is known. */
static int cancel_waiting(struct store_tx *tx, const struct store_park *p, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_result r = {.call_id = p->call_id, .cancelled = true};
	struct store_line l;
	int64_t node;

	if (p->kind != PARK_HANDLES)
		return 0;
	if (store_line_open(&tx->view, p->bot, p->turn, &scratch, &l, err) < 0)
		return -1;
	r.item = item_result(&scratch, l.family, p->call_id, STR(output_cancelled), NULL, 0);
	if (store_call_complete(tx, &l, &r, &node, err) < 0)
		return -1;
	return store_line_save(tx, &l, err);
}

int store_park_end(struct store_tx *tx, const struct store_finish *f, struct store_finished *ret,
	struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_park p;

	if (store_park_get(&tx->view, f->bot, f->turn, &scratch, &p, err) < 0 ||
		set_running(tx, &p, 0, err) < 0 || cancel_waiting(tx, &p, err) < 0)
		return -1;
	return store_turn_finish(tx, f, ret, err);
}

int store_call_verdicts(struct store_tx *tx, const struct store_park *park,
	const struct store_partial *p, bool whole, struct error *err)
{
	const struct store_place at = {park->bot, park->turn, park->bot_name};
	struct store_park now = *park;

	if (store_call_decided(tx, &at, p, err) < 0)
		return -1;
	if (!whole)
		return 0;
	if (now.requests > 0)
		now.requests--;
	/* should this daemon die before it goes on, the next one finds it due */
	if (str_eq(p->call_id, park->call_id))
		now.deadline_ms = park->parked_ms;
	return set_parked(tx, &now, err);
}

/* At open */

struct left {
	int64_t turn, bot;
};

static int list_parked(struct store_view *v, enum store_sql which, int64_t after,
	struct left list[PIECE], size_t *ret_count, struct error *err)
{
	struct db_stmt *s = store_stmt(v, which);
	size_t count = 0;
	int rc;

	db_bind_i64(s, 1, after);
	db_bind_i64(s, 2, PIECE);
	while ((rc = db_step(s, err)) == 1) {
		must(count < PIECE);
		list[count++] = (struct left){db_col_i64(s, 0), db_col_i64(s, 1)};
	}
	db_reset(s);
	*ret_count = count;
	return rc;
}

static int tell(struct store_view *v, const struct store_options *o, const struct left *l,
	struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_park p;

	if (store_park_get(v, l->bot, l->turn, &scratch, &p, err) < 0)
		return -1;
	if (o->parked)
		o->parked(o->arg, &p);
	return 0;
}

int store_recover_parked(struct store_tx *tx, const struct store_options *o, enum store_sql which,
	int64_t *ret_count, struct error *err)
{
	struct left list[PIECE];
	int64_t after = 0, told = 0;
	size_t count;

	do {
		if (list_parked(&tx->view, which, after, list, &count, err) < 0)
			return -1;
		for (size_t i = 0; i < count; i++) {
			if (tell(&tx->view, o, &list[i], err) < 0)
				return -1;
			after = list[i].turn;
			told++;
		}
	} while (count == PIECE);
	*ret_count = told;
	return 0;
}
