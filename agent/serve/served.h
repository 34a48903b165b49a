#ifndef AGENT_SERVE_SERVED_H
#define AGENT_SERVE_SERVED_H
/*
 * Calls of served tools (agent spec 5.9): given to whoever serves the tool's tag, under a lease.
 *
 * A call is marked `executing` only when a host is there, and is sent to it right behind that
 * commit. So one that is planned was never given to anybody, and a crash leaves its end known; of
 * one that is executing nobody knows. While there is no host the turn waits, and parks; nothing is
 * ever given out twice.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/item.h"
#include "error/error.h"
#include "text/text.h"

struct daemon;
struct lease;
struct live_call;
struct live_turn;
struct request;

extern const struct error_kind SERVED_NO_CALL; /* no_pending_call */

/* Whether somebody serves that tag. */
bool served_has_host(struct daemon *d, struct str tag);
/* The lease's holder takes calls from now on: who waited for it goes on. */
void served_host_came(struct lease *l);
/* What its holder had been given has an unknown end. */
void served_lease_over(struct daemon *d, const char *lease);

/* For the driver: sends the current call to its host, or sets its result. */
void served_run(struct live_turn *t);
/* The turn was stopped: the host is told. The result is set. */
void served_stop(struct live_turn *t);
/* The result is recorded, or never will be (ok false). */
void served_recorded(struct live_turn *t, bool ok);

struct served_result {
	struct str bot, call_id, lease, text;
	int64_t turn;
	bool failed; /* text is an error */
	const struct item_picture *pictures;
	size_t picture_count;
};
/* The live turn whose current call this holder has: STORE_STALE_TURN, SERVED_NO_CALL; lease absent:
 * whoever has it. */
struct live_turn *served_turn(struct daemon *d, struct str bot, int64_t turn, struct str call_id,
	struct str lease, struct error *err);
/* Takes a result; the request is answered once it is recorded. */
int served_take(struct request *r, const struct served_result *s, struct error *err);

#endif
