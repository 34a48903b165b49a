/* What a person wrote for agents: AGENTS.md files and profiles. */
#include <sys/stat.h>
#include <unistd.h>

#include "agent/cmd/agents.h"
#include "agent/core/limits.h"
#include "os/os.h"
#include "testing.h"

struct place {
	char *root, *home;
};

static void put(const struct place *p, const char *name, const char *text)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", p->root, name);

	for (char *at = strchr(path + strlen(p->root) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0755); /* may be there */
		*at = '/';
	}
	must(os_replace_file(path, str_from(text), 0644, NULL) == 0);
}

static int setup(void **state)
{
	struct place *p = xcalloc(1, sizeof(*p));

	p->root = testing_dir();
	put(p, "home/.agents/AGENTS.md", "of the person\n");
	put(p, "a/AGENTS.md", "  of a  ");
	put(p, "a/b/.agents/AGENTS.md", "of b, hidden");
	put(p, "a/b/AGENTS.md", "of b");
	put(p, "a/empty/AGENTS.md", " \n");
	p->home = xasprintf("%s/home", p->root);
	must(setenv("HOME", p->home, 1) == 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	must(os_remove_tree(p->root, NULL) == 0);
	free(p->root);
	free(p->home);
	free(p);
	return 0;
}

static char *put_agents(const struct place *p, const char *folder, struct error *err)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", p->root, folder);
	struct buf b = BUF_INIT(BOT_INSTRUCTIONS_MAX_BYTES);

	(void)buf_puts(&b, "first");
	if (agents_put(&b, path, err) < 0) {
		buf_release(&b);
		return NULL;
	}
	return buf_take(&b);
}

static void the_nearest_comes_last(void **state)
{
	struct place *p = *state;
	struct error err = ERROR_INIT;
	_cleanup_(mem) char *got = put_agents(p, "a/b", &err);
	_cleanup_(mem) char *wanted = xasprintf(
		"first\n\n# %s/home/.agents/AGENTS.md\n\nof the person\n\n# %s/a/AGENTS.md\n\nof a"
		"\n\n# %s/a/b/AGENTS.md\n\nof b\n\n# %s/a/b/.agents/AGENTS.md\n\nof b, hidden",
		p->root, p->root, p->root, p->root);

	if (!got)
		fail_msg("%s", err.text);
	assert_string_equal(got, wanted);
}

static void one_file_is_read_once_and_empty_ones_not(void **state)
{
	struct place *p = *state;
	struct error err = ERROR_INIT;
	_cleanup_(mem) char *link_path = xasprintf("%s/a/empty/.agents", p->root);
	_cleanup_(mem) char *target = xasprintf("%s/home/.agents", p->root);
	_cleanup_(mem) char *got = NULL;

	must(symlink(target, link_path) == 0);
	got = put_agents(p, "a/empty", &err);
	if (!got)
		fail_msg("%s", err.text);
	assert_null(strstr(got, "empty/"));
	assert_non_null(strstr(got, "of the person"));
	assert_null(strstr(strstr(got, "of the person") + 1, "of the person"));
}

static void what_cannot_be_read_is_an_error(void **state)
{
	struct place *p = *state;
	struct error err = ERROR_INIT;
	_cleanup_(mem) char *dangling = xasprintf("%s/d/AGENTS.md", p->root);
	_cleanup_(mem) char *big = xcalloc(1, BOT_INSTRUCTIONS_MAX_BYTES + 2);

	put(p, "d/x", "");
	must(symlink("nowhere", dangling) == 0);
	assert_null(put_agents(p, "d", &err));
	assert_true(error_is(&err, &INSTRUCTIONS_UNREADABLE));
	assert_non_null(strstr(err.text, "d/AGENTS.md"));
	put(p, "e/AGENTS.md", "\xff");
	assert_null(put_agents(p, "e", &err));
	assert_true(error_is(&err, &INSTRUCTIONS_UNREADABLE));
	memset(big, 'x', BOT_INSTRUCTIONS_MAX_BYTES + 1);
	put(p, "f/AGENTS.md", big);
	assert_null(put_agents(p, "f", &err));
	assert_true(error_is(&err, &INSTRUCTIONS_LIMIT));
	big[BOT_INSTRUCTIONS_MAX_BYTES - 4] = '\0';
	put(p, "f/AGENTS.md", big);
	assert_null(put_agents(p, "f", &err)); /* fits alone, not with the others */
	assert_true(error_is(&err, &INSTRUCTIONS_LIMIT));
	assert_non_null(strstr(err.text, "f/AGENTS.md"));
}

static void front_matter_is_taken_off(void **state)
{
	static const struct {
		const char *text, *model, *tools, *body;
	} rows[] = {
		{"do it",							 NULL,  NULL,          "do it"},
		{"---\nmodel: p/m\ntools: shell, read\n---\n\nbody\n",            "p/m", "shell, read",
                 "body"											},
		{"---\nmodel: \"p/m\"\n# x\n\ntools: [a, 'b']\nother: 1\n---\nb", "p/m", "a,b",
                 "b"											   },
		{"---\n---",						      NULL,  NULL,          ""     },
		{"---\r\nmodel: p/m\r\n---\r\nb\r\n",                             "p/m", NULL,          "b"    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {.blocks = NULL};
		struct error err = ERROR_INIT;
		struct profile p;

		assert_ok(profile_parse(&a, str_from(rows[i].text), &p, &err), &err);
		assert_true(str_eq(p.model, str_from(rows[i].model)));
		assert_true(str_eq(p.tools, str_from(rows[i].tools)));
		assert_true(str_is(p.body, rows[i].body));
	}
}

static void bad_front_matter_names_its_line(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct error err = ERROR_INIT;
	struct profile p;

	(void)state;
	assert_fails(profile_parse(&a, STR("---\nmodel: x\nnothing\n---\n"), &p, &err), &err,
		PROFILE_INVALID);
	assert_non_null(strstr(err.text, "line 3"));
	assert_fails(profile_parse(&a, STR("---\nmodel: x\n"), &p, &err), &err, PROFILE_INVALID);
}

static void the_folders_profile_goes_before_the_homes(void **state)
{
	struct place *at = *state;
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(mem) char *folder = xasprintf("%s/a", at->root);
	struct error err = ERROR_INIT;
	struct profile p;

	put(at, "home/.agents/agents/critic.md", "at home");
	assert_ok(profile_read(&a, "critic", folder, &p, &err), &err);
	assert_true(str_is(p.body, "at home"));
	put(at, "a/.agents/agents/critic.md", "here");
	assert_ok(profile_read(&a, "critic", folder, &p, &err), &err);
	assert_true(str_is(p.body, "here"));
	assert_fails(profile_read(&a, "nobody", folder, &p, &err), &err, PROFILE_NOT_FOUND);
	assert_int_equal(profile_read(&a, "../agents/critic", folder, &p, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_nearest_comes_last, setup, teardown),
		cmocka_unit_test_setup_teardown(
			one_file_is_read_once_and_empty_ones_not, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_read_is_an_error, setup, teardown),
		cmocka_unit_test(front_matter_is_taken_off),
		cmocka_unit_test(bad_front_matter_names_its_line),
		cmocka_unit_test_setup_teardown(
			the_folders_profile_goes_before_the_homes, setup, teardown),
	};

	return cmocka_run_group_tests_name("cmd_agents", tests, NULL, NULL);
}
