/*
 * utf8: one reader of UTF-8 (RFC 3629), which the rest is made of. Pure functions over bytes.
 */
#include "mem/mem.h"
#include "text/text.h"

/* What a first byte says: how long its character is and what the second byte may be (RFC 3629, 4);
 * the bounds of the second byte are what keeps out overlong forms, surrogates and numbers too
 * large. */
struct lead {
	unsigned char len, low, high;
};

static struct lead lead_of(unsigned char c)
{
	if (c < 0x80)
		return (struct lead){1, 0, 0};
	if (c < 0xc2)
		return (struct lead){0, 0, 0};
	if (c < 0xe0)
		return (struct lead){2, 0x80, 0xbf};
	if (c < 0xf0)
		return (struct lead){3, c == 0xe0 ? 0xa0 : 0x80, c == 0xed ? 0x9f : 0xbf};
	if (c < 0xf5)
		return (struct lead){4, c == 0xf0 ? 0x90 : 0x80, c == 0xf4 ? 0x8f : 0xbf};
	return (struct lead){0, 0, 0};
}

size_t utf8_decode(const char *p, size_t len, uint32_t *ret_point)
{
	const unsigned char *u = (const unsigned char *)p;
	struct lead lead;
	uint32_t point;

	if (len == 0)
		return 0;
	lead = lead_of(u[0]);
	if (lead.len == 0 || lead.len > len)
		return 0;
	if (lead.len == 1) {
		*ret_point = u[0];
		return 1;
	}
	if (u[1] < lead.low || u[1] > lead.high)
		return 0;
	point = u[0] & (0x7fU >> lead.len);
	for (size_t i = 1; i < lead.len; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (u[i] & 0x3f);
	}
	*ret_point = point;
	return lead.len;
}

size_t utf8_encode(uint32_t point, char out[4])
{
	must(point <= 0x10ffff && (point < 0xd800 || point > 0xdfff));
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		out[0] = (char)(0xe0 | point >> 12);
		out[1] = (char)(0x80 | (point >> 6 & 0x3f));
		out[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | point >> 18);
	out[1] = (char)(0x80 | (point >> 12 & 0x3f));
	out[2] = (char)(0x80 | (point >> 6 & 0x3f));
	out[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

/* Bytes of plain ASCII at the start, eight at a time. */
static size_t ascii_run(const char *p, size_t len)
{
	size_t at = 0;
	uint64_t eight;

	for (; len - at >= sizeof(eight); at += sizeof(eight)) {
		memcpy(&eight, p + at, sizeof(eight));
		if (eight & UINT64_C(0x8080808080808080))
			break;
	}
	while (at < len && !(p[at] & 0x80))
		at++;
	return at;
}

static inline bool continues(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Length of the character at p, or 0. Most are told by their first byte and the sort of the others.
 */
static inline size_t valid_step(const char *p, size_t len)
{
	const unsigned char *u = (const unsigned char *)p;
	uint32_t point;

	if (u[0] >= 0xc2 && u[0] < 0xe0 && len >= 2 && continues(u[1]))
		return 2;
	if (u[0] > 0xe0 && u[0] < 0xf0 && u[0] != 0xed && len >= 3 && continues(u[1]) &&
		continues(u[2]))
		return 3;
	return utf8_decode(p, len, &point);
}

/* Bytes of valid UTF-8 at the start. */
static size_t valid_run(const char *p, size_t len)
{
	size_t at = 0, step;

	while (at < len) {
		step = p[at] & 0x80 ? valid_step(p + at, len - at) : ascii_run(p + at, len - at);
		if (step == 0)
			break;
		at += step;
	}
	return at;
}

bool utf8_valid(struct str s)
{
	return valid_run(s.p, s.len) == s.len;
}

int utf8_put_clean(struct buf *b, struct str s)
{
	size_t start = b->len, at = 0, run;

	while (at < s.len) {
		run = valid_run(s.p + at, s.len - at);
		if (buf_put(b, s.p + at, run) < 0)
			break;
		at += run;
		if (at == s.len)
			return 0;
		if (buf_put(b, "\xef\xbf\xbd", 3) < 0) /* U+FFFD */
			break;
		at++;
	}
	if (!b->full)
		return buf_reserve(b, 0);
	b->len = start;
	if (b->data)
		b->data[start] = '\0';
	return -1;
}

struct str str_cut(struct str s, size_t max)
{
	size_t len = s.len < max ? s.len : max;
	size_t back = 0;
	uint32_t point;

	/* Back to the first byte of the last character, which is at most three bytes away. */
	while (back < len && back < 4 && ((unsigned char)s.p[len - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < len && back < 4) {
		const char *first = s.p + len - 1 - back;

		if ((*first & 0x80) && utf8_decode(first, back + 1, &point) == 0 &&
			lead_of((unsigned char)*first).len > back + 1)
			len -= back + 1; /* begun, not ended */
	}
	return (struct str){s.p, len};
}
