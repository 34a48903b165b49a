/*
 * query: percent escapes, written and read.
 */
#include "url/internal.h"

static bool is_unreserved(char c)
{
	return url_is_alpha(c) || url_is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

void url_put_escaped(struct buf *to, struct str s, const char *keep)
{
	for (size_t i = 0; i < s.len; i++) {
		const char c = s.p[i];

		if (is_unreserved(c) || (keep && c != '\0' && strchr(keep, c)))
			(void)buf_putc(to, c);
		else
			(void)buf_printf(to, "%%%02X", (unsigned char)c);
	}
}

/* Takes one decoded byte off *rest, which is not empty: 0 to 255, or -1 for a bad escape. */
static int next_byte(struct str *rest)
{
	const char c = rest->p[0];
	int high, low;

	if (c != '%') {
		*rest = url_after(*rest, 1);
		return c == '+' ? ' ' : (unsigned char)c;
	}
	high = rest->len >= 3 ? url_hex(rest->p[1]) : -1;
	low = rest->len >= 3 ? url_hex(rest->p[2]) : -1;
	if (high < 0 || low < 0)
		return -1;
	*rest = url_after(*rest, 3);
	return high * 16 + low;
}

/* Whether `raw`, decoded, is this name; false too for a bad escape. */
static bool decodes_to(struct str raw, const char *name)
{
	for (; raw.len > 0; name++)
		if (*name == '\0' || next_byte(&raw) != (unsigned char)*name)
			return false;
	return *name == '\0';
}

static bool can_be_decoded(struct str raw)
{
	while (raw.len > 0)
		if (next_byte(&raw) < 0)
			return false;
	return true;
}

static int put_decoded(struct buf *to, struct str raw, struct error *err)
{
	if (buf_reserve(to, raw.len) < 0) /* what is decoded is never longer */
		return error_set(err, &URL_INVALID, "a value of over %zu bytes", to->max);
	while (raw.len > 0)
		(void)buf_putc(to, (char)next_byte(&raw)); /* reserved */
	return 0;
}

int url_query_get(struct str query, const char *name, struct buf *ret, struct error *err)
{
	struct str rest = query, pair, found = {NULL, 0};

	if (!can_be_decoded(query))
		return error_set(err, &URL_INVALID, "the query has a '%%' that starts no escape");
	while (str_next(&rest, '&', &pair)) {
		const size_t mark = url_find_any(pair, "=");

		if (pair.len == 0 || !decodes_to(url_before(pair, mark), name))
			continue;
		if (found.p)
			return error_set(err, &URL_INVALID, "'%s' stands twice in the query", name);
		found = url_after(pair, mark + (mark < pair.len));
	}
	if (!found.p)
		return 0;
	return put_decoded(ret, found, err) < 0 ? -1 : 1;
}
