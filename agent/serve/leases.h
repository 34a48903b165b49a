#ifndef AGENT_SERVE_LEASES_H
#define AGENT_SERVE_LEASES_H
/*
 * Leases: who serves a tag (agent spec 5.9, 6.4). One holder per kind and tag, for as long as it
 * says something within the time it asked for; its name is a secret drawn anew each time, so that
 * nothing said under an older one counts.
 *
 * A lease belongs to the session that took it and ends with it. None outlives the daemon: what
 * waits is in the store, and the next holder is told of it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/limits.h"
#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

struct daemon;
struct session;

extern const struct error_kind LEASE_APPROVALS_SERVED; /* approvals_served: another has the tag */
extern const struct error_kind LEASE_APPROVALS_LOST;   /* approvals_lost */
extern const struct error_kind LEASE_TOOLS_SERVED;     /* tools_served */
extern const struct error_kind LEASE_TOOLS_LOST;       /* tools_lost */

enum lease_kind { LEASE_APPROVALS, LEASE_TOOLS };

enum {
	LEASE_NAME_BYTES = 33, /* a letter for its kind, 128 bits in hex */
	LEASE_MIN_MS = 100,    /* ours: below it is a holder that a busy machine loses */
	LEASE_MAX_MS = 600000, /* ours: how long a dead holder may keep others out */
	LEASES_MAX = 256,      /* ours: of both kinds together */
};

struct lease {
	struct daemon *d;
	struct session *session;
	struct list in_daemon;
	struct loop_timer *timer;
	int64_t ms;
	enum lease_kind kind;
	bool serving; /* it was answered: what comes from now on is sent to it */
	char name[LEASE_NAME_BYTES + 1];
	char tag[GATE_TAG_MAX_BYTES + 1];
};

/* Takes it; a session that has it already gets a new one for it. LEASE_…_SERVED, LEASE_LIMIT. */
int lease_take(struct session *s, enum lease_kind kind, struct str tag, int64_t ms,
	struct lease **ret, struct error *err);
/* NULL: nobody serves that tag. */
struct lease *lease_of_tag(struct daemon *d, enum lease_kind kind, struct str tag);
/* The lease of that name, whose first letter says what it serves: LEASE_…_LOST when it is over, or
 * was never one. Its time begins anew. */
int lease_use(struct daemon *d, struct str name, struct lease **ret, struct error *err);
/* The session has left. */
void leases_session_gone(struct session *s);

/* One line to the holder: begin, members of `data`, end. */
struct lease_line {
	struct buf text;
	struct json_out j;
};
void lease_line_begin(struct lease_line *l, const char *event, struct str bot, int64_t turn);
/* false: it was too long and is not sent. */
bool lease_line_send(struct lease_line *l, const struct lease *to);

#endif
