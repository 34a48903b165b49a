/*
 * What a crash left (spec 3.5): turns that ran are interrupted, their calls get results. Nothing is
 * ever repeated. Turns that had not started are as they were: whoever ended a bot's turn made its
 * next one ready in the same commit, here too.
 */
#include "agent/io/store_internal.h"

enum { PIECE = 64 }; /* turns looked up at once: none is read while rows change */

struct left {
	int64_t turn, bot;
};

/* Turns that ran, after turn id `after`. */
static int list_running(struct store_view *v, int64_t after, struct left list[PIECE],
	size_t *ret_count, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURNS_RUNNING);
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

/* Lets the owner see to what the turn left outside the store. */
int store_recover_tell(struct store_tx *tx, const struct store_options *o, int64_t bot,
	int64_t turn, struct error *err)
{
	_cleanup_(arena) struct arena a = {0};
	struct bot b;
	struct store_turn t;

	if (!o->interrupted)
		return 0;
	if (store_bot_get_id(&tx->view, bot, &a, &b, err) < 0 ||
		store_turn_get(&tx->view, bot, turn, &a, &t, err) < 0)
		return -1;
	o->interrupted(o->arg, &b, &t);
	return 0;
}

static int interrupt(struct store_tx *tx, const struct store_options *o, const struct left *l,
	struct store_recovery *r, struct error *err)
{
	const struct store_finish f = {
		.bot = l->bot,
		.turn = l->turn,
		.status = TURN_INTERRUPTED,
		.error = STR("process_interrupted"),
		.detail = STR("the daemon ended while the turn was running"),
	};
	struct store_finished finished;
	int64_t unknown;

	if (store_recover_tell(tx, o, l->bot, l->turn, err) < 0 ||
		store_turn_end(tx, &f, &finished, &unknown, err) < 0)
		return -1;
	r->interrupted_turns++;
	r->unknown_calls += unknown;
	return 0;
}

static int count_ready(struct store_view *v, int64_t *ret, struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_TURNS_READY_COUNT);
	int rc = db_step(s, err);

	if (rc == 1)
		*ret = db_col_i64(s, 0);
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

/* Deletions that had begun. */
static int finish_deletions(struct store_tx *tx, int64_t *ret_count, struct error *err)
{
	int64_t bot = 0, count = 0;
	int rc;

	for (;;) {
		struct db_stmt *s = store_stmt(&tx->view, SQL_BOT_NEXT_DELETING);
		struct store_deleted sum = {0};
		bool done = false;

		db_bind_i64(s, 1, bot);
		rc = db_step(s, err);
		if (rc == 1)
			bot = db_col_i64(s, 0);
		db_reset(s);
		if (rc <= 0)
			break;
		while (!done) {
			if (store_bot_delete_piece(tx, bot, &sum, &done, err) < 0)
				return -1;
		}
		count++;
	}
	*ret_count = count;
	return rc;
}

int store_recover(struct store_tx *tx, const struct store_options *o, struct store_recovery *ret,
	struct error *err)
{
	struct left list[PIECE];
	struct store_recovery r = {0};
	size_t count = 0;
	int64_t after = 0, waiting = 0, paced = 0;

	do {
		if (list_running(&tx->view, after, list, &count, err) < 0)
			return -1;
		for (size_t i = 0; i < count; i++) {
			if (interrupt(tx, o, &list[i], &r, err) < 0)
				return -1;
			after = list[i].turn;
		}
	} while (count == PIECE);
	if (store_pause_get(&tx->view, &r.pause, err) < 0 ||
		store_recover_processes(tx, o, &r, err) < 0 ||
		finish_deletions(tx, &r.deleted_bots, err) < 0 ||
		count_ready(&tx->view, &r.ready_turns, err) < 0 ||
		store_recover_parked(tx, o, SQL_TURNS_WAITING, &waiting, err) < 0 ||
		store_recover_parked(tx, o, SQL_TURNS_PACED, &paced, err) < 0)
		return -1;
	r.parked_turns = waiting + paced;
	*ret = r;
	return 0;
}
