#ifndef AGENT_IO_SIGV4_H
#define AGENT_IO_SIGV4_H
/*
 * sigv4: AWS Signature Version 4, as headers of a request (agent spec 8.6). Pure.
 *
 * The signature covers what is signed in its canonical form, so that it stays good when a name's
 * case, the order of headers or blanks around a value change on the way. Paths are those of a
 * service other than S3: dot segments and doubled slashes are taken out, and what is escaped is
 * escaped again.
 */
#include <stdbool.h>
#include <stdint.h>

#include "error/error.h"
#include "http/http.h"
#include "mem/mem.h"
#include "text/text.h"
#include "url/url.h"

extern const struct error_kind SIGV4_INVALID; /* sigv4_invalid, usage: what cannot be signed */

enum {
	SIGV4_HEADERS_MAX = 32,       /* ours: several times what a request of ours has */
	SIGV4_PARAMETERS_MAX = 64,    /* ours: of a query */
	SIGV4_KEY_MAX_BYTES = 256,    /* ours: several times an access key's id and its secret */
	SIGV4_TOKEN_MAX_BYTES = 8192, /* ours: several times a session token */
	SIGV4_NAME_MAX_BYTES = 64,    /* ours: a region, a service */
	SIGV4_HEX_SIZE = 65,          /* a SHA-256 in hexadecimal, with the NUL */
	SIGV4_DATE_SIZE = 17,         /* 20150830T123600Z and the NUL */
};

struct sigv4_keys {
	struct str id, secret;
	struct str token; /* absent: none */
};
struct sigv4_scope {
	struct str region, service;
	int64_t time_s; /* real, since 1970 */
};

/* What is signed: every header that stands here. Host and X-Amz-Date have to be among them. */
struct sigv4_request {
	const char *method;
	struct str path, query; /* as they are sent; query absent: none */
	const struct http_header *headers;
	size_t header_count;
	struct str payload; /* the body's SHA-256 in hexadecimal, or UNSIGNED-PAYLOAD */
};

/* "20150830T123600Z". Before the year 0 and after 9999: the nearest that can be written. */
void sigv4_date(int64_t time_s, char out[SIGV4_DATE_SIZE]);
void sigv4_hash(const struct str *pieces, size_t count, char out[SIGV4_HEX_SIZE]);
/* The three steps, for those who want to see them; each appends. */
int sigv4_put_canonical(struct buf *to, const struct sigv4_request *r, struct error *err);
int sigv4_put_signed_names(struct buf *to, const struct sigv4_request *r, struct error *err);
/* The value of Authorization. `to` never holds the secret. */
int sigv4_put_authorization(struct buf *to, const struct sigv4_request *r,
	const struct sigv4_scope *s, const struct sigv4_keys *k, struct error *err);

/* A request to an API of AWS, and the headers it gets: X-Amz-Date, X-Amz-Content-Sha256,
 * X-Amz-Security-Token, Authorization. */
struct sigv4_call {
	const char *method;
	const struct url *url;
	const struct http_header *headers; /* more to sign; may be none */
	size_t header_count;
	const struct str *body;
	size_t body_count;
	bool unsigned_payload; /* the body is left out of the signature: TLS guards it alone */
};
enum { SIGV4_ADDED_MAX = 4 };
/* Appends the values to `text`, which should be empty and is to be wiped, and the headers, which
 * point into it, to `to`. Returns how many; -1 and err. */
int sigv4_sign(const struct sigv4_call *c, const struct sigv4_scope *s, const struct sigv4_keys *k,
	struct buf *text, struct http_header to[SIGV4_ADDED_MAX], struct error *err);

#endif
