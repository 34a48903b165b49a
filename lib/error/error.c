/*
 * error: filling in the value, and keeping its text fit to be shown and sent.
 *
 * Texts carry names from outside. What is stored is valid UTF-8 without control characters, so a
 * reply and a terminal can take it as it is. This library depends on none, hence its own small
 * UTF-8 reader.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "error/error.h"

enum {
	PREFIX_MIN_BYTES = 128, /* ours: what a prefix may take of a text that fills the room */
};

const struct error_kind ERROR_SYS = {"io_error", ERROR_CLASS_IO};
const struct error_kind ERROR_INVALID = {"invalid_value", ERROR_CLASS_USAGE};
const struct error_kind ERROR_TOO_LONG = {"too_long", ERROR_CLASS_LIMIT};
const struct error_kind ERROR_LIMIT = {"limit_exceeded", ERROR_CLASS_LIMIT};
const struct error_kind ERROR_BUG = {"internal_error", ERROR_CLASS_BUG};

/* What its first byte says of a character's length; 0 when it starts none. */
static size_t length_by_first(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2)
		return 0;
	if (first < 0xe0)
		return 2;
	if (first < 0xf0)
		return 3;
	return first < 0xf5 ? 4 : 0;
}

/* Length of the UTF-8 character at p and its number, or 0 when it is none (RFC 3629). */
static size_t decode(const unsigned char *p, uint32_t *ret_point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = length_by_first(p[0]);
	uint32_t point = len > 1 ? p[0] & 0x7fU >> len : p[0];

	for (size_t i = 1; i < len; i++) { /* the terminating NUL is no continuation */
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (p[i] & 0x3f);
	}
	if (point < least[len] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return len;
}

/* Control characters: C0, DEL, C1, line and paragraph separators, and those that turn the
 * direction. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x061c;
}

/* Whether p, which is no character, is the start of one that the end of the text cut off. */
static bool is_cut_off(const unsigned char *p)
{
	size_t want = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
	size_t have = strlen((const char *)p);

	for (size_t i = 1; i < have; i++)
		if ((p[i] & 0xc0) != 0x80)
			return false;
	return have < want;
}

/* In place; the result is never longer. With `cut` a broken character at the end goes without a
 * trace. */
static void clean(char *text, bool cut)
{
	const unsigned char *from = (const unsigned char *)text;
	char *to = text;
	uint32_t point;
	size_t len;

	while (*from) {
		len = decode(from, &point);
		if (len == 0 && cut && is_cut_off(from))
			break;
		if (len == 0 || is_control(point)) {
			*to++ = '?';
			from += len ? len : 1;
			continue;
		}
		memmove(to, from, len);
		to += len;
		from += len;
	}
	*to = '\0';
}

/* "HEAD: TAIL" into out, the tail cut at a character. */
static void join(char out[ERROR_TEXT_MAX], const char *head, const char *tail)
{
	size_t head_len = strlen(head), tail_len = strlen(tail);
	size_t room = ERROR_TEXT_MAX - 3 - head_len;
	bool cut = tail_len > room;

	if (cut)
		tail_len = room;
	memcpy(out, head, head_len);
	memcpy(out + head_len, ": ", 2);
	memcpy(out + head_len + 2, tail, tail_len);
	out[head_len + 2 + tail_len] = '\0';
	clean(out, cut);
}

/* Formats into at most size bytes, cleaned. */
static void __attribute__((format(printf, 3, 0)))
format_clean(char *text, size_t size, const char *format, va_list args)
{
	int len = vsnprintf(text, size, format, args);

	if (len < 0)
		(void)snprintf(text, size, "(a text that could not be formatted)");
	clean(text, len >= 0 && (size_t)len >= size);
}

/* Texts are made aside first, since an argument may point into the one that is replaced. */
static void __attribute__((format(printf, 4, 0)))
fill(struct error *err, const struct error_kind *kind, int sys, const char *format, va_list args)
{
	char text[ERROR_TEXT_MAX];

	format_clean(text, sizeof(text), format, args);
	err->kind = kind;
	err->sys = sys;
	memcpy(err->text, text, sizeof(text));
}

static void __attribute__((format(printf, 4, 0))) fill_sys(
	struct error *err, const struct error_kind *kind, int sys, const char *format, va_list args)
{
	const char *says = strerrordesc_np(sys);
	char text[ERROR_TEXT_MAX];
	char unknown[32];

	if (!says) {
		(void)snprintf(unknown, sizeof(unknown), "error %d", sys);
		says = unknown;
	}
	format_clean(text, sizeof(text) - strlen(says) - 2, format, args);
	err->kind = kind;
	err->sys = sys;
	join(err->text, text, says);
}

int error_set(struct error *err, const struct error_kind *kind, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (err) {
		va_start(args, format);
		fill(err, kind, 0, format, args);
		va_end(args);
	}
	errno = saved;
	return -1;
}

int error_sys(struct error *err, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (err) {
		va_start(args, format);
		fill_sys(err, &ERROR_SYS, saved, format, args);
		va_end(args);
	}
	errno = saved;
	return -1;
}

int error_sys_kind(struct error *err, const struct error_kind *kind, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (err) {
		va_start(args, format);
		fill_sys(err, kind, saved, format, args);
		va_end(args);
	}
	errno = saved;
	return -1;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char prefix[ERROR_TEXT_MAX], text[ERROR_TEXT_MAX];
	int saved = errno;
	va_list args;
	size_t room;

	if (!err || !err->kind)
		return -1;
	/* The cause is what helps most, so the prefix is cut first. */
	room = sizeof(text) - 2 - strlen(err->text);
	if (strlen(err->text) + 2 + PREFIX_MIN_BYTES > sizeof(text))
		room = PREFIX_MIN_BYTES;
	va_start(args, format);
	format_clean(prefix, room, format, args);
	va_end(args);
	memcpy(text, err->text, sizeof(text));
	join(err->text, prefix, text);
	errno = saved;
	return -1;
}

bool error_is(const struct error *err, const struct error_kind *kind)
{
	return err && err->kind && (err->kind == kind || strcmp(err->kind->code, kind->code) == 0);
}

const char *error_code(const struct error *err)
{
	return err && err->kind ? err->kind->code : ERROR_BUG.code;
}

void error_clear(struct error *err)
{
	if (err)
		*err = (struct error)ERROR_INIT;
}
