/* The andon cord: a state of the whole store. */
#include "agent/io/store_pause.h"

#include <stdio.h>

#include "agent/io/store_internal.h"

/* Columns of the store's one row. What was too long to be stored cannot be there. */
static void read_text(struct db_stmt *s, int at, char *room, size_t size)
{
	struct str text = str_cut(db_col_str(s, at), size - 1);

	(void)snprintf(room, size, STR_FMT, STR_ARG(text)); /* it fits */
}

int store_pause_get(struct store_view *v, struct store_pause *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_STORE_PAUSE_GET);
	struct store_pause p = {.on = false};
	int rc = db_step(s, err);

	if (rc == 1 && !db_col_null(s, 0)) {
		p.on = true;
		p.at_ms = db_col_i64(s, 0);
		p.by_id = db_col_i64(s, 2);
		read_text(s, 1, p.by, sizeof(p.by));
		read_text(s, 3, p.reason, sizeof(p.reason));
	}
	db_reset(s);
	if (rc < 0)
		return -1;
	*ret = p;
	return 0;
}

static struct str text_or_none(const char *text)
{
	return text[0] ? str_from(text) : (struct str){NULL, 0};
}

static int save(struct store_tx *tx, const struct store_pause *p, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_STORE_PAUSE_SET);

	store_bind_id(s, 1, p->at_ms);
	db_bind_str(s, 2, text_or_none(p->by));
	store_bind_id(s, 3, p->by_id);
	db_bind_str(s, 4, text_or_none(p->reason));
	return db_run(s, err);
}

static void put_author(struct json_out *j, const struct store_pause *p)
{
	json_put_str(j, "by", text_or_none(p->by));
	if (p->by_id)
		json_put_i64(j, "by_id", p->by_id);
	else
		json_put_null(j, "by_id");
}

void store_pause_put(struct json_out *j, const char *name, const struct store_pause *p)
{
	if (!p->on) {
		json_put_null(j, name);
		return;
	}
	json_open_key(j, name, '{');
	put_author(j, p);
	json_put_str(j, "reason", text_or_none(p->reason));
	json_put_i64(j, "at_ms", p->at_ms);
	json_close(j, '}');
}

/* Of no bot and no turn: followers of all bots see it. */
static int record(struct store_tx *tx, const char *kind, const struct store_pause *p, bool reason,
	struct error *err)
{
	const struct store_place nowhere = {.bot = 0};
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	put_author(&j, p);
	if (reason)
		json_put_str(&j, "reason", text_or_none(p->reason));
	json_close(&j, '}');
	return store_record(tx, &nowhere, kind, &data, err);
}

int store_pause_set(struct store_tx *tx, const struct store_pause *asked,
	struct store_pause *ret_now, bool *ret_already, struct error *err)
{
	struct store_pause p;

	if (store_pause_get(&tx->view, &p, err) < 0)
		return -1;
	*ret_already = p.on;
	if (!p.on) {
		p = *asked;
		p.on = true;
		p.at_ms = clock_real_ms(tx->clock);
		if (save(tx, &p, err) < 0 || record(tx, "paused", &p, true, err) < 0)
			return -1;
	}
	*ret_now = p;
	return 0;
}

int store_pause_end(
	struct store_tx *tx, const struct store_pause *asked, bool *ret_was, struct error *err)
{
	static const struct store_pause off = {.on = false};
	struct store_pause p;

	if (store_pause_get(&tx->view, &p, err) < 0)
		return -1;
	*ret_was = p.on;
	if (!p.on)
		return 0;
	return save(tx, &off, err) < 0 ? -1 : record(tx, "resumed", asked, false, err);
}
