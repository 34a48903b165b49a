/*
 * Transactions of the writer, snapshots of the reader, and the write-ahead log.
 *
 * A commit is one fsync of the WAL and leaves the copying into the file to db_checkpoint, which is
 * called when there is nothing else to do. Only when the WAL has grown past its bound does the
 * commit that passed it copy too; its work is durable by then.
 */
#include "db/internal.h"
#include "mem/mem.h"

/* Ours: reading stays fast (the WAL's index is searched per page), and a store in constant use
 * costs at most this much disk beside itself. Beyond it every further step tries again, so that a
 * snapshot held for long does not make each commit try in vain. */
enum {
	WAL_MAX_BYTES = 16 * 1024 * 1024,
	WAL_STEP_BYTES = 1024 * 1024,
};

int db_wal_hook(void *arg, sqlite3 *handle, const char *name, int pages)
{
	struct db *d = arg;

	(void)handle;
	(void)name;
	d->wal_bytes = (int64_t)pages * d->page_bytes;
	return SQLITE_OK;
}

void db_checkpoint(struct db *d)
{
	int in_wal = -1, moved = -1;
	int rc;

	if (!d->wal_bytes || d->in_transaction)
		return;
	/* Passive: what a reader's snapshot still needs stays, and nobody waits. A failure changes
	 * nothing, since all of it is still in the WAL; the next call tries again. */
	rc = sqlite3_wal_checkpoint_v2(d->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_wal, &moved);
	if (rc == SQLITE_OK && in_wal == moved) {
		d->wal_bytes = 0;
		d->wal_next_try = WAL_MAX_BYTES;
	} else {
		d->wal_next_try = d->wal_bytes + WAL_STEP_BYTES;
		if (d->wal_next_try < WAL_MAX_BYTES)
			d->wal_next_try = WAL_MAX_BYTES;
	}
}

static void bound_wal(struct db *d)
{
	int64_t limit = d->wal_next_try ? d->wal_next_try : WAL_MAX_BYTES;

	if (d->wal_bytes >= limit)
		db_checkpoint(d);
}

int db_begin(struct db *d, struct error *err)
{
	must(!d->in_transaction);
	if (db_simple(d, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	d->in_transaction = true;
	return 0;
}

/* Back to none, whatever SQLite has done by itself. */
static void end(struct db *d)
{
	d->lost = d->lost_sys = 0;
	d->in_transaction = false;
	if (!sqlite3_get_autocommit(d->handle))
		(void)db_simple(
			d, "ROLLBACK", NULL); /* only in memory: the WAL's tail is ignored */
}

int db_commit(struct db *d, struct error *err)
{
	int rc;

	must(d->in_transaction);
	rc = db_simple(d, "COMMIT", err); /* tells what became of a lost one */
	end(d);
	if (rc == 0)
		bound_wal(d);
	return rc;
}

void db_rollback(struct db *d)
{
	must(d->in_transaction);
	end(d);
}

int db_savepoint(struct db *d, struct error *err)
{
	must(d->in_transaction);
	return db_simple(d, "SAVEPOINT job", err);
}

int db_savepoint_release(struct db *d, struct error *err)
{
	must(d->in_transaction);
	return db_simple(d, "RELEASE job", err);
}

void db_savepoint_rollback(struct db *d)
{
	must(d->in_transaction);
	if (d->lost)
		return; /* all of it is rolled back already; the commit says so */
	if (db_simple(d, "ROLLBACK TO job", NULL) == 0)
		(void)db_simple(d, "RELEASE job", NULL); /* nothing of it is left to keep */
	else if (!d->lost)
		d->lost = SQLITE_ABORT_ROLLBACK; /* half a job must not be committed */
}

int db_snapshot(struct db *d, struct error *err)
{
	struct db_stmt *pin;

	must(!d->in_transaction);
	if (db_simple(d, "BEGIN", err) < 0)
		return -1;
	d->in_transaction = true;
	/* The state is chosen by the first read, not by BEGIN. */
	pin = db_prepare(d, "SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)");
	if (db_step(pin, err) < 0) {
		db_snapshot_end(d);
		return -1;
	}
	db_reset(pin);
	return 0;
}

void db_snapshot_end(struct db *d)
{
	must(d->in_transaction);
	/* A statement left in the middle would hold the snapshot open. */
	for (sqlite3_stmt *s = sqlite3_next_stmt(d->handle, NULL); s;
		s = sqlite3_next_stmt(d->handle, s)) {
		if (sqlite3_stmt_busy(s))
			(void)sqlite3_reset(s); /* repeats what the last step said */
	}
	end(d);
}

int64_t db_page_bytes(struct db *d)
{
	struct db_stmt *s = db_prepare(d, "PRAGMA page_count");
	int64_t pages = db_step(s, NULL) == 1 ? db_col_i64(s, 0) : 0;

	db_reset(s);
	return pages * d->page_bytes;
}
