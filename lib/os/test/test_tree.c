/* tree: whole trees go, and nothing outside them does. */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "scratch.h"

static void nothing_there_is_no_error(void **state)
{
	_cleanup_(mem) char *none = scratch_path(state, "none"),
			    *deep = scratch_path(state, "a/b/c");
	struct error err = ERROR_INIT;

	assert_ok(os_remove_tree(none, &err), &err);
	assert_ok(os_remove_tree(deep, &err), &err);
}

static void what_names_no_entry_is_refused(void **state)
{
	static const char *const paths[] = {"", "/", ".", "..", "/tmp/..", "/tmp/."};
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_fails(os_remove_tree(paths[i], &err), &err, ERROR_INVALID);
}

static void links_go_and_their_targets_stay(void **state)
{
	_cleanup_(mem) char *tree = scratch_path(state, "t"), *out = scratch_path(state, "out");
	_cleanup_(mem) char *kept = scratch_path(state, "out/kept"),
			    *link = scratch_path(state, "t/link");
	_cleanup_(mem) char *file = scratch_path(state, "t/file"),
			    *bare = scratch_path(state, "bare");
	_cleanup_(mem) char *up = scratch_path(state, "t/up"),
			    *fifo = scratch_path(state, "t/fifo");
	struct error err = ERROR_INIT;

	assert_int_equal(mkdir(tree, 0700), 0);
	assert_int_equal(mkdir(out, 0700), 0);
	scratch_write(kept, "x");
	scratch_write(file, "x");
	assert_int_equal(symlink("../out", link), 0);
	assert_int_equal(symlink("..", up), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("out", bare), 0);
	assert_ok(os_remove_tree(tree, &err), &err);
	assert_ok(os_remove_tree(bare, &err), &err); /* the link itself */
	assert_int_equal(scratch_entries(*state), 1);
	assert_int_equal(scratch_entries(out), 1);
	assert_ok(os_remove_tree(kept, &err), &err); /* a file is a small tree */
	assert_int_equal(scratch_entries(out), 0);
}

/* Many entries, in many folders, some of which their owner may not even read. */
static void a_broad_tree_goes(void **state)
{
	_cleanup_(mem) char *tree = scratch_path(state, "t");
	struct error err = ERROR_INIT;
	int before = scratch_fds();

	assert_int_equal(mkdir(tree, 0700), 0);
	for (int i = 0; i < 60; i++) {
		_cleanup_(mem) char *dir = xasprintf("%s/dir-%d", tree, i);
		int n = i == 7 ? 3000 : 20; /* more than one reading of entries holds */

		assert_int_equal(mkdir(dir, 0700), 0);
		for (int k = 0; k < n; k++) {
			_cleanup_(mem) char *file = xasprintf(
				"%s/a-file-with-a-longer-name-%d", dir, k);
			int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0000);

			assert_true(fd >= 0);
			os_close(fd);
		}
		assert_int_equal(chmod(dir, i % 3 ? 0500 : 0000), 0);
	}
	assert_ok(os_remove_tree(tree, &err), &err);
	assert_int_equal(scratch_entries(*state), 0);
	assert_int_equal(scratch_fds(), before);
}

/* Deeper than any path can say, with few descriptors. */
static void a_deep_tree_goes(void **state)
{
	_cleanup_(mem) char *tree = scratch_path(state, "t");
	struct rlimit old, few;
	struct error err = ERROR_INIT;
	int fd, rc;

	assert_int_equal(mkdir(tree, 0700), 0);
	fd = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int i = 0; i < 6000; i++) {
		int below;

		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		below = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(below >= 0);
		os_close(fd);
		fd = below;
	}
	os_close(fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = 16;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	rc = os_remove_tree(tree, &err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_ok(rc, &err);
	assert_int_equal(scratch_entries(*state), 0);
}

/* What a child that tries something in its own mount namespace says. */
enum { HELD = 0, BROKEN = 1, NOT_HERE = 77 };

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	os_close(fd);
	return done;
}

/* Mounts of this process's own; for a user that is not root, in a user namespace where it is. */
static bool own_mounts(void)
{
	_cleanup_(mem) char *uids = xasprintf("0 %u 1", geteuid());
	_cleanup_(mem) char *gids = xasprintf("0 %u 1", getegid());
	bool root = geteuid() == 0;

	if (unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) < 0)
		return false;
	if (!root && (!put("/proc/self/setgroups", "deny") || !put("/proc/self/uid_map", uids) ||
			     !put("/proc/self/gid_map", gids)))
		return false;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* A tmpfs at `on`, inside the tree. */
static int try_with_a_mount(const char *tree, const char *on, const char *kept)
{
	struct error err = ERROR_INIT;

	if (!own_mounts() || mount("tmpfs", on, "tmpfs", 0, "size=64k") < 0)
		return NOT_HERE;
	if (os_replace_file(kept, STR("x"), 0600, NULL) < 0)
		return NOT_HERE;
	if (os_remove_tree(tree, &err) == 0 || access(kept, F_OK) < 0)
		return BROKEN;
	return err.sys == EXDEV ? HELD : BROKEN;
}

static void another_file_system_is_not_entered(void **state)
{
	_cleanup_(mem) char *tree = scratch_path(state, "t"), *on = scratch_path(state, "t/mount");
	_cleanup_(mem) char *kept = scratch_path(state, "t/mount/kept");
	int status;
	pid_t pid;

	assert_int_equal(mkdir(tree, 0700), 0);
	assert_int_equal(mkdir(on, 0700), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(try_with_a_mount(tree, on, kept));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(WEXITSTATUS(status), HELD);
}

/* The same file system mounted a second time inside the tree: other files, the same device number.
 */
static int try_with_a_bind(const char *tree, const char *on, const char *from, const char *kept)
{
	struct error err = ERROR_INIT;

	if (!own_mounts() || mount(from, on, NULL, MS_BIND, NULL) < 0)
		return NOT_HERE;
	if (os_remove_tree(tree, &err) == 0 || access(kept, F_OK) < 0)
		return BROKEN;
	return err.sys == EXDEV ? HELD : BROKEN;
}

static void a_bind_mount_is_not_entered(void **state)
{
	_cleanup_(mem) char *tree = scratch_path(state, "t"), *on = scratch_path(state, "t/mount");
	_cleanup_(mem) char *out = scratch_path(state, "out"),
			    *kept = scratch_path(state, "out/kept");
	int status;
	pid_t pid;

	assert_int_equal(mkdir(tree, 0700), 0);
	assert_int_equal(mkdir(on, 0700), 0);
	assert_int_equal(mkdir(out, 0700), 0);
	scratch_write(kept, "x");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(try_with_a_bind(tree, on, out, kept));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(WEXITSTATUS(status), HELD);
	assert_int_equal(access(kept, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(nothing_there_is_no_error),
		cmocka_unit_test(what_names_no_entry_is_refused),
		scratch_test(links_go_and_their_targets_stay),
		scratch_test(a_broad_tree_goes),
		scratch_test(a_deep_tree_goes),
		scratch_test(another_file_system_is_not_entered),
		scratch_test(a_bind_mount_is_not_entered),
	};

	return cmocka_run_group_tests_name("os.tree", tests, NULL, NULL);
}
