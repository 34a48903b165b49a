/*
 * Reading by handle: regular files only, under a limit, without links, and without touching the
 * store.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "guard/guard.h"
#include "os/os.h"
#include "testing.h"

enum { LIMIT_BYTES = 1000 };

static int set_up(void **state)
{
	_cleanup_(mem) char *made = testing_dir();

	*state = realpath(made, NULL);
	must(*state && chdir(*state) == 0);
	return 0;
}

static int tear_down(void **state)
{
	must(chdir("/") == 0);
	must(os_remove_tree(*state, NULL) == 0);
	free(*state);
	return 0;
}

static void put(const char *path, const char *content)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0644);

	must(fd >= 0);
	must(write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	must(close(fd) == 0);
}

static struct guard_path path_of(const char *dir, const char *name)
{
	struct guard_path p = {0};

	must(guard_resolve(dir, str_from(name), &p, NULL) == 0);
	return p;
}

static int read_name(
	const char *dir, const char *name, size_t max, struct buf *to, struct error *err)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = path_of(dir, name);

	return guard_read(&p, max, NULL, 0, to, err);
}

static void reads_up_to_the_limit_and_not_past_it(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);
	struct error err = ERROR_INIT;

	put("five", "12345");
	put("empty", "");
	assert_ok(read_name(*state, "five", 5, &b, &err), &err);
	assert_true(str_is(buf_str(&b), "12345"));
	assert_ok(read_name(*state, "empty", 0, &b, &err), &err);
	assert_int_equal(b.len, 5); /* it appends */
	assert_fails(read_name(*state, "five", 4, &b, &err), &err, GUARD_TOO_LARGE);
	assert_int_equal(b.len, 5); /* and nothing half-read is left */
}

static void a_file_that_hides_its_size_is_limited_too(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);
	struct error err = ERROR_INIT;

	(void)state;
	if (access("/sys/kernel/notes", R_OK) != 0)
		skip();
	/* st_size of a sysfs file says nothing of what read gives */
	assert_fails(read_name("/", "/sys/kernel/mm/transparent_hugepage/enabled", 1, &b, &err),
		&err, GUARD_TOO_LARGE);
	assert_int_equal(b.len, 0);
}

static void refuses_all_but_regular_files(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX, .sun_path = "socket"};
	_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);
	_cleanup_(fd) int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static const char *const names[] = {".", "fifo", "socket", "/dev/zero",
		"/proc/self/environ", "/proc/self/mem", "/proc/self/cmdline", "/proc/version",
		"proclink"};
	struct error err = ERROR_INIT;

	must(mkfifo("fifo", 0600) == 0 && symlink("/proc/self/environ", "proclink") == 0);
	must(bind(s, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_fails(read_name(*state, names[i], LIMIT_BYTES, &b, &err), &err,
			GUARD_NOT_REGULAR);
	assert_fails(read_name(*state, "missing", LIMIT_BYTES, &b, &err), &err, GUARD_NOT_FOUND);
}

static void a_link_that_appears_is_not_followed(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path file = {0}, below = {0};
	struct error err = ERROR_INIT;
	struct stat st;
	int fd;

	must(mkdir("dir", 0700) == 0 && mkdir("other", 0700) == 0);
	put("file", "mine");
	put("dir/file", "mine");
	put("other/file", "theirs");
	file = path_of(*state, "file");
	below = path_of(*state, "dir/file");
	must(unlink("file") == 0 && symlink("other/file", "file") == 0);
	must(rename("dir", "gone") == 0 && symlink("other", "dir") == 0);
	assert_fails(guard_read(&file, LIMIT_BYTES, NULL, 0, &b, &err), &err, GUARD_CHANGED);
	assert_fails(guard_read(&below, LIMIT_BYTES, NULL, 0, &b, &err), &err, GUARD_CHANGED);
	assert_fails(guard_open_read(&below, &fd, &st, &err), &err, GUARD_CHANGED);
	assert_int_equal(b.len, 0);
}

static void opens_with_what_the_descriptor_says(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;
	struct stat st;
	char byte;

	put("file", "x");
	p = path_of(*state, "file");
	assert_ok(guard_open_read(&p, &fd, &st, &err), &err);
	assert_int_equal(st.st_size, 1);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(fd, &byte, 1), 1);
}

static void a_folder_may_forbid_it(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	struct error err = ERROR_INIT;

	put("file", "x");
	p = path_of(*state, "file");
	must(chmod("file", 0) == 0);
	if (geteuid() == 0) {
		assert_ok(guard_read(&p, LIMIT_BYTES, NULL, 0, &b, &err), &err);
		return;
	}
	assert_fails(guard_read(&p, LIMIT_BYTES, NULL, 0, &b, &err), &err, GUARD_DENIED);
}

/* POSIX locks of this process die with the close of any descriptor of the file that was really
 * open. */
static bool lock_is_held(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDWR | O_CLOEXEC);
	pid_t child;
	int status;

	must(fd >= 0);
	child = fork();
	if (child == 0)
		_exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK);
	must(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	/* fd stays open: closing it here would drop the lock that the test is about */
	return WEXITSTATUS(status) == 1;
}

static void files_that_must_not_be_opened_are_read_by_a_child(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct guard_id never[2] = {
		{1, 2},
                {0, 0}
        };
	struct error err = ERROR_INIT;
	int fd;

	put("store", "SQLite");
	p = path_of(*state, "store");
	never[1] = (struct guard_id){p.dev, p.ino};
	fd = open("store", O_RDWR | O_CLOEXEC);
	must(fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0);

	assert_ok(guard_read(&p, LIMIT_BYTES, never, 2, &b, &err), &err);
	assert_true(str_is(buf_str(&b), "SQLite"));
	assert_true(lock_is_held("store"));
	assert_fails(guard_read(&p, 5, never, 2, &b, &err), &err, GUARD_TOO_LARGE);
	assert_true(lock_is_held("store"));

	/* and without the list the lock is lost, so the list is what keeps it */
	assert_ok(guard_read(&p, LIMIT_BYTES, NULL, 0, &b, &err), &err);
	assert_false(lock_is_held("store"));
	must(close(fd) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			reads_up_to_the_limit_and_not_past_it, set_up, tear_down),
		cmocka_unit_test(a_file_that_hides_its_size_is_limited_too),
		cmocka_unit_test_setup_teardown(refuses_all_but_regular_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_link_that_appears_is_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			opens_with_what_the_descriptor_says, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_folder_may_forbid_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			files_that_must_not_be_opened_are_read_by_a_child, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("guard.read", tests, NULL, NULL);
}
