/* dir, lock: private folders, and one owner of a file. */
#include <errno.h>
#include <sys/wait.h>

#include "scratch.h"

static void a_folder_is_made_private_whatever_the_umask(void **state)
{
	static const mode_t masks[] = {0, 022, 077, 0377, 0777};

	for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/d%zu", (char *)*state, i);
		struct error err = ERROR_INIT;
		mode_t old = umask(masks[i]);
		bool made = false;
		int rc = os_mkdir_private(path, &made, &err);

		(void)umask(old);
		assert_ok(rc, &err);
		assert_true(made);
		assert_int_equal(scratch_mode(path), 0700);
		assert_int_equal(os_dir_is_private(path, &err), 1);
	}
}

static void a_folder_that_is_there_keeps_its_mode(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "d"), *link = scratch_path(state, "link");
	_cleanup_(mem) char *file = scratch_path(state, "file"),
			    *below = scratch_path(state, "no/d");
	struct error err = ERROR_INIT;
	bool made = true;

	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chmod(path, 0755), 0);
	assert_ok(os_mkdir_private(path, &made, &err), &err);
	assert_false(made);
	assert_int_equal(scratch_mode(path), 0755);
	assert_int_equal(symlink("d", link), 0);
	assert_ok(os_mkdir_private(link, NULL, &err), &err);
	scratch_write(file, "x");
	assert_fails(os_mkdir_private(file, &made, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENOTDIR);
	assert_fails(os_mkdir_private(below, &made, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENOENT);
}

static void private_is_said_of_nothing_else(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "d"), *link = scratch_path(state, "link");
	_cleanup_(mem) char *file = scratch_path(state, "file");
	static const mode_t loose[] = {0750, 0701, 0704, 0770, 0777, 01710};
	struct error err = ERROR_INIT;

	assert_int_equal(os_dir_is_private(path, &err), -1);
	assert_int_equal(err.sys, ENOENT);
	assert_ok(os_mkdir_private(path, NULL, &err), &err);
	assert_int_equal(symlink("d", link), 0);
	assert_int_equal(os_dir_is_private(link, &err), 0);
	scratch_write(file, "x");
	assert_int_equal(os_dir_is_private(file, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(loose); i++) {
		assert_int_equal(chmod(path, loose[i]), 0);
		assert_int_equal(os_dir_is_private(path, &err), 0);
	}
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(os_dir_is_private(path, &err), 1);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
		assert_int_equal(os_dir_is_private(path, &err), 0);
	}
}

static void temporary_folders_are_new_and_private(void **state)
{
	_cleanup_(mem) char *prefix = scratch_path(state, "t-"),
			    *none = scratch_path(state, "no/t-");
	char *paths[50];
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_ok(os_temp_dir(prefix, &paths[i], &err), &err);
		assert_int_equal(scratch_mode(paths[i]), 0700);
		assert_int_equal(strlen(paths[i]), strlen(prefix) + 6);
	}
	assert_int_equal(scratch_entries(*state), ARRAY_LEN(paths));
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		free(paths[i]);
	assert_fails(os_temp_dir(none, &paths[0], &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENOENT);
}

/* The errno-free answer of another process that tries the lock: 1 it got it, 0 locked, 2 other. */
static int lock_elsewhere(const char *path)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct error err = ERROR_INIT;
		int fd;

		if (os_lock_file(path, &fd, &err) == 0)
			_exit(1);
		_exit(error_is(&err, &OS_LOCKED) ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_lock_has_one_owner(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "lock");
	struct error err = ERROR_INIT;
	int fd = -1, second = -1;

	assert_ok(os_lock_file(path, &fd, &err), &err);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(lock_elsewhere(path), 0);
	assert_fails(os_lock_file(path, &second, &err), &err, OS_LOCKED);
	assert_int_equal(second, -1);
	os_close(fd);
	assert_int_equal(lock_elsewhere(path), 1);
	assert_ok(os_lock_file(path, &fd, &err),
		&err); /* the other process is gone, so is its lock */
	os_close(fd);
}

static void a_lock_file_is_private(void **state)
{
	static const struct {
		mode_t before, mask;
	} rows[] = {
		{0,     0   },
                {0,     0777},
                {0666,  022 },
                {0640,  0   },
                {04777, 0   }
        };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/l%zu", (char *)*state, i);
		struct error err = ERROR_INIT;
		mode_t old;
		int fd = -1, rc;

		if (rows[i].before) {
			scratch_write(path, "old content");
			assert_int_equal(chmod(path, rows[i].before), 0);
		}
		old = umask(rows[i].mask);
		rc = os_lock_file(path, &fd, &err);
		(void)umask(old);
		assert_ok(rc, &err);
		assert_int_equal(scratch_mode(path), 0600);
		os_close(fd);
	}
}

static void only_a_regular_file_is_locked(void **state)
{
	_cleanup_(mem) char *link = scratch_path(state, "link"),
			    *fifo = scratch_path(state, "fifo");
	_cleanup_(mem) char *target = scratch_path(state, "target"),
			    *none = scratch_path(state, "no/l");
	struct error err = ERROR_INIT;
	int fd = -1;

	scratch_write(target, "kept");
	assert_int_equal(chmod(target, 0644), 0);
	assert_int_equal(symlink("target", link), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_fails(os_lock_file(link, &fd, &err), &err, ERROR_INVALID);
	assert_int_equal(scratch_mode(target), 0644);
	assert_fails(os_lock_file(fifo, &fd, &err), &err, ERROR_INVALID);
	assert_fails(os_lock_file(*state, &fd, &err), &err, ERROR_INVALID);
	assert_fails(os_lock_file(none, &fd, &err), &err, ERROR_SYS);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_folder_is_made_private_whatever_the_umask),
		scratch_test(a_folder_that_is_there_keeps_its_mode),
		scratch_test(private_is_said_of_nothing_else),
		scratch_test(temporary_folders_are_new_and_private),
		scratch_test(a_lock_has_one_owner),
		scratch_test(a_lock_file_is_private),
		scratch_test(only_a_regular_file_is_locked),
	};

	return cmocka_run_group_tests_name("os.dir", tests, NULL, NULL);
}
