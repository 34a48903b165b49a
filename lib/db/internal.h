#ifndef DB_INTERNAL_H
#define DB_INTERNAL_H
/*
 * db, inside: the connection, its statements, and what the files of this library share.
 */
#include <sqlite3.h>
#include <sys/types.h>

#include "db/db.h"
#include "mem/mem.h"

struct db_stmt {
	struct db *db;
	const char *sql; /* the key of the cache: the pointer, not the text */
	sqlite3_stmt *handle;
	int failed; /* SQLite's code when preparing or binding failed; the next step reports it */
	int failed_sys;
};

struct db {
	sqlite3 *handle;
	struct db_stmt *
		*slots; /* open addressing by address of the SQL; slot_count is a power of two */
	size_t slot_count, stmt_count;
	int64_t page_bytes;
	int64_t wal_bytes;    /* in the WAL and not known to be in the file */
	int64_t wal_next_try; /* size of the WAL at which a commit looks after it */
	bool in_transaction;  /* db_begin without its end */
	int lost, lost_sys;   /* why SQLite gave the transaction up by itself */
};

/* A checked file, by its canonical path. */
struct db_file {
	char *path;
	dev_t dev;
	ino_t ino;
	bool has_wal; /* something lies in the log that the file may not have */
};
/* Makes path 0600 (when make) or checks and tightens what is there, sidecars first. */
int db_file_prepare(const char *path, bool make, struct db_file *ret_file, struct error *err);
/* Whether the name still leads to the file that was checked: by lstat, which opens nothing. */
int db_file_same(const struct db_file *file, struct error *err);
void db_file_release(struct db_file *file);
static inline void db_file_cleanup(struct db_file *file)
{
	db_file_release(file);
}

MEM_CLEANUP(db, struct db *, db_close)

/* Kind by SQLite's extended code and, where it failed on one, the system's errno. Text: numbers
 * only. */
int db_error(struct error *err, int code, int sys);
/* The errno behind a code that was just returned, 0 where it has none; errno is set to 0 before a
 * call. */
int db_sys_of(int code);
/* Both: at once after the call that returned code. */
int db_error_last(struct error *err, int code);

/* Finalizes every statement of the cache. */
void db_stmts_release(struct db *d);
/* Runs a statement from the cache that binds nothing and gives no rows. */
int db_simple(struct db *d, const char *sql, struct error *err);
/* SQLite's hook after each commit: notes the size of the WAL. */
int db_wal_hook(void *arg, sqlite3 *handle, const char *name, int pages);

#endif
