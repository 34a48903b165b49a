#ifndef ATTEST_INTERNAL_H
#define ATTEST_INTERNAL_H
/* What the runner and the world of a case share. */
#include "attest/attest.h"

enum attest_exit { EXIT_HELD = 0, EXIT_BROKEN = 1, EXIT_NOT_HERE = 77 };

enum {
	CHILDREN_MAX = 64,
	CLIENTS_MAX = 64,
	FOLDER_MAX_BYTES = 64, /* ours: "/var/tmp/attest-" and what makes it unique */
};

/* What a case leaves behind, in memory it shares with its keeper. */
struct attest_left {
	char home[FOLDER_MAX_BYTES], outside[FOLDER_MAX_BYTES], tmp[FOLDER_MAX_BYTES];
	pid_t children[CHILDREN_MAX]; /* groups to end with the case */
	size_t child_count;
};
struct attest {
	const struct attest_case *row;
	bool verbose, rough;
	struct attest_left *left;
	struct arena arena;
	struct client *clients[CLIENTS_MAX];
	size_t client_count;
};

/* Runs one case in a child of this process, which ends what the case left behind, however it
 * ended; the exit status says how it went, a line on stdout why. */
int attest_case_main(const struct attest_case *row, bool verbose, bool rough);

/* Why the machine lacks what the case needs, or NULL. Static or in the arena. */
const char *attest_missing(struct attest *t, unsigned needs);

struct attest_setting {
	const char *cwd; /* NULL: ours */
	int out, err;    /* -1: /dev/null */
	mode_t mask;
};
/* Starts argv (argv[0] by path or PATH) in a group of its own, which is ended with the case. */
pid_t attest_spawn(struct attest *t, const char *const *argv, char *const *env,
	const struct attest_setting *in);
/* The environment of what a case starts: HOME, PATH, LANG and the entries given. */
char **attest_environ(struct attest *t, const char *const *more);
/* waitpid with a limit; broken when it is over. An exit status, or 128 + signal. */
int attest_reap(struct attest *t, pid_t pid, const char *what, int limit_ms);

#endif
