/*
 * head: the lines of a message's head, and what they say about what follows.
 *
 * Each line is checked when it is whole, so that the first wrong one ends it. The strings of the
 * head are made when all of it stands where it stays.
 */
#include "http/internal.h"

const struct error_kind HTTP_INVALID = {"http_invalid", ERROR_CLASS_IO};
const struct error_kind HTTP_LIMIT = {"http_limit", ERROR_CLASS_LIMIT};
const struct error_kind HTTP_CUT = {"http_cut", ERROR_CLASS_IO};

enum {
	STATUS_MIN = 100,
	STATUS_MAX = 599, /* RFC 9110 15 */
	SWITCHING_PROTOCOLS = 101,
	OK = 200,
	NO_CONTENT = 204,
	MULTIPLE_CHOICES = 300,
	NOT_MODIFIED = 304,
	VERSION_LEN = 8, /* "HTTP/1.1" */
};

static int invalid(struct error *err, const struct http_seen *seen, const char *what)
{
	return error_set(err, &HTTP_INVALID, "line %zu: %s", seen->lines, what);
}

static struct str from(struct str s, size_t at)
{
	return (struct str){s.p + at, s.len - at};
}

bool http_is_target(struct str method, struct str target)
{
	for (size_t i = 0; i < target.len; i++)
		if (target.p[i] <= ' ' || target.p[i] > '~' || target.p[i] == '#')
			return false;
	if (target.len == 0)
		return false;
	if (str_is(method, "CONNECT")) /* RFC 9112 3.2.3: a host and a port */
		return target.p[0] != '/' && target.p[0] != '*';
	if (str_is(target, "*"))
		return str_is(method, "OPTIONS");
	return target.p[0] == '/' || str_find(target, STR("://"), 0) > 0;
}

static int read_version(struct str s, int *ret_minor)
{
	if (!str_is(s, "HTTP/1.0") && !str_is(s, "HTTP/1.1"))
		return -1;
	*ret_minor = s.p[VERSION_LEN - 1] - '0';
	return 0;
}

static int read_request_line(
	struct http_head *h, const struct http_seen *seen, struct str line, struct error *err)
{
	struct str rest = line, version = {NULL, 0};

	if (!str_next(&rest, ' ', &h->method) || !str_next(&rest, ' ', &h->target) ||
		!str_next(&rest, ' ', &version) || rest.p)
		return invalid(err, seen, "no request line of method, target and version");
	if (!http_is_token(h->method))
		return invalid(err, seen, "the method is no token");
	if (read_version(version, &h->minor) < 0)
		return invalid(err, seen, "the version is not HTTP/1.0 or HTTP/1.1");
	if (!http_is_target(h->method, h->target))
		return invalid(err, seen, "the request target is none of this method");
	return 0;
}

static int read_status_line(
	struct http_head *h, const struct http_seen *seen, struct str line, struct error *err)
{
	struct str version = {NULL, 0}, code = {NULL, 0}, rest = line;
	uint64_t status;

	if (!str_next(&rest, ' ', &version) || read_version(version, &h->minor) < 0)
		return invalid(err, seen, "no status line of HTTP/1.0 or HTTP/1.1");
	if (!str_next(&rest, ' ', &code) ||
		text_u64(code, STATUS_MAX, "status", &status, NULL) < 0 || status < STATUS_MIN)
		return invalid(err, seen, "the status is not 100 to 599");
	if (!http_is_value(HTTP_RESPONSES, rest)) /* absent where servers leave out the blank too */
		return invalid(err, seen, "a control character in the reason");
	h->status = (int)status;
	h->reason = rest.p ? rest : STR("");
	return 0;
}

static int read_start_line(struct http_head *h, const struct http_seen *seen, enum http_side side,
	struct str line, struct error *err)
{
	return side == HTTP_REQUESTS ? read_request_line(h, seen, line, err)
				     : read_status_line(h, seen, line, err);
}

/* The name ends at the first colon; absent when there is none. */
static struct http_header split_header(struct str line)
{
	struct http_header header = {
		.name = {NULL, 0}
        };
	const char *colon = line.len > 0 ? memchr(line.p, ':', line.len) : NULL;

	if (colon) {
		header.name = (struct str){line.p, (size_t)(colon - line.p)};
		header.value = http_trim(from(line, header.name.len + 1));
	}
	return header;
}

static int see_length(struct http_seen *seen, struct str value, struct error *err)
{
	struct error why = ERROR_INIT;

	if (seen->lengths++ > 0)
		return invalid(err, seen, "a second Content-Length");
	if (text_u64(value, INT64_MAX, "length", &seen->length, &why) == 0)
		return 0;
	if (error_is(&why, &ERROR_LIMIT))
		return error_set(err, &HTTP_LIMIT, "line %zu: a Content-Length of over %lld",
			seen->lines, (long long)INT64_MAX);
	return invalid(err, seen, "the Content-Length is no plain number");
}

/* Headers that decide about what follows, or about who is meant. */
static int see_header(
	struct http_seen *seen, enum http_side side, struct http_header header, struct error *err)
{
	if (http_equal_case(header.name, "content-length")) {
		if (see_length(seen, header.value, err) < 0)
			return -1;
	} else if (http_equal_case(header.name, "transfer-encoding")) {
		if (seen->codings++ > 0)
			return invalid(err, seen, "a second Transfer-Encoding");
		if (!http_equal_case(header.value, "chunked"))
			return invalid(err, seen, "a Transfer-Encoding other than chunked");
	} else if (side == HTTP_REQUESTS && http_equal_case(header.name, "host")) {
		if (seen->hosts++ > 0)
			return invalid(err, seen, "a second Host");
	}
	if (seen->lengths > 0 && seen->codings > 0)
		return invalid(err, seen, "Content-Length with Transfer-Encoding");
	return 0;
}

static int read_header(
	struct http_seen *seen, enum http_side side, struct str line, struct error *err)
{
	const struct http_header header = split_header(line);

	if (line.p[0] == ' ' || line.p[0] == '\t')
		return invalid(err, seen, "a folded header");
	if (!header.name.p)
		return invalid(err, seen, "a header without a colon");
	if (header.name.len > 0 && (header.name.p[header.name.len - 1] == ' ' ||
					   header.name.p[header.name.len - 1] == '\t'))
		return invalid(err, seen, "a blank before the colon");
	if (!http_is_token(header.name))
		return invalid(err, seen, "a header's name is no token");
	if (!http_is_value(side, header.value))
		return invalid(err, seen, "a header's value has a byte that it may not have");
	if (seen->headers++ == HTTP_HEADERS_MAX)
		return error_set(err, &HTTP_LIMIT, "line %zu: over %d headers", seen->lines,
			HTTP_HEADERS_MAX);
	return see_header(seen, side, header, err);
}

int http_head_line(struct http_head *h, struct http_seen *seen, enum http_side side,
	struct str line, struct error *err)
{
	seen->lines++;
	if (seen->lines == 1)
		return read_start_line(h, seen, side, line, err);
	return read_header(seen, side, line, err);
}

static struct str next_line(struct str *rest)
{
	const char *end = memchr(rest->p, '\n', rest->len);
	const size_t len = (size_t)(end - rest->p) + 1;
	const struct str line = {rest->p, len - 2};

	*rest = from(*rest, len);
	return line;
}

int http_head_finish(struct http_head *h, const struct http_seen *seen, enum http_side side,
	struct str bytes, struct error *err)
{
	struct str rest = bytes;

	if (side == HTTP_REQUESTS && seen->hosts == 0)
		return error_set(err, &HTTP_INVALID, "no Host in the head");
	if (seen->codings > 0 && h->minor == 0) /* RFC 9112 6.1 */
		return error_set(err, &HTTP_INVALID, "Transfer-Encoding in HTTP/1.0");
	must(read_start_line(h, seen, side, next_line(&rest), NULL) == 0);
	h->headers = xcalloc(seen->headers, sizeof(h->headers[0]));
	while (h->header_count < seen->headers)
		h->headers[h->header_count++] = split_header(next_line(&rest));
	return 0;
}

/* RFC 9112 6.3: these end with their head, whatever it says. */
static bool has_no_body(const struct http_head *h, enum http_answered to)
{
	return h->status < OK || h->status == NO_CONTENT || h->status == NOT_MODIFIED ||
	       to == HTTP_ANSWERS_HEAD || h->upgrade;
}

void http_head_frame(struct http_head *h, const struct http_seen *seen, enum http_side side,
	enum http_answered to)
{
	const bool response = side == HTTP_RESPONSES;

	if (response)
		h->upgrade = h->status == SWITCHING_PROTOCOLS ||
			     (to == HTTP_ANSWERS_CONNECT && h->status >= OK &&
				     h->status < MULTIPLE_CHOICES);
	if (response && has_no_body(h, to))
		h->framing = HTTP_NO_BODY;
	else if (seen->codings > 0)
		h->framing = HTTP_CHUNKED;
	else if (seen->lengths > 0)
		h->framing = HTTP_LENGTH;
	else
		h->framing = response ? HTTP_UNTIL_END : HTTP_NO_BODY;
	h->length = h->framing == HTTP_LENGTH ? seen->length : 0;
	h->keep_alive = h->framing != HTTP_UNTIL_END && !h->upgrade &&
			!http_header_has(h, "connection", "close") &&
			(h->minor == 1 || http_header_has(h, "connection", "keep-alive"));
}
