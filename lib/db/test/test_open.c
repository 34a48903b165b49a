/*
 * Opening: schema versions, what is refused untouched, migrations as one transaction, settings.
 */
#include <errno.h>

#include "fixture.h"

/* As another program, with SQLite itself. */
static void raw_sql(const char *path, const char *sql)
{
	sqlite3 *handle = NULL;

	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* Refused with this kind, and neither a byte nor a name in the folder has changed. */
static void assert_refused_untouched(const struct fixture *f, const struct error_kind *kind)
{
	_cleanup_(buf) struct buf before = file_content(f->path, "");
	_cleanup_(buf) struct buf wal_before = file_content(f->path, "-wal");
	_cleanup_(buf) struct buf after = BUF_INIT(0);
	_cleanup_(buf) struct buf wal_after = BUF_INIT(0);
	mode_t wal_mode = mode_of(f->path, "-wal");
	struct error err = ERROR_INIT;
	struct db *d = NULL;

	assert_fails(db_open(f->path, &test_schema, &d, &err), &err, *kind);
	assert_null(d);
	after = file_content(f->path, "");
	wal_after = file_content(f->path, "-wal");
	assert_true(str_eq(buf_str(&before), buf_str(&after)));
	assert_true(str_eq(buf_str(&wal_before), buf_str(&wal_after)));
	assert_int_equal(mode_of(f->path, "-wal"), wal_mode);
}

static void newer_schema_is_refused_untouched(void **state)
{
	const struct fixture *f = *state;

	db_close(open_store(f));
	raw_sql(f->path, "PRAGMA user_version = 3");
	assert_refused_untouched(f, &DB_SCHEMA_NEWER);
	assert_int_equal(mode_of(f->path, "-shm"), 0);
	raw_sql(f->path, "PRAGMA user_version = 2147483647");
	assert_refused_untouched(f, &DB_SCHEMA_NEWER);
	raw_sql(f->path, "PRAGMA user_version = 2");
	db_close(open_store(f));
}

static void newer_version_alone_is_newer(void **state)
{
	const struct fixture *f = *state;

	raw_sql(f->path, "PRAGMA user_version = 9; CREATE TABLE t(a)");
	assert_refused_untouched(f, &DB_SCHEMA_NEWER);
}

static int write_newer_to_the_wal_and_die(const struct fixture *f)
{
	sqlite3 *handle = NULL;

	child_check(sqlite3_open(f->path, &handle) == SQLITE_OK);
	child_check(sqlite3_exec(handle, "PRAGMA user_version = 7", NULL, NULL, NULL) == SQLITE_OK);
	return raise(SIGKILL);
}

static void newer_schema_still_in_the_wal_is_refused_untouched(void **state)
{
	const struct fixture *f = *state;

	db_close(open_store(f));
	assert_true(WIFSIGNALED(in_child(write_newer_to_the_wal_and_die, f)));
	assert_true(mode_of(f->path, "-wal") != 0);
	assert_refused_untouched(f, &DB_SCHEMA_NEWER);
}

static void files_of_others_are_refused_untouched(void **state)
{
	static const char *const rows[] = {
		"CREATE TABLE t(a)",                                     /* no version */
		"PRAGMA journal_mode = WAL; CREATE TABLE t(a)",          /* no version, WAL */
		"PRAGMA application_id = 77; CREATE TABLE t(a)",         /* another's, no version */
		"PRAGMA application_id = 77; PRAGMA user_version = 1",   /* another's */
		"PRAGMA application_id = 77; PRAGMA user_version = 9",   /* another's, high */
		"PRAGMA user_version = 1",                               /* version without an id */
		"PRAGMA user_version = -1",                              /* nonsense */
		"PRAGMA application_id = 1095192148; CREATE TABLE t(a)", /* ours, no version */
	};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		raw_sql(f->path, rows[i]);
		assert_return_code(chmod(f->path, 0600), 0);
		assert_refused_untouched(f, &DB_SCHEMA_UNSUPPORTED);
		assert_return_code(unlink(f->path), 0);
	}
}

static void files_that_are_no_database_are_refused_untouched(void **state)
{
	static const char long_text[4096] = "SQLite format 2";
	const struct fixture *f = *state;

	write_file(f->path, "key = value\n", 12, 0600);
	assert_refused_untouched(f, &DB_SCHEMA_UNSUPPORTED);
	write_file(f->path, long_text, sizeof(long_text), 0600);
	assert_refused_untouched(f, &DB_SCHEMA_UNSUPPORTED);
}

static void corrupt_store_is_a_storage_error(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(fd) int fd = -1;
	char junk[3000];
	struct error err = ERROR_INIT;
	struct db *d = NULL;

	db_close(open_store(f));
	memset(junk, 0x5a, sizeof(junk));
	fd = open(f->path, O_WRONLY | O_CLOEXEC);
	assert_true(pwrite(fd, junk, sizeof(junk), 100) == (ssize_t)sizeof(junk));
	assert_kind(db_open(f->path, &test_schema, &d, &err), &err, DB_ERROR);
	assert_non_null(strstr(err.text, "code 11"));
}

static void empty_file_is_a_first_start(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = NULL;

	write_file(f->path, "", 0, 0644);
	d = open_store(f);
	assert_int_equal(count_bots(d), 0);
	assert_int_equal(mode_of(f->path, ""), 0600);
}

static void migrations_run_from_where_the_store_is(void **state)
{
	static const struct db_schema first = {TEST_APPLICATION_ID, test_migrations, 1};
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = NULL;
	struct error err = ERROR_INIT;
	struct db_stmt *s;

	assert_ok(db_open(f->path, &first, &d, &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	db_close(mem_take(&d));
	d = open_store(f);
	s = db_prepare(d, "SELECT name, note FROM bot");
	assert_int_equal(db_step(s, &err), 1);
	assert_true(str_is(db_col_str(s, 0), "ada"));
	assert_true(db_col_null(s, 1));
	db_close(mem_take(&d));
	assert_fails(db_open(f->path, &first, &d, &err), &err, DB_SCHEMA_NEWER);
}

static void failing_migration_changes_nothing(void **state)
{
	static const char *const steps[] = {
		"",
		"",
		"ALTER TABLE bot ADD COLUMN more TEXT; INSERT INTO bot(name) VALUES('ada');",
	};
	static const char *const orphans[] = {"", "", "INSERT INTO node(bot) VALUES(41)"};
	static const struct db_schema clash = {TEST_APPLICATION_ID, steps, 3};
	static const struct db_schema orphan = {TEST_APPLICATION_ID, orphans, 3};
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;

	assert_ok(insert_bot(d, "ada", &err), &err);
	db_close(mem_take(&d));
	assert_kind(db_open(f->path, &clash, &d, &err), &err, DB_ERROR);
	assert_null(strstr(err.text, "INSERT"));
	assert_null(strstr(err.text, "bot.name"));
	assert_kind(db_open(f->path, &orphan, &d, &err), &err, DB_ERROR);
	d = open_store(f); /* still version 2 */
	assert_int_equal(count_bots(d), 1);
}

static int64_t setting(struct db *d, const char *pragma)
{
	struct db_stmt *s = db_prepare(d, pragma);
	int64_t value = db_step(s, NULL) == 1 ? db_col_i64(s, 0) : -1;

	db_reset(s);
	return value;
}

static void settings_are_those_of_the_contract(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	_cleanup_(db) struct db *r = NULL;
	struct error err = ERROR_INIT;
	struct db_stmt *s = db_prepare(d, "PRAGMA journal_mode");

	assert_int_equal(db_step(s, &err), 1);
	assert_true(str_is(db_col_str(s, 0), "wal"));
	db_reset(s);
	assert_int_equal(setting(d, "PRAGMA synchronous"), 2);
	assert_int_equal(setting(d, "PRAGMA foreign_keys"), 1);
	assert_int_equal(setting(d, "PRAGMA temp_store"), 2);
	assert_int_equal(setting(d, "PRAGMA cache_size"), -2048);
	assert_int_equal(setting(d, "PRAGMA mmap_size"), 0);
	assert_int_equal(setting(d, "PRAGMA wal_autocheckpoint"), 0);
	assert_int_equal(setting(d, "PRAGMA trusted_schema"), 0);
	assert_ok(db_open_reader(f->path, &r, &err), &err);
	assert_int_equal(setting(r, "PRAGMA synchronous"), 2);
	assert_int_equal(setting(r, "PRAGMA query_only"), 1);
}

static void foreign_keys_hold(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;

	assert_kind(db_run(db_prepare(d, "INSERT INTO node(bot) VALUES(5)"), &err), &err, DB_ERROR);
	assert_non_null(strstr(err.text, "code 19/787"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(newer_schema_is_refused_untouched),
		fixture_test(newer_version_alone_is_newer),
		fixture_test(newer_schema_still_in_the_wal_is_refused_untouched),
		fixture_test(files_of_others_are_refused_untouched),
		fixture_test(files_that_are_no_database_are_refused_untouched),
		fixture_test(corrupt_store_is_a_storage_error),
		fixture_test(empty_file_is_a_first_start),
		fixture_test(migrations_run_from_where_the_store_is),
		fixture_test(failing_migration_changes_nothing),
		fixture_test(settings_are_those_of_the_contract),
		fixture_test(foreign_keys_hold),
	};

	return cmocka_run_group_tests_name("db.open", tests, NULL, NULL);
}
