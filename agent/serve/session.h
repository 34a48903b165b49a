#ifndef AGENT_SERVE_SESSION_H
#define AGENT_SERVE_SESSION_H
/*
 * Sessions of the daemon's socket, and requests in progress (spec 2.1, 2.2).
 *
 * A request lives from its line to its reply, in an arena of its own, also when its session has
 * left: a store job may still hold it. Replies of one session keep request order, except those of
 * requests whose row says `unordered`.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/limits.h"
#include "agent/serve/request.h"
#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

struct bot_door;
struct bot_socket;
struct daemon;
struct wire_peer;

enum {
	SESSION_REQUESTS_MAX = 64, /* spec 2.2: parsed requests in */
};

/* The bot that a session acts as: it came over that bot's own socket (agent spec 7.7). */
struct session_bot {
	int64_t id; /* 0: none, it is the person's */
	char name[BOT_NAME_MAX_BYTES + 1];
};

struct session {
	struct daemon *d;
	struct session_bot as;
	struct wire_peer *peer;
	struct list in_daemon;
	struct list requests; /* oldest first */
	size_t request_count;
	bool paused;
	bool said_all; /* it asks nothing more: over when all is answered and nothing followed */
	struct list follows; /* struct follow */
	struct buf batch;    /* events of this round, which go as one packet … */
	struct list in_batched;
	/* Of one that acts as a bot; bot_sockets.c keeps these. */
	struct bot_socket *own;
	struct bot_door *door; /* NULL: it came by the socket's name */
	struct list in_own, in_door;
	int64_t turn; /* of the command that has it; 0: not known */
};

struct request {
	struct daemon *d;
	struct session *session; /* NULL: it left */
	struct session_bot as;   /* the session's */
	struct list in_session;
	const struct request_row *row;
	struct arena arena;
	struct str id; /* JSON text */
	uint64_t seen; /* which fields of the row were given */
	void *args;
	void *work;                           /* the handler's own */
	void (*abandoned)(struct request *r); /* the session left; may be NULL. May answer. */
	void (*replied)(struct request *r);   /* the reply is on its way to the peer; may be NULL */
	struct buf reply;
	bool answered;
};

/* Takes fd. as: whose socket it came over, NULL: the daemon's own. Sends the ready line. */
struct session *session_new(struct daemon *d, int fd, const struct session_bot *as);
/* One line to the peer. A session that reads too slowly is closed. */
void session_send(struct session *s, struct str line);
/* The same for an event: what comes in one round of the loop (all events of a commit) is one
 * packet, so that a peer that is merely busy is not cut off for how many they are. */
void session_send_event(struct session *s, struct str line);
/* The round is over: sends what was put together. */
void sessions_send_batches(struct daemon *d);
/* Packets waiting to be sent. */
size_t session_queued(const struct session *s);
/* Sends what is queued and closes. */
void session_finish(struct session *s);
void session_close(struct session *s);

/*
 * Answering, once per request; the request is gone afterwards.
 *
 *	struct json_out j = request_begin(r);
 *	json_open_key(&j, "result", '{'); … json_close(&j, '}');
 *	request_end(r, &j);
 */
struct json_out request_begin(struct request *r);
void request_end(struct request *r, struct json_out *j);
/* {"id":…,"error":CODE,"detail":TEXT} */
void request_fail(struct request *r, const struct error *err);
/* {"id":…,"result":JSON} */
void request_answer(struct request *r, struct str json);

#endif
