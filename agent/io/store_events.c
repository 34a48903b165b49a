/*
 * Events: recorded inside a job, handed to the publisher once the group is committed, read back in
 * pages.
 */
#include "agent/io/store_internal.h"

const struct error_kind STORE_EVENT_TOO_LARGE = {"event_page_item_limit", ERROR_CLASS_LIMIT};

/* What one event costs a page beside its data: names, numbers, punctuation. */
enum { EVENT_FRAME_BYTES = 128 };

int store_record(struct store_tx *tx, const struct store_place *at, const char *kind,
	const struct buf *data, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_EVENT_INSERT);
	struct store_recorded *r;

	if (data->full)
		return error_set(err, &STORE_EVENT_TOO_LARGE, "event %s is over %d bytes", kind,
			EVENT_MAX_BYTES);
	store_bind_id(s, 1, at->bot);
	store_bind_id(s, 2, at->turn);
	db_bind_str(s, 3, str_from(kind));
	db_bind_str(s, 4, buf_str(data));
	if (db_run(s, err) < 0)
		return -1;
	r = arena_alloc(tx->keep, sizeof(*r));
	r->event = (struct store_event){
		.id = db_last_id(tx->view.db),
		.bot = at->bot,
		.bot_name = store_keep(tx->keep, at->bot_name),
		.turn = at->turn,
		.kind = str_from(kind),
		.data = store_keep(tx->keep, buf_str(data)),
	};
	if (tx->last)
		tx->last->next = r;
	else
		tx->first = r;
	tx->last = r;
	return 0;
}

static struct db_stmt *page_stmt(struct store_view *v, int64_t bot, int64_t after, int limit)
{
	struct db_stmt *s = store_stmt(v, bot ? SQL_EVENTS_OF_BOT : SQL_EVENTS_OF_ALL);
	int at = 1;

	if (bot)
		db_bind_i64(s, at++, bot);
	db_bind_i64(s, at++, after);
	db_bind_i64(s, at, (int64_t)limit + 1); /* one more says whether there is more */
	return s;
}

static void read_event(struct db_stmt *s, struct arena *a, struct store_event *ret)
{
	*ret = (struct store_event){
		.id = db_col_i64(s, 0),
		.bot = db_col_i64(s, 1),
		.bot_name = store_col(s, 2, a),
		.turn = db_col_i64(s, 3),
		.kind = store_col(s, 4, a),
		.data = store_col(s, 5, a),
	};
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, where it goes, three results */
int store_events(struct store_view *v, int64_t bot, int64_t after, int limit, struct arena *a,
	struct store_event **ret, size_t *ret_count, bool *ret_more, struct error *err)
{
	struct db_stmt *s = page_stmt(v, bot, after, limit);
	struct store_event *list = arena_alloc(a, (size_t)limit * sizeof(*list));
	size_t count = 0, bytes = 0;
	int rc;

	while ((rc = db_step(s, err)) == 1) {
		size_t size = EVENT_FRAME_BYTES + db_col_str(s, 2).len + db_col_str(s, 5).len;

		/* A first one that is over goes alone: record() let it in. */
		if (count == (size_t)limit || (count && bytes + size > PAGE_MAX_BYTES))
			break;
		read_event(s, a, &list[count++]);
		bytes += size;
	}
	db_reset(s);
	if (rc < 0)
		return -1;
	*ret = list;
	*ret_count = count;
	*ret_more = rc == 1;
	return 0;
}

int store_cursor(struct store_view *v, int64_t *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_EVENT_LAST);
	int rc = db_step(s, err);

	if (rc == 1)
		*ret = db_col_i64(s, 0);
	else if (rc == 0)
		*ret = 0;
	db_reset(s);
	return rc < 0 ? -1 : 0;
}
