#ifndef AGENT_IO_PROVIDER_AUTH_H
#define AGENT_IO_PROVIDER_AUTH_H
/*
 * How a provider's requests prove who asks (agent spec 8.1). One const entry each; what a key is
 * put into goes to its provider's own origin and nowhere else.
 */
#include "error/error.h"
#include "http/http.h"
#include "secret/secret.h"
#include "text/text.h"

enum { AUTH_HEADERS_MAX = 6 };

/* Headers to send. The texts are wiped when they go. */
struct auth_headers {
	struct http_header items[AUTH_HEADERS_MAX];
	size_t count;
	struct buf text; /* what the values point into */
};
void auth_headers_release(struct auth_headers *h);

/* What is to be signed. */
struct auth_request {
	const char *method;
	const struct str *body;
	size_t body_count;
};

struct provider_auth {
	const char *name; /* for `ready` */
	bool keyed;       /* needs a key variable */
	/* Adds the headers for one request. */
	int (*sign)(const struct secret *key, const struct auth_request *r, struct auth_headers *to,
		struct error *err);
};

extern const struct provider_auth auth_none;
extern const struct provider_auth auth_bearer;
extern const struct provider_auth auth_x_api_key;
/* NULL: none of that name. */
const struct provider_auth *provider_auth_find(struct str name);

#endif
