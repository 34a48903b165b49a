/* folder: files and folders of rules on disk: their order, and what is refused by its look. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "os/os.h"
#include "rule/rule.h"
#include "testing.h"

struct place {
	char *dir;
};

static int make_place(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));

	p->dir = testing_dir();
	*state = p;
	return 0;
}

static int drop_place(void **state)
{
	struct place *p = *state;
	struct error err = ERROR_INIT;

	assert_ok(os_remove_tree(p->dir, &err), &err);
	free(p->dir);
	free(p);
	return 0;
}

static char *path_of(const struct place *p, const char *name)
{
	return xasprintf("%s/%s", p->dir, name);
}

static void put_file(const struct place *p, const char *name, const char *text)
{
	_cleanup_(mem) char *path = path_of(p, name);
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;

	assert_ok(os_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd, &err), &err);
	assert_ok(os_write_all(fd, text, strlen(text), &err), &err);
}

static void expect_unreadable(const char *path, const char *wanted)
{
	struct rules *r = NULL;
	struct error err = ERROR_INIT;

	assert_int_equal(rules_read_path(path, &r, &err), -1);
	assert_null(r);
	assert_true(error_is(&err, &RULES_UNREADABLE) || error_is(&err, &RULES_LIMIT));
	if (!strstr(err.text, wanted))
		fail_msg("'%s' without '%s'", err.text, wanted);
}

static void in_the_order_of_their_names(void **state)
{
	static const char *const names[] = {"b.rules", "B.rules", "a.rules", "10.rules", "9.rules"};
	static const char *const wanted[] = {
		"10.rules", "9.rules", "B.rules", "a.rules", "b.rules"};
	const struct place *p = *state;
	_cleanup_(rules) struct rules *r = NULL;
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put_file(p, names[i], "prefix_rule(pattern=['a'])\n");
	put_file(p, "a.rules.bak", "nonsense");
	put_file(p, "rules", "nonsense");
	put_file(p, ".hidden.rules", "nonsense");
	assert_ok(rules_read_path(p->dir, &r, &err), &err);
	assert_int_equal(rules_count(r), ARRAY_LEN(wanted));
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		assert_true(str_is(rules_at(r, i)->file, wanted[i]));
}

static void an_empty_folder_and_a_missing_one(void **state)
{
	const struct place *p = *state;
	_cleanup_(mem) char *gone = path_of(p, "gone");
	_cleanup_(rules) struct rules *r = NULL;
	struct error err = ERROR_INIT;

	assert_ok(rules_read_path(p->dir, &r, &err), &err);
	assert_int_equal(rules_count(r), 0);
	expect_unreadable(gone, "No such file");
}

static void one_file(void **state)
{
	const struct place *p = *state;
	_cleanup_(mem) char *path = path_of(p, "x.rules");
	_cleanup_(rules) struct rules *r = NULL;
	struct error err = ERROR_INIT;

	put_file(p, "x.rules", "prefix_rule(pattern=['a'])\n");
	assert_ok(rules_read_path(path, &r, &err), &err);
	assert_int_equal(rules_count(r), 1);
	assert_true(str_is(rules_at(r, 0)->file, path));
}

/* What stands in a rules file's place; false where it cannot be had. */
enum bad { TEXT, FOLDER, DANGLING, LINK, FIFO, SOCKET, LARGE, MODE, BADS };

static bool put_bad(const struct place *p, enum bad what, const char *path)
{
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;

	if (what == TEXT || what == LARGE || what == MODE)
		put_file(p, "bad.rules", what == TEXT ? "#\nnonsense\n" : "");
	switch (what) {
	case TEXT:
		break;
	case FOLDER:
		assert_int_equal(mkdir(path, 0700), 0);
		break;
	case DANGLING:
		assert_int_equal(symlink("nowhere", path), 0);
		break;
	case LINK:
		assert_int_equal(symlink("good.rules", path), 0);
		break;
	case FIFO:
		assert_int_equal(mkfifo(path, 0600), 0);
		break;
	case SOCKET:
		assert_ok(os_listen_private(path, &fd, &err), &err);
		break;
	case LARGE:
		assert_int_equal(truncate(path, 10000000), 0);
		break;
	case MODE:
	case BADS:
		assert_int_equal(chmod(path, 0), 0);
		return geteuid() != 0; /* no mode keeps root out */
	}
	return true;
}

/* SN-028: a file that does not parse, a folder and a dangling link in one's place, and their like.
 */
static void what_refuses_every_command(void **state)
{
	static const char *const wanted[BADS] = {
		[TEXT] = "bad.rules:2: ",
		[FOLDER] = "bad.rules: not a regular file",
		[DANGLING] = "bad.rules: a symbolic link",
		[LINK] = "bad.rules: a symbolic link",
		[FIFO] = "bad.rules: not a regular file",
		[SOCKET] = "bad.rules",
		[LARGE] = "bad.rules: over 262144 bytes",
		[MODE] = "Permission denied",
	};
	const struct place *p = *state;
	_cleanup_(mem) char *bad = path_of(p, "bad.rules");

	put_file(p, "good.rules", "prefix_rule(pattern=['a'])\n");
	for (enum bad what = TEXT; what < BADS; what++) {
		struct error err = ERROR_INIT;

		if (put_bad(p, what, bad)) {
			expect_unreadable(p->dir, wanted[what]);
			if (what != FOLDER) /* alone it is a folder as any other */
				expect_unreadable(bad, wanted[what]);
		}
		assert_ok(os_remove_tree(bad, &err), &err);
	}
}

static void a_folder_behind_a_link(void **state)
{
	const struct place *p = *state;
	_cleanup_(mem) char *folder = path_of(p, "folder"), *name = path_of(p, "link");

	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(symlink("folder", name), 0);
	expect_unreadable(name, "a symbolic link");
}

static void too_many_files(void **state)
{
	const struct place *p = *state;
	_cleanup_(rules) struct rules *r = NULL;
	struct error err = ERROR_INIT;

	for (int i = 0; i < RULES_FILES_MAX; i++) {
		_cleanup_(mem) char *name = xasprintf("%d.rules", i);

		put_file(p, name, "");
	}
	assert_ok(rules_read_path(p->dir, &r, &err), &err);
	put_file(p, "more.rules", "");
	expect_unreadable(p->dir, "more than 64 rules files");
}

#ifdef CONSORT_SANITIZED
/* Whichever call fails, nothing is read in part and nothing leaks. */
static void whatever_fails(void **state)
{
	const struct place *p = *state;

	put_file(p, "a.rules", "prefix_rule(pattern=['a'])\n");
	put_file(p, "b.rules", "prefix_rule(pattern=['b'])\n");
	for (unsigned nth = 1; nth < 100; nth++) {
		_cleanup_(rules) struct rules *r = NULL;
		struct error err = ERROR_INIT;
		int rc;

		os_fault_at(nth, EIO);
		rc = rules_read_path(p->dir, &r, &err);
		if (os_fault_calls() < nth) {
			os_fault_at(0, 0);
			assert_int_equal(rc, 0);
			assert_int_equal(rules_count(r), 2);
			assert_true(nth > 4);
			return;
		}
		os_fault_at(0, 0);
		assert_int_equal(rc, -1);
		assert_true(error_is(&err, &RULES_UNREADABLE));
	}
	fail_msg("it never passes");
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			in_the_order_of_their_names, make_place, drop_place),
		cmocka_unit_test_setup_teardown(
			an_empty_folder_and_a_missing_one, make_place, drop_place),
		cmocka_unit_test_setup_teardown(one_file, make_place, drop_place),
		cmocka_unit_test_setup_teardown(what_refuses_every_command, make_place, drop_place),
		cmocka_unit_test_setup_teardown(a_folder_behind_a_link, make_place, drop_place),
		cmocka_unit_test_setup_teardown(too_many_files, make_place, drop_place),
#ifdef CONSORT_SANITIZED
		cmocka_unit_test_setup_teardown(whatever_fails, make_place, drop_place),
#endif
	};

	return cmocka_run_group_tests_name("rule folder", tests, NULL, NULL);
}
