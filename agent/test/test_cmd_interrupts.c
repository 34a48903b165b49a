/* Signals as something to wait for: those that would end the process and leave what it made. */
#include "agent/cmd/interrupts.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

/* In a process of its own, whose signals stay blocked afterwards. Its status says what it saw. */
static int child_takes(bool all, const int *signals, size_t count)
{
	struct error err = ERROR_INIT;
	int fd, status;
	pid_t pid = fork();

	if (pid == 0) {
		must(interrupts_open(all, &fd, &err) == 0);
		for (size_t i = 0; i < count; i++)
			must(raise(signals[i]) == 0);
		_exit(interrupts_take(fd));
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void what_a_terminal_or_a_system_sends_is_waited_for(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		assert_int_equal(child_takes(true, &signals[i], 1), 1);
	assert_int_equal(child_takes(true, signals, ARRAY_LEN(signals)), ARRAY_LEN(signals));
}

static void by_default_only_ctrl_c_is(void **state)
{
	static const int ctrl_c = SIGINT, end = SIGTERM;

	(void)state;
	assert_int_equal(child_takes(false, &ctrl_c, 1), 1);
	assert_int_equal(child_takes(false, &end, 1), -SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_terminal_or_a_system_sends_is_waited_for),
		cmocka_unit_test(by_default_only_ctrl_c_is),
	};

	return cmocka_run_group_tests_name("agent.cmd.interrupts", tests, NULL, NULL);
}
