/*
 * buf: bytes that grow up to a ceiling. One byte more than the ceiling is allocated, for the NUL.
 */
#include <stdio.h>

#include "mem/mem.h"
#include "text/text.h"

enum { FIRST_BYTES = 64 }; /* ours: most lines take one or two steps from here */

static int full(struct buf *b)
{
	b->full = true;
	return -1;
}

int buf_reserve(struct buf *b, size_t len)
{
	size_t need, cap;

	must(b->max < SIZE_MAX); /* room for the NUL */
	if (b->full || len > b->max - b->len)
		return full(b);
	need = b->len + len; /* at most max */
	if (b->data && need < b->cap)
		return 0;
	cap = b->cap ? b->cap : FIRST_BYTES;
	while (cap <= need)
		cap = cap > SIZE_MAX / 2 ? SIZE_MAX : cap * 2;
	if (cap - 1 > b->max)
		cap = b->max + 1;
	b->data = xrealloc(b->data, cap, 1);
	b->data[b->len] = '\0';
	b->cap = cap;
	return 0;
}

int buf_put(struct buf *b, const void *p, size_t len)
{
	if (buf_reserve(b, len) < 0)
		return -1;
	if (len)
		memcpy(b->data + b->len, p, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_puts(struct buf *b, const char *s)
{
	return buf_put(b, s, strlen(s));
}

int buf_put_str(struct buf *b, struct str s)
{
	return buf_put(b, s.p, s.len);
}

int buf_putc(struct buf *b, char c)
{
	return buf_put(b, &c, 1);
}

int buf_printf(struct buf *b, const char *format, ...)
{
	size_t room = b->data ? b->cap - b->len : 0;
	va_list args, again;
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = b->full ? -1 : vsnprintf(room ? b->data + b->len : NULL, room, format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < room) {
		b->len += (size_t)len;
	} else {
		if (room)
			b->data[b->len] = '\0'; /* what did not fit is taken back */
		if (len < 0 || buf_reserve(b, (size_t)len) < 0) {
			va_end(again);
			return full(b);
		}
		len = vsnprintf(b->data + b->len, (size_t)len + 1, format, again);
		must(len >= 0);
		b->len += (size_t)len;
	}
	va_end(again);
	return 0;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n == 0 || !b->data)
		return;
	if (n > b->len)
		n = b->len;
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->data)
		b->data[0] = '\0';
}

void buf_release(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
	b->full = false;
}

struct str buf_str(const struct buf *b)
{
	return (struct str){b->data ? b->data : "", b->len};
}

char *buf_take(struct buf *b)
{
	char *taken = b->data ? b->data : xstrdup("");

	b->data = NULL;
	buf_release(b);
	return taken;
}
