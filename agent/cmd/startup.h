#ifndef AGENT_CMD_STARTUP_H
#define AGENT_CMD_STARTUP_H
/*
 * The startup flags of a daemon (spec 2.6): read by `serve`, handed on by the commands that may
 * start one.
 */
#include "cli/cli.h"
#include "error/error.h"

struct place_options {
	const char *store, *socket;
};
extern const struct cli_option place_options[2];

struct startup_options {
	struct cli_texts providers, walls, protected_paths;
	struct cli_number max_processes, max_active, max_pending, max_pending_bytes, idle_exit;
	struct cli_number max_connecting, stall_timeout;
};
enum { STARTUP_OPTIONS = 10 };
extern const struct cli_option startup_options[STARTUP_OPTIONS];
void startup_release(struct startup_options *o);

/* Where the store and the socket are: the flags, else AGENT_STORE, AGENT_SOCKET, else the default.
 * The caller frees both. */
int startup_place(
	const struct place_options *p, char **ret_store, char **ret_socket, struct error *err);

#endif
