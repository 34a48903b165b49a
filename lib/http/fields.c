/*
 * fields: finding headers, and reading what they commonly hold.
 */
#include "http/internal.h"

enum { MEDIA_TYPE_SIZE = 64 }; /* http_media_type's out */

struct str http_header_get(const struct http_head *h, const char *name)
{
	for (size_t i = 0; i < h->header_count; i++)
		if (http_equal_case(h->headers[i].name, name))
			return h->headers[i].value;
	return (struct str){NULL, 0};
}

size_t http_header_count(const struct http_head *h, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < h->header_count; i++)
		count += http_equal_case(h->headers[i].name, name);
	return count;
}

/* Where the first comma stands that is in no quoted string (RFC 9110 5.6.4), or s.len. */
static size_t find_comma(struct str s)
{
	bool quoted = false;

	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] == '"')
			quoted = !quoted;
		else if (quoted && s.p[i] == '\\')
			i++;
		else if (!quoted && s.p[i] == ',')
			return i;
	}
	return s.len;
}

static bool list_has(struct str list, const char *token)
{
	while (list.len > 0) {
		const size_t end = find_comma(list);
		const size_t next = end + (end < list.len);

		if (http_equal_case(http_trim((struct str){list.p, end}), token))
			return true;
		list = (struct str){list.p + next, list.len - next};
	}
	return false;
}

bool http_header_has(const struct http_head *h, const char *name, const char *token)
{
	for (size_t i = 0; i < h->header_count; i++)
		if (http_equal_case(h->headers[i].name, name) &&
			list_has(h->headers[i].value, token))
			return true;
	return false;
}

struct str http_media_type(struct str content_type, char out[MEDIA_TYPE_SIZE])
{
	const struct str absent = {NULL, 0};
	struct str rest = content_type, type = absent, halves, part;
	int count = 0;

	(void)str_next(&rest, ';', &type); /* absent stays absent */
	type = http_trim(type);
	if (type.len == 0 || type.len >= MEDIA_TYPE_SIZE)
		return absent;
	for (halves = type; str_next(&halves, '/', &part); count++)
		if (!http_is_token(part))
			return absent;
	if (count != 2)
		return absent;
	for (size_t i = 0; i < type.len; i++)
		out[i] = (char)(type.p[i] >= 'A' && type.p[i] <= 'Z' ? type.p[i] - 'A' + 'a'
								     : type.p[i]);
	out[type.len] = '\0';
	return (struct str){out, type.len};
}
