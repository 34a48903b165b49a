/*
 * visible: text from outside made harmless for a terminal, a log line and a table, and hexadecimal.
 */
#include <stdio.h>

#include "text/text.h"

/* Characters that act instead of showing: C0, DEL, C1, line and paragraph separators, and the marks
 * that turn the direction of what follows (Unicode bidirectional controls). */
static bool acts(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x061c;
}

static int put_escaped(struct buf *b, uint32_t c)
{
	switch (c) {
	case '\n':
		return buf_puts(b, "\\n");
	case '\r':
		return buf_puts(b, "\\r");
	case '\t':
		return buf_puts(b, "\\t");
	default:
		return buf_printf(b, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
	}
}

/* Length of the run at p that can be written as it is; *ret_next gets the length of what follows (0
 * for an invalid byte or the end) and *ret_point its number. */
static size_t harmless_run(
	const char *p, size_t len, bool one_line, size_t *ret_next, uint32_t *ret_point)
{
	size_t at = 0, step = 0;

	while (at < len) {
		step = utf8_decode(p + at, len - at, ret_point);
		if (step == 0)
			break;
		if (acts(*ret_point) && (one_line || (*ret_point != '\n' && *ret_point != '\t')))
			break;
		at += step;
		step = 0;
	}
	*ret_next = step;
	return at;
}

static int put(struct buf *b, struct str s, bool one_line)
{
	size_t start = b->len, at = 0, next, run;
	uint32_t point = 0;
	int rc = buf_reserve(b, 0);

	while (rc == 0 && at < s.len) {
		run = harmless_run(s.p + at, s.len - at, one_line, &next, &point);
		rc = buf_put(b, s.p + at, run);
		at += run;
		if (rc < 0 || at == s.len)
			break;
		if (next)
			rc = put_escaped(b, point);
		else
			rc = buf_printf(b, "\\x%02x", (unsigned)(unsigned char)s.p[at]);
		at += next ? next : 1;
	}
	if (rc < 0) {
		b->len = start; /* all or nothing */
		if (b->data)
			b->data[start] = '\0';
	}
	return rc;
}

int text_put_visible(struct buf *b, struct str s)
{
	return put(b, s, false);
}

int text_put_line(struct buf *b, struct str s)
{
	return put(b, s, true);
}

void text_hex(const void *p, size_t len, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *u = p;

	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[u[i] >> 4];
		out[2 * i + 1] = digits[u[i] & 15];
	}
	out[2 * len] = '\0';
}
