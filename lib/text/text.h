#ifndef TEXT_TEXT_H
#define TEXT_TEXT_H
/*
 * text: borrowed strings, buffers that grow up to a ceiling, UTF-8, numbers.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "error/error.h"

/* A borrowed run of bytes; who lent it says how long it lives. p is NULL only for "absent"; an
 * empty string has a p. Not terminated. */
struct str {
	const char *p;
	size_t len;
};
#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})
#define STR_FMT      "%.*s"
#define STR_ARG(s)   (int)(s).len, (s).p

struct str_list {
	struct str *items;
	size_t count;
};

static inline struct str str_from(const char *s) /* NULL gives the absent string */
{
	return (struct str){s, s ? strlen(s) : 0};
}
static inline bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}
static inline bool str_is(struct str a, const char *b)
{
	return str_eq(a, str_from(b));
}
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Byte offset of the first occurrence at or after `from`, or -1. */
ptrdiff_t str_find(struct str s, struct str needle, size_t from);
/* Without ASCII blanks, tabs, CR and LF at both ends. */
struct str str_trim(struct str s);
/* Cuts the part before the first `sep` off *rest into *ret_part; false when *rest is used up
 * (absent). "a,,b" gives a, empty, b. */
bool str_next(struct str *rest, char sep, struct str *ret_part);
/* The longest prefix of at most `max` bytes that ends at a character of valid UTF-8. */
struct str str_cut(struct str s, size_t max);

/*
 * A byte buffer that grows up to the ceiling it was born with. An append that would pass it changes
 * nothing, marks the buffer full and returns -1; later appends fail too, so one check at the end
 * does. data is always NUL-terminated once anything was appended. What is appended must not lie in
 * the buffer itself. The owner calls buf_release.
 */
struct buf {
	char *data;
	size_t len, cap, max;
	bool full;
};
#define BUF_INIT(ceiling_bytes)                                                                    \
	{                                                                                          \
		.max = (ceiling_bytes)                                                             \
	}
int buf_put(struct buf *b, const void *p, size_t len);
int buf_puts(struct buf *b, const char *s);
int buf_put_str(struct buf *b, struct str s);
int buf_putc(struct buf *b, char c);
int buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Room for len more bytes, or -1 (full). What the caller then wrote at data + len it adds to len.
 */
int buf_reserve(struct buf *b, size_t len);
/* Drops the first n bytes (all when n is larger). */
void buf_consume(struct buf *b, size_t n);
void buf_clear(struct buf *b); /* empty, not full; keeps the memory */
void buf_release(struct buf *b);
struct str buf_str(const struct buf *b); /* valid until the next change; never absent */
/* The bytes as a C string that the caller frees; the buffer is empty afterwards. Never NULL. */
char *buf_take(struct buf *b);
static inline void buf_cleanup(struct buf *b)
{
	buf_release(b);
}

/* UTF-8 as RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF. */
bool utf8_valid(struct str s);
/* Decodes one character at p[0..len). Returns its length and *ret_point, or 0 for an invalid or cut
 * sequence. */
size_t utf8_decode(const char *p, size_t len, uint32_t *ret_point);
/* Encodes a scalar value; returns 1 to 4. */
size_t utf8_encode(uint32_t point, char out[4]);
/* Appends s with each invalid byte replaced by U+FFFD. */
int utf8_put_clean(struct buf *b, struct str s);

/* Decimal, whole string, no sign, no leading zero, no blanks. -1 with ERROR_INVALID or, above max,
 * ERROR_LIMIT; `what` names the value in the text. */
int text_u64(struct str s, uint64_t max, const char *what, uint64_t *ret_value, struct error *err);
/* The same with an optional '-'. */
int text_i64(struct str s, int64_t min, int64_t max, const char *what, int64_t *ret_value,
	struct error *err);

/* For a terminal: every control character (C0 but newline and tab, DEL, C1) and every invalid byte
 * is written as an escape such as \x1b or \u009b; bidirectional controls too. All or nothing, as
 * every append. */
int text_put_visible(struct buf *b, struct str s);
/* The same, newline and tab escaped too: for one line of a log or a table. */
int text_put_line(struct buf *b, struct str s);
/* Lower-case hexadecimal of len bytes into out, 2 * len + 1 with the NUL. */
void text_hex(const void *p, size_t len, char *out);

#endif
