/*
 * fuzz cell: what an answer of a cell tells does not depend on the pieces it comes in; what is told
 * is clean and within its bounds, whoever sent it.
 *
 * Input: a byte for the pieces, the answer.
 */
#include "cell/cell.h"
#include "fuzz/fuzz.h"

enum { OUT_MAX_BYTES = 64 * 1024 * 1024 /* ours: far above any input */ };

static const struct cell_kind kind = {
	.name = "fuzz", .output_max_bytes = 4096, .fields = {"title", "cut", NULL}
};

static void note_field(void *arg, struct str name, struct str value)
{
	must(str_is(name, "title") || str_is(name, "cut"));
	must(value.len <= CELL_NAME_MAX_BYTES + CELL_VALUE_MAX_BYTES);
	must(cell_text_is_clean(value) && utf8_valid(value));
	must(buf_put_str(arg, name) == 0 && buf_putc(arg, '=') == 0 &&
		buf_put_str(arg, value) == 0 && buf_putc(arg, '\0') == 0);
}

static void note_text(void *arg, struct str text)
{
	must(text.len > 0 && text.len <= kind.output_max_bytes);
	must(cell_text_is_clean(text) && utf8_valid(text));
	must(buf_put_str(arg, text) == 0);
}

/* 0: in one piece; 1: byte by byte; else of sizes that the seed makes. */
static void read_answer(struct str answer, unsigned seed, struct buf *out)
{
	static const struct cell_callbacks callbacks = {.field = note_field, .text = note_text};
	struct cell_reader *r = cell_reader_new(&kind, &callbacks, out);
	struct error err = ERROR_INIT;
	struct cell_end end = {.refusal = 0};
	uint32_t mix = seed * 2654435761u;
	int rc = 0;

	for (size_t at = 0, n; rc == 0 && at < answer.len; at += n) {
		mix = mix * 1664525u + 1013904223u;
		n = seed == 0 ? answer.len : seed == 1 ? 1 : 1 + (mix >> 24) % 29;
		if (n > answer.len - at)
			n = answer.len - at;
		rc = cell_reader_put(r, (struct str){answer.p + at, n}, &err);
	}
	if (rc == 0)
		rc = cell_reader_end(r, &end, &err);
	if (rc < 0) {
		fuzz_check_error(&err);
		must(buf_puts(out, err.text) == 0);
	}
	must(rc < 0 ? end.refusal <= CELL_REFUSAL_LAST : end.refusal == 0);
	cell_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned seeds[] = {1, size > 0 ? data[0] + 2u : 2};
	const size_t head = size > 0 ? 1 : 0;
	const struct str answer = fuzz_str(data + head, size - head);
	_cleanup_(buf) struct buf whole = BUF_INIT(OUT_MAX_BYTES);

	read_answer(answer, 0, &whole);
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		_cleanup_(buf) struct buf out = BUF_INIT(OUT_MAX_BYTES);

		read_answer(answer, seeds[i], &out);
		must(str_eq(buf_str(&out), buf_str(&whole)));
	}
	return 0;
}
