#ifndef HTTP_TEST_TRANSCRIPT_H
#define HTTP_TEST_TRANSCRIPT_H
/*
 * transcript: what a reader says of a stream, as one line of text, however the stream is cut.
 *
 *	[GET /a 1.1 none keep; Host=h; X=y]	a head
 *	(abc)					its body
 *	.					its end
 *	{abc}					left in `in`, raw
 *	!http_invalid: line 1: …		a refusal, the last word
 */
#include "http/http.h"
#include "testing.h"

enum { TRANSCRIPT_MAX_BYTES = 1024 * 1024 };

struct transcript {
	struct http_reader *reader;
	const char *expect; /* method of each request; NULL: not said */
	struct buf said;
	bool in_body, over;
};

static inline void transcript_head(struct transcript *t)
{
	static const char *const framings[] = {"none", "length", "chunked", "until end"};
	const struct http_head *h = http_reader_head(t->reader);

	(void)buf_putc(&t->said, '[');
	if (h->method.p)
		(void)buf_printf(
			&t->said, STR_FMT " " STR_FMT, STR_ARG(h->method), STR_ARG(h->target));
	else
		(void)buf_printf(&t->said, "%d " STR_FMT, h->status, STR_ARG(h->reason));
	(void)buf_printf(&t->said, " 1.%d %s", h->minor, framings[h->framing]);
	if (h->framing == HTTP_LENGTH)
		(void)buf_printf(&t->said, " %llu", (unsigned long long)h->length);
	(void)buf_puts(&t->said, h->keep_alive ? " keep" : " close");
	(void)buf_puts(&t->said, h->upgrade ? " upgrade" : "");
	for (size_t i = 0; i < h->header_count; i++)
		(void)buf_printf(&t->said, "; " STR_FMT "=" STR_FMT, STR_ARG(h->headers[i].name),
			STR_ARG(h->headers[i].value));
	(void)buf_putc(&t->said, ']');
}

static inline void transcript_event(struct transcript *t, int event, struct str body)
{
	if (event == HTTP_BODY) {
		assert_true(body.len > 0);
		if (!t->in_body)
			(void)buf_putc(&t->said, '(');
		(void)buf_put_str(&t->said, body);
		t->in_body = true;
		return;
	}
	if (t->in_body)
		(void)buf_putc(&t->said, ')');
	t->in_body = false;
	if (event == HTTP_HEAD)
		transcript_head(t);
	if (event == HTTP_END) {
		(void)buf_putc(&t->said, '.');
		if (t->expect)
			http_reader_expect(t->reader, t->expect);
	}
}

static inline void transcript_fail(struct transcript *t, const struct error *err)
{
	transcript_event(t, HTTP_MORE, STR(""));
	(void)buf_printf(&t->said, "!%s: %s", error_code(err), err->text);
	t->over = true;
}

static inline void transcript_feed(struct transcript *t, struct str part)
{
	/* A copy of its own, so that a look beyond it is seen. */
	_cleanup_(mem) char *copy = xmemdup(part.p, part.len);
	struct str in = {copy, part.len}, body = {NULL, 0};
	struct error err = ERROR_INIT;
	int event;

	while (!t->over && (event = http_read(t->reader, &in, &body, &err)) != HTTP_MORE) {
		if (event < 0)
			transcript_fail(t, &err);
		else
			transcript_event(t, event, body);
	}
	if (!t->over && in.len > 0)
		(void)buf_printf(&t->said, "{" STR_FMT "}", STR_ARG(in));
}

static inline void transcript_end(struct transcript *t)
{
	struct error err = ERROR_INIT;
	int event;

	if (t->over)
		return;
	event = http_read_end(t->reader, &err);
	if (event < 0)
		transcript_fail(t, &err);
	else
		transcript_event(t, event, STR(""));
}

/* seed 0: in one; 1: byte by byte; else parts of sizes that the seed makes. */
static inline char *transcript_of(
	enum http_side side, const char *expect, struct str stream, unsigned seed)
{
	struct transcript t = {.expect = expect, .said = BUF_INIT(TRANSCRIPT_MAX_BYTES)};
	uint32_t mix = seed * 2654435761u;

	t.reader = http_reader_new(side);
	if (expect)
		http_reader_expect(t.reader, expect);
	for (size_t at = 0, n; at < stream.len; at += n) {
		mix = mix * 1664525u + 1013904223u;
		n = seed == 0 ? stream.len : seed == 1 ? 1 : 1 + (mix >> 24) % 37;
		if (n > stream.len - at)
			n = stream.len - at;
		transcript_feed(&t, (struct str){stream.p + at, n});
	}
	transcript_end(&t);
	http_reader_free(t.reader);
	assert_false(t.said.full);
	return buf_take(&t.said);
}

/* The transcript is `wanted`, or holds it where `wanted` starts with '~', for every way to cut. */
static inline void transcript_check(const char *name, enum http_side side, const char *expect,
	struct str stream, const char *wanted)
{
	for (unsigned seed = 0; seed < 12; seed++) {
		_cleanup_(mem) char *said = transcript_of(side, expect, stream, seed);

		if (wanted[0] == '~' ? !strstr(said, wanted + 1) : strcmp(said, wanted) != 0)
			fail_msg("%s (cut %u): %s\nnot %s", name, seed, said, wanted);
	}
}

#endif
