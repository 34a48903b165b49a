/* What stands between a cell and everything else, tried from within. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "testing.h"

/* Its wait status. */
static int try(const char *what)
{
	_cleanup_(mem) char *self = xasprintf("%d", getpid());
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		char *argv[] = {"tries", (char *)what, self, NULL};
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
			dup2(null, 7) < 0)
			_exit(4);
		(void)execv(TRIES, argv); /* returns only when it failed */
		_exit(4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void calls_that_are_not_on_the_list_kill_it(void **state)
{
	static const char *const rows[] = {"open", "socket", "exec", "fork", "kill", "ptrace",
		"executable", "file-map", "protect", "other-write", "other-read", "time", "prctl"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int status = try(rows[i]);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("%s: status 0x%x", rows[i], (unsigned)status);
		if (WCOREDUMP(status))
			fail_msg("%s: it left a core", rows[i]);
	}
}

static void it_can_do_its_work_and_no_more(void **state)
{
	static const char *const rows[] = {"work", "memory", "environment", "orphan"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int status = try(rows[i]);

		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail_msg("%s: status 0x%x", rows[i], (unsigned)status);
	}
}

static void its_time_on_the_processor_ends(void **state)
{
	int status = try("spin");

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_true(WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_are_not_on_the_list_kill_it),
		cmocka_unit_test(it_can_do_its_work_and_no_more),
		cmocka_unit_test(its_time_on_the_processor_ends),
	};

	return cmocka_run_group_tests_name("cell.wall", tests, NULL, NULL);
}
