/*
 * reader: bytes of one side of a connection into events.
 *
 * The bytes of a head are gathered line by line in one buffer, where its strings then stand; those
 * of a body are only pointed at. So a reader between messages whose head was forgotten is this
 * struct alone.
 */
#include "http/internal.h"

enum {
	INTERIM_MAX = 100, /* ours: 1xx responses before one; they come seconds apart */
	SPARE_BYTES = 128, /* ours: a head's buffer is cut to size where more is unused */
	KEPT_BYTES = 4096, /* ours: a larger buffer is not kept for the next head */
	CRLF_LEN = 2,
};

enum read_state {
	READ_HEAD, /* also between messages */
	READ_LENGTH,
	READ_CHUNKED,
	READ_UNTIL_END,
	READ_DONE, /* HTTP_END is to be said */
	READ_RAW,  /* upgraded */
	READ_BROKEN,
};

struct http_reader {
	enum http_side side;
	enum read_state state;
	enum http_answered to;
	bool begun;    /* a byte of the head has been read */
	bool has_head; /* head is whole, and not forgotten */
	bool upgraded; /* by the head last read */
	bool skipped;  /* an empty line before this message */
	unsigned interim;
	struct buf bytes;  /* of the head */
	size_t line_start; /* in bytes */
	struct http_seen seen;
	struct http_head head;
	uint64_t left; /* READ_LENGTH */
	struct http_chunks chunks;
};

struct http_reader *http_reader_new(enum http_side side)
{
	struct http_reader *r = xcalloc(1, sizeof(*r));

	r->side = side;
	r->bytes = (struct buf)BUF_INIT(HTTP_HEAD_MAX_BYTES);
	return r;
}

static void forget_headers(struct http_reader *r)
{
	free(r->head.headers);
	r->head = (struct http_head){.minor = 0};
	r->has_head = false;
}

void http_reader_forget_head(struct http_reader *r)
{
	if (!r->has_head)
		return; /* none, or one that is being read */
	forget_headers(r);
	buf_release(&r->bytes);
}

void http_reader_free(struct http_reader *r)
{
	if (!r)
		return;
	forget_headers(r);
	buf_release(&r->bytes);
	free(r);
}

void http_reader_expect(struct http_reader *r, const char *method)
{
	if (strcmp(method, "HEAD") == 0)
		r->to = HTTP_ANSWERS_HEAD;
	else
		r->to = strcmp(method, "CONNECT") == 0 ? HTTP_ANSWERS_CONNECT : HTTP_ANSWERS_ANY;
}

const struct http_head *http_reader_head(const struct http_reader *r)
{
	return r->has_head ? &r->head : NULL;
}

bool http_reader_idle(const struct http_reader *r)
{
	return (r->state == READ_HEAD && !r->begun && r->interim == 0) || r->state == READ_RAW;
}

/* The next byte is one of a head. */
static void begin_head(struct http_reader *r)
{
	forget_headers(r);
	if (r->bytes.cap > KEPT_BYTES)
		buf_release(&r->bytes);
	else
		buf_clear(&r->bytes);
	r->seen = (struct http_seen){.lines = 0};
	r->line_start = 0;
	r->begun = true;
}

static void advance(struct str *in, size_t n)
{
	*in = (struct str){in->p + n, in->len - n};
}

/* The longest that the line now read may be, with its CRLF. */
static size_t line_max(const struct http_reader *r)
{
	const size_t room = HTTP_HEAD_MAX_BYTES - r->line_start;

	if (r->seen.lines == 0)
		return HTTP_START_LINE_MAX_BYTES + CRLF_LEN;
	return room;
}

/* 1: *ret_line is whole, without its CRLF, until bytes grows. 0: the input is used up. */
static int take_line(struct http_reader *r, struct str *in, struct str *ret_line, struct error *err)
{
	const size_t room = line_max(r) - (r->bytes.len - r->line_start);
	const size_t most = in->len < room ? in->len : room;
	const char *end = most > 0 ? memchr(in->p, '\n', most) : NULL;
	const size_t n = end ? (size_t)(end - in->p) + 1 : most;
	size_t len;

	must(buf_put(&r->bytes, in->p, n) == 0); /* line_max */
	advance(in, n);
	if (!end && n < room)
		return 0;
	if (!end && r->seen.lines == 0)
		return error_set(err, &HTTP_LIMIT, "a start line of over %d bytes",
			HTTP_START_LINE_MAX_BYTES);
	if (!end)
		return error_set(err, &HTTP_LIMIT, "a head of over %d bytes", HTTP_HEAD_MAX_BYTES);
	len = r->bytes.len - r->line_start;
	if (len < CRLF_LEN || r->bytes.data[r->bytes.len - CRLF_LEN] != '\r')
		return error_set(
			err, &HTTP_INVALID, "line %zu: a LF without its CR", r->seen.lines + 1);
	*ret_line = (struct str){r->bytes.data + r->line_start, len - CRLF_LEN};
	r->line_start = r->bytes.len;
	return 1;
}

/* A head stays while its body is read, which may be long. */
static void cut_to_size(struct buf *b)
{
	if (b->cap - b->len <= SPARE_BYTES)
		return;
	b->cap = b->len + 1;
	b->data = xrealloc(b->data, b->cap, 1);
}

static enum read_state state_after_head(const struct http_head *h)
{
	switch (h->framing) {
	case HTTP_LENGTH:
		return h->length > 0 ? READ_LENGTH : READ_DONE;
	case HTTP_CHUNKED:
		return READ_CHUNKED;
	case HTTP_UNTIL_END:
		return READ_UNTIL_END;
	case HTTP_NO_BODY:
		break;
	}
	return READ_DONE;
}

static int finish_head(struct http_reader *r, struct error *err)
{
	struct http_head *h = &r->head;

	cut_to_size(&r->bytes);
	if (http_head_finish(h, &r->seen, r->side, buf_str(&r->bytes), err) < 0)
		return -1;
	http_head_frame(h, &r->seen, r->side, r->to);
	r->begun = false;
	if (r->side == HTTP_RESPONSES && h->status / 100 == 1 && !h->upgrade) {
		if (r->interim++ == INTERIM_MAX)
			return error_set(
				err, &HTTP_LIMIT, "over %d interim responses", INTERIM_MAX);
		return HTTP_MORE; /* read over */
	}
	r->has_head = true;
	r->upgraded = h->upgrade;
	r->left = h->length;
	r->chunks = (struct http_chunks){.side = r->side};
	r->state = state_after_head(h);
	return HTTP_HEAD;
}

/* Of the line that ends a head, or stands before one. HTTP_MORE: the head is still to come. */
static int take_empty_line(struct http_reader *r, struct error *err)
{
	if (r->seen.lines > 0)
		return finish_head(r, err);
	if (r->side != HTTP_REQUESTS || r->skipped) /* RFC 9112 2.2 lets one before a request */
		return error_set(err, &HTTP_INVALID, "line 1: an empty line before the message");
	r->skipped = true;
	r->begun = false;
	return HTTP_MORE;
}

static int read_head(struct http_reader *r, struct str *in, struct error *err)
{
	struct str line = {NULL, 0};
	int got;

	while (in->len > 0) {
		if (!r->begun)
			begin_head(r);
		got = take_line(r, in, &line, err);
		if (got <= 0)
			return got;
		if (line.len > 0)
			got = http_head_line(&r->head, &r->seen, r->side, line, err);
		else
			got = take_empty_line(r, err);
		if (got != HTTP_MORE) /* or 0, of a line like any other */
			return got;
	}
	return HTTP_MORE;
}

/* As much of the body as there is, at most max bytes. */
static int read_plain(struct http_reader *r, struct str *in, uint64_t max, struct str *ret_body)
{
	const struct str part = {in->p, in->len < max ? in->len : (size_t)max};

	if (part.len == 0)
		return HTTP_MORE;
	if (r->state == READ_LENGTH) {
		r->left -= part.len;
		if (r->left == 0)
			r->state = READ_DONE;
	}
	advance(in, part.len);
	*ret_body = part;
	return HTTP_BODY;
}

static int end_message(struct http_reader *r)
{
	r->state = r->upgraded ? READ_RAW : READ_HEAD;
	r->to = HTTP_ANSWERS_ANY;
	r->skipped = false;
	r->interim = 0;
	return HTTP_END;
}

static int read_next(struct http_reader *r, struct str *in, struct str *ret_body, struct error *err)
{
	int got;

	switch (r->state) {
	case READ_HEAD:
		return read_head(r, in, err);
	case READ_LENGTH:
		return read_plain(r, in, r->left, ret_body);
	case READ_CHUNKED:
		got = http_chunks_read(&r->chunks, in, ret_body, err);
		return got == HTTP_END ? end_message(r) : got;
	case READ_UNTIL_END:
		return read_plain(r, in, UINT64_MAX, ret_body);
	case READ_DONE:
		return end_message(r);
	case READ_RAW:
		return HTTP_MORE;
	case READ_BROKEN:
		break;
	}
	return error_set(err, &HTTP_INVALID, "an earlier part was refused");
}

int http_read(struct http_reader *r, struct str *in, struct str *ret_body, struct error *err)
{
	const int got = read_next(r, in, ret_body, err);

	if (got < 0)
		r->state = READ_BROKEN;
	return got;
}

int http_read_end(struct http_reader *r, struct error *err)
{
	if (r->state == READ_UNTIL_END || r->state == READ_DONE)
		return end_message(r);
	if (http_reader_idle(r))
		return HTTP_MORE;
	if (r->state == READ_BROKEN)
		return error_set(err, &HTTP_INVALID, "an earlier part was refused");
	if (r->state == READ_LENGTH)
		(void)error_set(err, &HTTP_CUT,
			"the peer ended %llu bytes before the end of a body",
			(unsigned long long)r->left);
	else
		(void)error_set(err, &HTTP_CUT, "the peer ended inside a %s",
			r->state == READ_CHUNKED ? "chunked body" : "head");
	r->state = READ_BROKEN;
	return -1;
}
