#ifndef URL_INTERNAL_H
#define URL_INTERNAL_H
/*
 * url, inside: the parts of a reference and the bytes it may hold.
 */
#include "url/url.h"

/* The parts of RFC 3986, appendix B, each without its mark; absent where its mark is. The path is
 * never absent. */
struct url_parts {
	struct str scheme, authority, path, query, fragment;
};
/* Finds the parts and checks nothing but the scheme's grammar and the length. */
int url_split(struct str text, struct url_parts *ret, struct error *err);
/* Every byte outside the authority may stand where it stands, every percent sign starts an escape.
 */
int url_check_bytes(const struct url_parts *parts, struct error *err);

static inline bool url_is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool url_is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static inline char url_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}
/* 0 to 15, or -1. */
static inline int url_hex(char c)
{
	if (url_is_digit(c))
		return c - '0';
	c = url_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
/* The part before `at`, and what comes from there on. */
static inline struct str url_before(struct str s, size_t at)
{
	return (struct str){s.p, at};
}
static inline struct str url_after(struct str s, size_t at)
{
	return (struct str){s.p + at, s.len - at};
}
/* Where the first of these bytes stands, or s.len. */
size_t url_find_any(struct str s, const char *bytes);

#endif
