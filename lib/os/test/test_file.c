/* file: reading, replacing and asking about files, with hostile things in their place. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "os/os.h"
#include "scratch.h"
#include "testing.h"

static void a_file_comes_back_as_it_was_written(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "f");
	_cleanup_(buf) struct buf b = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;
	size_t len = 300000;
	_cleanup_(mem) char *big = xcalloc(1, len);

	memset(big + 1, 'x', len - 2);
	assert_ok(os_replace_file(path, (struct str){big, len}, 0600, &err), &err);
	(void)buf_puts(&b, "<");
	assert_ok(os_read_file(path, &b, &err), &err);
	assert_int_equal(b.len, len + 1);
	assert_memory_equal(b.data + 1, big, len);
	assert_int_equal(scratch_mode(path), 0600);
}

static void the_mode_is_exact_whatever_the_umask(void **state)
{
	static const struct {
		mode_t mask, mode;
	} rows[] = {
		{0,    0600},
                {077,  0644},
                {0777, 0600},
                {0,    0444},
                {022,  0666}
        };
	_cleanup_(mem) char *path = scratch_path(state, "f");
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		mode_t old = umask(rows[i].mask);
		int rc = os_replace_file(path, STR("x"), rows[i].mode, &err);

		(void)umask(old);
		assert_ok(rc, &err);
		assert_int_equal(scratch_mode(path), rows[i].mode);
	}
}

static void replacing_a_link_replaces_the_link(void **state)
{
	_cleanup_(mem) char *target = scratch_path(state, "target"),
			    *link = scratch_path(state, "link");
	_cleanup_(buf) struct buf b = BUF_INIT(100);
	struct error err = ERROR_INIT;
	struct stat st;

	assert_ok(os_replace_file(target, STR("kept"), 0600, &err), &err);
	assert_int_equal(symlink("target", link), 0);
	assert_ok(os_replace_file(link, STR("new"), 0600, &err), &err);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_ok(os_read_file(target, &b, &err), &err);
	assert_string_equal(b.data, "kept");
}

static void a_name_at_the_limit_can_be_replaced(void **state)
{
	char name[256]; /* NAME_MAX and the NUL */
	struct error err = ERROR_INIT;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	{
		_cleanup_(mem) char *path = scratch_path(state, name);

		assert_ok(os_replace_file(path, STR("x"), 0600, &err), &err);
		assert_ok(os_replace_file(path, STR("y"), 0600, &err), &err);
	}
}

static void what_is_no_file_name_is_refused(void **state)
{
	static const char *const names[] = {"", "/", ".", "..", "x/"};
	_cleanup_(mem) char *dir = scratch_path(state, "folder");
	_cleanup_(mem) char *missing = scratch_path(state, "none/f");
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_fails(os_replace_file(names[i], STR("x"), 0600, &err), &err, ERROR_INVALID);
	assert_ok(os_mkdir_private(dir, NULL, &err), &err);
	assert_fails(os_replace_file(dir, STR("x"), 0600, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, EISDIR);
	assert_fails(os_replace_file(missing, STR("x"), 0600, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENOENT);
}

static void the_ceiling_is_exact(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "f");
	struct error err = ERROR_INIT;

	assert_ok(os_replace_file(path, STR("12345"), 0600, &err), &err);
	{
		_cleanup_(buf) struct buf five = BUF_INIT(5), four = BUF_INIT(4),
					  none = BUF_INIT(0);

		assert_ok(os_read_file(path, &five, &err), &err);
		assert_string_equal(five.data, "12345");
		(void)buf_puts(&four, "ab");
		assert_fails(os_read_file(path, &four, &err), &err, ERROR_LIMIT);
		assert_string_equal(four.data, "ab");
		assert_fails(os_read_file(path, &none, &err), &err, ERROR_LIMIT);
	}
	assert_ok(os_replace_file(path, STR(""), 0600, &err), &err);
	{
		_cleanup_(buf) struct buf none = BUF_INIT(0);

		assert_ok(os_read_file(path, &none, &err), &err);
		assert_int_equal(none.len, 0);
	}
}

static void a_file_of_unknown_size_is_read(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1 << 20);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(os_read_file("/proc/self/status", &b, &err), &err);
	assert_non_null(strstr(b.data, "Pid:"));
}

static void what_is_no_regular_file_is_refused_at_once(void **state)
{
	_cleanup_(mem) char *fifo = scratch_path(state, "fifo"),
			    *sock = scratch_path(state, "sock");
	_cleanup_(fd) int fd = -1;
	_cleanup_(buf) struct buf b = BUF_INIT(100);
	struct error err = ERROR_INIT;
	const char *dir = *state;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_ok(os_listen_private(sock, &fd, &err), &err);
	assert_fails(os_read_file(fifo, &b, &err), &err, ERROR_INVALID);
	assert_fails(os_read_file(sock, &b, &err), &err, ERROR_INVALID);
	assert_fails(os_read_file(dir, &b, &err), &err, ERROR_INVALID);
	assert_fails(os_read_file("/dev/zero", &b, &err), &err, ERROR_INVALID);
	assert_fails(os_read_file("/nowhere/at/all", &b, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENOENT);
	assert_string_equal(err.text, "open '/nowhere/at/all': No such file or directory");
}

static void descriptors_are_not_inherited(void **state)
{
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;
	const char *dir = *state;

	assert_ok(os_open(dir, O_RDONLY | O_DIRECTORY, 0, &fd, &err), &err);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_ok(os_fsync_dir(dir, &err), &err);
}

static void short_reads_end_at_the_end(void **state)
{
	struct error err = ERROR_INIT;
	char got[10];
	size_t len;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_ok(os_write_all(ends[1], "abc", 3, &err), &err);
	assert_ok(os_write_all(ends[1], "de", 2, &err), &err);
	assert_int_equal(close(ends[1]), 0);
	assert_ok(os_read_full(ends[0], got, 4, &len, &err), &err);
	assert_int_equal(len, 4);
	assert_ok(os_read_full(ends[0], got, sizeof(got), &len, &err), &err);
	assert_int_equal(len, 1);
	assert_int_equal(got[0], 'e');
	assert_int_equal(close(ends[0]), 0);
	assert_fails(os_read_full(-1, got, 1, &len, &err), &err, ERROR_SYS);
	assert_fails(os_write_all(-1, got, 1, &err), &err, ERROR_SYS);
}

static void what_there_is_and_what_can_run(void **state)
{
	_cleanup_(mem) char *plain = scratch_path(state, "plain"),
			    *program = scratch_path(state, "program");
	_cleanup_(mem) char *below = scratch_path(state, "plain/x"),
			    *loop = scratch_path(state, "loop");
	const char *dir = *state;
	struct error err = ERROR_INIT;

	assert_ok(os_replace_file(plain, STR("x"), 0600, &err), &err);
	assert_ok(os_replace_file(program, STR("#!/bin/sh\n"), 0700, &err), &err);
	assert_int_equal(symlink("loop", loop), 0);
	assert_int_equal(os_is_program(program, &err), 1);
	assert_int_equal(os_is_program(plain, &err), 0);
	assert_int_equal(os_is_program(dir, &err), 0);
	assert_int_equal(os_is_program(below, &err), 0);
	assert_int_equal(os_is_program(loop, &err), 0);
	assert_int_equal(os_exists(program, &err), 1);
	assert_int_equal(os_exists(dir, &err), 1);
	assert_int_equal(os_exists(below, &err), 0);
	assert_int_equal(os_exists("/nowhere", &err), 0);
	assert_int_equal(os_exists(loop, &err), -1);
	assert_int_equal(err.sys, ELOOP);
}

/* In a process of its own, without the descriptors of the mask. Its status says what was wrong. */
static int child_without(unsigned mask)
{
	int fd, status;
	pid_t pid = fork();

	if (pid == 0) {
		char byte;

		for (int i = 0; i <= STDERR_FILENO; i++)
			os_close((mask >> i & 1) != 0 ? i : -1);
		if (os_hold_standard_fds(NULL) < 0)
			_exit(1);
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd <= STDERR_FILENO)
			_exit(2);
		for (int i = 0; i <= STDERR_FILENO; i++) {
			if ((mask >> i & 1) != 0 &&
				(read(i, &byte, 1) != 0 || write(i, "x", 1) != -1))
				_exit(3);
		}
		_exit(0);
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void nothing_else_gets_a_closed_standard_number(void **state)
{
	(void)state;
	for (unsigned mask = 0; mask < 8; mask++)
		assert_int_equal(child_without(mask), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(a_file_comes_back_as_it_was_written),
		scratch_test(the_mode_is_exact_whatever_the_umask),
		scratch_test(replacing_a_link_replaces_the_link),
		scratch_test(a_name_at_the_limit_can_be_replaced),
		scratch_test(what_is_no_file_name_is_refused),
		scratch_test(the_ceiling_is_exact),
		cmocka_unit_test(a_file_of_unknown_size_is_read),
		scratch_test(what_is_no_regular_file_is_refused_at_once),
		scratch_test(descriptors_are_not_inherited),
		cmocka_unit_test(nothing_else_gets_a_closed_standard_number),
		cmocka_unit_test(short_reads_end_at_the_end),
		scratch_test(what_there_is_and_what_can_run),
	};

	return cmocka_run_group_tests_name("os.file", tests, NULL, NULL);
}
