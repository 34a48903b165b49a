#ifndef JSON_INTERNAL_H
#define JSON_INTERNAL_H
/*
 * json, inside: what the reader's and the writer's files share.
 */
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "json/json.h"

/* Whether a byte of a string means itself and needs no look at its neighbours: printable ASCII (and
 * DEL) but the quote and the backslash. */
static inline bool json_is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* The length of the run of plain bytes at p: eight at a time, in plain C. */
static inline size_t json_plain_run_portable(const char *p, size_t len)
{
	const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
	size_t n = 0;

	for (; len - n >= sizeof(uint64_t); n += sizeof(uint64_t)) {
		uint64_t v, quote, slash;

		memcpy(&v, p + n, sizeof(v));
		quote = v ^ (ones * '"');
		slash = v ^ (ones * '\\');
		/* A byte below 0x20, equal to a mark, or above 0x7f sets a high bit; what a borrow
		 * adds beside it only sends us to the slow loop. */
		if (((v - ones * 0x20) | (quote - ones) | (slash - ones) | v) & highs)
			break;
	}
	while (n < len && json_is_plain((unsigned char)p[n]))
		n++;
	return n;
}

/* The same, sixteen at a time where the machine can. */
static inline size_t json_plain_run(const char *p, size_t len)
{
#ifdef __SSE2__
	const __m128i blank = _mm_set1_epi8(0x20), quote = _mm_set1_epi8('"');
	const __m128i slash = _mm_set1_epi8('\\');
	size_t n = 0;

	for (; len - n >= sizeof(__m128i); n += sizeof(__m128i)) {
		const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + n));
		/* The comparison is signed: bytes above 0x7f are below a blank too. */
		const __m128i odd = _mm_or_si128(_mm_cmplt_epi8(v, blank),
			_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
		const unsigned mask = (unsigned)_mm_movemask_epi8(odd);

		if (mask)
			return n + (size_t)__builtin_ctz(mask);
	}
	while (n < len && json_is_plain((unsigned char)p[n]))
		n++;
	return n;
#else
	return json_plain_run_portable(p, len);
#endif
}

/*
 * Decodes a string in place. `at` stands behind the opening quote, *end is a NUL. The decoded bytes
 * begin at `at` and are followed by a NUL, for which the closing quote makes room; *ret_after is
 * behind that quote. On failure returns what is wrong (static text) and *ret_after is where; NULL
 * is success.
 */
const char *json_unquote(char *at, char *end, struct str *ret, char **ret_after);

/* A member's key that stands in the object twice (the second one), or NULL. Linear in the members
 * up to a logarithm, whatever the keys. */
const struct json *json_find_duplicate(const struct json *object);

/* A string with its quotes and escapes. */
void json_quote(struct buf *to, struct str s);

#endif
