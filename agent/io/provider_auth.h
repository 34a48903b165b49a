#ifndef AGENT_IO_PROVIDER_AUTH_H
#define AGENT_IO_PROVIDER_AUTH_H
/*
 * How a provider's requests prove who asks (agent spec 8.1). One const entry each; what a key is
 * put into goes to its provider's own origin and nowhere else.
 *
 * Some have a key when the daemon starts. Others ask for what they need before each request, as it
 * may have to be fetched or renewed: they have ask(), and a refusal may be worth another try.
 */
#include "error/error.h"
#include "http/http.h"
#include "secret/secret.h"
#include "text/text.h"
#include "url/url.h"

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
	const struct url *url;
	struct str content_type; /* absent: none is sent */
	const struct str *body;
	size_t body_count;
};

/* What proves it: a key of a variable, or what an ask has brought. */
struct auth_grant {
	const struct secret *key;
	const void *more; /* the kind's own */
	uint64_t number;  /* of what the ask has brought; 0: there was none */
};
typedef void (*auth_on_grant)(void *arg, const struct auth_grant *g, const struct error *err);

struct provider_net;
struct provider_spec;
struct provider_auth {
	const char *name; /* for `ready` */
	bool keyed;       /* needs a key variable */
	/* Adds the headers for one request. */
	int (*sign)(const struct auth_grant *g, const struct auth_request *r,
		struct auth_headers *to, struct error *err);
	/* Whether a provider can prove itself so, at start; nobody is asked. NULL: always. */
	int (*check)(struct provider_net *net, const struct provider_spec *s, struct error *err);
	/* What its requests are signed for, of the URL or of `net`, as long as they live. NULL: no
	 * region is a part of the signature. */
	struct str (*region)(struct provider_net *net, const struct url *url);
	/* NULL: the key is all. Tells once, never inside, what proves it now, which dies with the
	 * call, or err. `refused`: the number of what a provider did not take; 0: none. */
	void *(*ask)(struct provider_net *net, uint64_t refused, auth_on_grant told, void *arg);
	void (*cancel)(void *ask); /* told() does not come afterwards */
	/* Whether this status says that it was not taken, and an ask may bring something else. */
	bool (*again)(struct provider_net *net, int status, uint64_t number);
	/* An ask that fails with this kind may do later. NULL: none. */
	const struct error_kind *later;
};

extern const struct provider_auth auth_none;
extern const struct provider_auth auth_bearer;
extern const struct provider_auth auth_x_api_key;
extern const struct provider_auth auth_sigv4;   /* auth_sigv4.c */
extern const struct provider_auth auth_chatgpt; /* auth_chatgpt.c */
/* NULL: none of that name. */
const struct provider_auth *provider_auth_find(struct str name);

#endif
