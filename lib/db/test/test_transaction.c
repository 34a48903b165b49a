/*
 * Transactions: groups of jobs, what a reader sees, what a killed writer leaves, the WAL's size.
 */
#include "fixture.h"

static void job_rolls_back_alone(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;

	assert_ok(db_begin(d, &err), &err);
	assert_ok(db_savepoint(d, &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_ok(db_savepoint_release(d, &err), &err);

	assert_ok(db_savepoint(d, &err), &err);
	assert_ok(insert_bot(d, "half a job", &err), &err);
	assert_kind(insert_bot(d, "ada", &err), &err, DB_ERROR);
	db_savepoint_rollback(d);

	assert_ok(db_savepoint(d, &err), &err);
	assert_ok(insert_bot(d, "bob", &err), &err);
	assert_ok(db_savepoint_release(d, &err), &err);
	assert_ok(db_commit(d, &err), &err);
	assert_int_equal(count_bots(d), 2);
	assert_kind(insert_bot(d, "bob", &err), &err, DB_ERROR);
	assert_ok(insert_bot(d, "half a job", &err), &err);
}

static void rollback_and_close_leave_nothing(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;

	assert_ok(db_begin(d, &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	db_rollback(d);
	assert_int_equal(count_bots(d), 0);
	assert_ok(db_begin(d, &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	db_close(mem_take(&d));
	d = open_store(f);
	assert_int_equal(count_bots(d), 0);
	assert_ok(db_begin(d, &err), &err); /* usable on */
	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_ok(db_commit(d, &err), &err);
	assert_int_equal(count_bots(d), 1);
}

static void failed_commit_rolls_back(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;

	assert_ok(db_begin(d, &err), &err);
	assert_ok(db_run(db_prepare(d, "PRAGMA defer_foreign_keys = ON"), &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_ok(db_run(db_prepare(d, "INSERT INTO node(bot) VALUES(99)"), &err), &err);
	assert_kind(db_commit(d, &err), &err, DB_ERROR);
	assert_int_equal(count_bots(d), 0);
	assert_ok(db_begin(d, &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_ok(db_commit(d, &err), &err);
}

static void reader_sees_only_what_is_committed(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	_cleanup_(db) struct db *r = NULL;
	struct error err = ERROR_INIT;

	assert_ok(db_open_reader(f->path, &r, &err), &err);
	assert_ok(db_begin(d, &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_int_equal(count_bots(r), 0);
	assert_ok(db_commit(d, &err), &err);
	assert_int_equal(count_bots(r), 1);
}

static void snapshot_is_one_state_from_its_start(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	_cleanup_(db) struct db *r = NULL;
	struct error err = ERROR_INIT;
	struct db_stmt *s;

	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_ok(insert_bot(d, "bob", &err), &err);
	assert_ok(db_open_reader(f->path, &r, &err), &err);
	assert_ok(db_snapshot(r, &err), &err);
	assert_ok(insert_bot(d, "eve", &err), &err); /* before the snapshot's first own read */
	assert_int_equal(count_bots(r), 2);
	db_checkpoint(d); /* moves nothing the snapshot needs, and does not wait */
	assert_int_equal(count_bots(r), 2);
	s = db_prepare(r, "SELECT name FROM bot");
	assert_int_equal(db_step(s, &err), 1); /* left in the middle */
	db_snapshot_end(r);
	assert_int_equal(count_bots(r), 3);
	assert_ok(db_snapshot(r, &err), &err);
	db_snapshot_end(r);
}

static void reader_cannot_write(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	_cleanup_(db) struct db *r = NULL;
	struct error err = ERROR_INIT;

	assert_ok(db_open_reader(f->path, &r, &err), &err);
	assert_kind(insert_bot(r, "ada", &err), &err, DB_FULL); /* SQLITE_READONLY */
	assert_int_equal(count_bots(d), 0);
}

static int die_in_a_transaction(const struct fixture *f)
{
	struct db *d = NULL;

	child_check(db_open(f->path, &test_schema, &d, NULL) == 0);
	child_check(insert_bot(d, "ada", NULL) == 0);
	child_check(db_begin(d, NULL) == 0);
	child_check(insert_bot(d, "bob", NULL) == 0);
	/* More than the cache of 2 MiB: pages of the open transaction are in the WAL. */
	child_check(db_run(db_prepare(d,
				   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
				   " FROM n WHERE i < 3000)"
				   " INSERT INTO node(bot, body) SELECT 1, zeroblob(2000) FROM n"),
			    NULL) == 0);
	return raise(SIGKILL);
}

static void killed_writer_leaves_an_openable_store(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = NULL;
	struct error err = ERROR_INIT;
	struct db_stmt *s;

	for (int i = 0; i < 2; i++) {
		struct stat st;
		_cleanup_(mem) char *wal = xasprintf("%s-wal", f->path);
		int status = in_child(die_in_a_transaction, f);

		assert_true(WIFSIGNALED(status));
		assert_return_code(stat(wal, &st), 0);
		assert_true(st.st_size > 1024 * 1024);
		d = open_store(f);
		assert_int_equal(count_bots(d), 1);
		s = db_prepare(d, "SELECT count(*) FROM node");
		assert_int_equal(db_step(s, &err), 1);
		assert_int_equal(db_col_i64(s, 0), 0);
		db_reset(s);
		s = db_prepare(d, "PRAGMA integrity_check");
		assert_int_equal(db_step(s, &err), 1);
		assert_true(str_is(db_col_str(s, 0), "ok"));
		db_reset(s);
		assert_ok(db_run(db_prepare(d, "DELETE FROM bot"), &err), &err);
		db_close(mem_take(&d));
	}
}

static off_t wal_size(const struct fixture *f)
{
	_cleanup_(mem) char *wal = xasprintf("%s-wal", f->path);
	struct stat st;

	assert_return_code(stat(wal, &st), 0);
	return st.st_size;
}

static void fill(struct db *d, int megabytes)
{
	struct error err = ERROR_INIT;

	for (int i = 0; i < megabytes; i++) {
		assert_ok(db_begin(d, &err), &err);
		assert_ok(db_run(db_prepare(d, "INSERT INTO node(bot, body)"
					       " VALUES(1, zeroblob(1000000))"),
				  &err),
			&err);
		assert_ok(db_commit(d, &err), &err);
	}
}

static void wal_is_bounded_without_a_checkpoint(void **state)
{
	enum { MIB = 1024 * 1024 };
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	_cleanup_(db) struct db *r = NULL;
	struct error err = ERROR_INIT;

	assert_ok(db_run(db_prepare(d, "PRAGMA synchronous = OFF"), &err), &err); /* for speed */
	assert_ok(insert_bot(d, "ada", &err), &err);
	fill(d, 40);
	assert_true(wal_size(f) <= 18 * MIB);
	assert_true(db_page_bytes(d) >= 40 * 1000000);
	/* A snapshot stands in the way: the WAL grows and nobody waits; afterwards it shrinks. */
	assert_ok(db_open_reader(f->path, &r, &err), &err);
	assert_ok(db_snapshot(r, &err), &err);
	fill(d, 20);
	assert_true(wal_size(f) >= 19 * MIB);
	db_snapshot_end(r);
	db_checkpoint(d);
	fill(d, 1);
	assert_true(wal_size(f) <= 5 * MIB);
}

static void checkpoint_moves_the_wal_into_the_file(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;
	int64_t before, after;
	struct stat st;

	assert_ok(insert_bot(d, "ada", &err), &err);
	fill(d, 1);
	assert_return_code(stat(f->path, &st), 0);
	before = st.st_size;
	db_checkpoint(d);
	assert_return_code(stat(f->path, &st), 0);
	after = st.st_size;
	assert_true(before < 100000);
	assert_int_equal(after, db_page_bytes(d));
	db_checkpoint(d); /* nothing to do */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(job_rolls_back_alone),
		fixture_test(rollback_and_close_leave_nothing),
		fixture_test(failed_commit_rolls_back),
		fixture_test(reader_sees_only_what_is_committed),
		fixture_test(snapshot_is_one_state_from_its_start),
		fixture_test(reader_cannot_write),
		fixture_test(killed_writer_leaves_an_openable_store),
		fixture_test(wal_is_bounded_without_a_checkpoint),
		fixture_test(checkpoint_moves_the_wal_into_the_file),
	};

	return cmocka_run_group_tests_name("db.transaction", tests, NULL, NULL);
}
