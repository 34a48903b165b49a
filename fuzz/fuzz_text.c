/*
 * fuzz text: the two readers of UTF-8 agree, cleaned text is valid, numbers come back as they were
 * written, nothing that is shown acts on a terminal, and pieces of a string put together are the
 * string.
 */
#include <inttypes.h>
#include <stdio.h>

#include "fuzz/fuzz.h"

enum {
	OUT_MAX_BYTES = 64 * 1024 * 1024, /* ours: a byte becomes a few at most */
};

/* Every character decoded is encoded to the bytes it came from; the whole is valid when all are. */
static void check_utf8(struct str s)
{
	size_t at = 0;

	while (at < s.len) {
		char encoded[4];
		uint32_t point;
		const size_t n = utf8_decode(s.p + at, s.len - at, &point);

		if (n == 0)
			break;
		must(n <= s.len - at && point <= 0x10ffff);
		must(utf8_encode(point, encoded) == n && memcmp(encoded, s.p + at, n) == 0);
		at += n;
	}
	must(utf8_valid(s) == (at == s.len));
}

static void check_clean(struct str s)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(OUT_MAX_BYTES);

	must(utf8_put_clean(&clean, s) == 0);
	must(utf8_valid(buf_str(&clean)));
	if (utf8_valid(s))
		must(str_eq(buf_str(&clean), s));
}

static void check_cut(struct str s)
{
	for (size_t max = 0; max <= s.len && max < 40; max++) {
		const struct str cut = str_cut(s, max);

		must(cut.len <= max && memcmp(cut.p, s.p, cut.len) == 0);
		if (utf8_valid(s))
			must(utf8_valid(cut) && max - cut.len < 4);
	}
}

static bool acts_on_a_terminal(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static void check_harmless(struct str s, bool one_line)
{
	_cleanup_(buf) struct buf out = BUF_INIT(OUT_MAX_BYTES);
	struct str shown;

	must((one_line ? text_put_line : text_put_visible)(&out, s) == 0);
	shown = buf_str(&out);
	for (size_t at = 0; at < shown.len;) {
		uint32_t point;
		const size_t n = utf8_decode(shown.p + at, shown.len - at, &point);

		must(n > 0);
		must(!acts_on_a_terminal(point) || (!one_line && (point == '\n' || point == '\t')));
		at += n;
	}
}

/* Text that is read as a number is the one spelling of that number. */
static void check_number_text(struct str s)
{
	char text[32];
	uint64_t u;
	int64_t i;

	if (text_u64(s, UINT64_MAX, "number", &u, NULL) == 0) {
		(void)snprintf(text, sizeof(text), "%" PRIu64, u);
		must(str_is(s, text));
	}
	if (text_i64(s, INT64_MIN, INT64_MAX, "number", &i, NULL) == 0) {
		(void)snprintf(text, sizeof(text), "%" PRId64, i);
		must(str_is(s, text));
	}
}

static void check_number(struct str s)
{
	char text[32];
	uint64_t wanted, got;
	int64_t value;

	if (s.len < sizeof(wanted))
		return;
	memcpy(&wanted, s.p, sizeof(wanted));
	(void)snprintf(text, sizeof(text), "%" PRIu64, wanted);
	must(text_u64(str_from(text), UINT64_MAX, "number", &got, NULL) == 0 && got == wanted);
	must(text_u64(str_from(text), wanted, "number", &got, NULL) == 0);
	if (wanted > 0)
		must(text_u64(str_from(text), wanted - 1, "number", &got, NULL) == -1);
	(void)snprintf(text, sizeof(text), "%" PRId64, (int64_t)wanted);
	must(text_i64(str_from(text), INT64_MIN, INT64_MAX, "number", &value, NULL) == 0);
	must(value == (int64_t)wanted);
}

static void check_pieces(struct str s)
{
	_cleanup_(buf) struct buf joined = BUF_INIT(OUT_MAX_BYTES);
	struct str rest = s, part, trimmed = str_trim(s);

	for (size_t i = 0; str_next(&rest, ',', &part); i++) {
		must(str_find(part, STR(","), 0) == -1);
		if (i > 0)
			must(buf_putc(&joined, ',') == 0);
		must(buf_put_str(&joined, part) == 0);
	}
	must(str_eq(buf_str(&joined), s));
	must(trimmed.len <= s.len && str_find(s, trimmed, 0) >= 0);
	must(str_eq(str_trim(trimmed), trimmed));
}

/* The last quarter is looked for in the whole, against the C library's own search. */
static void check_find(struct str s)
{
	const struct str needle = {s.p + s.len - s.len / 4, s.len / 4};
	const char *found = memmem(s.p, s.len, needle.p, needle.len);

	must(str_find(s, needle, 0) == (found ? found - s.p : -1));
	must(str_ends(s, needle));
	must(str_starts(s, (struct str){s.p, s.len / 2}));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str s = fuzz_str(data, size);

	check_utf8(s);
	check_clean(s);
	check_cut(s);
	check_harmless(s, false);
	check_harmless(s, true);
	check_number_text(s);
	check_number(s);
	check_pieces(s);
	check_find(s);
	return 0;
}
