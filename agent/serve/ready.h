#ifndef AGENT_SERVE_READY_H
#define AGENT_SERVE_READY_H
/* The `ready` line and the `stats` object: what the daemon says of itself. */
#include "json/json.h"
#include "text/text.h"

struct daemon;
struct session_bot;

/* as: whom the session acts as; NULL or without an id: nobody. */
void ready_put(struct daemon *d, const struct session_bot *as, struct buf *to);
/* Opens the object and leaves it open: the caller adds what it read from the store. */
void stats_open(struct daemon *d, struct json_out *j, const char *name);

enum { PROTOCOL_VERSION = 3 /* agent spec 2.1 */ };

#endif
