/*
 * No room: the page limit, the size limit of files, and a file system that is full. What was
 * committed stays, the error says so, and writing goes on once there is room.
 */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "fixture.h"

enum {
	SKIP = 77,
	BALLAST = 192 * 1024,
};

/* Rows until it fails; the number that went in. */
static int fill_until_full(struct db *d, struct error *err)
{
	struct db_stmt *s;
	int rows = 0;

	if (count_bots(d) == 0 && insert_bot(d, "ada", err) < 0)
		return 0;
	for (; rows < 10000; rows++) {
		if (db_begin(d, err) < 0)
			return rows;
		s = db_prepare(d, "INSERT INTO node(bot, body) VALUES(1, randomblob(20000))");
		if (db_run(s, err) < 0) {
			db_rollback(d);
			return rows;
		}
		if (db_commit(d, err) < 0)
			return rows;
	}
	return rows;
}

static int64_t count_nodes(struct db *d)
{
	struct db_stmt *s = db_prepare(d, "SELECT count(*) FROM node");
	int64_t count = db_step(s, NULL) == 1 ? db_col_i64(s, 0) : -1;

	db_reset(s);
	return count;
}

static void page_limit_is_full_and_passes(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;
	int rows;

	assert_int_equal(
		sqlite3_exec(d->handle, "PRAGMA max_page_count = 40", NULL, NULL, NULL), 0);
	rows = fill_until_full(d, &err);
	assert_ptr_equal(err.kind, &DB_FULL);
	assert_non_null(strstr(err.text, "code 13/13"));
	assert_true(rows > 0);
	assert_int_equal(count_nodes(d), rows);
	assert_int_equal(
		sqlite3_exec(d->handle, "PRAGMA max_page_count = 100", NULL, NULL, NULL), 0);
	assert_ok(db_run(db_prepare(d, "INSERT INTO node(bot, body) VALUES(1, zeroblob(20000))"),
			  &err),
		&err);
}

/* SQLite gives the whole transaction up when it has no room. Nothing after that may pass for done.
 */
static void group_that_hits_the_limit_fails_as_one(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;

	assert_int_equal(
		sqlite3_exec(d->handle, "PRAGMA max_page_count = 40", NULL, NULL, NULL), 0);
	assert_ok(db_begin(d, &err), &err);
	assert_ok(db_savepoint(d, &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_ok(db_savepoint_release(d, &err), &err);
	assert_ok(db_savepoint(d, &err), &err);
	assert_kind(db_run(db_prepare(d, "INSERT INTO node(bot, body) VALUES(1, zeroblob(400000))"),
			    &err),
		&err, DB_FULL);
	db_savepoint_rollback(d);
	assert_kind(db_savepoint(d, &err), &err, DB_FULL);
	assert_kind(insert_bot(d, "eve", &err), &err, DB_FULL); /* would commit by itself */
	assert_kind(db_commit(d, &err), &err, DB_FULL);
	assert_int_equal(count_bots(d), 0);
	assert_ok(db_begin(d, &err), &err);
	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_ok(db_commit(d, &err), &err);
	assert_int_equal(count_bots(d), 1);
}

static int limit_file_size(const struct fixture *f)
{
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
	struct rlimit small = {.rlim_cur = 200 * 1024, .rlim_max = RLIM_INFINITY};
	struct error err = ERROR_INIT;
	struct db *d = NULL;
	int rows;

	child_check(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	child_check(getrlimit(RLIMIT_FSIZE, &none) == 0);
	small.rlim_max = none.rlim_max;
	child_check(db_open(f->path, &test_schema, &d, &err) == 0);
	child_check(setrlimit(RLIMIT_FSIZE, &small) == 0);
	rows = fill_until_full(d, &err);
	child_check(err.kind == &DB_FULL);
	child_check(err.sys == EFBIG);
	child_check(rows > 0 && count_nodes(d) == rows);
	child_check(setrlimit(RLIMIT_FSIZE, &none) == 0);
	child_check(insert_bot(d, "bob", &err) == 0);
	child_check(count_nodes(d) == rows);
	db_close(d);
	child_check(db_open(f->path, &test_schema, &d, &err) == 0);
	child_check(count_bots(d) == 2 && count_nodes(d) == rows);
	db_close(d);
	return 0;
}

static void file_size_limit_is_full_and_passes(void **state)
{
	assert_child_ok(limit_file_size, *state);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	os_close(fd);
	return ok ? 0 : -1;
}

/* A normal user may mount in a user namespace, where that is allowed; its own id stays what it is.
 */
static int enter_user_namespace(void)
{
	char uid[64], gid[64];

	snprintf(uid, sizeof(uid), "%u %u 1", geteuid(), geteuid());
	snprintf(gid, sizeof(gid), "%u %u 1", getegid(), getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
		write_text("/proc/self/setgroups", "deny") < 0 ||
		write_text("/proc/self/uid_map", uid) < 0)
		return -1;
	return write_text("/proc/self/gid_map", gid);
}

static int mount_small(const char *dir)
{
	if (unshare(CLONE_NEWNS) < 0 && enter_user_namespace() < 0)
		return -1;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return mount("tmpfs", dir, "tmpfs", 0, "size=640k,mode=0700");
}

/* At most max bytes; less when the file system is full. */
static size_t put_ballast(const char *path, size_t max)
{
	char junk[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	size_t put = 0;

	memset(junk, 1, sizeof(junk));
	while (fd >= 0 && put < max && write(fd, junk, sizeof(junk)) == (ssize_t)sizeof(junk))
		put += sizeof(junk);
	os_close(fd);
	return put;
}

static int fill_file_system(const struct fixture *f)
{
	_cleanup_(mem) char *ballast = xasprintf("%s/ballast", f->dir);
	struct error err = ERROR_INIT;
	struct db *d = NULL;
	int rows;

	if (mount_small(f->dir) < 0)
		return SKIP;
	child_check(put_ballast(ballast, BALLAST) == BALLAST);
	child_check(db_open(f->path, &test_schema, &d, &err) == 0);
	rows = fill_until_full(d, &err);
	child_check(err.kind == &DB_FULL);
	child_check(rows > 0 && count_nodes(d) == rows);
	error_clear(&err);
	child_check(unlink(ballast) == 0);
	child_check(insert_bot(d, "bob", &err) == 0);
	child_check(count_nodes(d) == rows);
	db_close(d);
	child_check(db_open(f->path, &test_schema, &d, &err) == 0);
	child_check(count_bots(d) == 2 && count_nodes(d) == rows);
	db_close(d);
	return 0;
}

static int start_on_a_full_file_system(const struct fixture *f)
{
	_cleanup_(mem) char *ballast = xasprintf("%s/ballast", f->dir);
	struct error err = ERROR_INIT;
	struct db *d = NULL;
	int rc;

	if (mount_small(f->dir) < 0)
		return SKIP;
	child_check(put_ballast(ballast, SIZE_MAX) > 0);
	rc = db_open(f->path, &test_schema, &d, &err);
	child_check(rc == -1 && err.kind == &DB_FULL);
	child_check(unlink(ballast) == 0);
	child_check(db_open(f->path, &test_schema, &d, &err) == 0);
	child_check(mode_of(f->path, "") == 0600);
	db_close(d);
	return 0;
}

static void assert_child_ok_or_skip(int (*work)(const struct fixture *f), const struct fixture *f)
{
	int status = in_child(work, f);

	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIP)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void full_file_system_passes(void **state)
{
	assert_child_ok_or_skip(fill_file_system, *state);
}

static void first_start_on_a_full_file_system(void **state)
{
	assert_child_ok_or_skip(start_on_a_full_file_system, *state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(page_limit_is_full_and_passes),
		fixture_test(group_that_hits_the_limit_fails_as_one),
		fixture_test(file_size_limit_is_full_and_passes),
		fixture_test(full_file_system_passes),
		fixture_test(first_start_on_a_full_file_system),
	};

	return cmocka_run_group_tests_name("db.full", tests, NULL, NULL);
}
