/*
 * Finding bubblewrap, trying it, and saying what is wrong with it.
 */
#include "world.h"

static int set_up(void **state)
{
	*state = world_new("task");
	return 0;
}

static int tear_down(void **state)
{
	world_free(*state);
	return 0;
}

static char *script(const struct world *w, const char *name, const char *text, mode_t mode)
{
	char *path = xasprintf("%s/%s", w->dir, name);

	world_put(path, text);
	must(chmod(path, mode) == 0);
	return path;
}

/* The first path that may be run wins; those that may not are passed over, each with its reason. */
static void only_a_safe_program_is_taken(void **state)
{
	const struct world *w = *state;
	_cleanup_(mem) char *missing = xasprintf("%s/missing", w->dir);
	_cleanup_(mem) char *plain = script(w, "plain", "x", 0644);
	_cleanup_(mem) char *loose = script(w, "loose", "#!/bin/sh\n", 0775);
	_cleanup_(mem) char *open_to_all = script(w, "open", "#!/bin/sh\n", 0757);
	_cleanup_(mem) char *good = script(w, "good", "#!/bin/sh\n", 0755);
	const char *const paths[] = {missing, w->home, plain, loose, open_to_all, good, NULL};
	const char *const bad[] = {missing, w->home, plain, loose, open_to_all, NULL};
	_cleanup_(mem) char *found = NULL, *none = NULL, *why = NULL;

	found = probe_find(paths, &why);
	assert_string_equal(found, good);
	assert_null(why);
	none = probe_find(bad, &why);
	assert_null(none);
	for (size_t i = 0; bad[i]; i++)
		assert_non_null(strstr(why, bad[i]));
	assert_non_null(strstr(why, "install"));
}

static void somebody_elses_program_is_not_taken(void **state)
{
	const struct world *w = *state;
	_cleanup_(mem) char *found = NULL, *why = NULL, *theirs = NULL;
	const char *paths[] = {NULL, NULL};

	if (geteuid() != 0)
		skip(); /* only root can give a file away */
	paths[0] = theirs = script(w, "theirs", "#!/bin/sh\n", 0755);
	if (chown(theirs, 65534, 65534) < 0)
		return; /* not here: root of a namespace with one user */
	found = probe_find(paths, &why);
	assert_null(found);
	assert_non_null(strstr(why, "belongs to user 65534"));
}

static char *probe(const char *program)
{
	_cleanup_(fd) int filter = -1;

	must(sandbox_filter_export(false, false, &filter, NULL) == 0);
	return probe_run(program, filter);
}

static void a_program_that_fails_is_no_sandbox(void **state)
{
	static const char text[] =
		"#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n";
	const struct world *w = *state;
	_cleanup_(mem) char *fails = script(w, "fails", text, 0755);
	_cleanup_(mem) char *odd = script(w, "odd", "not a program at all", 0755);
	_cleanup_(mem) char *why = probe(fails), *why_odd = probe(odd);

	assert_non_null(why);
	assert_non_null(strstr(why, "No permissions to create new namespace"));
	assert_non_null(why_odd);
	assert_null(probe_version(fails));
}

static void each_setting_that_blocks_is_named(void **state)
{
	static const struct {
		const char *said;
		struct probe_knobs knobs;
		const char *named;
	} rows[] = {
		{"",								  {1, 0, 0},      "user.max_user_namespaces"                    },
		{"",								  {0, -1, 1000},  "kernel.unprivileged_userns_clone"            },
		{"",								  {-1, 1, 1000},  "kernel.apparmor_restrict_unprivileged_userns"},
		{"bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
                 {-1, -1, 1000},								      "systempaths=unconfined"                      },
		{"bwrap: Unknown option --bind-fd",                                   {-1, -1, 1000}, "CVE-2024-42472"                              },
		{"bwrap: No permissions to create new namespace",                     {-1, -1, 1000}, "container"                                   },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *text = probe_explain(str_from(rows[i].said), &rows[i].knobs);

		assert_non_null(strstr(text, rows[i].named));
	}
}

/* Without a sandbox nothing runs, and the call says why (AG-069, AG-072). */
static void an_unavailable_sandbox_makes_no_command(void **state)
{
	static char sh[] = "/bin/sh";
	char *const inner[] = {sh, NULL};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct sandbox_command *c;

	w->sandbox = world_plan_only(w);
	w->sandbox->why = xstrdup("no usable bubblewrap");
	assert_fails(sandbox_available(w->sandbox, &err), &err, SANDBOX_UNAVAILABLE);
	assert_string_equal(err.text, "no usable bubblewrap");
	assert_null(sandbox_version(w->sandbox));
	assert_fails(sandbox_command_new(w->sandbox, &p, w->work, inner, &c, &err), &err,
		SANDBOX_UNAVAILABLE);
	assert_int_equal(access(w->work, F_OK), 0);
}

static void what_is_there_is_found_and_works_or_says_why(void **state)
{
	struct world *w = *state;
	struct error err = ERROR_INIT;

	w->sandbox = sandbox_new(&w->host);
	if (sandbox_available(w->sandbox, &err) == 0) {
		assert_non_null(strstr(sandbox_version(w->sandbox), "bubblewrap"));
		assert_int_equal(w->sandbox->program[0], '/');
	} else {
		print_message("not here: %s\n", err.text);
		assert_true(strlen(err.text) > 20);
	}
}

/* AG-073: a bwrap that stands first on PATH is never run. */
static void path_is_not_searched(void **state)
{
	struct world *w = *state;
	_cleanup_(mem) char *bin = world_folder(w->dir, "bin"), *ran = xasprintf("%s/ran", w->dir);
	_cleanup_(mem) char *text = xasprintf("#!/bin/sh\n: >'%s'\nexit 0\n", ran);
	_cleanup_(mem) char *fake = script(w, "bin/bwrap", text, 0755);
	_cleanup_(mem) char *old = xstrdup(getenv("PATH"));

	must(setenv("PATH", bin, 1) == 0);
	w->sandbox = sandbox_new(&w->host);
	if (old)
		must(setenv("PATH", old, 1) == 0);
	assert_int_equal(access(ran, F_OK), -1);
	if (w->sandbox->program)
		assert_string_not_equal(w->sandbox->program, fake);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(only_a_safe_program_is_taken),
		WITH_WORLD(somebody_elses_program_is_not_taken),
		WITH_WORLD(a_program_that_fails_is_no_sandbox),
		cmocka_unit_test(each_setting_that_blocks_is_named),
		WITH_WORLD(an_unavailable_sandbox_makes_no_command),
		WITH_WORLD(what_is_there_is_found_and_works_or_says_why),
		WITH_WORLD(path_is_not_searched),
	};

	return cmocka_run_group_tests_name("sandbox.probe", tests, NULL, NULL);
}
