#ifndef AGENT_IO_CALLBACK_H
#define AGENT_IO_CALLBACK_H
/*
 * The callback of a sign-in: the one TCP listener of the repository.
 *
 * Promises
 *   AG-024  it is bound to 127.0.0.1 and to nothing else.
 *   AG-025  it is there as long as its owner keeps it open; `agent login` does for ten minutes.
 *
 * It answers GET of OAUTH_CALLBACK_PATH with this sign-in's state, sent to its own name and port
 * (so that no page elsewhere reaches it under a name of its own), once. Everything else is 404 and
 * ends nothing: who knows the port still does not know the state. A connection has ten seconds for
 * its one request, and the oldest makes room where there are too many.
 */
#include <stdint.h>

#include "error/error.h"
#include "loop/loop.h"
#include "text/text.h"

/* Which of the two: code, or error with perhaps what it means. They die with the call. */
struct callback_answer {
	struct str code;
	struct str error, description;
};
struct callback_options {
	struct loop *loop;
	uint16_t port;      /* 0: a free one */
	const char *state;  /* lives as long as the callback */
	int64_t request_ms; /* for a connection's request; 0: ten seconds */
	/* The browser waits for callback_finish. */
	void (*arrived)(void *arg, const struct callback_answer *a);
	void *arg;
};
struct callback;
int callback_open(const struct callback_options *o, struct callback **ret, struct error *err);
uint16_t callback_port(const struct callback *c);
/* After arrived(): stops listening and tells the browser how it went. done() runs when that is out,
 * or after two seconds. */
void callback_finish(struct callback *c, bool good, void (*done)(void *arg));
void callback_close(struct callback *c); /* closes everything at once; NULL does nothing */

#endif
