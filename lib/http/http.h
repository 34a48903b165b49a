#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H
/*
 * http: HTTP/1.1 messages, one reader and one writer for both sides (RFC 9110, 9112).
 *
 * Bytes in, events out; no I/O. The reader is strict, since what two readers understand differently
 * is how requests are smuggled. Refused, as HTTP_INVALID: Content-Length with Transfer-Encoding, a
 * repeated or signed Content-Length, any coding but `chunked`, bare LF, folded headers, a space
 * before the colon, NUL and other controls, in requests a missing or repeated Host, a version other
 * than 1.0 and 1.1, chunk sizes with 0x, a sign or more than 8 digits. Over a limit: HTTP_LIMIT.
 */
#include <stdbool.h>
#include <stdint.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind HTTP_INVALID; /* http_invalid, io: what, at which line */
extern const struct error_kind HTTP_LIMIT;   /* http_limit, limit */
extern const struct error_kind HTTP_CUT;     /* http_cut, io: the peer ended inside a message */

enum {
	HTTP_HEADERS_MAX = 100,           /* ours: several times what APIs and browsers send */
	HTTP_HEAD_MAX_BYTES = 64 * 1024,  /* ours: start line and all headers */
	HTTP_START_LINE_MAX_BYTES = 8320, /* ours: URL_MAX_BYTES, method, version */
};

struct http_header {
	struct str name;  /* as sent; compare with http_header_get, which ignores case */
	struct str value; /* without blanks around */
};
enum http_framing { HTTP_NO_BODY, HTTP_LENGTH, HTTP_CHUNKED, HTTP_UNTIL_END };

/* A message's head; lives in its reader until the next message's begins or it is forgotten. */
struct http_head {
	struct str method, target; /* of a request */
	int status;                /* of a response: 100 to 599 */
	struct str reason;
	int minor; /* HTTP/1.minor: 0 or 1 */
	struct http_header *headers;
	size_t header_count; /* at most HTTP_HEADERS_MAX */
	enum http_framing framing;
	uint64_t length; /* HTTP_LENGTH */
	bool keep_alive; /* another message may follow on this connection */
	bool upgrade;    /* 101, or 2xx to CONNECT: what follows is no HTTP */
};
/* The header's value, absent when there is none. Several of one name: the first. */
struct str http_header_get(const struct http_head *h, const char *name);
/* How many headers of this name there are. */
size_t http_header_count(const struct http_head *h, const char *name);
/* Whether the comma-separated value of any header of this name holds the token (any case). */
bool http_header_has(const struct http_head *h, const char *name, const char *token);

/* What a media type says without its parameters, in lower case: "text/event-stream". */
struct str http_media_type(struct str content_type, char out[64]);

/*
 * Reading one side of a connection, message after message.
 *
 *	while ((e = http_read(r, &in, &chunk, err)) > HTTP_MORE)
 *
 * HTTP_MORE: all of `in` was taken, more is needed. HTTP_HEAD: http_reader_head is whole.
 * HTTP_BODY: *ret_body is a part of the body, within `in`. HTTP_END: the message is over; what is
 * left in `in` belongs to the next one. -1: err; the reader is of no more use. 1xx responses but
 * 101 are read over, and so are trailers and what extends a chunk's size. After an upgrade's head
 * comes HTTP_END at once, and the rest of `in` is raw: HTTP_MORE from then on, nothing taken.
 *
 * How the bytes are cut into calls changes nothing but where HTTP_BODY's parts begin and end. A
 * body is never copied. keep_alive is only said: who reads on after the last message reads on.
 */
enum http_event { HTTP_MORE, HTTP_HEAD, HTTP_BODY, HTTP_END };
struct http_reader;
enum http_side { HTTP_REQUESTS, HTTP_RESPONSES };
struct http_reader *http_reader_new(enum http_side side);
void http_reader_free(struct http_reader *r); /* NULL does nothing */
/* Of the response to come: its request's method, as HEAD has no body and CONNECT upgrades. Before
 * its head; GET when not said. */
void http_reader_expect(struct http_reader *r, const char *method);
int http_read(struct http_reader *r, struct str *in, struct str *ret_body, struct error *err);
/* The peer ended: HTTP_END for a body that ends so, HTTP_MORE between messages, -1 HTTP_CUT. */
int http_read_end(struct http_reader *r, struct error *err);
/* NULL before the first. */
const struct http_head *http_reader_head(const struct http_reader *r);
/* Gives the head's memory back (head and headers, up to 70 KiB), as while a long body is read or
 * the connection waits for its next request: http_reader_head is NULL until the next one. */
void http_reader_forget_head(struct http_reader *r);
/* Whether no byte of a next message has been read. */
bool http_reader_idle(const struct http_reader *r);

/*
 * Writing. http_put_request refuses (-1, HTTP_INVALID) what the reader would: a method that is no
 * token, a target with a blank, a '#' or a byte past ASCII, or of none of the four forms;
 * http_put_header a name that is no token and a value with a control character. HTTP_LIMIT: a
 * request line too long, or `to` is full. Nothing is written then. A head is the start line, its
 * headers, http_put_end.
 */
int http_put_request(struct buf *to, const char *method, struct str target, struct error *err);
void http_put_response(struct buf *to, int status); /* the reason by the status */
int http_put_header(struct buf *to, const char *name, struct str value, struct error *err);
void http_put_length(struct buf *to, uint64_t body_bytes);
void http_put_end(struct buf *to);
/* One chunk of a chunked body (nothing for no bytes), and the last. */
void http_put_chunk(struct buf *to, struct str bytes);
void http_put_last_chunk(struct buf *to);
const char *http_reason(int status); /* "Unknown" for one without a name */

/* Seconds from a Retry-After value: a number, or an HTTP date beside now_ms (real time). -1 when it
 * is neither; never more than max_ms. *ret in ms. */
int http_retry_after(struct str value, int64_t now_ms, int64_t max_ms, int64_t *ret);

#endif
