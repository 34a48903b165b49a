/* Commands in the background, as rows. */
#include "agent/io/store_processes.h"

#include "agent/io/store_internal.h"

static const char status_finished[] = "finished";

static const char result_lost[] = "{\"error\":\"process_lost\",\"detail\":\"the daemon ended while "
				  "the command ran: nobody saw "
				  "how it went on, and it may still be running\"}";

int store_process_insert(struct store_tx *tx, int64_t bot, int64_t turn, struct str call_id,
	int64_t *ret_id, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_PROCESS_INSERT);

	db_bind_i64(s, 1, bot);
	db_bind_i64(s, 2, turn);
	db_bind_str(s, 3, call_id);
	if (db_run(s, err) < 0)
		return -1;
	*ret_id = db_last_id(tx->view.db);
	return 0;
}

static int finish(struct store_tx *tx, int64_t id, struct str result, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_PROCESS_FINISH);

	db_bind_i64(s, 1, id);
	db_bind_str(s, 2, result);
	if (db_run(s, err) < 0)
		return -1;
	if (db_changes(tx->view.db) == 0)
		return error_set(
			err, &STORE_STALE_TURN, "command %lld does not run", (long long)id);
	return 0;
}

int store_process_finish(struct store_tx *tx, const struct store_process *p,
	const struct store_artifact *artifacts, size_t artifact_count, struct error *err)
{
	const struct store_result r = {
		.call_id = p->call_id, .artifacts = artifacts, .artifact_count = artifact_count};

	if (finish(tx, p->id, p->result, err) < 0)
		return -1;
	return store_artifacts_add(tx, p->turn, &r, err);
}

int store_process_get(struct store_view *v, int64_t id, struct arena *a, struct store_process *ret,
	struct error *err)
{
	struct db_stmt *s = store_stmt(v, SQL_PROCESS_GET);
	int rc;

	db_bind_i64(s, 1, id);
	rc = db_step(s, err);
	if (rc == 1)
		*ret = (struct store_process){
			.id = id,
			.bot = db_col_i64(s, 0),
			.turn = db_col_i64(s, 1),
			.call_id = store_col(s, 2, a),
			.finished = str_is(db_col_str(s, 3), status_finished),
			.result = store_col(s, 4, a),
		};
	db_reset(s);
	return rc;
}

int store_recover_processes(
	struct store_tx *tx, const struct store_options *o, int64_t *ret_lost, struct error *err)
{
	struct store_process p;
	int64_t lost = 0;
	int rc;

	for (;;) {
		struct db_stmt *s = store_stmt(&tx->view, SQL_PROCESS_RUNNING);

		rc = db_step(s, err);
		if (rc == 1)
			p = (struct store_process){.id = db_col_i64(s, 0),
				.bot = db_col_i64(s, 1),
				.turn = db_col_i64(s, 2)};
		db_reset(s);
		if (rc != 1)
			break;
		if (store_recover_tell(tx, o, p.bot, p.turn, err) < 0 ||
			finish(tx, p.id, STR(result_lost), err) < 0)
			return -1;
		lost++;
	}
	*ret_lost = lost;
	return rc;
}
