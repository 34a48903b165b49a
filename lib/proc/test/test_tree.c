/* proc: trees: with the supervisor nothing of a command is left, however it tried to get away. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "fixture.h"

static const struct str no_input = {NULL, 0};
static const struct proc_limits no_limits = {.timeout_ms = 0};

static int hostile(
	struct fixture *f, const char *mode, const struct proc_limits *limits, struct error *err)
{
	char *argv[] = {(char *)"hostile", (char *)mode, NULL};
	const struct proc_spec spec = {
		.program = HOSTILE, .argv = argv, .supervisor = SUPERVISOR, .new_session = true};

	return fixture_start(f, &spec, no_input, limits, err);
}

static void nothing_survives_the_end_of_a_command(void **state)
{
	static const char *const modes[] = {"orphan", "orphans", "comet"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct fixture f;
		struct error err = ERROR_INIT;

		fixture_init(&f);
		assert_ok(hostile(&f, modes[i], &no_limits, &err), &err);
		fixture_run(&f);
		if (!fixture_is_gone(&f))
			fail_msg("%s: someone is left", modes[i]);
		assert_int_equal(f.outcome.end, PROC_EXITED);
		assert_int_equal(f.outcome.code, 3); /* the command's own */
		fixture_release(&f);
	}
}

static void nothing_survives_a_timeout(void **state)
{
	static const char *const modes[] = {"orphan-and-stay", "bomb"};
	const struct proc_limits limits = {.timeout_ms = 100};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		struct fixture f;
		struct error err = ERROR_INIT;

		fixture_init(&f);
		assert_ok(hostile(&f, modes[i], &limits, &err), &err);
		fixture_run(&f);
		if (!fixture_is_gone(&f))
			fail_msg("%s: someone is left", modes[i]);
		assert_int_equal(f.outcome.end, PROC_TIMED_OUT);
		fixture_release(&f);
	}
}

static void output_of_survivors_is_kept_and_not_waited_for(void **state)
{
	static const char *const supervisors[] = {NULL, SUPERVISOR};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(supervisors); i++) {
		int64_t start_ms = clock_mono_ms(clock_system());
		struct fixture f;

		fixture_init(&f);
		fixture_sh(&f,
			"{ cat /dev/zero >/dev/null; echo never; } & echo main; "
			"head -c 50000 /dev/zero",
			supervisors[i], no_input, &no_limits);
		assert_int_equal(f.outcome.end, PROC_EXITED);
		assert_non_null(strstr(fixture_said(&f, 1), "main\n"));
		assert_true(f.out[0].len >= 50005);
		assert_true(clock_mono_ms(clock_system()) - start_ms < 10000);
		fixture_release(&f);
	}
}

/* Without the supervisor what left the group gets away: the command's end is told all the same. */
static void an_escaped_writer_does_not_hold_the_end_up(void **state)
{
	char *argv[] = {(char *)"hostile", (char *)"orphan-writes", NULL};
	const struct proc_spec spec = {.program = HOSTILE, .argv = argv};
	struct fixture f;
	struct error err = ERROR_INIT;

	(void)state;
	fixture_init(&f);
	assert_ok(fixture_start(&f, &spec, no_input, &no_limits, &err), &err);
	fixture_run(&f);
	assert_int_equal(f.ended, 1);
	/* its pipe is closed now, so it ends by itself */
	assert_true(fixture_is_soon_gone(&f));
	fixture_release(&f);
}

static void a_stopped_supervisor_is_not_waited_for(void **state)
{
	const struct proc_limits limits = {.timeout_ms = 50};
	struct fixture f;

	(void)state;
	fixture_init(&f);
	fixture_sh(&f, "kill -STOP $PPID; cat /dev/zero >/dev/null", SUPERVISOR, no_input, &limits);
	assert_int_equal(f.outcome.end, PROC_TIMED_OUT);
	assert_true(fixture_is_gone(&f));
	fixture_release(&f);
}

static void killing_the_supervisor_kills_the_command(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	fixture_sh(&f, "cat /dev/zero >/dev/null & kill -KILL $PPID; wait", SUPERVISOR, no_input,
		&no_limits);
	assert_int_equal(f.outcome.end, PROC_SIGNALED);
	assert_int_equal(f.outcome.signal, SIGKILL);
	assert_true(fixture_is_soon_gone(&f)); /* its group went too */
	fixture_release(&f);
}

/* What a daemon is to the test: starts a hostile command, passes on that it is ready, and waits. */
static void be_a_daemon(int ready)
{
	struct fixture f;
	struct error err = ERROR_INIT;

	fixture_init(&f);
	if (hostile(&f, "orphan-and-stay", &no_limits, &err) < 0)
		_exit(1);
	while (f.output_calls == 0 && f.ended == 0) {
		loop_defer(f.loop, fixture_stop, f.loop);
		loop_run(f.loop);
	}
	if (write(ready, &f.mark, sizeof(f.mark)) != sizeof(f.mark))
		_exit(1);
	for (;;)
		(void)pause(); /* until killed */
}

static void the_tree_ends_when_its_starter_is_killed(void **state)
{
	int outer[2], ready[2], number;
	struct pollfd gone;
	pid_t pid;

	(void)state;
	must(pipe2(outer, 0) == 0 && pipe2(ready, O_CLOEXEC) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0)
		be_a_daemon(ready[1]);
	os_close(ready[1]);
	os_close(outer[1]);
	assert_int_equal(read(ready[0], &number, sizeof(number)), sizeof(number));
	/* The tree's mark, as long as its reader lives in the process we are about to kill. */
	_cleanup_(mem) char *path = xasprintf("/proc/%d/fd/%d", (int)pid, number);
	gone = (struct pollfd){.fd = open(path, O_RDONLY | O_CLOEXEC), .events = POLLIN};
	must(gone.fd >= 0);
	assert_int_equal(poll(&gone, 1, 0), 0); /* someone is there */
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(poll(&gone, 1, 10000), 1);
	assert_true((gone.revents & POLLHUP) != 0); /* no writer is left */
	os_close(gone.fd);
	os_close(ready[0]);
	os_close(outer[0]);
}

/* The start record comes before anything else: SIGTERM right after it finds the supervisor
 * watching. */
static void a_tree_can_be_ended_at_once(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		struct fixture f;
		struct error err = ERROR_INIT;

		fixture_init(&f);
		assert_ok(hostile(&f, "orphan-and-stay", &no_limits, &err), &err);
		proc_command_cancel(f.command);
		fixture_run(&f);
		assert_int_equal(f.outcome.end, PROC_CANCELLED);
		assert_true(fixture_is_gone(&f));
		fixture_release(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_survives_the_end_of_a_command),
		cmocka_unit_test(nothing_survives_a_timeout),
		cmocka_unit_test(output_of_survivors_is_kept_and_not_waited_for),
		cmocka_unit_test(an_escaped_writer_does_not_hold_the_end_up),
		cmocka_unit_test(a_stopped_supervisor_is_not_waited_for),
		cmocka_unit_test(killing_the_supervisor_kills_the_command),
		cmocka_unit_test(the_tree_ends_when_its_starter_is_killed),
		cmocka_unit_test(a_tree_can_be_ended_at_once),
	};

	return cmocka_run_group_tests_name("proc trees", tests, NULL, NULL);
}
