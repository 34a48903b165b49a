/*
 * Writing and removing by handle: whole or not at all, the mode kept, nobody's change lost, no link
 * followed, nothing left beside the file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "guard/guard.h"
#include "os/os.h"
#include "testing.h"

enum { LIMIT_BYTES = 1 << 20 };

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

static void assert_content(const char *path, const char *expected)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);

	must(os_read_file(path, &b, NULL) == 0);
	assert_true(str_is(buf_str(&b), expected));
}

static size_t names_in(const char *path)
{
	DIR *d = opendir(path);
	size_t count = 0;

	must(d);
	while (readdir(d))
		count++;
	(void)closedir(d);
	return count - 2;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	must(stat(path, &st) == 0);
	return st.st_mode & 07777;
}

static int publish(const char *dir, const char *name, const char *content, struct error *err)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};

	must(guard_resolve(dir, str_from(name), &p, NULL) == 0);
	return guard_publish(&p, str_from(content), true, err);
}

static void makes_a_file_and_its_folders(void **state)
{
	mode_t old = umask(0027);
	struct error err = ERROR_INIT;

	assert_ok(publish(*state, "a/b c/d\ne/file", "text", &err), &err);
	assert_content("a/b c/d\ne/file", "text");
	assert_int_equal(mode_of("a/b c/d\ne/file"), 0640);
	assert_int_equal(mode_of("a"), 0750);
	assert_int_equal(names_in("a/b c/d\ne"), 1);
	assert_ok(publish(*state, "empty", "", &err), &err);
	assert_content("empty", "");
	(void)umask(old);
}

static void no_folder_is_made_unasked(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	struct error err = ERROR_INIT;

	must(guard_resolve(*state, STR("a/file"), &p, NULL) == 0);
	assert_fails(guard_publish(&p, STR("x"), false, &err), &err, GUARD_NOT_FOUND);
	assert_int_equal(names_in("."), 0);
}

static void replaces_in_one_step_and_keeps_the_mode(void **state)
{
	struct error err = ERROR_INIT;
	struct stat before, after;
	_cleanup_(fd) int reader = -1;
	char old[8] = {0};

	put("script", "old one");
	must(chmod("script", 04751) == 0 && stat("script", &before) == 0);
	reader = open("script", O_RDONLY | O_CLOEXEC);
	assert_ok(publish(*state, "script", "new", &err), &err);
	assert_content("script", "new");
	must(stat("script", &after) == 0);
	assert_int_equal(after.st_mode & 07777, 0751); /* without setuid */
	assert_true(before.st_ino != after.st_ino);
	assert_int_equal(read(reader, old, 7), 7); /* who has the old one open reads it whole */
	assert_string_equal(old, "old one");
	assert_int_equal(names_in("."), 1);
}

static void a_new_file_takes_the_mode_asked_for(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	const struct guard_write how = {.new_mode = 0755};
	struct error err = ERROR_INIT;
	mode_t old = umask(0077);

	must(guard_resolve(*state, STR("tool"), &p, NULL) == 0);
	assert_ok(guard_publish_as(&p, STR("#!/bin/sh\n"), &how, &err), &err);
	assert_int_equal(mode_of("tool"), 0755);
	must(chmod("tool", 0600) == 0);
	assert_ok(guard_publish_as(&p, STR("again"), &how, &err), &err);
	assert_int_equal(mode_of("tool"), 0600); /* one that is there keeps its own */
	(void)umask(old);
}

static void a_second_name_stays_a_name_of_the_same_file(void **state)
{
	struct error err = ERROR_INIT;

	put("one", "a longer text");
	must(link("one", "two") == 0);
	assert_ok(publish(*state, "one", "short", &err), &err);
	assert_content("two", "short");
	assert_int_equal(names_in("."), 2);
}

static void refuses_what_is_no_regular_file(void **state)
{
	struct error err = ERROR_INIT;

	must(mkdir("dir", 0700) == 0 && mkfifo("fifo", 0600) == 0);
	assert_fails(publish(*state, "dir", "x", &err), &err, GUARD_NOT_REGULAR);
	assert_fails(publish(*state, "fifo", "x", &err), &err, GUARD_NOT_REGULAR);
	assert_fails(publish(*state, "/", "x", &err), &err, GUARD_NOT_REGULAR);
	assert_int_equal(names_in("."), 2);
}

static void a_link_that_appears_is_not_written_through(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path file = {0}, below = {0},
								       deep = {0};
	struct error err = ERROR_INIT;

	must(mkdir("dir", 0700) == 0 && mkdir("outside", 0700) == 0);
	put("file", "mine");
	put("outside/secret", "theirs");
	must(guard_resolve(*state, STR("file"), &file, NULL) == 0);
	must(guard_resolve(*state, STR("dir/secret"), &below, NULL) == 0);
	must(guard_resolve(*state, STR("dir/new/secret"), &deep, NULL) == 0);
	must(unlink("file") == 0 && symlink("outside/secret", "file") == 0);
	must(rmdir("dir") == 0 && symlink("outside", "dir") == 0);
	assert_fails(guard_publish(&file, STR("x"), true, &err), &err, GUARD_CHANGED);
	assert_fails(guard_publish(&below, STR("x"), true, &err), &err, GUARD_CHANGED);
	assert_fails(guard_publish(&deep, STR("x"), true, &err), &err, GUARD_CHANGED);
	assert_fails(guard_unlink(&below, &err), &err, GUARD_CHANGED);
	assert_fails(guard_unlink(&file, &err), &err, GUARD_CHANGED);
	assert_content("outside/secret", "theirs");
	assert_int_equal(names_in("outside"), 1);
}

static void a_file_by_itself_may_forbid_it(void **state)
{
	struct error err = ERROR_INIT;

	put("file", "x");
	must(chmod("file", 0444) == 0);
	if (geteuid() == 0) {
		assert_ok(publish(*state, "file", "y", &err), &err);
		assert_int_equal(mode_of("file"), 0444);
		return;
	}
	assert_fails(publish(*state, "file", "y", &err), &err, GUARD_DENIED);
	assert_content("file", "x");
	must(chmod("file", 0644) == 0 && chmod(".", 0555) == 0);
	assert_ok(publish(*state, "file", "in place", &err), &err);
	assert_content("file", "in place");
	assert_fails(publish(*state, "new", "y", &err), &err, GUARD_DENIED);
	must(chmod(".", 0755) == 0);
}

static struct guard_expect expect_of(const char *path)
{
	struct stat st;

	must(stat(path, &st) == 0);
	return guard_expect_stat(&st);
}

static void an_expectation_that_no_longer_holds_stops_the_write(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	struct guard_write how = {.expect = {.kind = GUARD_EXPECT_ABSENT}};
	struct error err = ERROR_INIT;

	must(guard_resolve(*state, STR("file"), &p, NULL) == 0);
	assert_ok(guard_publish_as(&p, STR("first"), &how, &err), &err);
	assert_fails(guard_publish_as(&p, STR("second"), &how, &err), &err, GUARD_FILE_CHANGED);
	assert_fails(guard_unlink_as(&p, &how.expect, &err), &err, GUARD_FILE_CHANGED);
	assert_content("file", "first");

	how.expect = expect_of("file");
	assert_ok(guard_publish_as(&p, STR("third"), &how, &err), &err);
	assert_fails(guard_publish_as(&p, STR("fourth"), &how, &err), &err, GUARD_FILE_CHANGED);
	assert_content("file", "third");
	assert_fails(guard_unlink_as(&p, &how.expect, &err), &err, GUARD_FILE_CHANGED);

	how.expect = expect_of("file");
	put("file", "longer than before"); /* in place: the same inode */
	assert_fails(guard_publish_as(&p, STR("fifth"), &how, &err), &err, GUARD_FILE_CHANGED);
	assert_content("file", "longer than before");

	how.expect = expect_of("file");
	assert_ok(guard_unlink_as(&p, &how.expect, &err), &err);
	assert_fails(guard_unlink_as(&p, &how.expect, &err), &err, GUARD_FILE_CHANGED);
	assert_fails(guard_publish_as(&p, STR("sixth"), &how, &err), &err, GUARD_FILE_CHANGED);
	assert_fails(guard_unlink(&p, &err), &err, GUARD_NOT_FOUND);
	assert_int_equal(names_in("."), 0);
}

/* Reads the file and puts a mark after what it holds, if it is still that. */
static void mark_once(const struct guard_path *p)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);
	struct guard_write how = {0};
	_cleanup_(fd) int fd = -1;
	struct stat st;
	ssize_t n;

	if (guard_open_read(p, &fd, &st, NULL) < 0)
		return; /* there is a moment without a name on some file systems */
	must(buf_reserve(&b, 64) == 0);
	n = read(fd, b.data, 8);
	must(n > 0);
	b.len = (size_t)n;
	must(buf_putc(&b, '+') == 0);
	how.expect = guard_expect_stat(&st);
	(void)guard_publish_as(
		p, buf_str(&b), &how, NULL); /* fails when it was changed meanwhile */
}

/* An editor saves by rename at some moment while marks are put after the text: what it saved is
 * always what is marked in the end. */
static void what_an_editor_saves_meanwhile_is_never_lost(void **state)
{
	enum { ROUNDS = 150 };
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};

	put("text", "save-000");
	must(guard_resolve(*state, STR("text"), &p, NULL) == 0);
	for (int i = 1; i <= ROUNDS; i++) {
		_cleanup_(mem) char *save = xasprintf("save-%03d", i),
				    *marked = xasprintf("%s+", save);
		pid_t editor;
		int status;

		put("editor's", save);
		editor = fork();
		if (editor == 0)
			_exit(rename("editor's", "text") != 0);
		must(editor > 0);
		do
			mark_once(&p);
		while (waitpid(editor, &status, WNOHANG) == 0);
		assert_int_equal(status, 0);
		mark_once(&p);
		assert_content("text", marked);
	}
	assert_int_equal(names_in("."), 1);
}

/* A folder of the path is swapped for a link and back all the while: nothing ever lands behind the
 * link, and what was read never comes from there. */
static void a_folder_that_flickers_leads_nowhere(void **state)
{
	enum { ROUNDS = 1500 };
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	unsigned done = 0;
	pid_t swapper;
	int status;

	must(mkdir("dir", 0700) == 0 && mkdir("outside", 0700) == 0);
	put("outside/file", "theirs");
	put("dir/file", "mine");
	must(symlink("outside", "link") == 0);
	must(guard_resolve(*state, STR("dir/file"), &p, NULL) == 0);
	swapper = fork();
	if (swapper == 0) {
		for (;;) /* one exchange is one moment: the name is always there */
			(void)renameat2(AT_FDCWD, "dir", AT_FDCWD, "link", RENAME_EXCHANGE);
	}
	must(swapper > 0);
	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(LIMIT_BYTES);

		done += guard_publish(&p, STR("mine again"), true, NULL) == 0;
		if (guard_read(&p, LIMIT_BYTES, NULL, 0, &b, NULL) == 0)
			assert_true(str_starts(buf_str(&b), STR("mine")));
	}
	must(kill(swapper, SIGKILL) == 0 && waitpid(swapper, &status, 0) == swapper);
	assert_content("outside/file", "theirs");
	assert_int_equal(names_in("outside"), 1);
	assert_true(done > 0);
}

/* How many names the folder was given since the watch began, and that each is `expected`. */
static size_t assert_names_made(int watch, const char *expected)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len = read(watch, events, sizeof(events));
	size_t count = 0;

	for (ssize_t at = 0; at < len; count++) {
		const struct inotify_event *e = (const struct inotify_event *)(events + at);

		assert_string_equal(e->name, expected);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
	return count;
}

/* Who is killed in the middle of it leaves nothing that was not there. */
static void a_new_file_has_no_other_name_before(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	_cleanup_(fd) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	_cleanup_(fd) int nameless = open(".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);

	if (nameless < 0)
		skip(); /* this file system has no files without a name */
	must(watch >= 0 && inotify_add_watch(watch, ".", IN_CREATE | IN_MOVED_TO) >= 0);
	must(guard_resolve(*state, STR("file"), &p, NULL) == 0);
	assert_int_equal(guard_publish(&p, STR("new"), false, NULL), 0);
	assert_int_equal(assert_names_made(watch, "file"), 1);
	assert_content("file", "new");
}

#ifdef CONSORT_SANITIZED
static void whatever_fails_the_file_is_old_or_new(void **state)
{
	struct error err = ERROR_INIT;

	put("file", "old");
	for (unsigned n = 1;; n++) {
		__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
		int rc;

		must(guard_resolve(*state, STR("file"), &p, NULL) == 0);
		os_fault_at(n, ENOSPC);
		rc = guard_publish(&p, STR("new"), true, &err);
		os_fault_at(0, 0);
		assert_content("file", rc == 0 ? "new" : "old");
		assert_int_equal(names_in("."), 1);
		if (rc == 0)
			break;
		must(n < 100);
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(makes_a_file_and_its_folders, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_folder_is_made_unasked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			replaces_in_one_step_and_keeps_the_mode, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_new_file_takes_the_mode_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_second_name_stays_a_name_of_the_same_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_regular_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_link_that_appears_is_not_written_through, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_by_itself_may_forbid_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_expectation_that_no_longer_holds_stops_the_write, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_an_editor_saves_meanwhile_is_never_lost, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_folder_that_flickers_leads_nowhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_new_file_has_no_other_name_before, set_up, tear_down),
#ifdef CONSORT_SANITIZED
		cmocka_unit_test_setup_teardown(
			whatever_fails_the_file_is_old_or_new, set_up, tear_down),
#endif
	};

	return cmocka_run_group_tests_name("guard.publish", tests, NULL, NULL);
}
