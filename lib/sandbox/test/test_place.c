/*
 * Where a write would fall, for paths of every kind.
 */
#include "world.h"

static int set_up(void **state)
{
	struct world *w = world_new("task");

	w->sandbox = world_plan_only(w);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	world_free(*state);
	return 0;
}

static enum sandbox_place place(
	const struct world *w, const struct sandbox_policy *p, const char *path)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path at = {0};
	struct error err = ERROR_INIT;
	enum sandbox_place ret;

	assert_ok(guard_resolve(w->dir, str_from(path), &at, &err), &err);
	assert_ok(sandbox_place(w->sandbox, p, &at, &ret, &err), &err);
	return ret;
}

struct row {
	const char *path; /* below the world, or absolute */
	enum sandbox_place expected;
};

static void assert_rows(
	const struct world *w, const struct sandbox_policy *p, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		enum sandbox_place got = place(w, p, rows[i].path);

		if (got != rows[i].expected)
			fail_msg("'%s' falls in place %d, not %d", rows[i].path, got,
				rows[i].expected);
	}
}

static void of_a_workspace(void **state)
{
	static const struct row rows[] = {
		{"home/task/file",                    SANDBOX_INSIDE   },
		{"home/task/a/b/c",                   SANDBOX_INSIDE   },
		{"home/task/with space\nline",        SANDBOX_INSIDE   },
		{"home/task/.gitignore",              SANDBOX_INSIDE   },
		{"home/task/.github/workflow",        SANDBOX_INSIDE   },
		{"home/task/.aws/config",             SANDBOX_INSIDE   }, /* where there is none */
		{"tmp/x",			     SANDBOX_INSIDE   },
		{"/tmp/x",			    SANDBOX_INSIDE   },
		{"home/task/.git",                    SANDBOX_PROTECTED},
		{"home/task/.git/hooks/pre-commit",   SANDBOX_PROTECTED},
		{"home/task/.agents/x",               SANDBOX_PROTECTED},
		{"home/task/.codex/config.toml",      SANDBOX_PROTECTED},
		{"tmp/.git/config",                   SANDBOX_PROTECTED},
		{"/tmp/.codex",                       SANDBOX_PROTECTED},
		{"home/tasker/file",                  SANDBOX_OUTSIDE  },
		{"home/task",                         SANDBOX_INSIDE   },
		{"home/x",			    SANDBOX_OUTSIDE  },
		{"home",			      SANDBOX_OUTSIDE  },
		{"outside/x",                         SANDBOX_OUTSIDE  },
		{"home/rules/x",                      SANDBOX_OUTSIDE  },
		{"/",				 SANDBOX_OUTSIDE  },
		{"/etc/passwd",                       SANDBOX_OUTSIDE  },
		{"/dev/shm/x",                        SANDBOX_OUTSIDE  },
		{"home/task/to-outside/x",            SANDBOX_OUTSIDE  },
		{"home/task/to-file",                 SANDBOX_OUTSIDE  },
		{"outside/to-work/x",                 SANDBOX_INSIDE   },
		{"home/.agent/config.toml",           SANDBOX_NEVER    },
		{"home/.agent",                       SANDBOX_NEVER    },
		{"home/.agent/state.sqlite",          SANDBOX_NEVER    },
		{"home/.agent/state.sqlite-wal",      SANDBOX_NEVER    },
		{"home/.agent/state.sqlite.sock",     SANDBOX_NEVER    },
		{"home/.agent/state.sqlite.sock.d/7", SANDBOX_NEVER    },
		{"home/.agent/run/x",                 SANDBOX_NEVER    },
		{"home/task/to-store",                SANDBOX_NEVER    },
		{"home/task/hard-link",               SANDBOX_NEVER    },
	};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	must(chdir(w->work) == 0);
	must(symlink(w->outside, "to-outside") == 0 && symlink("../../outside/f", "to-file") == 0);
	must(symlink(w->store, "to-store") == 0 && link(w->store, "hard-link") == 0);
	must(chdir(w->outside) == 0 && symlink(w->work, "to-work") == 0);
	assert_rows(w, &p, rows, ARRAY_LEN(rows));
}

static void of_a_home_as_root(void **state)
{
	static const struct row rows[] = {
		{"home/x",                 SANDBOX_INSIDE   },
		{"home/rules",             SANDBOX_PROTECTED},
		{"home/rules/x",           SANDBOX_PROTECTED},
		{"home/rules-of-mine",     SANDBOX_INSIDE   },
		{"home/.agent/x",          SANDBOX_NEVER    },
		{"home/.agents/x",         SANDBOX_PROTECTED},
		{"home/.aws/credentials",  SANDBOX_PROTECTED},
		{"home/task/.aws/config",  SANDBOX_INSIDE   },
		{"home/task/.git/config",  SANDBOX_PROTECTED}, /* the workspace is one too */
		{"home/other/.git/config", SANDBOX_INSIDE   }, /* top-level names only, so far */
		{"outside/x",              SANDBOX_OUTSIDE  },
	};
	struct world *w = *state;
	const char *const roots[] = {w->home, NULL};
	struct sandbox_policy p = world_policy(w);

	p.writable_roots = roots;
	free(world_folder(w->home, ".aws"));
	assert_rows(w, &p, rows, ARRAY_LEN(rows));
}

static void of_the_other_modes(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	p.mode = SANDBOX_READ_ONLY;
	assert_int_equal(place(w, &p, "home/task/x"), SANDBOX_OUTSIDE);
	assert_int_equal(place(w, &p, "/tmp/x"), SANDBOX_OUTSIDE);
	assert_int_equal(place(w, &p, "home/.agent/x"), SANDBOX_NEVER);
	p.mode = SANDBOX_FULL_ACCESS;
	assert_int_equal(place(w, &p, "home/.agent/x"), SANDBOX_INSIDE);
}

static void a_link_under_a_protected_name_refuses_any_path(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path at = {0};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	enum sandbox_place ret;

	must(chdir(w->work) == 0 && symlink(w->outside, ".codex") == 0);
	must(guard_resolve(w->work, STR("file"), &at, NULL) == 0);
	assert_fails(sandbox_place(w->sandbox, &p, &at, &ret, &err), &err, SANDBOX_PROTECTED_LINK);
}

/* $TMPDIR stands for /tmp too: what somebody puts there stops nobody's commands. */
static void a_link_in_a_temporary_folder_only_costs_that_folder(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path at = {0};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	const char *const roots[] = {w->tmp, NULL};
	struct error err = ERROR_INIT;
	enum sandbox_place ret;

	assert_int_equal(place(w, &p, "tmp/x"), SANDBOX_INSIDE);
	must(chdir(w->tmp) == 0 && symlink(w->outside, ".aws") == 0);
	assert_int_equal(place(w, &p, "tmp/x"), SANDBOX_OUTSIDE);
	assert_int_equal(place(w, &p, "home/task/x"), SANDBOX_INSIDE);
	p.writable_roots = roots; /* asked for by name it is a root like any other */
	must(guard_resolve(w->work, STR("file"), &at, NULL) == 0);
	assert_fails(sandbox_place(w->sandbox, &p, &at, &ret, &err), &err, SANDBOX_PROTECTED_LINK);
}

static void a_workspace_that_vanished_is_no_place(void **state)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path at = {0};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	enum sandbox_place ret;

	must(rmdir(w->work) == 0);
	must(guard_resolve(w->work, STR("file"), &at, NULL) == 0);
	assert_fails(sandbox_place(w->sandbox, &p, &at, &ret, &err), &err, SANDBOX_ROOT_MISSING);
	must(symlink(w->outside, w->work) == 0);
	assert_fails(sandbox_place(w->sandbox, &p, &at, &ret, &err), &err, SANDBOX_ROOT_MISSING);
	must(unlink(w->work) == 0);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(of_a_workspace),
		WITH_WORLD(of_a_home_as_root),
		WITH_WORLD(of_the_other_modes),
		WITH_WORLD(a_link_under_a_protected_name_refuses_any_path),
		WITH_WORLD(a_link_in_a_temporary_folder_only_costs_that_folder),
		WITH_WORLD(a_workspace_that_vanished_is_no_place),
	};

	return cmocka_run_group_tests_name("sandbox.place", tests, NULL, NULL);
}
