/* Commands in the background, as rows. */
#include "agent/io/store_processes.h"

#include "agent/io/spill.h"
#include "agent/io/store_internal.h"

static const char status_finished[] = "finished";

static const char lost_detail[] = "the daemon ended while the command ran: nobody saw how it went "
				  "on, and it may still be running";
enum {
	RESULT_MAX_BYTES =
		4096 /* ours: the detail, and two names of artifacts, every byte escaped */
};

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

	bool pruned = false;

	if (finish(tx, p->id, p->result, err) < 0 ||
		store_turn_is_pruned(&tx->view, p->turn, &pruned, err) < 0)
		return -1;
	if (pruned)
		return 0; /* a prune went by while it ran: its records are not wanted any more */
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

/* One that the daemon's end left running: what it had written by then can be read. */
static int lose(
	struct store_tx *tx, const struct store_process *p, int64_t *kept, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(RESULT_MAX_BYTES);
	_cleanup_(arena) struct arena scratch = {0};
	struct json_out j = JSON_OUT(&text);
	int64_t before = *kept;

	json_open(&j, '{');
	json_put_cstr(&j, "error", "process_lost");
	json_put_cstr(&j, "detail", lost_detail);
	for (size_t i = 0; i < SPILL_STREAMS; i++) {
		bool there;

		if (store_spill_adopt(tx, p, i, &there, err) < 0)
			return -1;
		if (there && (*kept)++ == before)
			json_open_key(&j, "artifacts", '[');
		if (there)
			json_put_cstr(&j, NULL,
				arena_printf(&scratch, "%lld/" STR_FMT "/%s", (long long)p->turn,
					STR_ARG(p->call_id), spill_streams[i]));
	}
	if (*kept > before)
		json_close(&j, ']');
	json_close(&j, '}');
	must(!text.full);
	return finish(tx, p->id, buf_str(&text), err);
}

int store_recover_processes(struct store_tx *tx, const struct store_options *o,
	struct store_recovery *ret, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {0};
	struct store_process p;
	int rc;

	for (;;) {
		struct db_stmt *s = store_stmt(&tx->view, SQL_PROCESS_RUNNING);

		rc = db_step(s, err);
		if (rc == 1)
			p = (struct store_process){.id = db_col_i64(s, 0),
				.bot = db_col_i64(s, 1),
				.turn = db_col_i64(s, 2),
				.call_id = store_col(s, 3, &scratch)};
		db_reset(s);
		if (rc != 1)
			break;
		if (store_recover_tell(tx, o, p.bot, p.turn, err) < 0 ||
			lose(tx, &p, &ret->kept_outputs, err) < 0)
			return -1;
		ret->lost_processes++;
	}
	return rc;
}
