/*
 * json strings: from their escaped form, in place, and back to it.
 */
#include "json/internal.h"

static const char not_closed[] = "a string without a closing quote";
static const char bad_escape[] = "an unknown escape in a string";
static const char bad_unicode[] = "\\u without four hexadecimal digits";
static const char lone_half[] = "half of a surrogate pair";

/* The value of four hexadecimal digits, or -1. */
static int32_t read_hex4(const char *p, const char *end)
{
	int32_t value = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char c = p[i], lower = (char)(c | 0x20);

		if (c >= '0' && c <= '9')
			value = value << 4 | (c - '0');
		else if (lower >= 'a' && lower <= 'f')
			value = value << 4 | (lower - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* *at stands behind "\u"; moves it behind the last digit used. */
static const char *read_unicode(const char **at, const char *end, uint32_t *ret_point)
{
	const int32_t first = read_hex4(*at, end);
	int32_t second;

	if (first < 0)
		return bad_unicode;
	if (first >= 0xdc00 && first <= 0xdfff)
		return lone_half;
	*ret_point = (uint32_t)first;
	if (first >= 0xd800 && first <= 0xdbff) {
		if (end - *at < 6 || (*at)[4] != '\\' || (*at)[5] != 'u')
			return lone_half;
		second = read_hex4(*at + 6, end);
		if (second < 0xdc00 || second > 0xdfff)
			return second < 0 ? bad_unicode : lone_half;
		*ret_point = 0x10000u + ((uint32_t)(first - 0xd800) << 10) +
			     (uint32_t)(second - 0xdc00);
		*at += 6;
	}
	*at += 4;
	return NULL;
}

/* *at stands on a backslash and moves behind the escape; what it means is appended at *to, which it
 * never overtakes: no escape is shorter than what it stands for. */
static const char *read_escape(char **at, const char *end, char **to)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char c = (*at)[1];
	const char *from, *wrong, *found;
	char encoded[4];
	uint32_t point;
	size_t len;

	if (end - *at < 2)
		return not_closed;
	if (c == 'u') {
		from = *at + 2;
		wrong = read_unicode(&from, end, &point);
		if (wrong)
			return wrong;
		*at += from - *at;
		len = utf8_encode(point, encoded);
		memcpy(*to, encoded, len);
		*to += len;
		return NULL;
	}
	found = c ? strchr(letters, c) : NULL;
	if (!found)
		return bad_escape;
	*(*to)++ = meanings[found - letters];
	*at += 2;
	return NULL;
}

static inline bool is_tail(char c)
{
	return (c & 0xc0) == 0x80;
}

/* The length of the character beyond ASCII at p, or 0: most of those of two and three bytes are
 * plain to see (five times as fast on Chinese text), the rest and every doubt is left to `text`.
 */
static inline size_t character_len(const char *p, const char *end)
{
	const unsigned char lead = (unsigned char)*p;
	uint32_t point;

	if (lead >= 0xc2 && lead <= 0xdf && end - p >= 2 && is_tail(p[1]))
		return 2;
	if (lead >= 0xe1 && lead <= 0xec && end - p >= 3 && is_tail(p[1]) && is_tail(p[2]))
		return 3;
	return utf8_decode(p, (size_t)(end - p), &point);
}

/* The length of the run at p that is copied as it is: plain bytes and whole characters beyond
 * ASCII. */
static size_t copied_run(const char *p, const char *end)
{
	const char *at = p;

	for (;;) {
		at += json_plain_run(at, (size_t)(end - at));
		if (at == end || !(*at & 0x80))
			return (size_t)(at - p);
		while (at != end && (*at & 0x80)) {
			const size_t n = character_len(at, end);

			if (n == 0)
				return (size_t)(at - p);
			at += n;
		}
	}
}

const char *json_unquote(char *at, char *end, struct str *ret, char **ret_after)
{
	char *const start = at;
	char *to = at;

	for (;;) {
		const size_t run = copied_run(at, end);
		const char *wrong = NULL;

		if (to != at)
			memmove(to, at, run);
		at += run;
		to += run;
		if (*at == '"' && at != end) {
			*to = '\0';
			*ret = (struct str){start, (size_t)(to - start)};
			*ret_after = at + 1;
			return NULL;
		}
		if (at == end)
			wrong = not_closed;
		else if (*at == '\\')
			wrong = read_escape(&at, end, &to);
		else
			wrong = *at & 0x80 ? "bytes that are not UTF-8"
					   : "a control character in a string";
		if (wrong) {
			*ret_after = at;
			return wrong;
		}
	}
}

/* Whether what stands at p is one of U+0080 to U+009F: JSON takes them as they are, but a line of
 * ours may end on a terminal, and to many of those U+009B is ESC [ in one. (DEL does nothing there,
 * and six bytes for one would take a prompt past what a line holds.) */
static inline bool is_c1(const char *p, const char *end)
{
	return (unsigned char)*p == 0xc2 && end - p >= 2 && (unsigned char)p[1] <= 0x9f;
}

/* Whether a run may hold one: seldom, and seen fast. */
static bool may_hold_c1(const char *p, size_t len)
{
	return len > 0 && memchr(p, 0xc2, len);
}

/* A control character, the highest U+009F, a quote or a backslash. */
static void quote_escaped(struct buf *to, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	static const char short_forms[0x20] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
	const char hex[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
	char letter = '\0';

	if (c < sizeof(short_forms))
		letter = short_forms[c];
	else if (c < 0x80)
		letter = (char)c;
	if (!letter) {
		(void)buf_put(to, hex, sizeof(hex));
		return;
	}
	(void)buf_putc(to, '\\');
	(void)buf_putc(to, letter);
}

/* A run that is copied but for what a terminal acts on. */
static void quote_run(struct buf *to, const char *p, size_t len)
{
	const char *const end = p + len;
	const char *from = p;

	if (!may_hold_c1(p, len))
		p = end;
	for (; p != end; p++) {
		if (!is_c1(p, end))
			continue;
		(void)buf_put(to, from, (size_t)(p - from));
		quote_escaped(to, (unsigned char)*++p);
		from = p + 1;
	}
	(void)buf_put(to, from, (size_t)(end - from));
}

/* A string that needs no escapes, in one piece. */
static void quote_plain(struct buf *to, struct str s)
{
	char *at;

	if (buf_reserve(to, s.len + 2) < 0) /* the buffer says so itself, here and below */
		return;
	at = to->data + to->len;
	*at++ = '"';
	if (s.len > 0)
		memcpy(at, s.p, s.len);
	at += s.len;
	*at++ = '"';
	*at = '\0'; /* for which there is always room */
	to->len += s.len + 2;
}

void json_quote(struct buf *to, struct str s)
{
	size_t run = s.len > 0 ? copied_run(s.p, s.p + s.len) : 0;

	if (run == s.len && !may_hold_c1(s.p, s.len)) {
		quote_plain(to, s);
		return;
	}
	(void)buf_putc(to, '"');
	for (size_t i = 0; i < s.len; i++) {
		quote_run(to, s.p + i, run);
		i += run;
		if (i == s.len)
			break;
		if (s.p[i] & 0x80)
			(void)buf_put(
				to, "\xef\xbf\xbd", 3); /* U+FFFD for a byte of no character */
		else
			quote_escaped(to, (unsigned char)s.p[i]);
		run = copied_run(s.p + i + 1, s.p + s.len);
	}
	(void)buf_putc(to, '"');
}
