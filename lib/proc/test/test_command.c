/* proc: commands: capture, caps, input, time, cancelling; each with and without the supervisor. */
#include <signal.h>
#include <sys/wait.h>

#include "fixture.h"

static const char *const supervisors[] = {NULL, SUPERVISOR};
static const struct str no_input = {NULL, 0};
static const struct proc_limits no_limits = {.timeout_ms = 0};

static void the_end_is_told_as_it_was(void **state)
{
	static const struct {
		const char *script;
		enum proc_end end;
		int code, signal;
	} rows[] = {
		{"exit 0",                     PROC_EXITED,   0,   0      },
                {"exit 1",                     PROC_EXITED,   1,   0      },
		{"exit 255",                   PROC_EXITED,   255, 0      },
                {"kill -KILL $$",              PROC_SIGNALED, 137, SIGKILL},
		{"kill -TERM $$",              PROC_SIGNALED, 143, SIGTERM},
		{"kill -HUP $$",               PROC_SIGNALED, 129, SIGHUP },
		{"ulimit -c 0; kill -SEGV $$", PROC_SIGNALED, 139, SIGSEGV},
		{"kill -USR1 $$",              PROC_SIGNALED, 138, SIGUSR1},
                {"exit 137",                   PROC_EXITED,   137, 0      },
		{"kill -TERM 0",               PROC_SIGNALED, 143, SIGTERM}, /* its group, not the supervisor's */
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f, rows[i / 2].script, supervisors[i % 2], no_input, &no_limits);
		if (f.ended != 1 || f.outcome.end != rows[i / 2].end ||
			f.outcome.code != rows[i / 2].code ||
			f.outcome.signal != rows[i / 2].signal)
			fail_msg("%s: ended %d times: %d, code %d, signal %d", rows[i / 2].script,
				f.ended, f.outcome.end, f.outcome.code, f.outcome.signal);
		assert_true(supervisors[i % 2] ? fixture_is_gone(&f) : fixture_is_soon_gone(&f));
		fixture_release(&f);
	}
}

static void what_cannot_start_calls_nothing_back(void **state)
{
	static const struct {
		const char *name, *program, *supervisor, *cwd;
		int sys;
	} rows[] = {
		{"no program",                 "/nonexistent/x", NULL,                      NULL,           ENOENT},
		{"no program, supervised",     "/nonexistent/x", SUPERVISOR,                NULL,           ENOENT},
		{"not executable, supervised", "/etc/passwd",    SUPERVISOR,                NULL,           EACCES},
		{"no folder, supervised",      "/bin/true",      SUPERVISOR,                "/nonexistent", ENOENT},
		{"no supervisor",              "/bin/true",      "/nonexistent/supervisor", NULL,           ENOENT},
		{"a supervisor that is none",  "/bin/true",      "/bin/false",              NULL,           0     },
	};
	char *argv[] = {(char *)"x", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct proc_spec spec = {.program = rows[i].program,
			.argv = argv,
			.supervisor = rows[i].supervisor,
			.cwd = rows[i].cwd};
		struct fixture f;
		struct error err = ERROR_INIT;
		size_t before;

		fixture_init(&f);
		before = count_descriptors();
		assert_fails(fixture_start(&f, &spec, no_input, &no_limits, &err), &err,
			PROC_START_FAILED);
		if (err.sys != rows[i].sys)
			fail_msg("%s: %s", rows[i].name, err.text);
		assert_int_equal(count_descriptors(), before + 1); /* the mark */
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);  /* no child is left */
		assert_null(f.command);
		fixture_run(&f);
		assert_int_equal(f.ended, 0);
		fixture_release(&f);
	}
}

static void both_streams_are_captured(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(supervisors); i++) {
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f, "echo out; echo err >&2; printf more; cat", supervisors[i], no_input,
			&no_limits);
		assert_string_equal(fixture_said(&f, 1), "out\nmore");
		assert_string_equal(fixture_said(&f, 2), "err\n");
		fixture_release(&f);
	}
}

static void ten_megabytes_arrive_under_the_cap(void **state)
{
	const struct proc_limits limits = {.output_max_bytes = 10485760};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(supervisors); i++) {
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f, "head -c 10485760 /dev/zero | tr '\\0' x; exit 4", supervisors[i],
			no_input, &limits);
		assert_int_equal(f.outcome.end, PROC_EXITED); /* just not over it */
		assert_int_equal(f.outcome.code, 4);
		assert_int_equal(f.out[0].len, 10485760);
		for (size_t at = 0; at < f.out[0].len; at += 4093)
			assert_int_equal(f.out[0].data[at], 'x');
		fixture_release(&f);
	}
}

static void output_over_the_cap_ends_the_command(void **state)
{
	static const struct {
		const char *name, *script;
		int stream;
	} rows[] = {
		{"without end",            "exec cat /dev/zero",                 1},
		{"errors without end",     "exec cat /dev/zero >&2",             2},
		{"one byte, then its end", "head -c 100001 /dev/zero",           1},
		{"a child's",              "trap '' TERM; cat /dev/zero & wait", 1},
	};
	const struct proc_limits limits = {.output_max_bytes = 100000};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f, rows[i / 2].script, supervisors[i % 2], no_input, &limits);
		if (f.ended != 1 || f.outcome.end != PROC_OVERFLOWED)
			fail_msg("%s: %d", rows[i / 2].name, f.outcome.end);
		assert_int_equal(f.out[rows[i / 2].stream - 1].len, 100000); /* the cap, no more */
		assert_true(supervisors[i % 2] ? fixture_is_gone(&f) : fixture_is_soon_gone(&f));
		fixture_release(&f);
	}
}

static void input_is_fed_and_ended(void **state)
{
	_cleanup_(mem) char *big = xcalloc(1, 3000001);

	(void)state;
	memset(big, 'i', 3000000);
	for (size_t i = 0; i < ARRAY_LEN(supervisors); i++) {
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f, "exec cat", supervisors[i], str_from(big), &no_limits);
		assert_int_equal(f.out[0].len, 3000000);
		assert_memory_equal(f.out[0].data, big, 3000000);
		fixture_release(&f);

		fixture_init(&f);
		fixture_sh(&f, "test -p /dev/stdin && exec wc -c", supervisors[i], STR(""),
			&no_limits);
		assert_string_equal(fixture_said(&f, 1), "0\n");
		fixture_release(&f);
	}
}

static void input_nobody_reads_is_no_trouble(void **state)
{
	static const char *const scripts[] = {"exit 5",
		"exec <&-; head -c 200000 /dev/zero; exit 5", "head -c 10 >/dev/null; exit 5"};
	_cleanup_(mem) char *big = xcalloc(1, 3000001);

	(void)state;
	memset(big, 'i', 3000000);
	for (size_t i = 0; i < 2 * ARRAY_LEN(scripts); i++) {
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f, scripts[i / 2], supervisors[i % 2], str_from(big), &no_limits);
		assert_int_equal(f.outcome.end, PROC_EXITED);
		assert_int_equal(f.outcome.code, 5);
		fixture_release(&f);
	}
}

static void closing_its_output_is_not_the_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(supervisors); i++) {
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f, "echo last; exec >&- 2>&-; cat; exit 6", supervisors[i],
			STR("keeps it busy for a round"), &no_limits);
		assert_string_equal(fixture_said(&f, 1), "last\n");
		assert_int_equal(f.outcome.end, PROC_EXITED);
		assert_true(f.outcome.code == 6 || f.outcome.code == 1);
		fixture_release(&f);
	}
}

static void time_runs_out_whatever_it_ignores(void **state)
{
	static const char *const scripts[] = {
		"trap '' TERM INT HUP; echo started; while :; do :; done",
		"echo started; trap '' TERM; cat /dev/zero >/dev/null & wait",
		"echo started; kill -STOP $$",
	};
	const struct proc_limits limits = {.timeout_ms = 60};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(scripts); i++) {
		int64_t start_ms = clock_mono_ms(clock_system());
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f, scripts[i / 2], supervisors[i % 2], no_input, &limits);
		assert_int_equal(f.ended, 1);
		assert_int_equal(f.outcome.end, PROC_TIMED_OUT);
		assert_int_equal(f.outcome.signal, SIGKILL);
		assert_string_equal(
			fixture_said(&f, 1), "started\n"); /* what was written is kept */
		assert_true(clock_mono_ms(clock_system()) - start_ms >= 59);
		assert_true(supervisors[i % 2] ? fixture_is_gone(&f) : fixture_is_soon_gone(&f));
		fixture_release(&f);
	}
}

static void cancelling_and_freeing_work_in_every_callback(void **state)
{
	static const struct {
		const char *name, *script;
		bool cancel_on_output, free_on_output, free_on_end, cancel_on_end;
		int ended;
	} rows[] = {
		{"cancelled in output",         "echo x; cat /dev/zero >/dev/null", true,  false, false,
                 false,											 1},
		{"freed in output",             "echo x; cat /dev/zero >/dev/null", false, true,  false, false,
                 0											       },
		{"cancelled, freed in output",  "echo x; cat /dev/zero",            true,  true,  false, false,
                 0											       },
		{"freed in ended",              "exit 0",                           false, false, true,  false, 1},
		{"cancelled in ended",          "exit 0",                           false, false, false, true,  1},
		{"cancelled and freed at once", "echo x; exec cat /dev/zero",       true,  false, true,
                 true,											  1},
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct fixture f;

		fixture_init(&f);
		f.cancel_on_output = rows[i / 2].cancel_on_output;
		f.free_on_output = rows[i / 2].free_on_output;
		f.free_on_end = rows[i / 2].free_on_end;
		f.cancel_on_end = rows[i / 2].cancel_on_end;
		fixture_sh(&f, rows[i / 2].script, supervisors[i % 2], no_input, &no_limits);
		if (f.ended != rows[i / 2].ended)
			fail_msg("%s: ended %d times", rows[i / 2].name, f.ended);
		if (f.cancel_on_output && f.ended)
			assert_int_equal(f.outcome.end, PROC_CANCELLED);
		assert_true(supervisors[i % 2] ? fixture_is_gone(&f) : fixture_is_soon_gone(&f));
		fixture_release(&f);
	}
}

static void output_freed_while_it_drains(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) { /* the end and the output come in the same round at times */
		struct fixture f;

		fixture_init(&f);
		f.free_on_output = true;
		fixture_sh(&f, "echo x; echo y >&2", NULL, no_input, &no_limits);
		assert_int_equal(f.output_calls, 1);
		assert_int_equal(f.ended, 0);
		fixture_release(&f);
	}
}

static void a_running_command_can_be_freed_with_its_loop(void **state)
{
	char *argv[] = {(char *)"cat", (char *)"/dev/zero", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(supervisors); i++) {
		const struct proc_spec spec = {
			.program = "/bin/cat", .argv = argv, .supervisor = supervisors[i]};
		struct fixture f;
		struct error err = ERROR_INIT;

		fixture_init(&f);
		assert_ok(fixture_start(&f, &spec, STR("some"), &no_limits, &err), &err);
		proc_command_free(mem_take(&f.command));
		proc_command_free(NULL);
		loop_free(f.loop); /* without a round in between */
		assert_true(fixture_is_soon_gone(&f));
		assert_true(waitpid(-1, NULL, 0) > 0); /* nobody else reaps it now */
		f.loop = loop_new();
		fixture_release(&f);
	}
}

static void the_pid_is_the_commands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(supervisors); i++) {
		char *argv[] = {(char *)"sh", (char *)"-c", (char *)"echo $$", NULL};
		const struct proc_spec spec = {
			.program = "/bin/sh", .argv = argv, .supervisor = supervisors[i]};
		_cleanup_(mem) char *want = NULL;
		struct fixture f;
		struct error err = ERROR_INIT;

		fixture_init(&f);
		assert_ok(fixture_start(&f, &spec, no_input, &no_limits, &err), &err);
		want = xasprintf("%d\n", (int)proc_command_pid(f.command));
		fixture_run(&f);
		assert_string_equal(fixture_said(&f, 1), want);
		fixture_release(&f);
	}
}

static void a_supervised_command_has_what_a_plain_one_has(void **state)
{
	struct fixture f[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(supervisors); i++) {
		fixture_init(&f[i]);
		fixture_sh(&f[i],
			"grep -E '^(Sig(Blk|Ign|Cgt)|NoNewPrivs)' /proc/self/status; "
			"cd /proc/self/fd; for n in *; do test -e $n && echo $n; done; "
			"read -r pid name state parent group session rest </proc/$$/stat; "
			"test $$ = $group && echo leads",
			supervisors[i], no_input, &no_limits);
	}
	assert_non_null(strstr(fixture_said(&f[0], 1), "leads"));
	assert_string_equal(fixture_said(&f[0], 1), fixture_said(&f[1], 1));
	fixture_release(&f[0]);
	fixture_release(&f[1]);
}

static void many_commands_leak_nothing(void **state)
{
	struct fixture f;
	size_t before;

	(void)state;
	fixture_init(&f);
	before = count_descriptors();
	f.free_on_end = true;
	for (int i = 0; i < 200; i++)
		fixture_sh(&f, "cat; echo x", supervisors[i % 2], STR("in"), &no_limits);
	assert_int_equal(f.ended, 200);
	assert_int_equal(count_descriptors(), before + 1); /* the last mark */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_is_told_as_it_was),
		cmocka_unit_test(what_cannot_start_calls_nothing_back),
		cmocka_unit_test(both_streams_are_captured),
		cmocka_unit_test(ten_megabytes_arrive_under_the_cap),
		cmocka_unit_test(output_over_the_cap_ends_the_command),
		cmocka_unit_test(input_is_fed_and_ended),
		cmocka_unit_test(input_nobody_reads_is_no_trouble),
		cmocka_unit_test(closing_its_output_is_not_the_end),
		cmocka_unit_test(time_runs_out_whatever_it_ignores),
		cmocka_unit_test(cancelling_and_freeing_work_in_every_callback),
		cmocka_unit_test(output_freed_while_it_drains),
		cmocka_unit_test(a_running_command_can_be_freed_with_its_loop),
		cmocka_unit_test(the_pid_is_the_commands),
		cmocka_unit_test(a_supervised_command_has_what_a_plain_one_has),
		cmocka_unit_test(many_commands_leak_nothing),
	};

	return cmocka_run_group_tests_name("proc command", tests, NULL, NULL);
}
