/* Output that lies in files, as the store's rows know it. */
#include "agent/io/spill.h"
#include "agent/io/store_internal.h"

int store_spill_live(struct store_view *v, const struct store_artifact_ref *ref, int64_t owner,
	int64_t *ret_process, struct error *err)
{
	struct db_stmt *s;
	int rc;

	if (owner != ref->bot)
		return 0; /* a command in the background is its bot's alone */
	s = store_stmt(v, SQL_PROCESS_LIVE);
	db_bind_i64(s, 1, ref->turn);
	db_bind_str(s, 2, ref->call_id);
	rc = db_step(s, err);
	if (rc == 1)
		*ret_process = db_col_i64(s, 0);
	db_reset(s);
	return rc;
}

int store_spill_adopt(struct store_tx *tx, const struct store_process *p, size_t stream,
	bool *ret_kept, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	const struct spill_place at = {.root = tx->view.spill,
		.bot = p->bot,
		.turn = p->turn,
		.process = p->id,
		.call_id = p->call_id};
	struct store_artifact one = {.stream = str_from(spill_streams[stream])};
	const struct store_result r = {
		.call_id = p->call_id, .artifacts = &one, .artifact_count = 1};
	struct spill_part part = {.total = 0};
	struct error cause = ERROR_INIT;

	*ret_kept = false;
	one.name = str_from(spill_name(&scratch, &at, stream));
	/* one that cannot be read is as good as none: it must not keep the store from opening */
	if (spill_read(at.root, p->bot, p->turn, one.name, 0, 0, &scratch, &part, &cause) != 1 ||
		part.total == 0)
		return 0;
	one.spilled = part.total;
	*ret_kept = true;
	return store_artifacts_add(tx, p->turn, &r, err);
}

int store_spill_drop(struct store_tx *tx, int64_t turn, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_SPILLED_TURN);
	struct store_dropped *d;
	int rc;

	db_bind_i64(s, 1, turn);
	rc = db_step(s, err);
	if (rc == 1) {
		d = arena_alloc(tx->keep, sizeof(*d));
		*d = (struct store_dropped){db_col_i64(s, 0), turn, tx->dropped};
		tx->dropped = d;
	}
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

void store_spill_remove(const struct store *s, const struct store_dropped *dropped)
{
	for (; dropped; dropped = dropped->next)
		spill_drop(s->spill, dropped->bot, dropped->turn);
}

static int is_known(void *arg, int64_t bot, int64_t turn, struct str name)
{
	const struct store_view *v = arg;
	struct db_stmt *s = store_stmt(v, SQL_SPILLED_FILE);
	struct error err = ERROR_INIT;
	int rc;

	(void)bot; /* turns are numbered over all bots */
	db_bind_i64(s, 1, turn);
	db_bind_blob(s, 2, name.p, name.len);
	rc = db_step(s, &err);
	db_reset(s);
	return rc;
}

void store_spill_sweep(struct store_view *v)
{
	spill_sweep(v->spill, is_known, v);
}
