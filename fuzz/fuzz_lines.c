/*
 * fuzz lines: whatever the chunks, the same lines come out, and they are those that stand between
 * the newlines, up to the first that is over the cap.
 *
 * Input: a byte for the cap, one for the chunks, one for where the owner stops (0: never), the
 * stream.
 */
#include "fuzz/fuzz.h"
#include "wire/wire.h"

enum {
	HEAD_BYTES = 3,
	OUT_MAX_BYTES = 64 * 1024 * 1024, /* ours: far above any input */
};

/* Lines as they came: the length and the bytes of each. */
struct record {
	struct buf lines;
	size_t count, stop_after;
	bool failed, stopped;
	size_t pending; /* before the last newline */
};

static bool take(struct record *r, struct str line)
{
	must(!r->stopped && !r->failed);
	must(buf_put(&r->lines, &line.len, sizeof(line.len)) == 0);
	must(buf_put_str(&r->lines, line) == 0);
	r->count++;
	r->stopped = r->count == r->stop_after;
	return !r->stopped;
}

static bool take_line(void *arg, struct str line)
{
	return take(arg, line);
}

static void record_cleanup(struct record *r)
{
	buf_release(&r->lines);
}

static void put(struct wire_lines *w, struct record *r, const char *p, size_t len)
{
	struct error err = ERROR_INIT;

	if (r->failed || r->stopped)
		return;
	if (wire_lines_put(w, p, len, take_line, r, &err) < 0) {
		must(error_is(&err, &ERROR_LIMIT));
		r->failed = true;
	}
}

/* The stream in chunks: 0 is in one, 1 is byte by byte, else of sizes that the seed makes. A
 * newline ends it, since until then a line just as long as the cap may or may not be refused
 * already. */
static void split(struct str stream, size_t max, unsigned seed, struct record *r)
{
	struct wire_lines w;
	uint32_t mix = seed * 2654435761u;

	wire_lines_init(&w, max);
	for (size_t at = 0, n; at < stream.len; at += n) {
		mix = mix * 1664525u + 1013904223u;
		n = seed == 0 ? stream.len : seed == 1 ? 1 : 1 + (mix >> 24) % 19;
		if (n > stream.len - at)
			n = stream.len - at;
		put(&w, r, stream.p + at, n);
	}
	r->pending = r->failed || r->stopped ? 0 : wire_lines_pending(&w);
	put(&w, r, "\n", 1);
	if (!r->failed && !r->stopped)
		must(wire_lines_pending(&w) == 0);
	wire_lines_release(&w);
}

/* What must come out, by looking for newlines in the whole. */
static void expect(struct str stream, size_t max, struct record *r)
{
	size_t at = 0;

	while (!r->failed && !r->stopped && at <= stream.len) {
		const char *newline = at < stream.len ? memchr(stream.p + at, '\n', stream.len - at)
						      : NULL;
		const size_t end = newline ? (size_t)(newline - stream.p) : stream.len;

		if (end - at >= max) /* with its newline over the cap */
			r->failed = true;
		else
			(void)take(r, (struct str){stream.p + at, end - at});
		if (!newline)
			break;
		at = end + 1;
	}
}

static void compare(const struct record *got, const struct record *wanted)
{
	must(got->count == wanted->count);
	must(str_eq(buf_str(&got->lines), buf_str(&wanted->lines)));
	must(got->failed == wanted->failed && got->stopped == wanted->stopped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t max = size > 0 && data[0] > 0 ? data[0] : WIRE_LINE_MAX_BYTES;
	const unsigned seeds[] = {0, 1, size > 1 ? data[1] + 2u : 2};
	const size_t stop_after = size > 2 ? data[2] : 0;
	const size_t head = size < HEAD_BYTES ? size : HEAD_BYTES;
	const struct str stream = fuzz_str(data + head, size - head);
	_cleanup_(record) struct record wanted = {
		.lines = BUF_INIT(OUT_MAX_BYTES), .stop_after = stop_after};

	expect(stream, max, &wanted);
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		_cleanup_(record) struct record got = {
			.lines = BUF_INIT(OUT_MAX_BYTES), .stop_after = stop_after};

		split(stream, max, seeds[i], &got);
		compare(&got, &wanted);
		if (!wanted.failed && !wanted.stopped) {
			const char *last = memrchr(stream.p, '\n', stream.len);

			must(got.pending ==
				(last ? (size_t)(stream.p + stream.len - last) - 1 : stream.len));
		}
	}
	return 0;
}
