#ifndef ATTEST_PROVIDER_H
#define ATTEST_PROVIDER_H
/*
 * A model provider on loopback that the case plays by hand: it takes one request, looks at it, and
 * answers when it likes. Speaks chat completions, one request a connection.
 */
#include "attest/attest.h"

struct played {
	int listener, port;
	const char *url; /* its base URL */
};
void played_open(struct attest *t, struct played *p);

struct played_request {
	int conn;
	struct str raw; /* head and body as they came over the wire */
	struct str body;
};
/* The next request, waiting at most 10 s. */
struct played_request played_next(struct attest *t, const struct played *p);
/* Whether one comes within a moment. */
bool played_is_asked(const struct played *p);
/* Answers with a text, or with one call of a tool (arguments: JSON text), and closes. */
void played_say(struct attest *t, const struct played_request *q, const char *text);
void played_call(
	struct attest *t, const struct played_request *q, const char *tool, const char *arguments);

#endif
