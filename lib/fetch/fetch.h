#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H
/*
 * fetch: outbound HTTP, the one client of the suite: TLS, pooled connections, proxies, time limits.
 *
 * HTTP/1.1, one request a connection at a time, over plain TCP or TLS 1.2 and later. A certificate
 * is verified always, against the URL's exact host; no option turns that off. Redirects are not
 * followed: each hop is the caller's to judge. Nothing is added to a request but Host, the body's
 * length and what the caller gives; so no cookie, no credential, no User-Agent unless given.
 *
 * A call runs on the loop it was given and tells its end once, never inside fetch_start. Whatever a
 * callback is handed dies when it returns.
 */
#include <stdbool.h>
#include <stdint.h>

#include "error/error.h"
#include "http/http.h"
#include "loop/loop.h"
#include "text/text.h"
#include "url/url.h"

/* All of class unavailable but the last two. The text never holds a header or a query. */
extern const struct error_kind FETCH_RESOLVE; /* fetch_resolve_failed: no address for the name */
extern const struct error_kind
	FETCH_CONNECT;                    /* fetch_connect_failed: refused, unreachable, proxy */
extern const struct error_kind FETCH_TLS; /* fetch_tls_failed: handshake, certificate, name */
extern const struct error_kind FETCH_TIMEOUT; /* fetch_timeout: which of the limits */
extern const struct error_kind FETCH_PRIVATE; /* fetch_private_address, denied */
extern const struct error_kind FETCH_BROKEN;  /* fetch_broken: the connection ended or was cut */
extern const struct error_kind
	FETCH_ANSWER; /* fetch_invalid_answer, io: not HTTP as it should be */

struct fetch; /* connections and what they share; one per loop */
struct fetch_options {
	struct loop *loop;
	/* Of the environment, or NULL: HTTPS_PROXY, HTTP_PROXY, NO_PROXY (names, .suffixes, * and
	 * addresses, comma-separated). Loopback hosts never go through a proxy. A proxy is an
	 * http:// URL; https goes through it by CONNECT; user:password in it is sent to the proxy
	 * alone. */
	const char *https_proxy, *http_proxy, *no_proxy;
	/* What a proxy's URL has before its '@' is not used: for requests that send no credentials
	 * to anyone. */
	bool proxy_anonymous;
	/* Connect to no address that is not a public one: FETCH_PRIVATE. No proxy is used then, as
	 * what it connects to cannot be seen. */
	bool refuse_private;
	/* A PEM bundle to trust instead of the system's; NULL: SSL_CERT_FILE and SSL_CERT_DIR, then
	 * the system's. Read at the first https call. */
	const char *ca_file;
	int64_t connect_ms;    /* name, TCP, proxy and TLS together; 0: 10 s (agent spec 2.6) */
	int64_t idle_keep_ms;  /* an unused connection is closed after; 0: 60 s */
	size_t per_origin_max; /* connections; further calls wait in line; 0: no limit */
};
int fetch_new(const struct fetch_options *o, struct fetch **ret, struct error *err);
/* Its calls must be over or cancelled. NULL does nothing. */
void fetch_free(struct fetch *f);
/* Loopback, private, link-local, reserved, multicast; and those of IPv6 that carry such a one. */
bool fetch_address_is_private(const union loop_address *a);
struct fetch_counts {
	size_t connections, idle, waiting;
};
void fetch_counts(const struct fetch *f, struct fetch_counts *ret);

struct fetch_request {
	const char *method;
	const struct url *url; /* http or https; ws and wss with an upgrade; copied */
	const struct http_header
		*headers; /* copied; one that http_put_header refuses fails the call */
	size_t header_count;
	/* The body in pieces, borrowed until sent() or the end. Content-Length is their sum; a
	 * method other than GET and HEAD always says one. */
	const struct str *body;
	size_t body_count;
	int64_t head_ms;  /* from the connection until the answer's head is whole; 0: no limit */
	int64_t idle_ms;  /* between two reads of the body; 0: no limit */
	int64_t total_ms; /* everything, the name's look-up included; 0: no limit */
	bool fresh;       /* not over a pooled connection */
	bool upgrade;     /* the caller's headers ask for another protocol: see fetch_write */
};
struct fetch_callbacks {
	/* The kernel has the whole request, the body is not needed any more. May be NULL. */
	void (*sent)(void *arg);
	void (*head)(void *arg, const struct http_head *h);
	void (*body)(void *arg, struct str bytes);
	/* err NULL: the answer is whole (whatever its status). */
	void (*done)(void *arg, const struct error *err);
};
struct fetch_call;
int fetch_start(struct fetch *f, const struct fetch_request *r, const struct fetch_callbacks *cb,
	void *arg, struct fetch_call **ret, struct error *err);
/* No callback afterwards; allowed inside one. After done() the call frees itself and must not be
 * touched. NULL does nothing. */
void fetch_cancel(struct fetch_call *c);
/* No body() until resumed: the server feels it. The idle limit rests meanwhile. */
void fetch_pause(struct fetch_call *c);
void fetch_resume(struct fetch_call *c);
/* After the head of an upgraded call (status 101): raw bytes out; raw bytes in come by body(). A
 * plain end of the peer is done(NULL). */
void fetch_write(struct fetch_call *c, struct str bytes);
size_t fetch_write_queued(const struct fetch_call *c);

#endif
