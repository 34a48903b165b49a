/*
 * Statements: prepared once per connection, found again by the address of their SQL.
 *
 * db_prepare returns no error: a mistake in the SQL is a bug and aborts, and what else can go wrong
 * (a disk that fails while the schema is read) is kept and told by the first step.
 */
#include <errno.h>
#include <string.h>

#include "db/internal.h"
#include "mem/mem.h"

enum {
	SLOTS_FIRST = 64, /* a store has some 100 statements: one growth */
};

static size_t hash_of(const char *sql, size_t slot_count)
{
	uint64_t h = (uint64_t)(uintptr_t)sql * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(h >> 32) & (slot_count - 1);
}

static struct db_stmt **slot_of(const struct db *d, const char *sql)
{
	size_t at = hash_of(sql, d->slot_count);

	while (d->slots[at] && d->slots[at]->sql != sql)
		at = (at + 1) & (d->slot_count - 1);
	return &d->slots[at];
}

/* Half full at most, so that a search ends soon. */
static void grow(struct db *d)
{
	struct db_stmt **old = d->slots;
	size_t old_count = d->slot_count;

	d->slot_count = old_count ? old_count * 2 : SLOTS_FIRST;
	d->slots = xcalloc(d->slot_count, sizeof(struct db_stmt *));
	for (size_t i = 0; i < old_count; i++) {
		if (old[i])
			*slot_of(d, old[i]->sql) = old[i];
	}
	free(old);
}

static struct db_stmt *find_or_add(struct db *d, const char *sql)
{
	struct db_stmt **slot;

	if (d->stmt_count * 2 >= d->slot_count)
		grow(d);
	slot = slot_of(d, sql);
	if (!*slot) {
		*slot = xcalloc(1, sizeof(**slot));
		(*slot)->db = d;
		(*slot)->sql = sql;
		d->stmt_count++;
	}
	return *slot;
}

static void compile(struct db_stmt *s)
{
	const char *tail = NULL;
	int rc;

	errno = 0;
	rc = sqlite3_prepare_v3(
		s->db->handle, s->sql, -1, SQLITE_PREPARE_PERSISTENT, &s->handle, &tail);
	/* A mistake of ours, shown with its SQL, which is a literal and holds no value. */
	if ((rc & 0xff) == SQLITE_ERROR || (rc == SQLITE_OK && (!s->handle || *tail)))
		mem_must_failed(s->sql, __FILE__, __LINE__);
	if (rc != SQLITE_OK) {
		s->failed = rc;
		s->failed_sys = db_sys_of(rc);
	}
}

struct db_stmt *db_prepare(struct db *d, const char *sql)
{
	struct db_stmt *s = find_or_add(d, sql);

	s->failed = 0;
	s->failed_sys = 0;
	if (!s->handle) {
		compile(s);
		return s;
	}
	(void)sqlite3_reset(s->handle);          /* repeats what the last step said */
	(void)sqlite3_clear_bindings(s->handle); /* always OK */
	return s;
}

/* A number that is no parameter is a mistake; a value too large is told by the step. */
static void bound(struct db_stmt *s, int rc)
{
	must(rc != SQLITE_RANGE && rc != SQLITE_MISUSE);
	if (rc != SQLITE_OK)
		s->failed = rc;
}

void db_bind_i64(struct db_stmt *s, int at, int64_t value)
{
	if (s->handle)
		bound(s, sqlite3_bind_int64(s->handle, at, value));
}

void db_bind_str(struct db_stmt *s, int at, struct str value)
{
	if (!s->handle)
		return;
	/* A NULL pointer binds NULL. */
	bound(s,
		sqlite3_bind_text64(s->handle, at, value.p, value.len, SQLITE_STATIC, SQLITE_UTF8));
}

void db_bind_blob(struct db_stmt *s, int at, const void *p, size_t len)
{
	if (!s->handle)
		return;
	if (len == 0) /* SQLite would read a NULL pointer as NULL */
		bound(s, sqlite3_bind_zeroblob(s->handle, at, 0));
	else
		bound(s, sqlite3_bind_blob64(s->handle, at, p, len, SQLITE_STATIC));
}

void db_bind_null(struct db_stmt *s, int at)
{
	if (s->handle)
		bound(s, sqlite3_bind_null(s->handle, at));
}

/* After some failures SQLite has rolled the whole transaction back; the commit must say why. */
static void note_lost(struct db *d, int code, int sys)
{
	if (d->in_transaction && !d->lost && sqlite3_get_autocommit(d->handle)) {
		d->lost = code;
		d->lost_sys = sys;
	}
}

int db_step(struct db_stmt *s, struct error *err)
{
	struct db *d = s->db;
	int rc, sys;

	if (s->failed)
		return db_error(err, s->failed, s->failed_sys);
	/* Inside a transaction that is gone a statement would commit by itself. */
	if (d->lost)
		return db_error(err, d->lost, d->lost_sys);
	errno = 0;
	rc = sqlite3_step(s->handle);
	if (rc == SQLITE_ROW)
		return 1;
	must(rc != SQLITE_MISUSE);
	sys = db_sys_of(rc);
	(void)sqlite3_reset(s->handle); /* repeats what step said */
	if (rc == SQLITE_DONE)
		return 0;
	note_lost(d, rc, sys);
	return db_error(err, rc, sys);
}

int db_run(struct db_stmt *s, struct error *err)
{
	int rc = db_step(s, err);

	must(rc != 1); /* a statement with rows */
	return rc;
}

void db_reset(struct db_stmt *s)
{
	if (s->handle)
		(void)sqlite3_reset(s->handle); /* repeats what the last step said */
}

int64_t db_col_i64(struct db_stmt *s, int at)
{
	return sqlite3_column_int64(s->handle, at);
}

bool db_col_null(struct db_stmt *s, int at)
{
	return sqlite3_column_type(s->handle, at) == SQLITE_NULL;
}

struct str db_col_str(struct db_stmt *s, int at)
{
	const char *p;

	if (sqlite3_column_type(s->handle, at) == SQLITE_NULL)
		return (struct str){NULL, 0};
	/* A blob as it is: text of SQLite's making only for numbers. */
	p = sqlite3_column_blob(s->handle, at);
	return (struct str){p ? p : "", (size_t)sqlite3_column_bytes(s->handle, at)};
}

int64_t db_changes(struct db *d)
{
	return sqlite3_changes64(d->handle);
}

int64_t db_last_id(struct db *d)
{
	return sqlite3_last_insert_rowid(d->handle);
}

int db_simple(struct db *d, const char *sql, struct error *err)
{
	return db_run(db_prepare(d, sql), err);
}

void db_stmts_release(struct db *d)
{
	for (size_t i = 0; i < d->slot_count; i++) {
		if (!d->slots[i])
			continue;
		(void)sqlite3_finalize(d->slots[i]->handle); /* repeats what the last step said */
		free(d->slots[i]);
	}
	free(d->slots);
	d->slots = NULL;
	d->slot_count = d->stmt_count = 0;
}

int db_plan(struct db *d, const char *sql, struct buf *to, struct error *err)
{
	_cleanup_(mem) char *explain = xasprintf("EXPLAIN QUERY PLAN %s", sql);
	sqlite3_stmt *s = NULL;
	int rc;

	errno = 0;
	rc = sqlite3_prepare_v2(d->handle, explain, -1, &s, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		if (to->len)
			(void)buf_putc(to, '\n'); /* looked at below */
		(void)buf_puts(to, (const char *)sqlite3_column_text(s, 3));
	}
	if (rc != SQLITE_DONE)
		db_error_last(err, rc);
	(void)sqlite3_finalize(s); /* repeats what step said */
	if (rc == SQLITE_DONE && to->full)
		return error_set(err, &ERROR_LIMIT, "the plan is over %zu bytes", to->max);
	return rc == SQLITE_DONE ? 0 : -1;
}
