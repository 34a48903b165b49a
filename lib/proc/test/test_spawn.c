/* proc: starting: what the child gets, what it does not, and what is told when it cannot start. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "fixture.h"

static char *const no_env[] = {NULL};

/* Runs a program with its output into a pipe and returns what it said; the caller frees. */
static char *run(const struct proc_spec *spec, int wanted_status)
{
	struct buf said = BUF_INIT(65536);
	struct proc_fd fds[8];
	struct proc_spec s = *spec;
	struct error err = ERROR_INIT;
	siginfo_t info;
	char part[4096];
	int out[2], pidfd;
	pid_t pid;
	ssize_t n;

	must(pipe2(out, O_CLOEXEC) == 0);
	if (s.fd_count > 0)
		memcpy(fds, s.fds, s.fd_count * sizeof(*fds));
	fds[s.fd_count++] = (struct proc_fd){out[1], 1};
	s.fds = fds;
	assert_ok(proc_spawn(&s, &pid, &pidfd, &err), &err);
	assert_true((fcntl(pidfd, F_GETFD) & FD_CLOEXEC) != 0);
	os_close(out[1]);
	while ((n = read(out[0], part, sizeof(part))) > 0)
		must(buf_put(&said, part, (size_t)n) == 0);
	os_close(out[0]);
	assert_int_equal(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED), 0);
	assert_int_equal(info.si_pid, pid);
	assert_int_equal(info.si_status, wanted_status);
	os_close(pidfd);
	return buf_take(&said);
}

static char *run_sh(const char *script)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};

	return run(&(struct proc_spec){.program = "/bin/sh", .argv = argv, .env = no_env}, 0);
}

static void the_child_has_default_signals_and_an_empty_mask(void **state)
{
	_cleanup_(mem) char *said = NULL;
	sigset_t some, before, after;

	(void)state;
	must(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGUSR2, SIG_IGN) != SIG_ERR);
	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGUSR1);
	(void)sigaddset(&some, SIGTERM);
	must(pthread_sigmask(SIG_SETMASK, &some, &before) == 0);
	said = run_sh("exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
	must(pthread_sigmask(SIG_SETMASK, &before, &after) == 0);
	(void)signal(SIGUSR2, SIG_DFL);
	assert_string_equal(said, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
	assert_int_equal(sigismember(&after, SIGUSR1), 1); /* ours is as it was */
	assert_int_equal(sigismember(&after, SIGINT), 0);
}

static void only_named_descriptors_are_passed(void **state)
{
	_cleanup_(mem) char *said = NULL;
	int leaky[20];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(leaky); i++)
		leaky[i] = open("/dev/zero", O_RDONLY); /* on purpose without O_CLOEXEC */
	said = run_sh("cd /proc/self/fd && for f in *; do test -e $f && echo $f; done; "
		      "test -c 0 && test ! /dev/zero -ef 0 && test /dev/null -ef 0 && test "
		      "/dev/null -ef 2");
	/* the shell may keep one of its own above 9 */
	assert_memory_equal(said, "0\n1\n2\n", 6);
	assert_null(strstr(said, "\n3\n"));
	for (size_t i = 0; i < ARRAY_LEN(leaky); i++)
		os_close(leaky[i]);
}

/* A file that holds one word, to be told apart by. */
static int word_fd(const char *word)
{
	int ends[2];

	must(pipe2(ends, O_CLOEXEC) == 0);
	must(write(ends[1], word, strlen(word)) == (ssize_t)strlen(word));
	os_close(ends[1]);
	return ends[0];
}

static void descriptors_can_trade_places(void **state)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)"cat <&3; cat <&4; cat <&7; cat", NULL};
	_cleanup_(mem) char *said = NULL;
	int first = word_fd("one "), second = word_fd("two "), third = word_fd("three "),
	    fourth = word_fd("four");
	struct proc_fd fds[] = {
		{first,  4},
                {second, 3},
                {third,  7},
                {fourth, 0}
        };
	struct proc_fd crossed[] = {
		{-1,     4},
                {-1,     3},
                {third,  7},
                {fourth, 0}
        };
	int low, high;

	(void)state;
	/* Where the sources stand on each other's numbers. */
	low = fcntl(first, F_DUPFD_CLOEXEC, 3);
	high = fcntl(second, F_DUPFD_CLOEXEC, 3);
	crossed[0] = (struct proc_fd){low, high};
	crossed[1] = (struct proc_fd){high, low};
	assert_true(low != high);
	said = run(
		&(struct proc_spec){.program = "/bin/sh", .argv = argv, .fds = fds, .fd_count = 4},
		0);
	assert_string_equal(said, "two one three four");
	if (low <= 9 && high <= 9) {
		_cleanup_(mem) char *script = xasprintf("cat <&%d; cat <&%d", low, high);
		_cleanup_(mem) char *again = NULL;
		int one = word_fd("1"), two = word_fd("2");

		must(dup3(one, low, O_CLOEXEC) == low && dup3(two, high, O_CLOEXEC) == high);
		argv[2] = script;
		again = run(
			&(struct proc_spec){
				.program = "/bin/sh", .argv = argv, .fds = crossed, .fd_count = 2},
			0);
		assert_string_equal(again, "21");
		os_close(one);
		os_close(two);
	}
	os_close(low);
	os_close(high);
	os_close(first);
	os_close(second);
	os_close(third);
	os_close(fourth);
}

static void folder_environment_and_arguments_are_as_told(void **state)
{
	char *argv[] = {(char *)"other-name", (char *)"-c", (char *)"pwd; echo \"$A|$HOME|$0|$1\"",
		(char *)"zero", (char *)"one  two", NULL};
	char *env[] = {(char *)"A=b c", NULL};
	_cleanup_(mem) char *said = NULL;

	(void)state;
	said = run(
		&(struct proc_spec){.program = "/bin/sh", .argv = argv, .env = env, .cwd = "/usr"},
		0);
	assert_string_equal(said, "/usr\nb c||zero|one  two\n");
}

static void the_child_leads_a_group_or_a_session(void **state)
{
	static const struct {
		const char *name;
		bool new_session;
	} rows[] = {
		{"an own group",   false},
                {"an own session", true }
        };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *argv[] = {(char *)"sh", (char *)"-c",
			(char *)"read -r pid name state parent group session rest "
				"</proc/self/stat; "
				"test $pid = $group && test $session = $1 || test $session = $pid "
				"&& "
				"echo $session",
			(char *)"sh", NULL, NULL};
		_cleanup_(mem) char *ours = xasprintf("%d", (int)getsid(0));
		_cleanup_(mem) char *said = NULL;

		argv[4] = ours;
		said = run(&(struct proc_spec){.program = "/bin/sh",
				   .argv = argv,
				   .new_session = rows[i].new_session},
			0);
		said[strcspn(said, "\n")] = '\0';
		if ((strcmp(said, ours) == 0) == rows[i].new_session)
			fail_msg("%s: session %s, ours %s", rows[i].name, said, ours);
	}
}

/* A daemon's limit of descriptors is its own. */
static void the_child_has_the_limit_we_were_given(void **state)
{
	_cleanup_(mem) char *said = NULL;
	struct rlimit before, low, now;

	(void)state;
	must(getrlimit(RLIMIT_NOFILE, &before) == 0);
	low = before;
	low.rlim_cur = 200;
	must(setrlimit(RLIMIT_NOFILE, &low) == 0);
	os_fd_limit_raise();
	must(getrlimit(RLIMIT_NOFILE, &now) == 0);
	assert_true(now.rlim_cur > 200);
	said = run_sh("ulimit -n");
	assert_string_equal(said, "200\n");
	must(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

static void what_cannot_start_says_why(void **state)
{
	static const struct {
		const char *name, *program, *cwd;
		int sys;
	} rows[] = {
		{"no such program",     "/nonexistent/program", NULL,           ENOENT },
		{"not executable",      "/etc/passwd",          NULL,           EACCES },
		{"a folder",            "/usr",                 NULL,           EACCES },
		{"no such folder",      "/bin/true",            "/nonexistent", ENOENT },
		{"a file for a folder", "/bin/true",            "/etc/passwd",  ENOTDIR},
	};
	char *argv[] = {(char *)"x", NULL};
	size_t before = count_descriptors();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct proc_spec spec = {
			.program = rows[i].program, .argv = argv, .cwd = rows[i].cwd};
		struct error err = ERROR_INIT;
		pid_t pid = 12345;
		int pidfd = 12345;

		assert_fails(proc_spawn(&spec, &pid, &pidfd, &err), &err, PROC_START_FAILED);
		if (err.sys != rows[i].sys)
			fail_msg("%s: %s", rows[i].name, err.text);
		assert_non_null(strstr(err.text, rows[i].program));
		assert_int_equal(pid, 12345); /* written only on success */
		assert_int_equal(pidfd, 12345);
		assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
	}
	assert_int_equal(count_descriptors(), before);
}

static void a_bad_descriptor_is_told(void **state)
{
	char *argv[] = {(char *)"true", NULL};
	struct proc_fd fd = {9999, 5};
	const struct proc_spec spec = {
		.program = "/bin/true", .argv = argv, .fds = &fd, .fd_count = 1};
	struct error err = ERROR_INIT;
	pid_t pid;
	int pidfd;

	(void)state;
	assert_fails(proc_spawn(&spec, &pid, &pidfd, &err), &err, PROC_START_FAILED);
	assert_int_equal(err.sys, EBADF);
}

static void many_starts_leak_nothing(void **state)
{
	char *argv[] = {(char *)"true", NULL};
	size_t before = count_descriptors();

	(void)state;
	for (int i = 0; i < 200; i++)
		free(run(&(struct proc_spec){.program = "/bin/true", .argv = argv}, 0));
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_child_has_default_signals_and_an_empty_mask),
		cmocka_unit_test(only_named_descriptors_are_passed),
		cmocka_unit_test(descriptors_can_trade_places),
		cmocka_unit_test(folder_environment_and_arguments_are_as_told),
		cmocka_unit_test(the_child_leads_a_group_or_a_session),
		cmocka_unit_test(the_child_has_the_limit_we_were_given),
		cmocka_unit_test(what_cannot_start_says_why),
		cmocka_unit_test(a_bad_descriptor_is_told),
		cmocka_unit_test(many_starts_leak_nothing),
	};

	return cmocka_run_group_tests_name("proc spawn", tests, NULL, NULL);
}
