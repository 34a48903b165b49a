/* The startup flags of a daemon. */
#include "agent/cmd/startup.h"

#include <stdlib.h>

#include "client/client.h"
#include "mem/mem.h"
#include "os/os.h"

const struct cli_option place_options[] = {
	CLI_OPT_TEXT(
		struct place_options, store, "store", "FILE", "the store (~/.agent/state.sqlite)"),
	CLI_OPT_TEXT(
		struct place_options, socket, "socket", "PATH", "the daemon's socket (STORE.sock)"),
};

enum { MANY = 1000000 /* ours: a bound against slips of the finger */ };

const struct cli_option startup_options[STARTUP_OPTIONS] = {
	CLI_OPT_TEXTS(struct startup_options, providers, "provider", "SPEC",
		"a model provider, NAME[=FAMILY[,URL[,KEY_ENV]]]"),
	CLI_OPT_TEXTS(struct startup_options, walls, "wall", "DIR",
		"hide a folder from every sandboxed command"),
	CLI_OPT_TEXTS(struct startup_options, protected_paths, "protect-path", "PATH",
		"keep a path read-only in every sandbox"),
	CLI_OPT_NUMBER(struct startup_options, max_processes, "max-processes", "N", 0, MANY,
		"child processes at once (64 per CPU; 0: no limit)"),
	CLI_OPT_NUMBER(struct startup_options, max_active, "max-active", "N", 1, MANY,
		"turns running at once (4096)"),
	CLI_OPT_NUMBER(struct startup_options, max_pending, "max-pending", "N", 1, INT64_MAX,
		"submissions waiting to start (no limit)"),
	CLI_OPT_NUMBER(struct startup_options, max_pending_bytes, "max-pending-bytes", "N", 1,
		INT64_MAX, "bytes of their prompts (no limit)"),
	CLI_OPT_NUMBER(struct startup_options, max_connecting, "max-connecting", "N", 1, MANY,
		"model requests waiting for an answer to begin (no limit)"),
	CLI_OPT_NUMBER(struct startup_options, stall_timeout, "stall-timeout", "SECONDS", 1, 86400,
		"give up on a model that says nothing for so long (120)"),
	CLI_OPT_NUMBER(struct startup_options, idle_exit, "idle-exit", "SECONDS", 1, 86400 * 365,
		"exit after this time without a session or a turn"),
};

void startup_release(struct startup_options *o)
{
	cli_texts_release(&o->providers);
	cli_texts_release(&o->walls);
	cli_texts_release(&o->protected_paths);
}

int startup_place(
	const struct place_options *p, char **ret_store, char **ret_socket, struct error *err)
{
	const char *store = p->store ? p->store : getenv("AGENT_STORE");
	const char *socket = p->socket;

	if (!p->socket && !p->store)
		socket = getenv("AGENT_SOCKET");
	if (client_store_path(store, ret_store, err) < 0)
		return -1;
	if (!socket || client_socket_is_fallback(socket)) {
		/* not canonical: where it leads is what client_check_fallback_dir looks at */
		*ret_socket = socket ? xstrdup(socket) : client_socket_path(*ret_store);
		return 0;
	}
	return os_canonical(socket, ret_socket, err);
}
