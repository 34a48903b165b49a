#ifndef AGENT_SERVE_BOT_SOCKETS_H
#define AGENT_SERVE_BOT_SOCKETS_H
/*
 * The bots' own sockets (agent spec 7.7): SOCKET.d/BOT_ID for each sandboxed bot, and the doors by
 * which a command that may make no socket comes to a session all the same.
 *
 * A socket is made with its bot's first command. It goes with the bot, and with the daemon; of
 * those that nobody uses the oldest also goes when there are BOT_SOCKETS_MAX, and comes back with
 * the bot's next command. What came over it acts as that bot (struct session, as).
 *
 * A door is a pair of connected streams for one command. The command inherits one end. Each byte it
 * writes asks for one session; the daemon answers with one byte, '+' and with it one end of a new
 * pair, whose other end it serves, or '-' when it gives none. So the processes of a command may
 * share the door without an agreement: all answers are alike, and one that was asked for by a
 * process which is gone serves the next. The sessions end with the door, and the door with the
 * command. Nothing that comes in by a door or a session is taken but bytes: descriptors sent to the
 * daemon are dropped by the kernel.
 */
#include <stdint.h>

#include "agent/tool/tool.h"
#include "error/error.h"
#include "mem/mem.h"
#include "table/table.h"

struct daemon;
struct session;

enum {
	BOT_SESSIONS_MAX = 32, /* ours, of one bot at once: its commands and what they start */
	BOT_SOCKETS_MAX = 512, /* ours: each is a descriptor */
};

struct bot_sockets {
	char *folder;        /* SOCKET.d */
	struct table *by_id; /* struct bot_socket */
	struct list by_use;  /* struct bot_socket, the one used longest ago first */
};

/* At start, with the daemon's own socket in hand: removes what a killed daemon left in the folder.
 * CLIENT_UNSAFE_DIR when that is not this user's alone, ERROR_TOO_LONG when a bot's socket would
 * not fit behind the daemon's name. */
int bot_sockets_open(struct daemon *d, struct error *err);
void bot_sockets_release(struct daemon *d);
/* The bot is gone: its socket too, and who came over it. */
void bot_socket_remove(struct daemon *d, int64_t bot);
void bot_socket_session_gone(struct session *s);

/* For tool_host: arg is the daemon. */
int bot_door_open(
	void *arg, const struct tool_context *c, struct tool_door **ret, struct error *err);
void bot_door_close(struct tool_door *tool);

#endif
