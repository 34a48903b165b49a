/*
 * Protected names below the top: found, covered with what leads to them, compared afterwards.
 */
#include "confined.h"

enum { MANY = 130 }; /* more than a survey takes */

static int set_up(void **state)
{
	return set_up_in(state, "task");
}

static void folders(const struct world *w, const char *path)
{
	_cleanup_(mem) char *all = xasprintf("%s/%s", w->work, path);

	for (char *slash = all + strlen(w->work) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		must(mkdir(all, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	must(mkdir(all, 0755) == 0 || errno == EEXIST);
}

static void file(const struct world *w, const char *path, const char *content)
{
	_cleanup_(mem) char *all = xasprintf("%s/%s", w->work, path);

	world_put(all, content);
}

/* A repository made by hand: git is not needed for this. */
static void repository(const struct world *w, const char *git)
{
	static const char *const inside[] = {"hooks", "objects", "refs"};

	for (size_t i = 0; i < ARRAY_LEN(inside); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/%s", git, inside[i]);

		folders(w, path);
	}
	{
		_cleanup_(mem) char *head = xasprintf("%s/HEAD", git),
				    *config = xasprintf("%s/config", git);

		file(w, head, "ref: refs/heads/main\n");
		file(w, config, "[core]\n");
	}
}

static struct sandbox_survey *surveyed(struct world *w, const struct sandbox_policy *p)
{
	struct sandbox_survey *v = sandbox_survey_new(w->sandbox, p);

	sandbox_survey_run(v);
	return v;
}

static const char below[] =
	"t() { \"$@\" >/dev/null 2>&1 && echo DID \"$@\"; };"
	"for n in a/b/.git a/.agents c/.codex c/.aws; do t touch $n/x; t mv $n y; t rm -r $n; t "
	"chmod "
	"700 $n; done; t sh -c 'echo x >>a/b/.git/config'; t mv a y; t mv a/b a/y; t mv c y;"
	"t sh -c 'echo gitdir: /tmp >d/.git'; t rm d/.git; t touch store/hooks/x; t mv store y;"
	"t touch a/file; t touch a/b/file; t mkdir c/new; t mkdir -p e/.git; echo end";

static void what_lies_deeper_is_covered_with_what_leads_to_it(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	repository(w, "a/b/.git");
	folders(w, "a/.agents");
	folders(w, "c/.codex");
	folders(w, "c/.aws");
	folders(w, "d");
	repository(w, "store");
	file(w, "d/.git", "gitdir: ../store\n");
	assert_says(w, &p, below,
		"DID touch a/file\nDID touch a/b/file\nDID mkdir c/new\nDID mkdir -p "
		"e/.git\nend\n");
	p.git_commit = true;
	assert_says(w, &p,
		"t() { \"$@\" >/dev/null 2>&1 && echo DID \"$@\"; }; t touch a/b/.git/index;"
		"t touch store/index; t touch a/b/.git/hooks/x; t touch store/config; t touch "
		"a/b/.git/commondir; t mv a/b/.git y; t rm d/.git; t touch e/.git/x; t touch "
		"c/.codex/x; echo end",
		"DID touch a/b/.git/index\nDID touch store/index\nend\n");
}

static void a_link_deeper_down_refuses(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	_cleanup_(mem) char *path = xasprintf("%s/a/.git", w->work);
	struct error err = ERROR_INIT;
	struct plan plan;

	folders(w, "a");
	must(symlink(w->outside, path) == 0);
	assert_fails(plan_make(w->sandbox, &p, &plan, &err), &err, SANDBOX_PROTECTED_LINK);
	assert_non_null(strstr(err.text, path));
}

static void too_many_are_refused_and_nothing_runs(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct error err = ERROR_INIT;
	struct plan plan;

	for (int i = 0; i < MANY; i++) {
		_cleanup_(mem) char *path = xasprintf("r%d/.git", i);

		folders(w, path);
	}
	assert_fails(plan_make(w->sandbox, &p, &plan, &err), &err, SANDBOX_TOO_MANY);
	assert_non_null(strstr(err.text, "128"));
}

static void a_survey_that_was_cut_says_so(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct sandbox_survey *v = surveyed(w, &p);
	char deep[2 * 20 + 1];

	assert_false(sandbox_survey_cut(v));
	sandbox_survey_free(v);
	for (size_t i = 0; i < 20; i++)
		memcpy(deep + 2 * i, "d/", 2);
	deep[sizeof(deep) - 2] = '\0';
	folders(w, deep);
	v = surveyed(w, &p);
	assert_true(sandbox_survey_cut(v));
	sandbox_survey_free(v);
}

/* Each of these is a change that git would act on, but for the last ones. */
static void a_change_is_found_afterwards(void **state)
{
	static const struct {
		const char *script, *changed;
	} rows[] = {
		{"echo x >>a/.git/config",						    "a/.git/config"   },
		{"cp -p a/.git/config n && mv n a/.git/config",                               "a/.git/config"   },
		{"echo x >a/.git/hooks/pre-commit",                                           "a/.git/hooks"    },
		{"rm -r a/.git/hooks",							"a/.git/hooks"    },
		{"echo . >a/.git/commondir",						  "a/.git/commondir"},
		{"mv a/.git a/.old && cp -rp a/.old a/.git",                                  "a/.git"          },
		{"echo 'gitdir: ../store' >d/.git",                                           "d/.git"          },
		{"echo x >>store/config",						     "store/config"    },
		{"echo x >.git/config",						       ".git/config"     },
		{"echo x >.agents/tool",						      ".agents"         },
		{"echo x >>.agents/there",						    ".agents/there"   },
		{"chmod 755 .agents/there",						   ".agents/there"   },
		{"echo x >a/.git/index; echo y >a/.git/objects/z; : >a/new; mkdir n/.git -p", NULL              },
	};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *script = xasprintf("cd \"$WORK\" && { %s; }", rows[i].script);
		_cleanup_(mem) char *clear = xstrdup("cd \"$WORK\" && rm -rf * .git .agents");
		struct sandbox_survey *v;

		repository(w, "a/.git");
		repository(w, ".git");
		repository(w, "store");
		folders(w, "d");
		folders(w, ".agents");
		file(w, ".agents/there", "");
		file(w, "d/.git", "gitdir: ../store\n");
		v = surveyed(w, &p);
		assert_true(sandbox_survey_has_marks(v));
		person(script);
		sandbox_survey_compare(v);
		if (rows[i].changed) {
			_cleanup_(mem) char *path = xasprintf("%s/%s", w->work, rows[i].changed);
			const char *first = sandbox_survey_changed(v, 0);

			if (!first || strcmp(first, path) != 0)
				fail_msg("%s: %s", rows[i].script, first ? first : "nothing");
		} else {
			assert_null(sandbox_survey_changed(v, 0));
		}
		sandbox_survey_free(v);
		person(clear);
	}
}

/* One survey after the other, over folders old enough to be remembered: what has come, gone, been
 * moved or replaced in between is seen all the same. */
static void what_is_remembered_is_not_believed_blindly(void **state)
{
	static const struct {
		const char *script, *shown; /* the names found afterwards */
	} rows[] = {
		{":",				"a/b/.git "                 },
		{"mkdir -p a/b/c/.codex",            "a/b/.git a/b/c/.codex "    },
		{"mv a/b a/x",                       "a/x/.git a/x/c/.codex "    },
		{"mkdir n && mv a n/a",              "n/a/x/.git n/a/x/c/.codex "},
		{"rm -r n/a/x/c && mkdir n/.agents", "n/.agents n/a/x/.git "     },
		{"rm -r n && mkdir -p a/b/.git",     "a/b/.git "                 },
	};
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);

	repository(w, "a/b/.git");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *script = xasprintf("cd \"$WORK\" && %s", rows[i].script);
		struct buf shown = BUF_INIT(4096);
		const struct path_list *names;
		struct sandbox_survey *v;

		person(script);
		for (int again = 0; again < 2; again++) {
			folder_clock_ahead_s = again ? 0 : 100; /* all of it is old by then */
			buf_clear(&shown);
			v = surveyed(w, &p);
			must(survey_names(v, &names, NULL) == 0);
			for (size_t k = 0; k < names->count; k++)
				must(buf_printf(&shown, "%s ",
					     names->items[k] + strlen(w->work) + 1) == 0);
			must(buf_putc(&shown, '\0') == 0);
			assert_string_equal(shown.data, rows[i].shown);
			sandbox_survey_free(v);
		}
		buf_release(&shown);
	}
	folder_clock_ahead_s = 0;
}

/* What a command covers, its own placeholders and others', is no change. */
static void a_command_changes_nothing_itself(void **state)
{
	struct world *w = *state;
	struct sandbox_policy p = world_policy(w);
	struct sandbox_survey *v;

	repository(w, "a/.git");
	repository(w, ".git");
	p.git_commit = true;
	p.survey = v = surveyed(w, &p);
	assert_says(w, &p, "ls -d .git/commondir a/.git/modules; echo x >a/.git/index; echo end",
		".git/commondir\na/.git/modules\nend\n");
	sandbox_survey_compare(v);
	assert_null(sandbox_survey_changed(v, 0));
	sandbox_survey_free(v);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(what_lies_deeper_is_covered_with_what_leads_to_it),
		WITH_WORLD(a_link_deeper_down_refuses),
		WITH_WORLD(too_many_are_refused_and_nothing_runs),
		WITH_WORLD(a_survey_that_was_cut_says_so),
		WITH_WORLD(a_change_is_found_afterwards),
		WITH_WORLD(what_is_remembered_is_not_believed_blindly),
		WITH_WORLD(a_command_changes_nothing_itself),
	};

	if (!confined_is_here())
		return 0;
	return cmocka_run_group_tests_name("sandbox.survey", tests, NULL, NULL);
}
