#ifndef ATTEST_OWN_H
#define ATTEST_OWN_H
/* Sandboxed bots and connections to their own sockets, for cases about what these answer. */
#include "attest/drill.h"

/* The command line, as a command of a bot uses it. The filter refuses ptrace, by which a sanitized
 * program looks for leaks. */
#define OWN_CLI "ASAN_OPTIONS=detect_leaks=0 \"$AGENT_BIN\""

struct own {
	struct drill r;
	int64_t id;       /* of bot `b` */
	char *path;       /* SOCKET.d/ID */
	struct client *c; /* on it */
};

/* A daemon with a sandboxed bot `b` that has run a command, one of the person's, `other`, and a
 * connection to b's own socket. more: members of b, as of attest_bot; NULL: workspace-write. */
void own_start(struct own *o, struct attest *t, const char *more);
/* The same where the drill was begun by the caller, with calls of its own. */
void own_begin(struct own *o, const char *more);
/* Runs a first command of a bot and connects to its own socket. */
struct client *own_connect(struct drill *r, const char *bot, int64_t id);
/* The request that makes a bot; `more` starts with a comma or is empty. */
char *own_create(struct attest *t, const char *name, const char *more);
/* The record of a bot, and one of its members. */
const struct json *own_inspect(struct own *o, const char *bot);
int64_t own_number(const struct json *record, const char *member);
struct str own_text(const struct json *record, const char *member);
/* Breaks unless there is no bot of that name. */
void own_absent(struct own *o, const char *bot);

#endif
