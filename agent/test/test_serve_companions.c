/* Companions: what is refused, what stays, what comes again, what many that crash cost. */
#include "agent/serve/companions.h"
#include "serving.h"

#define LIST "{\"id\":2,\"op\":\"companions\",\"list\":true}\n"

static struct served s;
static char *said; /* where companions write */

static void open_all(void)
{
	struct error err = ERROR_INIT;

	served_open(&s, "{\"say\":\"x\"}\n");
	s.d.supervisor = SUPERVISOR;
	assert_ok(companions_setup(&s.d, &err), &err);
	said = xasprintf("%s/said", s.dir);
}

static void close_all(void)
{
	companions_release(&s.d);
	served_close(&s);
	free(said);
}

static char *ask(const char *line)
{
	served_send(&s, line);
	return served_line(&s);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void answered(const char *line, const char *part)
{
	_cleanup_(mem) char *reply = ask(line);

	has(reply, part);
}

/* One companion that runs a script. */
static void keep(const char *name, const char *script)
{
	_cleanup_(mem) char *line = xasprintf(
		"{\"id\":1,\"op\":\"companions\",\"set\":[{\"name\":\"%s\",\"argv\":[\"/bin/sh\","
		"\"-c\",\"%s\"]}]}\n",
		name, script);

	answered(line, "\"result\":");
}

static struct str read_said(void)
{
	static struct buf b = BUF_INIT(65536);

	buf_clear(&b);
	return os_read_file(said, &b, NULL) == 0 ? buf_str(&b) : STR("");
}

static bool said_once(struct served *one)
{
	(void)one;
	return read_said().len >= 2;
}

static bool said_twice(struct served *one)
{
	(void)one;
	return read_said().len >= 4;
}

static bool all_are_over(struct served *one)
{
	return companions_are_over(&one->d);
}

static void what_is_wrong_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		const char *members, *part;
	} rows[] = {
		{"\"set\":5",							   "set: must be a list"},
		{"\"set\":[5]",							 "set[0]"             },
		{"\"set\":[{\"argv\":[\"/bin/true\"]}]",                                "set[0].name"        },
		{"\"set\":[{\"name\":\"a/b\",\"argv\":[\"/bin/true\"]}]",               "set[0].name"        },
		{"\"set\":[{\"name\":\"a\"}]",                                          "set[0].argv"        },
		{"\"set\":[{\"name\":\"a\",\"argv\":[]}]",                              "set[0].argv"        },
		{"\"set\":[{\"name\":\"a\",\"argv\":[\"true\"]}]",                      "absolute path"      },
		{"\"set\":[{\"name\":\"a\",\"argv\":[\"/nonexistent\"]}]",              "no program"         },
		{"\"set\":[{\"name\":\"a\",\"argv\":[\"/etc\"]}]",                      "no program"         },
		{"\"set\":[{\"name\":\"a\",\"argv\":[\"/bin/true\",\"a\\u0000\"]}]",    "set[0].argv"        },
		{"\"set\":[{\"name\":\"a\",\"argv\":[\"/bin/true\"],\"x\":1}]",         "set[0]"             },
		{"\"set\":[{\"name\":\"a\",\"argv\":[\"/bin/true\"],\"cwd\":\"/no\"}]",
                 "set[0].cwd: there is no folder"							    },
		{"\"set\":[{\"name\":\"a\",\"argv\":[\"/bin/true\"]},"
		 "{\"name\":\"a\",\"argv\":[\"/bin/true\"]}]",         "'a' stands twice"   },
	};

	(void)state;
	open_all();
	keep("stays", "exec sleep 600");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *line = xasprintf(
			"{\"id\":1,\"op\":\"companions\",%s}\n", rows[i].members);
		_cleanup_(mem) char *reply = ask(line);

		has(reply, "\"error\":\"invalid_companion\"");
		has(reply, rows[i].part);
		answered(LIST, "[{\"name\":\"stays\",");
	}
	answered("{\"id\":1,\"op\":\"companions\"}\n", "\"error\":\"invalid_request\"");
	answered("{\"id\":1,\"op\":\"companions\",\"set\":[],\"list\":true}\n",
		"\"error\":\"invalid_request\"");
	close_all();
}

static void one_that_ends_is_started_again(void **state)
{
	_cleanup_(mem) char *script = NULL, *log = NULL;
	_cleanup_(buf) struct buf text = BUF_INIT(65536);

	(void)state;
	open_all();
	script = xasprintf("echo a >> %s; echo to the log; exit 3", said);
	keep("c", script);
	served_until(&s, said_twice);
	answered(LIST, "\"last_end\":{\"status\":3}");
	log = xasprintf("%s/companions/c.log", s.dir);
	assert_int_equal(os_read_file(log, &text, NULL), 0);
	has(text.data, "to the log\n");
	has(text.data, "ended with exit status 3");
	close_all();
}

static void one_that_is_as_it_was_runs_on_and_one_that_is_not_is_told_to_end(void **state)
{
	_cleanup_(mem) char *script = NULL;

	(void)state;
	open_all();
	script = xasprintf(
		"trap 'echo b >> %s; exit' TERM; echo a >> %s; sleep 600 & wait", said, said);
	keep("c", script);
	served_until(&s, said_once);
	keep("c", script);
	served_for(&s, 100);
	assert_true(str_is(read_said(), "a\n"));
	answered(LIST, "\"state\":\"running\"");
	keep("other", "exec sleep 600");
	served_until(&s, said_twice);
	assert_true(str_is(read_said(), "a\nb\n"));
	companions_stop(&s.d);
	served_until(&s, all_are_over);
	close_all();
}

/* Told to end and deaf to it, with a child in a session of its own: the tree is ended. */
static void one_that_does_not_end_is_ended(void **state)
{
	_cleanup_(mem) char *script = NULL;

	(void)state;
	open_all();
	script = xasprintf(
		"trap '' TERM; echo a >> %s; setsid sleep 600 & sleep 600; sleep 600", said);
	keep("c", script);
	served_until(&s, said_once);
	companions_stop(&s.d);
	served_until(&s, all_are_over);
	close_all();
}

static void many_that_crash_at_once_leave_the_daemon_its_time(void **state)
{
	_cleanup_(buf) struct buf line = BUF_INIT(65536);
	_cleanup_(mem) char *reply = NULL;
	int64_t from_ms = clock_mono_ms(clock_system()), began_ms, worst_ms = 0, starts = 0;

	(void)state;
	open_all();
	(void)buf_puts(&line, "{\"id\":1,\"op\":\"companions\",\"set\":[");
	for (int i = 0; i < COMPANIONS_MAX; i++)
		(void)buf_printf(
			&line, "%s{\"name\":\"c%d\",\"argv\":[\"/bin/false\"]}", i ? "," : "", i);
	(void)buf_puts(&line, "]}\n");
	answered(line.data, "\"result\":");
	for (int i = 0; i < 60; i++) {
		began_ms = clock_mono_ms(clock_system());
		served_ask(&s, LIST);
		if (clock_mono_ms(clock_system()) - began_ms > worst_ms)
			worst_ms = clock_mono_ms(clock_system()) - began_ms;
		served_for(&s, 20);
	}
	reply = ask(LIST);
	for (const char *p = reply; (p = strstr(p, "\"starts\":")); p++)
		starts += p[9] - '0'; /* fewer than ten: the delays see to that */
	print_message("the slowest of 60 answers took %lld ms\n", (long long)worst_ms);
	assert_true(starts >= 10);
	assert_true(starts <= (clock_mono_ms(clock_system()) - from_ms) / 20 + 1);
	served_ask(&s, "{\"id\":1,\"op\":\"companions\",\"set\":[]}\n");
	served_until(&s, all_are_over);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_refused_and_changes_nothing),
		cmocka_unit_test(one_that_ends_is_started_again),
		cmocka_unit_test(one_that_is_as_it_was_runs_on_and_one_that_is_not_is_told_to_end),
		cmocka_unit_test(one_that_does_not_end_is_ended),
		cmocka_unit_test(many_that_crash_at_once_leave_the_daemon_its_time),
	};

	return cmocka_run_group_tests_name("agent.serve.companions", tests, NULL, NULL);
}
