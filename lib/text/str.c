/*
 * str: questions about borrowed runs of bytes.
 */
#include "text/text.h"

bool str_starts(struct str s, struct str prefix)
{
	return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.p, prefix.p, prefix.len) == 0);
}

bool str_ends(struct str s, struct str suffix)
{
	return s.len >= suffix.len &&
	       (suffix.len == 0 || memcmp(s.p + s.len - suffix.len, suffix.p, suffix.len) == 0);
}

ptrdiff_t str_find(struct str s, struct str needle, size_t from)
{
	const char *at;

	if (from > s.len || needle.len > s.len - from)
		return -1;
	if (needle.len == 0)
		return (ptrdiff_t)from;
	at = memmem(s.p + from, s.len - from, needle.p, needle.len);
	return at ? at - s.p : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
	while (s.len && is_blank(s.p[0])) {
		s.p++;
		s.len--;
	}
	while (s.len && is_blank(s.p[s.len - 1]))
		s.len--;
	return s;
}

bool str_next(struct str *rest, char sep, struct str *ret_part)
{
	const char *at;

	if (!rest->p)
		return false;
	at = rest->len ? memchr(rest->p, sep, rest->len) : NULL;
	if (!at) {
		*ret_part = *rest;
		*rest = (struct str){NULL, 0};
		return true;
	}
	*ret_part = (struct str){rest->p, (size_t)(at - rest->p)};
	*rest = (struct str){at + 1, rest->len - ret_part->len - 1};
	return true;
}
