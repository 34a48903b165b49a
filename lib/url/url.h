#ifndef URL_URL_H
#define URL_URL_H
/*
 * url: the one reader of URLs, hosts and Host headers.
 *
 * It refuses rather than normalises: userinfo, two ports, numbers that are no plain IPv4 address,
 * percent signs in a host, controls, blanks, backslashes and bytes past ASCII are URL_INVALID.
 * Whether two hosts are one is said on the exact ASCII-lowercase host and the port; a trailing dot
 * makes another host, and so does another spelling of an IPv6 address.
 *
 * Pure: nothing is looked up, nothing is allocated. RFC 3986 for the grammar; beyond it, a path, a
 * query and a fragment may hold the bytes []{}|^` that links in use have. A '%' that starts no
 * escape is refused everywhere.
 */
#include <stdbool.h>
#include <stdint.h>

#include "error/error.h"
#include "text/text.h"

extern const struct error_kind
	URL_INVALID;                       /* invalid_url, usage: the text says what, not the URL */
extern const struct error_kind URL_SCHEME; /* invalid_url_scheme, usage: none of the four */

enum {
	URL_MAX_BYTES = 8192,     /* ours: what servers commonly take as a request line */
	URL_HOST_MAX_BYTES = 253, /* RFC 1035 2.3.4, without the last dot */
};

enum url_host_form { URL_HOST_NAME, URL_HOST_IPV4, URL_HOST_IPV6 };

/* A host and perhaps a port, as they stand in a URL or a Host header. */
struct url_authority {
	char host[URL_HOST_MAX_BYTES + 2]; /* ASCII lowercase, a trailing dot kept; IPv6 without its
					      brackets; NUL-terminated */
	enum url_host_form form;
	uint16_t port; /* 0: none was given */
};
/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT; a port is 1 to 65535 without leading zeros. */
int url_parse_authority(struct str text, struct url_authority *ret, struct error *err);

enum url_scheme { URL_HTTP, URL_HTTPS, URL_WS, URL_WSS };

/* What is borrowed lives as long as the parsed text. */
struct url {
	enum url_scheme scheme;
	struct url_authority at;
	struct str path;  /* from the first '/'; "/" when the URL has none */
	struct str query; /* without '?'; absent when there is none */
};
/* An absolute URL of one of the four schemes (any case). A fragment is checked and left out. */
int url_parse(struct str text, struct url *ret, struct error *err);
const char *url_scheme_name(enum url_scheme s);
bool url_is_secure(const struct url *u); /* https or wss */
/* The port it goes to: the one given, or the scheme's. Never 0. */
uint16_t url_port(const struct url *u);
/* Whether both go to one place: secure or not, exact host, port. What a key is bound to. */
bool url_same_origin(const struct url *a, const struct url *b);
/* The loopback names and addresses: localhost, 127.0.0.0/8, ::1. */
bool url_is_loopback(const struct url_authority *a);

/* Appends the request target (path and query), the Host header's value (the port only when it is
 * not the scheme's), and the URL whole (without a fragment). */
void url_put_target(struct buf *to, const struct url *u);
void url_put_host(struct buf *to, const struct url *u);
void url_put(struct buf *to, const struct url *u);

/* The URL that a reference (a Location header, a link) means beside `base`, appended to `ret`
 * (RFC 3986 5.2, dot segments removed, the reference's fragment kept). It may be of any scheme and
 * its host is not looked at: parse it to see. URL_INVALID for what is no reference; ret is then as
 * it was. */
int url_resolve(const struct url *base, struct str reference, struct buf *ret, struct error *err);

/* Appends s with all but RFC 3986's unreserved bytes as %XX; keep (may be NULL) names more that
 * stay. */
void url_put_escaped(struct buf *to, struct str s, const char *keep);
/* One NAME=VALUE of a query or form, found and decoded ('+' is a blank) into `ret`: 1, 0 when it is
 * not there, -1 URL_INVALID for a bad escape or a name that stands twice. */
int url_query_get(struct str query, const char *name, struct buf *ret, struct error *err);

#endif
