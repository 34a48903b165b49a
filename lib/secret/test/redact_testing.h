#ifndef SECRET_REDACT_TESTING_H
#define SECRET_REDACT_TESTING_H
/*
 * What the tests of the filter share: text in, text out, whole and in pieces.
 */
#include "secret/secret.h"
#include "testing.h"

enum { REDACT_OUT_MAX = 16 * 1024 * 1024 };

MEM_CLEANUP(set, struct secret_set *, secret_set_free)
MEM_CLEANUP(filter, struct secret_filter *, secret_filter_free)

static inline struct buf redact(const struct secret_set *set, struct str text)
{
	struct buf out = BUF_INIT(REDACT_OUT_MAX);

	assert_int_equal(secret_redact(set, text, &out), 0);
	return out;
}

/* In pieces of `first`, then `size` bytes each. */
static inline struct buf redact_pieces(
	const struct secret_set *set, struct str text, size_t first, size_t size)
{
	_cleanup_(filter) struct secret_filter *f = secret_filter_new(set);
	struct buf out = BUF_INIT(REDACT_OUT_MAX);
	size_t n = first;

	for (size_t at = 0; at < text.len; at += n, n = size) {
		/* A copy of its own, so that the sanitizer sees a look beyond. */
		_cleanup_(mem) char *piece = NULL;

		if (n > text.len - at)
			n = text.len - at;
		piece = xmemdup(text.p + at, n);
		assert_int_equal(secret_filter_put(f, piece, n, &out), 0);
	}
	assert_int_equal(secret_filter_end(f, &out), 0);
	return out;
}

static inline void assert_same(struct str text, struct buf *got, struct str want, const char *how)
{
	if (!str_eq(buf_str(got), want))
		fail_msg("%s of '" STR_FMT "': got '" STR_FMT "', not '" STR_FMT "'", how,
			STR_ARG(text), STR_ARG(buf_str(got)), STR_ARG(want));
	buf_release(got);
}

/* However the text is cut, the result is that of the whole. */
static inline void assert_cuts_do_not_matter(const struct secret_set *set, struct str text)
{
	_cleanup_(buf) struct buf whole = redact(set, text);
	struct buf got;

	for (size_t cut = 0; cut <= text.len; cut++) {
		got = redact_pieces(set, text, cut, text.len + 1);
		assert_same(text, &got, buf_str(&whole), "two pieces");
	}
	for (size_t size = 1; size <= 9; size++) {
		got = redact_pieces(set, text, size, size);
		assert_same(text, &got, buf_str(&whole), "many pieces");
	}
}

/* Whole, and however it is cut. */
static inline void becomes(const struct secret_set *set, const char *in, const char *want)
{
	struct buf got = redact(set, str_from(in));

	assert_same(str_from(in), &got, str_from(want), "the whole");
	assert_cuts_do_not_matter(set, str_from(in));
}

static inline void stays(const struct secret_set *set, const char *in)
{
	becomes(set, in, in);
}

#endif
