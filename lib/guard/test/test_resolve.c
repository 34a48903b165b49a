/*
 * Where paths lead: parts, links, what is missing, and what is refused.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "guard/guard.h"
#include "os/os.h"
#include "testing.h"

struct world {
	char *dir; /* canonical */
};

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	_cleanup_(mem) char *made = testing_dir();

	w->dir = realpath(made, NULL);
	must(w->dir && chdir(w->dir) == 0);
	must(mkdir("real", 0755) == 0 && mkdir("real/deep", 0755) == 0);
	must(mkdir("with space\nand line", 0755) == 0);
	must(close(open("real/file", O_CREAT | O_WRONLY, 0644)) == 0);
	must(symlink("real", "link") == 0 && symlink("real/file", "filelink") == 0);
	must(symlink("real/later", "dangling") == 0 && symlink("missing/later", "farther") == 0);
	must(symlink("loop-b", "loop-a") == 0 && symlink("loop-a", "loop-b") == 0);
	must(symlink("../../..", "real/deep/up") == 0);
	must(symlink("link/deep", "chain") == 0);
	must(symlink("/", "rootlink") == 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	must(chdir("/") == 0);
	must(os_remove_tree(w->dir, NULL) == 0);
	free(w->dir);
	free(w);
	return 0;
}

static void resolves_to_where_it_lies(void **state)
{
	static const struct {
		const char *path, *expected; /* both below the world */
		bool exists, is_dir;
	} rows[] = {
		{"real",                      "real",                      true,  true },
		{".",			 "",			  true,  true },
		{"./real//./file",            "real/file",                 true,  false},
		{"real/",                     "real",                      true,  true },
		{"real/deep/..",              "real",                      true,  true },
		{"real/deep/../../link",      "real",                      true,  true },
		{"link/file",                 "real/file",                 true,  false},
		{"filelink",                  "real/file",                 true,  false},
		{"chain",                     "real/deep",                 true,  true },
		{"chain/../file",             "real/file",                 true,  false},
		{"link/new",                  "real/new",                  false, false},
		{"link/new/newer/newest",     "real/new/newer/newest",     false, false},
		{"dangling",                  "real/later",                false, false},
		{"farther",                   "missing/later",             false, false},
		{"farther/x",                 "missing/later/x",           false, false},
		{"with space\nand line/x\ty", "with space\nand line/x\ty", false, false},
		{"new/./x",                   "new/x",                     false, false},
		{"...",                       "...",                       false, false},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
		_cleanup_(mem) char *expected = xasprintf(
			"%s%s%s", w->dir, rows[i].expected[0] ? "/" : "", rows[i].expected);
		struct error err = ERROR_INIT;
		struct stat st;

		assert_ok(guard_resolve(w->dir, str_from(rows[i].path), &p, &err), &err);
		assert_string_equal(p.real, expected);
		assert_int_equal(p.exists, rows[i].exists);
		assert_int_equal(p.is_dir, rows[i].is_dir);
		if (p.exists) {
			assert_int_equal(stat(p.real, &st), 0);
			assert_true(p.dev == st.st_dev && p.ino == st.st_ino);
		}
	}
}

static void the_root_is_a_path_like_any_other(void **state)
{
	static const char *const paths[] = {
		"/", "//", "/.", "/..", "/../../", "rootlink", "rootlink/.."};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
		struct error err = ERROR_INIT;

		assert_ok(guard_resolve(w->dir, str_from(paths[i]), &p, &err), &err);
		assert_string_equal(p.real, "/");
		assert_true(p.exists && p.is_dir);
	}
}

static void refuses_what_is_no_path(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *part = xmalloc(257), *long_path = xmalloc(GUARD_PATH_MAX_BYTES + 2);
	struct error err = ERROR_INIT;
	struct guard_path p;

	memset(part, 'x', 256);
	part[256] = '\0';
	for (size_t i = 0; i < GUARD_PATH_MAX_BYTES + 1; i++)
		long_path[i] = i % 2 ? 'x' : '/';
	const struct str rows[] = {
		{NULL,         0                       },
                STR(""), {"real\0file", 9                       },
                STR("missing/../real"), STR("real/file/.."),
		STR("real/file/"), STR("real/file/below"), STR("filelink/"), STR("loop-a"),
		STR("loop-a/x"), {part,         256                     },
                {long_path,    GUARD_PATH_MAX_BYTES + 1},
		{long_path,    GUARD_PATH_MAX_BYTES    }, /* longer than the kernel takes, once absolute */
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_fails(guard_resolve(w->dir, rows[i], &p, &err), &err, GUARD_INVALID_PATH);
	/* a long part in a folder that is not there is no better */
	_cleanup_(mem) char *below = xasprintf("missing/%s", part);
	assert_fails(guard_resolve(w->dir, str_from(below), &p, &err), &err, GUARD_INVALID_PATH);
}

static void counts_links_as_the_kernel_does(void **state)
{
	struct world *w = *state;
	struct error err = ERROR_INIT;
	struct guard_path p = {0};

	must(symlink("real", "l0") == 0);
	for (int i = 1; i <= GUARD_LINKS_MAX; i++) {
		_cleanup_(mem) char *name = xasprintf("l%d", i), *to = xasprintf("l%d", i - 1);

		must(symlink(to, name) == 0);
	}
	assert_ok(guard_resolve(w->dir, STR("l39"), &p, &err), &err); /* forty links */
	guard_path_release(&p);
	assert_fails(guard_resolve(w->dir, STR("l40"), &p, &err), &err, GUARD_INVALID_PATH);
}

static void beneath_goes_by_whole_parts(void **state)
{
	(void)state;
	static const struct {
		const char *root, *path;
		bool expected;
	} rows[] = {
		{"/a",   "/a",   true },
		{"/a",   "/a/b", true },
		{"/a",   "/ab",  false},
		{"/a",   "/",    false},
		{"/a/b", "/a",   false},
		{"/",    "/",    true },
		{"/",    "/a",   true },
		{"/a",   "/b/a", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(guard_beneath(rows[i].root, rows[i].path), rows[i].expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(resolves_to_where_it_lies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_root_is_a_path_like_any_other, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_path, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_links_as_the_kernel_does, set_up, tear_down),
		cmocka_unit_test(beneath_goes_by_whole_parts),
	};

	return cmocka_run_group_tests_name("guard.resolve", tests, NULL, NULL);
}
