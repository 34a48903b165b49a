/*
 * fuzz http: how a stream is cut changes nothing of what is read; and what was read, written by the
 * writer, is read back as the same.
 *
 * Input: a byte for the side (1) and the expected method (2: HEAD, 4: CONNECT), one for the cuts,
 * the stream.
 */
#include "fuzz/fuzz.h"
#include "http/http.h"

enum {
	HEAD_BYTES = 2,
	OUT_MAX_BYTES = 64 * 1024 * 1024, /* ours: far above any input */
	CHUNK_MAX_BYTES = 100,
};

/* What was read: a text of all events, and the first message written again. */
struct record {
	enum http_side side;
	const char *method;
	struct http_reader *reader;
	struct buf said, first;
	size_t heads, ends;
	enum http_framing framing; /* of the first */
	bool over;
};

static void record_cleanup(struct record *r)
{
	http_reader_free(r->reader);
	buf_release(&r->said);
	buf_release(&r->first);
}

static void say_part(struct record *r, char mark, struct str s)
{
	(void)buf_printf(&r->said, "%c%zu:", mark, s.len);
	(void)buf_put_str(&r->said, s);
}

static void write_first(struct record *r, const struct http_head *h)
{
	_cleanup_(buf) struct buf method = BUF_INIT(OUT_MAX_BYTES);

	(void)buf_put_str(&method, h->method);
	if (r->side == HTTP_REQUESTS)
		must(http_put_request(&r->first, buf_str(&method).p, h->target, NULL) == 0);
	else
		http_put_response(&r->first, h->status);
	for (size_t i = 0; i < h->header_count; i++) {
		_cleanup_(buf) struct buf name = BUF_INIT(OUT_MAX_BYTES);

		(void)buf_put_str(&name, h->headers[i].name);
		must(http_put_header(&r->first, name.data, h->headers[i].value, NULL) == 0);
	}
	http_put_end(&r->first);
	r->framing = h->framing;
}

static void say_head(struct record *r)
{
	const struct http_head *h = http_reader_head(r->reader);

	must(h && h->header_count <= HTTP_HEADERS_MAX);
	must(r->side == HTTP_RESPONSES || http_header_count(h, "Host") == 1);
	must(h->framing != HTTP_CHUNKED || http_header_count(h, "Content-Length") == 0);
	say_part(r, 'm', h->method);
	say_part(r, 't', h->target);
	(void)buf_printf(&r->said, "[%d 1.%d %d %llu %d %d]", h->status, h->minor, h->framing,
		(unsigned long long)h->length, h->keep_alive, h->upgrade);
	say_part(r, 'r', h->reason);
	for (size_t i = 0; i < h->header_count; i++) {
		say_part(r, 'n', h->headers[i].name);
		say_part(r, 'v', h->headers[i].value);
	}
	if (r->heads++ == 0)
		write_first(r, h);
}

static void say_body(struct record *r, struct str body)
{
	must(body.len > 0);
	for (size_t i = 0; i < body.len; i++) /* so that the cut does not show */
		say_part(r, 'b', (struct str){body.p + i, 1});
	if (r->heads != 1 || r->ends > 0)
		return;
	if (r->framing != HTTP_CHUNKED) {
		(void)buf_put_str(&r->first, body);
		return;
	}
	for (size_t at = 0, n; at < body.len; at += n) {
		n = body.len - at < CHUNK_MAX_BYTES ? body.len - at : CHUNK_MAX_BYTES;
		http_put_chunk(&r->first, (struct str){body.p + at, n});
	}
}

static void say(struct record *r, int event, struct str body, const struct error *err)
{
	if (event < 0) {
		fuzz_check_error(err);
		must(error_is(err, &HTTP_INVALID) || error_is(err, &HTTP_LIMIT) ||
			error_is(err, &HTTP_CUT));
		say_part(r, '!', str_from(err->text));
		r->over = true;
	}
	if (event == HTTP_HEAD)
		say_head(r);
	if (event == HTTP_BODY)
		say_body(r, body);
	if (event == HTTP_END) {
		if (r->ends++ == 0 && r->framing == HTTP_CHUNKED)
			http_put_last_chunk(&r->first);
		(void)buf_putc(&r->said, '.');
		http_reader_expect(r->reader, r->method);
	}
}

static void feed(struct record *r, struct str part)
{
	_cleanup_(fuzz_exact) const struct str copy = fuzz_exact(part);
	struct str in = copy, body = {NULL, 0};
	struct error err = ERROR_INIT;
	int event;

	while (!r->over && (event = http_read(r->reader, &in, &body, &err)) != HTTP_MORE) {
		if (event == HTTP_BODY)
			must(body.p >= copy.p && body.p + body.len <= copy.p + copy.len);
		say(r, event, body, &err);
	}
	if (!r->over && in.len > 0) { /* raw */
		must(http_reader_idle(r->reader));
		for (size_t i = 0; i < in.len; i++)
			say_part(r, 'w', (struct str){in.p + i, 1});
	}
}

/* 0 is in one, 1 is byte by byte, else parts of sizes that the seed makes. */
static void read_all(struct record *r, struct str stream, unsigned seed)
{
	uint32_t mix = seed * 2654435761u;
	struct error err = ERROR_INIT;

	r->reader = http_reader_new(r->side);
	http_reader_expect(r->reader, r->method);
	for (size_t at = 0, n; at < stream.len; at += n) {
		mix = mix * 1664525u + 1013904223u;
		n = seed == 0 ? stream.len : seed == 1 ? 1 : 1 + (mix >> 24) % 19;
		if (n > stream.len - at)
			n = stream.len - at;
		feed(r, (struct str){stream.p + at, n});
	}
	if (!r->over)
		say(r, http_read_end(r->reader, &err), STR(""), &err);
	must(!r->said.full && !r->first.full);
}

/* The first message, whole, is what its own writing is read as: the writer's version is 1.1 and its
 * reason the usual one, so what is compared is what comes of writing once more. */
static void check_written(const struct record *r)
{
	_cleanup_(record) struct record again = {.side = r->side,
		.method = r->method,
		.said = BUF_INIT(OUT_MAX_BYTES),
		.first = BUF_INIT(OUT_MAX_BYTES)};

	read_all(&again, buf_str(&r->first), 0);
	must(!again.over && again.heads == 1 && again.ends == 1);
	must(again.framing == r->framing);
	if (r->framing != HTTP_CHUNKED) /* chunks may be cut elsewhere */
		must(str_eq(buf_str(&again.first), buf_str(&r->first)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned flags = size > 0 ? data[0] : 0;
	const unsigned seeds[] = {0, 1, size > 1 ? data[1] + 2u : 2};
	const size_t head = size < HEAD_BYTES ? size : HEAD_BYTES;
	const struct str stream = fuzz_str(data + head, size - head);
	const char *method = flags & 2 ? "HEAD" : flags & 4 ? "CONNECT" : "GET";
	_cleanup_(buf) struct buf wanted = BUF_INIT(OUT_MAX_BYTES);

	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		_cleanup_(record) struct record r = {
			.side = flags & 1 ? HTTP_RESPONSES : HTTP_REQUESTS,
			.method = method,
			.said = BUF_INIT(OUT_MAX_BYTES),
			.first = BUF_INIT(OUT_MAX_BYTES)};

		read_all(&r, stream, seeds[i]);
		if (i == 0)
			(void)buf_put_str(&wanted, buf_str(&r.said));
		must(str_eq(buf_str(&r.said), buf_str(&wanted)));
		if (r.ends > 0)
			check_written(&r);
	}
	return 0;
}
