/*
 * fuzz sse: the events of a stream do not depend on the pieces it comes in, nor does the fault that
 * ends it; what is handed on is UTF-8 within its bound.
 *
 * Input: a byte for the pieces, the stream.
 */
#include "fuzz/fuzz.h"
#include "model/model.h"

enum {
	FRAME_MAX = 256,                  /* ours: small, so that inputs reach it */
	OUT_MAX_BYTES = 64 * 1024 * 1024, /* ours: far above any input */
};

static int note(void *arg, struct str name, struct str data, struct error *err)
{
	struct buf *out = arg;

	(void)err;
	must(name.p && utf8_valid(name) && name.len <= FRAME_MAX);
	must(!data.p || (utf8_valid(data) && data.len <= FRAME_MAX));
	must(buf_put_str(out, name) == 0);
	must(buf_putc(out, data.p ? '=' : '#') == 0);
	if (data.p)
		must(buf_put_str(out, data) == 0);
	must(buf_putc(out, '\0') == 0);
	return 0;
}

/* 0: in one piece; 1: byte by byte; else of sizes that the seed makes. */
static void read_stream(struct str stream, unsigned seed, struct buf *out)
{
	struct model_sse *s = model_sse_new(FRAME_MAX);
	struct error err = ERROR_INIT;
	uint32_t mix = seed * 2654435761u;
	int rc = 0;

	for (size_t at = 0, n; rc == 0 && at < stream.len; at += n) {
		mix = mix * 1664525u + 1013904223u;
		n = seed == 0 ? stream.len : seed == 1 ? 1 : 1 + (mix >> 24) % 29;
		if (n > stream.len - at)
			n = stream.len - at;
		rc = model_sse_feed(s, (struct str){stream.p + at, n}, note, out, &err);
	}
	if (rc == 0)
		rc = model_sse_end(s, note, out, &err);
	if (rc < 0) {
		fuzz_check_error(&err);
		must(buf_puts(out, error_code(&err)) == 0);
	}
	model_sse_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned seeds[] = {1, size > 0 ? data[0] + 2u : 2};
	const size_t head = size > 0 ? 1 : 0;
	const struct str stream = fuzz_str(data + head, size - head);
	_cleanup_(buf) struct buf whole = BUF_INIT(OUT_MAX_BYTES);

	read_stream(stream, 0, &whole);
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		_cleanup_(buf) struct buf out = BUF_INIT(OUT_MAX_BYTES);

		read_stream(stream, seeds[i], &out);
		must(str_eq(buf_str(&out), buf_str(&whole)));
	}
	return 0;
}
