/*
 * fuzz secret: whatever the chunks, the filter's output is the same, and no known value stands in
 * it, neither as it is nor as JSON writes it.
 *
 * Input: a byte for the chunks, known values one a line, an empty line, the text.
 */
#include "fuzz/fuzz.h"
#include "json/json.h"
#include "secret/secret.h"

enum {
	VALUES_MAX = 8,
	VALUE_MIN_BYTES = 6,              /* secret.h: shorter ones are left out */
	OUT_MAX_BYTES = 64 * 1024 * 1024, /* ours: far above any input */
};

static const struct str marker = {"[REDACTED]", 10};

MEM_CLEANUP(set, struct secret_set *, secret_set_free)
MEM_CLEANUP(filter, struct secret_filter *, secret_filter_free)

struct input {
	struct str values[VALUES_MAX];
	size_t value_count;
	struct str text;
};

static struct input parse_input(struct str rest)
{
	struct input in = {.text = STR("")};
	struct str value;

	while (in.value_count < VALUES_MAX && str_next(&rest, '\n', &value) && value.len > 0)
		in.values[in.value_count++] = value;
	if (rest.p)
		in.text = rest;
	return in;
}

/* 0: in one chunk; 1: byte by byte; else of sizes that the seed makes. */
static void filter_text(
	const struct secret_set *set, struct str text, unsigned seed, struct buf *out)
{
	_cleanup_(filter) struct secret_filter *f = secret_filter_new(set);
	uint32_t mix = seed * 2654435761u;

	for (size_t at = 0, n; at < text.len; at += n) {
		mix = mix * 1664525u + 1013904223u;
		n = seed == 0 ? text.len : seed == 1 ? 1 : 1 + (mix >> 24) % 29;
		if (n > text.len - at)
			n = text.len - at;
		must(secret_filter_put(f, text.p + at, n, out) == 0);
	}
	must(secret_filter_end(f, out) == 0);
}

/* A value with a bracket, or one that is a part of the marker, can come to stand in the output
 * without having stood in the text. */
static bool can_be_looked_for(struct str value)
{
	return value.len >= VALUE_MIN_BYTES && !memchr(value.p, '[', value.len) &&
	       !memchr(value.p, ']', value.len) && str_find(marker, value, 0) < 0;
}

static void check_absent(struct str value, struct str shown)
{
	_cleanup_(buf) struct buf json = BUF_INIT(OUT_MAX_BYTES);
	struct json_out j = JSON_OUT(&json);

	value = str_trim(value); /* the set leaves blanks around a value out of it */
	if (!can_be_looked_for(value))
		return;
	must(str_find(shown, value, 0) < 0);
	if (!utf8_valid(value)) /* JSON cannot say it */
		return;
	json_put_str(&j, NULL, value);
	must(str_find(shown, (struct str){json.data + 1, json.len - 2}, 0) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned seeds[] = {0, 1, size > 0 ? data[0] + 2u : 2};
	const size_t head = size > 0 ? 1 : 0;
	const struct input in = parse_input(fuzz_str(data + head, size - head));
	_cleanup_(set) struct secret_set *set = secret_set_new();
	_cleanup_(buf) struct buf whole = BUF_INIT(OUT_MAX_BYTES);

	for (size_t i = 0; i < in.value_count; i++)
		secret_set_add(set, in.values[i]);
	must(secret_redact(set, in.text, &whole) == 0);
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		_cleanup_(buf) struct buf out = BUF_INIT(OUT_MAX_BYTES);

		filter_text(set, in.text, seeds[i], &out);
		must(str_eq(buf_str(&out), buf_str(&whole)));
	}
	for (size_t i = 0; i < in.value_count; i++)
		check_absent(in.values[i], buf_str(&whole));
	return 0;
}
