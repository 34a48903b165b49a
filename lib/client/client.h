#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H
/*
 * client: the agent socket's messages for programs that drive the daemon: where the socket is,
 * starting a daemon, one line out and lines in. Blocking; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "json/json.h"
#include "text/text.h"

extern const struct error_kind CLIENT_UNSAFE_DIR;    /* unsafe_socket_directory (AG-033) */
extern const struct error_kind CLIENT_NO_DAEMON;     /* daemon_not_running */
extern const struct error_kind CLIENT_START_TIMEOUT; /* daemon_start_timeout */
extern const struct error_kind CLIENT_START_FAILED;  /* daemon_start_failed */
extern const struct error_kind CLIENT_LOST;          /* connection_lost */
extern const struct error_kind CLIENT_REFUSED;       /* session_limit */
extern const struct error_kind CLIENT_MISMATCH;      /* daemon_configuration_mismatch */
extern const struct error_kind CLIENT_REMOTE; /* the daemon answered an error: see client_reply */

/* ~/.agent/state.sqlite, or what `given` says; canonical (agent spec 1.2). Caller frees. */
int client_store_path(const char *given, char **ret, struct error *err);
/* The socket of a canonical store path: STORE.sock, or, when SOCKET.d/ID would not fit a socket
 * address, /tmp/agent-UID/v1-HEX.sock (FNV-1a-128). Caller frees. Pure but for geteuid. */
char *client_socket_path(const char *store);
/* 1 when `socket` lies in the /tmp folder. */
bool client_socket_is_fallback(const char *socket);
/* The /tmp folder is used only when it is a real folder of this user's alone (AG-033). `make`: make
 * it 0700 when it is absent. */
int client_check_fallback_dir(const char *socket, bool make, struct error *err);

/* How a daemon is started when none answers. NULL argv: not at all. */
struct client_start {
	const char *program; /* absolute path of the daemon's program */
	char *const *argv;   /* "agent", "serve", … NULL-terminated */
	const char *log;     /* path of its log, 0600 */
};
enum { CLIENT_START_MS = 10000 /* spec 12: one window for connect and the whole ready line */ };

struct client;
/* Connects (starting a daemon if told to) and waits for the ready line. Losers of a start race
 * (exit 75) keep polling for the winner. */
int client_open(const char *socket, const struct client_start *start, struct client **ret,
	struct error *err);
/* By the descriptor AGENT_SOCKET_FD, which the command of a sandboxed bot inherits: asks there for
 * a session of its own (agent-protocol(7)). 1 it has one; 0 there is no such descriptor, or whoever
 * started this process has closed it: AGENT_SOCKET names the same place. -1: CLIENT_LOST, or
 * CLIENT_REFUSED when the daemon gives none. */
int client_open_inherited(struct client **ret, struct error *err);
void client_free(struct client *c);
int client_fd(const struct client *c);
/* The ready line, parsed; lives as long as the client. */
const struct json *client_ready(const struct client *c);

/* Sends one request object that the caller wrote without its id: `body` is the members as JSON
 * text, such as "\"op\":\"stats\"". Returns the id given. */
int client_send(struct client *c, struct str body, int64_t *ret_id, struct error *err);
/* The next line, parsed into c's arena (valid until the next call), waiting at most timeout_ms (-1:
 * for ever). 1 a line, 0 the time is over, -1 lost or not JSON. */
int client_next(struct client *c, int timeout_ms, const struct json **ret, struct error *err);
/* Who hears the lines of events that come while client_call waits; NULL, as at first: nobody. */
void client_on_event(
	struct client *c, void (*event)(void *arg, const struct json *line), void *arg);
/* Sends and waits for the reply of that id. *ret: the reply's result, valid until the next call. An
 * error reply is -1 with CLIENT_REMOTE, the daemon's code in client_remote_code and its detail in
 * err's text. */
int client_call(struct client *c, struct str body, int timeout_ms, const struct json **ret,
	struct error *err);
/* The code of the last CLIENT_REMOTE, valid until the next. */
const char *client_remote_code(const struct client *c);

#endif
