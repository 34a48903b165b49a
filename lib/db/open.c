/*
 * Opening a store: settings, the version of its schema, migrations.
 *
 * A store this program does not know is refused before anything is written: first by the header of
 * the file, read through SQLite's own descriptor before it has run any SQL, then, since the newest
 * version may still lie in the WAL, by SQLite with checkpoints off.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "db/internal.h"
#include "mem/mem.h"

enum {
	BUSY_TIMEOUT_MS =
		2000,     /* ours: a reader can meet a recovery or the last close, both short */
	CACHE_KIB = 2048, /* agent spec 4.1: 2 MiB */
	WAL_KEEP_BYTES = 4 * 1024 * 1024, /* ours: what a WAL that was larger is cut back to */

	/* The database file format, section 1.3. */
	HEADER_BYTES = 100,
	HEADER_USER_VERSION = 60,
	HEADER_APPLICATION_ID = 68,
};
static const char header_magic[16] = "SQLite format 3";

static int exec(struct db *d, const char *sql, struct error *err)
{
	int rc;

	errno = 0;
	rc = sqlite3_exec(d->handle, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : db_error_last(err, rc);
}

/* The first column of the first row; -1 also when there is none. For statements run once. */
static int query_i64(struct db *d, const char *sql, int64_t *ret_value, struct error *err)
{
	sqlite3_stmt *s = NULL;
	int rc;

	errno = 0;
	rc = sqlite3_prepare_v2(d->handle, sql, -1, &s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		*ret_value = sqlite3_column_int64(s, 0);
	else
		db_error_last(err, rc);
	(void)sqlite3_finalize(s); /* repeats what step said */
	return rc == SQLITE_ROW ? 0 : -1;
}

static int config(struct db *d, int option, int on, struct error *err)
{
	int rc = sqlite3_db_config(d->handle, option, on, NULL);

	return rc == SQLITE_OK ? 0 : db_error(err, rc, 0);
}

/* What no statement of ours needs is off, should the file be made by somebody else. */
static int set_guards(struct db *d, struct error *err)
{
	static const struct {
		int option;
		int on;
	} guards[] = {
		{SQLITE_DBCONFIG_DEFENSIVE,      1},
		{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_DQS_DML,        0},
		{SQLITE_DBCONFIG_DQS_DDL,        0},
	};

	for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
		if (config(d, guards[i].option, guards[i].on, err) < 0)
			return -1;
	}
	return 0;
}

/* SQLite counts the memory in use under one lock, which every allocation of every connection takes;
 * nobody here asks for the count. Settled once, before the first connection: another user of SQLite
 * in this process may have been first, and then it stays as it is. */
static void set_up_library(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int connect(const struct db_file *file, struct db **ret, struct error *err)
{
	/* Read-write for a reader too: it has to share the WAL's index. */
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
		    SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	_cleanup_(db) struct db *d = xcalloc(1, sizeof(*d));
	int rc;

	(void)pthread_once(&once, set_up_library); /* cannot fail */
	errno = 0;
	rc = sqlite3_open_v2(file->path, &d->handle, flags, NULL);
	if (rc != SQLITE_OK)
		return db_error_last(err, rc);
	/* Until the schema is known to be ours, a close must not move the log into the file.
	 * Without one it has nothing to move, and takes away the empty log that looking made. */
	if (db_file_same(file, err) < 0 || set_guards(d, err) < 0 ||
		config(d, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, file->has_wal, err) < 0)
		return -1;
	(void)sqlite3_busy_timeout(d->handle, BUSY_TIMEOUT_MS); /* cannot fail on an open handle */
	*ret = mem_take(&d);
	return 0;
}

/* Of the schema's version and the program's; 0 go on. */
static int judge(const struct db_schema *schema, int64_t app, int64_t version, struct error *err)
{
	if (version > schema->count && (app == schema->application_id || app == 0))
		return error_set(err, &DB_SCHEMA_NEWER,
			"the store has schema version %lld; this program knows up to %d",
			(long long)version, schema->count);
	if (version < 0 || (version > 0 && app != schema->application_id))
		return error_set(err, &DB_SCHEMA_UNSUPPORTED,
			"the file is another program's (application id %lld, version %lld)",
			(long long)app, (long long)version);
	return 0;
}

static int64_t header_i32(const unsigned char *p)
{
	return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

static int peek_header(struct db *d, const struct db_schema *schema, struct error *err)
{
	unsigned char header[HEADER_BYTES];
	sqlite3_file *file = NULL;
	sqlite3_int64 size = 0;
	int rc = sqlite3_file_control(d->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

	must(rc == SQLITE_OK && file && file->pMethods);
	errno = 0;
	rc = file->pMethods->xFileSize(file, &size);
	if (rc != SQLITE_OK)
		return db_error_last(err, rc);
	if (size == 0)
		return 0; /* just made, or a first start that was cut short */
	if (size < HEADER_BYTES)
		return error_set(err, &DB_SCHEMA_UNSUPPORTED, "the file is no database");
	rc = file->pMethods->xRead(file, header, sizeof(header), 0);
	if (rc != SQLITE_OK)
		return db_error_last(err, rc);
	if (memcmp(header, header_magic, sizeof(header_magic)) != 0)
		return error_set(err, &DB_SCHEMA_UNSUPPORTED, "the file is no database");
	return judge(schema, header_i32(header + HEADER_APPLICATION_ID),
		header_i32(header + HEADER_USER_VERSION), err);
}

static int read_version(
	struct db *d, const struct db_schema *schema, int64_t *ret_version, struct error *err)
{
	int64_t app, version, objects;

	if (query_i64(d, "PRAGMA application_id", &app, err) < 0 ||
		query_i64(d, "PRAGMA user_version", &version, err) < 0 ||
		query_i64(d, "SELECT count(*) FROM sqlite_schema", &objects, err) < 0 ||
		judge(schema, app, version, err) < 0)
		return -1;
	if (version == 0 && (objects > 0 || (app != 0 && app != schema->application_id)))
		return error_set(err, &DB_SCHEMA_UNSUPPORTED, "the store has no schema version");
	*ret_version = version;
	return 0;
}

static int set_wal(struct db *d, struct error *err)
{
	sqlite3_stmt *s = NULL;
	bool on = false;
	int rc;

	errno = 0;
	rc = sqlite3_prepare_v2(d->handle, "PRAGMA journal_mode = WAL", -1, &s, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		const char *mode = (const char *)sqlite3_column_text(s, 0);

		on = mode && !strcmp(mode, "wal");
	} else {
		db_error_last(err, rc);
	}
	(void)sqlite3_finalize(s); /* repeats what step said */
	if (rc != SQLITE_ROW)
		return -1;
	return on ? 0 : error_set(err, &DB_ERROR, "the store cannot use a write-ahead log");
}

static int run_migrations(
	struct db *d, const struct db_schema *schema, int64_t version, struct error *err)
{
	_cleanup_(mem) char *mark = xasprintf(
		"PRAGMA application_id = %d; PRAGMA user_version = %d;", schema->application_id,
		schema->count);
	int64_t broken;

	for (int64_t i = version; i < schema->count; i++) {
		if (exec(d, schema->migrations[i], err) < 0)
			return error_prefix(
				err, "migrate the store to version %lld", (long long)i + 1);
	}
	if (query_i64(d, "SELECT count(*) FROM pragma_foreign_key_check", &broken, err) < 0)
		return -1;
	if (broken)
		return error_set(err, &DB_ERROR,
			"the migration left %lld rows without their parents", (long long)broken);
	return exec(d, mark, err);
}

/* One transaction, with foreign keys off so that a migration can rebuild a table. */
static int migrate(struct db *d, const struct db_schema *schema, struct error *err)
{
	int64_t version;
	int rc;

	if (exec(d, "PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE", err) < 0)
		return -1;
	rc = read_version(d, schema, &version, err); /* again: the lock is ours only now */
	if (rc == 0 && version < schema->count)
		rc = run_migrations(d, schema, version, err);
	if (rc == 0)
		rc = exec(d, "COMMIT", err);
	if (rc < 0 && !sqlite3_get_autocommit(d->handle))
		(void)exec(d, "ROLLBACK", NULL); /* the first error is the one to tell */
	return rc;
}

/* agent spec 4.1. Checkpoints are db_checkpoint's, not a commit's. Whether SQLite overwrites what
 * is deleted is up to who built it: here it never does (AG-202), so that nobody counts on it where
 * it happens to. */
static int set_writer(struct db *d, struct error *err)
{
	_cleanup_(mem) char *settings = xasprintf(
		"PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = "
		"ON;"
		"PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;"
		"PRAGMA secure_delete = OFF;"
		"PRAGMA cache_size = -%d; PRAGMA journal_size_limit = %d; PRAGMA "
		"wal_autocheckpoint = 0;",
		CACHE_KIB, WAL_KEEP_BYTES);

	return exec(d, settings, err);
}

static int set_reader(struct db *d, struct error *err)
{
	_cleanup_(mem) char *settings = xasprintf(
		"PRAGMA query_only = ON; PRAGMA synchronous = FULL; PRAGMA mmap_size = 0;"
		"PRAGMA cell_size_check = ON; PRAGMA cache_size = -%d; PRAGMA wal_autocheckpoint = "
		"0;",
		CACHE_KIB);

	return exec(d, settings, err);
}

static int set_up_writer(struct db *d, const struct db_schema *schema, struct error *err)
{
	int64_t version;

	if (peek_header(d, schema, err) < 0 || read_version(d, schema, &version, err) < 0)
		return -1;
	if (sqlite3_db_readonly(d->handle, "main") == 1)
		return db_error(err, SQLITE_READONLY, EROFS);
	if (config(d, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, err) < 0 || set_wal(d, err) < 0 ||
		set_writer(d, err) < 0)
		return -1;
	if (query_i64(d, "PRAGMA page_size", &d->page_bytes, err) < 0)
		return -1;
	d->wal_bytes = 1; /* unknown: a killed writer may have left some */
	(void)sqlite3_wal_hook(d->handle, db_wal_hook, d); /* returns the former argument */
	if (version < schema->count && migrate(d, schema, err) < 0)
		return -1;
	return exec(d, "PRAGMA foreign_keys = ON", err);
}

int db_open(const char *path, const struct db_schema *schema, struct db **ret, struct error *err)
{
	_cleanup_(db_file) struct db_file file = {.path = NULL};
	_cleanup_(db) struct db *d = NULL;

	if (db_file_prepare(path, true, &file, err) < 0 || connect(&file, &d, err) < 0 ||
		set_up_writer(d, schema, err) < 0)
		return error_prefix(err, "open the store");
	*ret = mem_take(&d);
	return 0;
}

int db_open_reader(const char *path, struct db **ret, struct error *err)
{
	_cleanup_(db_file) struct db_file file = {.path = NULL};
	_cleanup_(db) struct db *d = NULL;

	if (db_file_prepare(path, false, &file, err) < 0 || connect(&file, &d, err) < 0 ||
		config(d, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, err) < 0 || set_reader(d, err) < 0 ||
		query_i64(d, "PRAGMA page_size", &d->page_bytes, err) < 0)
		return error_prefix(err, "open the store to read");
	*ret = mem_take(&d);
	return 0;
}

void db_close(struct db *d)
{
	int rc;

	if (!d)
		return;
	db_stmts_release(d);
	rc = sqlite3_close(d->handle);
	must(rc == SQLITE_OK); /* BUSY: a statement that is not of the cache */
	free(d);
}
