#ifndef AGENT_CMD_CONNECT_H
#define AGENT_CMD_CONNECT_H
/*
 * The daemon a command talks to: where it is, whether it may be started, whether it is as the
 * startup flags say.
 */
#include "agent/cmd/startup.h"
#include "client/client.h"
#include "error/error.h"

enum connect_start {
	CONNECT_ONLY,     /* one must run */
	CONNECT_EXISTING, /* one is started for a store that is there */
	CONNECT_START,    /* one is started */
};

struct connection {
	struct client *client;
	char *store, *socket;
};
/* `startup` may be NULL. Every flag in it is compared with what the daemon says before anything is
 * sent. From here on a broken pipe is an error instead of the end of the process. */
int connect_open(const struct place_options *place, const struct startup_options *startup,
	enum connect_start may, struct connection *ret, struct error *err);
void connection_release(struct connection *c);
static inline void connection_cleanup(struct connection *c)
{
	connection_release(c);
}

#endif
