#ifndef HTTP_INTERNAL_H
#define HTTP_INTERNAL_H
/*
 * http, inside: classes of bytes, the lines of a head, the machine of a chunked body.
 */
#include "http/http.h"

/* The classes of RFC 9110 5.5 and 5.6.2. A header's value in a request is ASCII; the one of a
 * response may hold what the RFC calls obs-text. */
bool http_is_token(struct str s); /* one byte at least */
bool http_is_token_byte(char c);
bool http_is_value_byte(enum http_side side, char c);
bool http_is_value(enum http_side side, struct str s);
static inline bool http_is_digit(char c)
{
	return c >= '0' && c <= '9';
}
bool http_equal_case(struct str a, const char *b); /* in any case */
struct str http_trim(struct str s);                /* blanks and tabs */

/* Whether the two may stand in a request line: a target in one of its four forms. */
bool http_is_target(struct str method, struct str target);

/* What the lines of a head have said so far. */
struct http_seen {
	size_t lines, headers;
	unsigned hosts, lengths, codings;
	uint64_t length;
};
/* One line of a head, without its CRLF; the first fills method, target, status, reason, minor. */
int http_head_line(struct http_head *h, struct http_seen *seen, enum http_side side,
	struct str line, struct error *err);
/* The head is over: its headers from its bytes (each line with its CRLF, the empty one last), and
 * what follows it. `method` is the request's. */
int http_head_finish(struct http_head *h, const struct http_seen *seen, enum http_side side,
	struct str bytes, struct error *err);
/* What frames a response whose request was this. */
enum http_answered { HTTP_ANSWERS_ANY, HTTP_ANSWERS_HEAD, HTTP_ANSWERS_CONNECT };
void http_head_frame(struct http_head *h, const struct http_seen *seen, enum http_side side,
	enum http_answered to);

enum http_chunk_state {
	CHUNK_SIZE,
	CHUNK_BLANK, /* behind the size */
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	CHUNK_TRAILER, /* where a trailer's name or the last CR stands */
	CHUNK_TRAILER_NAME,
	CHUNK_TRAILER_VALUE,
	CHUNK_TRAILER_LF,
	CHUNK_LAST_LF,
	CHUNK_OVER,
};
struct http_chunks {
	enum http_side side;
	enum http_chunk_state state;
	unsigned digits;
	uint32_t left; /* of the chunk; its size while that is read */
	uint32_t extension_bytes, trailer_bytes, trailers;
};
/* HTTP_MORE, HTTP_BODY, HTTP_END or -1, as http_read. */
int http_chunks_read(
	struct http_chunks *c, struct str *in, struct str *ret_body, struct error *err);

#endif
