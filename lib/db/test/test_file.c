/*
 * The files of a store: modes whatever the umask, looser ones tightened, links and other sorts
 * refused.
 */
#include <errno.h>
#include <grp.h>

#include "fixture.h"

static const mode_t masks[] = {0000, 0022, 0077, 0277};

static void store_and_sidecars_are_private_whatever_the_umask(void **state)
{
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/%zu", f->dir, i);
		_cleanup_(db) struct db *d = NULL;
		struct error err = ERROR_INIT;
		mode_t old = umask(masks[i]);
		int rc;

		/* 0277 takes the owner's own write bit; only root gets by. */
		if (masks[i] == 0277 && geteuid() != 0) {
			(void)umask(old);
			continue;
		}
		rc = db_open(path, &test_schema, &d, &err);
		(void)umask(old);
		assert_ok(rc, &err);
		assert_ok(insert_bot(d, "ada", &err), &err);
		assert_int_equal(mode_of(path, "") & 0177, 0);
		assert_int_equal(mode_of(path, "-wal") & 0177, 0);
		assert_int_equal(mode_of(path, "-shm") & 0177, 0);
		if (masks[i] != 0277) {
			assert_int_equal(mode_of(path, ""), 0600);
			assert_int_equal(mode_of(path, "-wal"), 0600);
			assert_int_equal(mode_of(path, "-shm"), 0600);
		}
	}
}

static void looser_store_is_tightened(void **state)
{
	static const mode_t loose[] = {0644, 0604, 0620, 0666, 0777, 04600};
	const struct fixture *f = *state;

	db_close(open_store(f));
	for (size_t i = 0; i < ARRAY_LEN(loose); i++) {
		_cleanup_(db) struct db *d = NULL;

		assert_return_code(chmod(f->path, loose[i]), 0);
		d = open_store(f);
		assert_int_equal(mode_of(f->path, ""), 0600);
	}
}

static int write_and_die(const struct fixture *f)
{
	struct db *d = NULL;

	child_check(db_open(f->path, &test_schema, &d, NULL) == 0);
	child_check(insert_bot(d, "ada", NULL) == 0);
	return raise(SIGKILL);
}

static void looser_sidecars_of_a_killed_writer_are_tightened(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(mem) char *wal = xasprintf("%s-wal", f->path);
	_cleanup_(mem) char *shm = xasprintf("%s-shm", f->path);
	_cleanup_(db) struct db *d = NULL;

	assert_true(WIFSIGNALED(in_child(write_and_die, f)));
	assert_return_code(chmod(wal, 0644), 0);
	assert_return_code(chmod(shm, 0666), 0);
	assert_return_code(chmod(f->path, 0640), 0);
	d = open_store(f);
	assert_int_equal(mode_of(f->path, ""), 0600);
	assert_int_equal(mode_of(f->path, "-wal"), 0600);
	assert_int_equal(mode_of(f->path, "-shm"), 0600);
	assert_int_equal(count_bots(d), 1);
}

static void links_and_other_sorts_are_refused(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(mem) char *other = xasprintf("%s/other", f->dir);
	struct error err = ERROR_INIT;
	struct db *d = NULL;

	write_file(other, "", 0, 0644);
	assert_return_code(symlink(other, f->path), 0);
	assert_kind(db_open(f->path, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
	assert_kind(db_open_reader(f->path, &d, &err), &err, DB_UNSAFE_FILE);
	assert_return_code(unlink(f->path), 0);

	assert_return_code(symlink("nowhere", f->path), 0);
	assert_kind(db_open(f->path, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
	assert_return_code(unlink(f->path), 0);

	assert_return_code(link(other, f->path), 0);
	assert_kind(db_open(f->path, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
	assert_return_code(unlink(f->path), 0);

	assert_return_code(mkfifo(f->path, 0600), 0);
	assert_kind(db_open(f->path, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
	assert_return_code(unlink(f->path), 0);

	assert_return_code(mkdir(f->path, 0700), 0);
	assert_kind(db_open(f->path, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
	assert_return_code(rmdir(f->path), 0);

	assert_null(d);
	assert_int_equal(mode_of(other, ""), 0644); /* nobody touched what the link leads to */
}

static void linked_sidecars_are_refused(void **state)
{
	static const char *const names[] = {"-wal", "-shm", "-journal"};
	const struct fixture *f = *state;
	_cleanup_(mem) char *other = xasprintf("%s/other", f->dir);
	struct error err = ERROR_INIT;
	struct db *d = NULL;

	db_close(open_store(f));
	write_file(other, "keep", 4, 0644);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(mem) char *sidecar = xasprintf("%s%s", f->path, names[i]);

		assert_return_code(symlink(other, sidecar), 0);
		assert_kind(db_open(f->path, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
		assert_return_code(unlink(sidecar), 0);
		assert_return_code(link(other, sidecar), 0);
		assert_kind(db_open(f->path, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
		assert_return_code(unlink(sidecar), 0);
	}
	assert_int_equal(mode_of(other, ""), 0644);
}

static void folder_behind_a_link_is_fine(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(mem) char *dir = xasprintf("%s/real", f->dir);
	_cleanup_(mem) char *link = xasprintf("%s/link", f->dir);
	_cleanup_(mem) char *path = xasprintf("%s/odd ?name#%%41.sqlite", link);
	_cleanup_(db) struct db *d = NULL;
	struct error err = ERROR_INIT;

	assert_return_code(mkdir(dir, 0700), 0);
	assert_return_code(symlink("real", link), 0);
	assert_ok(db_open(path, &test_schema, &d, &err), &err);
	assert_int_equal(mode_of(path, ""), 0600);
}

static void names_that_are_none_are_refused(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(mem) char *slash = xasprintf("%s/", f->path);
	_cleanup_(mem) char *dots = xasprintf("%s/..", f->dir);
	_cleanup_(mem) char *missing = xasprintf("%s/no/such/store", f->dir);
	struct error err = ERROR_INIT;
	struct db *d = NULL;

	assert_kind(db_open("", &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
	assert_kind(db_open(slash, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
	assert_kind(db_open(dots, &test_schema, &d, &err), &err, DB_UNSAFE_FILE);
	assert_kind(db_open(missing, &test_schema, &d, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENOENT);
	assert_kind(db_open_reader(f->path, &d, &err), &err, DB_ERROR);
	assert_int_equal(mode_of(f->path, ""), 0); /* a reader makes nothing */
}

static int open_read_only(const struct fixture *f)
{
	struct error err = ERROR_INIT;
	struct db *d = NULL;

	if (geteuid() == 0) {
		child_check(setgroups(0, NULL) == 0);
		child_check(setresgid(65534, 65534, 65534) == 0);
		child_check(setresuid(65534, 65534, 65534) == 0);
	}
	child_check(db_open(f->path, &test_schema, &d, &err) == -1);
	child_check(err.kind == &DB_FULL);
	child_check(mode_of(f->path, "") == 0400);
	return 0;
}

static void read_only_store_is_refused_and_stays_so(void **state)
{
	const struct fixture *f = *state;
	struct buf before, after;

	db_close(open_store(f));
	if (geteuid() == 0) {
		assert_return_code(chown(f->dir, 65534, 65534), 0);
		assert_return_code(chown(f->path, 65534, 65534), 0);
	}
	assert_return_code(chmod(f->path, 0444), 0);
	before = file_content(f->path, "");
	assert_child_ok(open_read_only, f);
	after = file_content(f->path, "");
	assert_true(str_eq(buf_str(&before), buf_str(&after)));
	buf_release(&before);
	buf_release(&after);
}

#ifdef CONSORT_SANITIZED
static void every_failing_call_leaves_a_store_that_opens(void **state)
{
	const struct fixture *f = *state;
	unsigned nth = 0;

	for (bool failed = true; failed;) {
		struct error err = ERROR_INIT;
		struct db *d = NULL;
		int rc;

		os_fault_at(++nth, EIO);
		rc = db_open(f->path, &test_schema, &d, &err);
		failed = os_fault_calls() >= nth;
		os_fault_at(0, 0);
		assert_true(rc == 0 || err.kind);
		assert_true(rc == 0 || !d);
		db_close(d);
		assert_true(nth < 100);
	}
	assert_true(nth > 4);
	db_close(open_store(f));
	assert_int_equal(mode_of(f->path, ""), 0600);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(store_and_sidecars_are_private_whatever_the_umask),
		fixture_test(looser_store_is_tightened),
		fixture_test(looser_sidecars_of_a_killed_writer_are_tightened),
		fixture_test(links_and_other_sorts_are_refused),
		fixture_test(linked_sidecars_are_refused),
		fixture_test(folder_behind_a_link_is_fine),
		fixture_test(names_that_are_none_are_refused),
		fixture_test(read_only_store_is_refused_and_stays_so),
#ifdef CONSORT_SANITIZED
		fixture_test(every_failing_call_leaves_a_store_that_opens),
#endif
	};

	return cmocka_run_group_tests_name("db.file", tests, NULL, NULL);
}
