/*
 * hostile: a program that does not want to end with what started it. Modes for test_tree.c; each
 * keeps every descriptor it was given, so that the test sees by a pipe when the last process is
 * gone.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	/* So that a test that fails does not take the machine along. */
	BOMB_TOTAL = 500,
	COMET_TOTAL = 200000,
	LIFE_SECONDS = 30,
	WIDE = 50,
};

static void linger(void)
{
	(void)alarm(LIFE_SECONDS); /* a new process has none */
	for (;;)
		(void)pause(); /* until killed */
}

static void write_noise(int said)
{
	static const char noise[100] = "noise";

	while (write(STDOUT_FILENO, noise, sizeof(noise)) > 0) {
		(void)close(said); /* the first time: now it has begun */
		said = -1;
	}
	_exit(0);
}

/* A process in a session of its own whose parent has ended before this returns. */
static void leave_orphan(bool writes)
{
	int said[2];
	pid_t pid;
	char c;

	if (pipe(said) < 0)
		_exit(1);
	pid = fork();
	if (pid == 0) {
		(void)setsid(); /* not a leader: works */
		if (fork() != 0)
			_exit(0);
		(void)signal(SIGTERM, SIG_IGN); /* valid signals */
		(void)signal(SIGHUP, SIG_IGN);
		(void)alarm(LIFE_SECONDS);
		if (writes)
			write_noise(said[1]);
		(void)close(said[1]);
		linger();
	}
	(void)waitpid(pid, NULL, 0); /* our child */
	(void)close(said[1]);
	if (read(said[0], &c, 1) != 0) /* its end says that the orphan is on its way */
		_exit(1);
	(void)close(said[0]);
}

static void bomb(void)
{
	atomic_int *total = mmap(
		NULL, sizeof(*total), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)signal(SIGHUP, SIG_IGN); /* valid signals */
	(void)signal(SIGCHLD, SIG_IGN);
	while (total != MAP_FAILED && atomic_fetch_add(total, 1) < BOMB_TOTAL) {
		if (fork() == 0)
			(void)setsid(); /* and goes on forking */
	}
	linger();
}

/* Never the same pid for longer than a fork takes. */
static void comet(void)
{
	for (int i = 0; i < COMET_TOTAL; i++) {
		pid_t pid = fork();

		if (pid > 0)
			_exit(0);
		if (pid == 0 && i % 3 == 0)
			(void)setsid(); /* a new process is no leader */
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "orphan") == 0) {
		leave_orphan(false);
	} else if (strcmp(mode, "orphan-writes") == 0) {
		leave_orphan(true);
	} else if (strcmp(mode, "orphans") == 0) {
		for (int i = 0; i < WIDE; i++)
			leave_orphan(false);
	} else if (strcmp(mode, "orphan-and-stay") == 0) {
		leave_orphan(false);
		puts("ready");
		(void)fflush(stdout); /* the test notices when it does not come */
		linger();
	} else if (strcmp(mode, "bomb") == 0) {
		bomb();
	} else if (strcmp(mode, "comet") == 0) {
		if (fork() == 0)
			comet();
	} else {
		return 2;
	}
	return 3;
}
