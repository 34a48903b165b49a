/* place: the one name of a path, and where we live. */
#include <errno.h>

#include "scratch.h"

static void canonical_names(void **state)
{
	static const struct {
		const char *name, *from, *to;
	} rows[] = {
		{"there",					   "d",             "d"         },
		{"through a link",                                  "link/sub",      "d/sub"     },
		{"missing below a link",                            "link/new/file", "d/new/file"},
		{"blanks of a path",                                "d//./sub/.",    "d/sub"     },
		{"blanks of the missing part",                      "d/new//./x/",   "d/new/x"   },
		{"back up what is there",                           "d/sub/../new",  "d/new"     },
		{"back up through a link goes where the link went", "deep/../new",   "d/new"     },
	};
	static const struct {
		const char *name, *from;
	} refused[] = {
		{"back up out of the missing part", "d/new/../sub"},
		{"a link to nothing",               "dangling"    },
		{"below a link to nothing",         "dangling/x"  },
	};
	_cleanup_(mem) char *sub = scratch_path(state, "d/sub"), *d = scratch_path(state, "d");
	_cleanup_(mem) char *link = scratch_path(state, "link"),
			    *deep = scratch_path(state, "deep");
	_cleanup_(mem) char *dangling = scratch_path(state, "dangling");
	struct error err = ERROR_INIT;

	assert_int_equal(mkdir(d, 0700), 0);
	assert_int_equal(mkdir(sub, 0700), 0);
	assert_int_equal(symlink("d", link), 0);
	assert_int_equal(symlink("d/sub", deep), 0);
	assert_int_equal(symlink("nowhere", dangling), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *from = scratch_path(state, rows[i].from), *got = NULL;
		_cleanup_(mem) char *to = scratch_path(state, rows[i].to);

		assert_ok(os_canonical(from, &got, &err), &err);
		if (strcmp(got, to) != 0)
			fail_msg("%s: %s", rows[i].name, got);
	}
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		_cleanup_(mem) char *from = scratch_path(state, refused[i].from), *got = NULL;

		assert_fails(os_canonical(from, &got, &err), &err, ERROR_INVALID);
		assert_null(got);
	}
}

static void a_canonical_name_is_stable_once_the_file_is_there(void **state)
{
	_cleanup_(mem) char *path = scratch_path(state, "x"), *before = NULL, *after = NULL;
	struct error err = ERROR_INIT;

	assert_ok(os_canonical(path, &before, &err), &err);
	scratch_write(path, "x");
	assert_ok(os_canonical(path, &after, &err), &err);
	assert_string_equal(before, after);
}

static void canonical_edges(void **state)
{
	_cleanup_(mem) char *root = NULL, *none = NULL, *here = NULL, *below = NULL,
			    *file = scratch_path(state, "f");
	_cleanup_(mem) char *under = scratch_path(state, "f/x"),
			    *loop = scratch_path(state, "loop");
	_cleanup_(mem) char *cwd = getcwd(NULL, 0), *expected = xasprintf("%s/no-such/x", cwd);
	char *got = NULL, longer[6000];
	struct error err = ERROR_INIT;

	assert_ok(os_canonical("/", &root, &err), &err);
	assert_string_equal(root, "/");
	assert_ok(os_canonical("/no-such-folder", &none, &err), &err);
	assert_string_equal(none, "/no-such-folder");
	assert_ok(os_canonical(".", &here, &err), &err);
	assert_string_equal(here, cwd);
	assert_ok(os_canonical("no-such/x", &below, &err), &err);
	assert_string_equal(below, expected);
	assert_fails(os_canonical("", &got, &err), &err, ERROR_INVALID);
	scratch_write(file, "x");
	assert_fails(os_canonical(under, &got, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENOTDIR);
	assert_int_equal(symlink("loop", loop), 0);
	assert_fails(os_canonical(loop, &got, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ELOOP);
	memset(longer, 'a', sizeof(longer) - 1);
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	assert_fails(os_canonical(longer, &got, &err), &err, ERROR_SYS);
	assert_int_equal(err.sys, ENAMETOOLONG);
}

static void home_is_absolute(void **state)
{
	_cleanup_(mem) char *saved = xstrdup(getenv("HOME")), *given = NULL, *entry = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(setenv("HOME", "/given/home", 1), 0);
	assert_ok(os_home(&given, &err), &err);
	assert_string_equal(given, "/given/home");
	assert_int_equal(setenv("HOME", "relative", 1), 0);
	if (os_home(&entry, &err) == 0)
		assert_int_equal(entry[0], '/');
	else
		assert_true(error_is(&err, &OS_NO_HOME)); /* a user without an entry */
	if (saved)
		assert_int_equal(setenv("HOME", saved, 1), 0);
	else
		assert_int_equal(unsetenv("HOME"), 0);
}

static void the_program_is_found(void **state)
{
	_cleanup_(mem) char *dir = NULL, *exe = realpath("/proc/self/exe", NULL);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(os_program_dir(&dir, &err), &err);
	*strrchr(exe, '/') = '\0';
	assert_string_equal(dir, exe);
}

static void our_programs_are_found_without_PATH(void **state)
{
	_cleanup_(mem) char *exe = realpath("/proc/self/exe", NULL), *path = NULL;
	const char *name = strrchr(exe, '/') + 1;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(os_helper(name, &path, &err), &err);
	assert_string_equal(path, exe);
	free(mem_take(&path));
	assert_ok(os_command(name, &path, &err), &err);
	assert_string_equal(path, exe);
	free(mem_take(&path));
	assert_int_equal(os_helper("sh", &path, &err), -1); /* PATH has it */
	assert_true(error_is(&err, &OS_HELPER_MISSING));
	assert_non_null(strstr(err.text, "no program 'sh' in '"));
	assert_int_equal(os_command("sh", &path, &err), -1);
	assert_null(path);
}

static void chance_differs(void **state)
{
	unsigned char a[1000] = {0}, b[1000] = {0};
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(os_random(a, sizeof(a), &err), &err);
	assert_ok(os_random(b, sizeof(b), &err), &err);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_memory_not_equal(a + 900, b + 900, 100);
	assert_ok(os_random(NULL, 0, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		scratch_test(canonical_names),
		scratch_test(a_canonical_name_is_stable_once_the_file_is_there),
		scratch_test(canonical_edges),
		cmocka_unit_test(home_is_absolute),
		cmocka_unit_test(the_program_is_found),
		cmocka_unit_test(our_programs_are_found_without_PATH),
		cmocka_unit_test(chance_differs),
	};

	return cmocka_run_group_tests_name("os.place", tests, NULL, NULL);
}
