/* torture: the 1st, 2nd, … system call fails, until all pass; each time nothing is half done or
 * leaks. */
#include <errno.h>
#include <sys/socket.h>

#include "scratch.h"

#ifdef CONSORT_SANITIZED

enum {
	CALLS_MAX = 400, /* ours: far more than any of these makes */
	LISTENER = 90,   /* a descriptor that nothing else here gets */
};

/* One call under test, and what must hold when it failed with the given call failing. */
struct victim {
	const char *name;
	int (*prepare)(void **state);
	int (*call)(void **state, int *ret_fd, struct error *err);
	void (*check)(void **state, int rc);
};

/* Runs v with each call failing in turn. */
static void torture(void **state, const struct victim *v, int sys)
{
	int passed = 0;

	for (unsigned nth = 1; !passed; nth++) {
		struct error err = ERROR_INIT;
		int fd = -1, before, rc;

		assert_int_equal(v->prepare(state), 0);
		before = scratch_fds();
		os_fault_at(nth, sys);
		rc = v->call(state, &fd, &err);
		passed = os_fault_calls() < nth;
		os_fault_at(0, 0);
		if (rc < 0 && fd != -1)
			fail_msg("%s: call %u: a failure gave a descriptor", v->name, nth);
		if (rc < 0 && (!err.kind || !*err.text))
			fail_msg("%s: call %u: failed without an error", v->name, nth);
		os_close(fd);
		if (scratch_fds() != before)
			fail_msg("%s: call %u: a descriptor leaked", v->name, nth);
		if (passed && rc < 0)
			fail_msg("%s: fails without a fault: %s", v->name, err.text);
		v->check(state, rc);
		assert_true(nth < CALLS_MAX);
		assert_true(nth > 1 || !passed); /* there was something to fail */
	}
}

static void is_file_with(void **state, const char *name, const char *text, int or_other)
{
	_cleanup_(mem) char *path = scratch_path(state, name);
	_cleanup_(buf) struct buf b = BUF_INIT(1000);
	struct error err = ERROR_INIT;

	assert_ok(os_read_file(path, &b, &err), &err);
	if (or_other && strcmp(b.data, "old") == 0)
		return;
	assert_string_equal(b.data, text);
}

static int put_old(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "file");

	scratch_write(path, "old");
	return chmod(path, 0640);
}

static int replace(void **state, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *path = scratch_path(state, "file");

	(void)ret_fd;
	return os_replace_file(path, STR("the new one"), 0600, err);
}

static void old_or_new_and_no_other(void **state, int rc)
{
	assert_int_equal(scratch_entries(*state), 1);
	is_file_with(state, "file", "the new one", rc < 0);
}

static int no_lock(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "lock");

	return os_remove_tree(path, NULL);
}

static int loose_lock(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "lock");

	scratch_write(path, "old");
	return chmod(path, 0644);
}

static int lock(void **state, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *path = scratch_path(state, "lock");

	return os_lock_file(path, ret_fd, err);
}

/* Whatever failed, the next one gets the lock, and the file is private. */
static void lock_is_free(void **state, int rc)
{
	_cleanup_(mem) char *path = scratch_path(state, "lock");
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;

	(void)rc;
	assert_ok(os_lock_file(path, &fd, &err), &err);
	assert_int_equal(scratch_mode(path), 0600);
	assert_int_equal(scratch_entries(*state), 1);
}

static int no_socket(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "s");

	return os_remove_tree(path, NULL);
}

static int listen_private(void **state, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *path = scratch_path(state, "s");
	mode_t before = umask(022), after;
	int rc = os_listen_private(path, ret_fd, err);

	after = umask(before);
	assert_int_equal(after, 022); /* put back on every way out */
	return rc;
}

static void no_name_is_left_behind(void **state, int rc)
{
	assert_int_equal(scratch_entries(*state), rc == 0);
}

static int live_socket(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "s");
	struct error err = ERROR_INIT;
	int fd = -1;

	assert_int_equal(os_remove_tree(path, NULL), 0);
	assert_ok(os_listen_private(path, &fd, &err), &err);
	assert_int_equal(dup2(fd, LISTENER), LISTENER);
	os_close(fd);
	return 0;
}

static int connect_to(void **state, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *path = scratch_path(state, "s");

	return os_connect_unix(path, 250, ret_fd, err);
}

static void the_listener_stays(void **state, int rc)
{
	_cleanup_(mem) char *path = scratch_path(state, "s");

	(void)rc;
	assert_int_equal(access(path, F_OK), 0);
	os_close(LISTENER);
}

static int no_folder(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "d");

	return os_remove_tree(path, NULL);
}

static int make_folder(void **state, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *path = scratch_path(state, "d");
	mode_t before = umask(0277);
	bool made = false;
	int rc = os_mkdir_private(path, &made, err);

	(void)ret_fd;
	(void)umask(before);
	assert_int_equal(made, rc == 0);
	return rc;
}

static void none_or_private(void **state, int rc)
{
	_cleanup_(mem) char *path = scratch_path(state, "d");

	assert_int_equal(scratch_entries(*state), rc == 0);
	if (rc == 0)
		assert_int_equal(scratch_mode(path), 0700);
}

static int make_temp_folder(void **state, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *prefix = scratch_path(state, "t-"), *path = NULL;
	int rc = os_temp_dir(prefix, &path, err);

	(void)ret_fd;
	assert_int_equal(path != NULL, rc == 0);
	return rc;
}

static int nothing(void **state)
{
	(void)state;
	return 0;
}

static void one_or_none(void **state, int rc)
{
	assert_int_equal(scratch_entries(*state), rc == 0);
	assert_int_equal(os_remove_tree(*state, NULL), 0);
	assert_int_equal(mkdir(*state, 0700), 0);
}

static int plant_tree(void **state)
{
	static const char *const names[] = {"t", "t/a", "t/a/b", "t/c"};
	_cleanup_(mem) char *file = scratch_path(state, "t/a/b/f"),
			    *kept = scratch_path(state, "kept");
	_cleanup_(mem) char *link = scratch_path(state, "t/c/link");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(mem) char *path = scratch_path(state, names[i]);

		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -1;
	}
	scratch_write(file, "x");
	scratch_write(kept, "old");
	return symlink("../../kept", link) < 0 && errno != EEXIST ? -1 : 0;
}

static int remove_tree(void **state, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *path = scratch_path(state, "t");

	(void)ret_fd;
	return os_remove_tree(path, err);
}

static void the_rest_stays(void **state, int rc)
{
	assert_int_equal(scratch_entries(*state), rc == 0 ? 1 : 2);
	is_file_with(state, "kept", "old", 0);
}

static int read_it(void **state, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *path = scratch_path(state, "file");
	_cleanup_(buf) struct buf b = BUF_INIT(100);
	int rc;

	(void)ret_fd;
	(void)buf_puts(&b, "before ");
	rc = os_read_file(path, &b, err);
	assert_string_equal(b.data, rc < 0 ? "before " : "before old");
	return rc;
}

static void the_file_stays(void **state, int rc)
{
	(void)rc;
	is_file_with(state, "file", "old", 0);
}

static const struct victim victims[] = {
	{"os_replace_file",     put_old,     replace,          old_or_new_and_no_other},
	{"os_lock_file, new",   no_lock,     lock,             lock_is_free           },
	{"os_lock_file, loose", loose_lock,  lock,             lock_is_free           },
	{"os_listen_private",   no_socket,   listen_private,   no_name_is_left_behind },
	{"os_connect_unix",     live_socket, connect_to,       the_listener_stays     },
	{"os_mkdir_private",    no_folder,   make_folder,      none_or_private        },
	{"os_temp_dir",         nothing,     make_temp_folder, one_or_none            },
	{"os_remove_tree",      plant_tree,  remove_tree,      the_rest_stays         },
	{"os_read_file",        put_old,     read_it,          the_file_stays         },
};

static void every_call_fails_in_turn(void **state)
{
	static const int errnos[] = {EIO, ENOSPC, EACCES, EMFILE, ENOSYS};

	for (size_t i = 0; i < ARRAY_LEN(victims); i++) {
		for (size_t k = 0; k < ARRAY_LEN(errnos); k++)
			torture(state, &victims[i], errnos[k]);
		assert_int_equal(os_remove_tree(*state, NULL), 0);
		assert_int_equal(mkdir(*state, 0700), 0);
	}
}

/* EINTR is nobody's failure: what can be interrupted is called again. */
static void interruptions_are_not_seen(void **state)
{
	static const struct {
		struct victim victim;
		unsigned nth;
	} rows[] = {
		{{"open to read", put_old, read_it, the_file_stays},       1},
		{{"read", put_old, read_it, the_file_stays},               3},
		{{"open to lock", no_lock, lock, lock_is_free},            1},
		{{"flock", no_lock, lock, lock_is_free},                   3},
		{{"connect", live_socket, connect_to, the_listener_stays}, 3},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct victim *v = &rows[i].victim;
		struct error err = ERROR_INIT;
		int fd = -1, rc;

		assert_int_equal(v->prepare(state), 0);
		os_fault_at(rows[i].nth, EINTR);
		rc = v->call(state, &fd, &err);
		assert_true(os_fault_calls() > rows[i].nth);
		os_fault_at(0, 0);
		if (rc < 0)
			fail_msg("%s: %s", v->name, err.text);
		os_close(fd);
		v->check(state, rc);
		assert_int_equal(os_remove_tree(*state, NULL), 0);
		assert_int_equal(mkdir(*state, 0700), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(every_call_fails_in_turn),
		scratch_test(interruptions_are_not_seen),
	};

	return cmocka_run_group_tests_name("os.torture", tests, NULL, NULL);
}

#else

/* A build without the sanitizers has no fault points, which is what this build can show. */
static void a_release_has_no_hook(void **state)
{
	(void)state;
	skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_release_has_no_hook)};

	return cmocka_run_group_tests_name("os.torture", tests, NULL, NULL);
}

#endif
