#ifndef DB_DB_H
#define DB_DB_H
/*
 * db: SQLite: private files, migrations, statements, transactions. A connection belongs to one
 * thread.
 *
 * Promises: AG-191 the file is made 0600 with O_EXCL before SQLite opens it; AG-192 -wal and -shm
 * take that mode; AG-193, AG-194 looser ones are tightened before SQLite opens them. After SQLite
 * has the file, nothing else in the process may open it, -wal or -shm: closing would drop SQLite's
 * locks.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "text/text.h"

struct db;
struct db_stmt;

/* storage_error, both: the text holds codes only. DB_FULL is a full disk or a read-only store:
 * retry. */
extern const struct error_kind DB_ERROR;
extern const struct error_kind DB_FULL;
extern const struct error_kind DB_SCHEMA_NEWER;       /* store_schema_newer */
extern const struct error_kind DB_SCHEMA_UNSUPPORTED; /* store_schema_unsupported: no version */
extern const struct error_kind DB_UNSAFE_FILE;        /* unsafe_store_file: a link, no plain file */

struct db_schema {
	int application_id;            /* PRAGMA application_id of a file of ours */
	const char *const *migrations; /* SQL that takes version i to i + 1 */
	int count;                     /* the version this program writes */
};

/* Opens or makes the store for writing: WAL, synchronous FULL, foreign keys, temp in memory, 2 MiB
 * cache; migrates in one transaction. */
int db_open(const char *path, const struct db_schema *schema, struct db **ret, struct error *err);
/* A second, query-only connection to the same file. */
int db_open_reader(const char *path, struct db **ret, struct error *err);
void db_close(struct db *d); /* finalizes its statements; NULL does nothing */

/* A statement is prepared once per connection and SQL text (by pointer: pass string literals) and
 * handed out reset, with bindings cleared. Parameters are ?1, ?2 … A mistake in the SQL aborts. */
struct db_stmt *db_prepare(struct db *d, const char *sql);
void db_bind_i64(struct db_stmt *s, int at, int64_t value);
/* Text and blobs are not copied: they must live until the step is done. Absent text is NULL. */
void db_bind_str(struct db_stmt *s, int at, struct str value);
void db_bind_blob(struct db_stmt *s, int at, const void *p, size_t len);
void db_bind_null(struct db_stmt *s, int at);
/* 1 a row, 0 done, -1 error. After 0 or -1 the statement is reset. */
int db_step(struct db_stmt *s, struct error *err);
/* For a statement without rows: 0 or -1. */
int db_run(struct db_stmt *s, struct error *err);
void db_reset(struct db_stmt *s);              /* when leaving before the last row */
int64_t db_col_i64(struct db_stmt *s, int at); /* NULL: 0 */
bool db_col_null(struct db_stmt *s, int at);
struct str db_col_str(struct db_stmt *s, int at); /* NULL: absent; lives until the next step */

int64_t db_changes(struct db *d); /* rows changed by the last statement */
int64_t db_last_id(struct db *d);

/*
 * A group of jobs is one transaction with a savepoint for each: a failing job rolls back alone.
 * When the disk is full or fails, SQLite gives the whole transaction up by itself; everything up to
 * and with db_commit then fails with that cause and changes nothing. DB_ERROR and DB_FULL share
 * their code, so tell them apart by err->kind.
 */
int db_begin(struct db *d, struct error *err);  /* IMMEDIATE */
int db_commit(struct db *d, struct error *err); /* on failure the transaction is rolled back */
void db_rollback(struct db *d);
int db_savepoint(struct db *d, struct error *err);
int db_savepoint_release(struct db *d, struct error *err);
void db_savepoint_rollback(struct db *d);
/* A read transaction that sees one state, on a reader. */
int db_snapshot(struct db *d, struct error *err);
void db_snapshot_end(struct db *d);
/* Moves the WAL into the file as far as no reader's snapshot stands in the way, and waits for
 * nobody; called on the writer when idle, outside a transaction. Cheap when there is nothing to
 * move. A commit does the same only once the WAL has passed 16 MiB. */
void db_checkpoint(struct db *d);
int64_t db_page_bytes(struct db *d); /* size of the store in bytes by page count */
/* What EXPLAIN QUERY PLAN says, lines joined by '\n': for the test that no statement scans. */
int db_plan(struct db *d, const char *sql, struct buf *to, struct error *err);

#endif
