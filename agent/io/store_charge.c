/* What calls of a model cost, on whose account, and what a turn's failed calls were. */
#include "agent/io/store_internal.h"

static void put_known(struct json_out *j, const char *name, int64_t tokens)
{
	if (tokens > 0)
		json_put_i64(j, name, tokens);
}

int store_record_usage(struct store_tx *tx, const struct store_place *at,
	const struct store_usage *u, struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_i64(&j, "input_tokens", u->input_tokens);
	json_put_i64(&j, "output_tokens", u->output_tokens);
	json_put_i64(&j, "cached_input_tokens", u->cached_input_tokens);
	put_known(&j, "cache_write_tokens", u->cache_write_tokens);
	put_known(&j, "cache_write_1h_tokens", u->cache_write_1h_tokens);
	if (u->model.p) {
		json_open_key(&j, "models", '[');
		json_put_str(&j, NULL, u->model);
		json_close(&j, ']');
	}
	if (u->purpose)
		json_put_cstr(&j, "purpose", u->purpose);
	json_put_i64(&j, "sent_ms", u->sent_ms);
	json_close(&j, '}');
	return store_record(tx, at, "usage", &data, err);
}

int store_account(struct store_tx *tx, const struct store_place *at, const struct store_usage *u,
	int64_t last_message, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, u->purpose ? SQL_TURN_CHARGE : SQL_TURN_ROUND);

	db_bind_i64(s, 1, at->turn);
	db_bind_i64(s, 2, u->input_tokens);
	db_bind_i64(s, 3, u->output_tokens);
	db_bind_i64(s, 4, u->cached_input_tokens);
	if (!u->purpose)
		store_bind_id(s, 5, last_message);
	if (db_run(s, err) < 0)
		return -1;
	s = store_stmt(&tx->view, SQL_BOT_USAGE);
	db_bind_i64(s, 1, at->bot);
	db_bind_i64(s, 2, u->input_tokens);
	db_bind_i64(s, 3, u->output_tokens);
	db_bind_i64(s, 4, u->cached_input_tokens);
	return db_run(s, err);
}

static int count_retries(struct store_tx *tx, int64_t turn, int64_t retries, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_TURN_RETRIES);

	db_bind_i64(s, 1, turn);
	db_bind_i64(s, 2, retries);
	return db_run(s, err);
}

int store_charge(struct store_tx *tx, const struct store_charge *c, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_line l;

	if (store_line_open(&tx->view, c->bot, c->turn, &scratch, &l, err) < 0)
		return -1;
	if (c->retries > 0 && count_retries(tx, c->turn, c->retries, err) < 0)
		return -1;
	if (!c->has_usage)
		return 0;
	if (store_account(tx, &l.at, &c->usage, 0, err) < 0)
		return -1;
	return store_record_usage(tx, &l.at, &c->usage, err);
}
