/* What `agent rehearse` does for drills: names filled in, files laid and looked at, calls compared
 * with what is stated, folders of killed rehearsals removed. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cmd/canary.h"
#include "agent/cmd/placeholder.h"
#include "agent/cmd/statement.h"
#include "agent/cmd/sweep.h"
#include "agent/core/rehearsal.h"
#include "os/os.h"
#include "testing.h"

static int run_sh(const char *command)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void placeholders_are_filled_once(void **state)
{
	static const struct placeholder list[] = {
		{"@home@", "/h"    },
		{"@work@", "@home@"},
		{NULL,     NULL    },
	};
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"",		      ""                     },
		{"nothing",               "nothing"              },
		{"cat @home@/x @home@/y", "cat /h/x /h/y"        },
		{"@work@",                "@home@"               },
		{"@home@@home@",          "/h/h"                 },
		{"@@home@",               "@/h"                  },
		{"@home",                 "@home"                },
		{"me@home.org @probe@ @", "me@home.org @probe@ @"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(256);
		_cleanup_(buf) struct buf tight = BUF_INIT(
			strlen(rows[i].expected) > 0 ? strlen(rows[i].expected) - 1 : 1);

		assert_int_equal(placeholder_fill(&b, str_from(rows[i].text), list), 0);
		assert_string_equal(b.len ? b.data : "", rows[i].expected);
		assert_int_equal(placeholder_fill(&tight, str_from(rows[i].text), list),
			rows[i].expected[0] ? -1 : 0);
	}
}

static void a_statement_is_compared(void **state)
{
	static const char good[] = "{\"stdout\":\"EPERM\",\"exit_code\":0,\"success\":true}";
	static const char bad[] = "{\"stdout\":\"\",\"exit_code\":3,\"success\":false}";
	static const char refused[] = "{\"error\":\"no\",\"detail\":\"x\"}";
	const struct {
		struct drill_expect e;
		enum drill_verdict verdict;
		const char *output, *unlike; /* NULL: as stated */
	} rows[] = {
		{{.has_verdict = true, .verdict = DRILL_REFUSED}, DRILL_REFUSED,  refused,    NULL                                 },
		{{.has_verdict = true, .verdict = DRILL_REFUSED}, DRILL_CONFINED, good,
                 "it is confined, stated is refused"									       },
		{{.has_fails = true, .fails = true},              DRILL_CONFINED, bad,        NULL                                 },
		{{.has_fails = true, .fails = true},              DRILL_REFUSED,  refused,    NULL                                 },
		{{.has_fails = true, .fails = true},              DRILL_CONFINED, good,
                 "it succeeded, and is stated to fail"									     },
		{{.has_fails = true},                             DRILL_CONFINED, good,       NULL                                 },
		{{.has_fails = true},                             DRILL_CONFINED, "wrote it", NULL                                 },
		{{.has_fails = true},                             DRILL_CONFINED, bad,        "it failed, and is stated to succeed"},
		{{.has_exit_code = true, .exit_code = 3},         DRILL_CONFINED, bad,        NULL                                 },
		{{.has_exit_code = true},                         DRILL_CONFINED, bad,        "the exit status is 3, stated is 0"  },
		{{.has_exit_code = true},                         DRILL_REFUSED,  refused,
                 "it has no exit status, stated is 0"									      },
		{{.result_has = STR("EPERM")},                    DRILL_CONFINED, good,       NULL                                 },
		{{.result_has = STR("EPERM\n")},                  DRILL_CONFINED, bad,
                 "the result lacks 'EPERM\\n'"										     },
		{{.result_lacks = STR("EPERM")},                  DRILL_CONFINED, bad,        NULL                                 },
		{{.result_lacks = STR("EPERM")},                  DRILL_CONFINED, good,       "the result has 'EPERM'"             },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *unlike = statement_unlike(
			&rows[i].e, rows[i].verdict, str_from(rows[i].output));

		if (!rows[i].unlike != !unlike || (unlike && strcmp(unlike, rows[i].unlike) != 0))
			fail_msg("row %zu: %s", i, unlike ? unlike : "as stated");
	}
}

/*
 * Files
 */
struct scene {
	char *dir, *home, *work;
	struct canary_place at;
	struct rehearsal *script;
	const struct drill_terms *terms;
};

static void open_scene(struct scene *s, const char *header)
{
	_cleanup_(mem) char *text = xasprintf("%s\n{\"say\":\"x\"}\n", header);
	struct error err = ERROR_INIT;

	s->dir = testing_dir();
	s->home = xasprintf("%s/home", s->dir);
	s->work = xasprintf("%s/work", s->dir);
	s->at = (struct canary_place){s->home, s->work};
	assert_int_equal(mkdir(s->home, 0700), 0);
	assert_int_equal(mkdir(s->work, 0700), 0);
	assert_ok(rehearsal_parse(str_from(text), &s->script, &err), &err);
	s->terms = rehearsal_terms(s->script);
}

static void close_scene(struct scene *s)
{
	struct error err = ERROR_INIT;

	assert_ok(os_remove_tree(s->dir, &err), &err);
	rehearsal_free(s->script);
	free(s->dir);
	free(s->home);
	free(s->work);
}

static void assert_why(const struct scene *s, const char *expected)
{
	_cleanup_(buf) struct buf why = BUF_INIT(4096);
	bool well = canary_well(s->terms, &s->at, &why);

	assert_string_equal(why.len ? why.data : "", expected);
	assert_int_equal(well, expected[0] == '\0');
}

static void sh(const struct scene *s, const char *command)
{
	_cleanup_(mem) char *all = xasprintf("cd '%s' && %s", s->dir, command);

	assert_int_equal(run_sh(all), 0);
}

static void each_harm_is_seen(void **state)
{
	static const struct {
		const char *command, *why;
	} rows[] = {
		{"true",				     ""			    },
		{"rm home/canary",                           "~/canary is gone"            },
		{"echo harmed >home/canary",                 "~/canary has another content"},
		{"chmod 600 home/canary",                    "~/canary has another mode"   },
		{"ln home/canary home/second",               "~/canary has a second name"  },
		{"mv home/canary c; ln -s ../c home/canary",
                 "~/canary is no regular file any more"                                    },
		{"rm -r work/deep",                          "deep/er/file is gone"        },
		{"echo >home/owned",                         "~/owned is there"            },
		{"ln -s nowhere work/owned",                 "owned is there"              },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct scene s;

		open_scene(&s,
			"{\"rehearsal\":1,\"files\":{\"~/canary\":\"sings\",\"deep/er/file\":\"\"},"
			"\"unharmed\":[\"~/canary\",\"deep/er/file\"],\"absent\":[\"~/owned\","
			"\"owned\"]}");
		assert_ok(canary_lay(s.terms, &s.at, &err), &err);
		sh(&s, rows[i].command);
		assert_why(&s, rows[i].why);
		close_scene(&s);
	}
}

static void a_link_leads_no_file_astray(void **state)
{
	struct error err = ERROR_INIT;
	struct scene s;

	(void)state;
	open_scene(&s, "{\"rehearsal\":1,\"files\":{\"link/file\":\"x\"}}");
	sh(&s, "mkdir out && ln -s ../out work/link");
	assert_fails(canary_lay(s.terms, &s.at, &err), &err, CANARY_MISPLACED);
	sh(&s, "test ! -e out/file");
	close_scene(&s);
}

static void what_must_be_absent_may_not_be_there_before(void **state)
{
	struct error err = ERROR_INIT;
	struct scene s;

	(void)state;
	open_scene(&s, "{\"rehearsal\":1,\"absent\":[\"x\"]}");
	sh(&s, "echo >work/x");
	assert_fails(canary_lay(s.terms, &s.at, &err), &err, CANARY_MISPLACED);
	close_scene(&s);
}

/*
 * Folders
 */
static void a_folder_is_swept_when_its_owner_is_gone(void **state)
{
	_cleanup_(mem) char *held = NULL, *left = NULL, *busy = NULL, *store = NULL;
	_cleanup_(fd) int held_fd = -1, left_fd = -1, busy_fd = -1, store_fd = -1;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(sweep_make(&held, &held_fd, &err), &err);
	assert_ok(sweep_make(&left, &left_fd, &err), &err);
	assert_ok(sweep_make(&busy, &busy_fd, &err), &err);
	store = xasprintf("mkdir -p %s/home/.agent", busy);
	assert_int_equal(run_sh(store), 0);
	free(store);
	store = xasprintf("%s/home/.agent/state.sqlite.owner-lock", busy);
	assert_ok(os_lock_file(store, &store_fd, &err), &err); /* its daemon lives */
	os_close(fd_take(&left_fd));
	os_close(fd_take(&busy_fd));
	sweep_left();
	assert_int_equal(os_exists(held, &err), 1);
	assert_int_equal(os_exists(left, &err), 0);
	assert_int_equal(os_exists(busy, &err), 1);
	os_close(fd_take(&store_fd));
	os_close(fd_take(&held_fd));
	sweep_left();
	assert_int_equal(os_exists(held, &err), 0);
	assert_int_equal(os_exists(busy, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placeholders_are_filled_once),
		cmocka_unit_test(a_statement_is_compared),
		cmocka_unit_test(each_harm_is_seen),
		cmocka_unit_test(a_link_leads_no_file_astray),
		cmocka_unit_test(what_must_be_absent_may_not_be_there_before),
		cmocka_unit_test(a_folder_is_swept_when_its_owner_is_gone),
	};

	return cmocka_run_group_tests_name("cmd_drills", tests, NULL, NULL);
}
