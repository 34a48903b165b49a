/*
 * byte: which bytes may stand where.
 */
#include "http/internal.h"

#include <strings.h>

/* RFC 9110 5.6.2. */
static const bool tokens[128] = {
	['0' ... '9'] = true,
	['A' ... 'Z'] = true,
	['a' ... 'z'] = true,
	['!'] = true,
	['#' ... '\''] = true,
	['*' ... '+'] = true,
	['-' ... '.'] = true,
	['^' ... '`'] = true,
	['|'] = true,
	['~'] = true,
};

bool http_is_token_byte(char c)
{
	const unsigned char byte = (unsigned char)c;

	return byte < sizeof(tokens) && tokens[byte];
}

/* RFC 9110 5.5: blanks, tabs, what is visible, and in responses obs-text. */
bool http_is_value_byte(enum http_side side, char c)
{
	const unsigned char byte = (unsigned char)c;

	if (byte >= sizeof(tokens))
		return side == HTTP_RESPONSES;
	return byte == '\t' || (byte >= ' ' && byte <= '~');
}

bool http_is_token(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!http_is_token_byte(s.p[i]))
			return false;
	return s.len > 0;
}

bool http_is_value(enum http_side side, struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!http_is_value_byte(side, s.p[i]))
			return false;
	return true;
}

bool http_equal_case(struct str a, const char *b)
{
	return a.len == strlen(b) && (a.len == 0 || strncasecmp(a.p, b, a.len) == 0);
}

struct str http_trim(struct str s)
{
	while (s.len > 0 && (s.p[0] == ' ' || s.p[0] == '\t')) {
		s.p++;
		s.len--;
	}
	while (s.len > 0 && (s.p[s.len - 1] == ' ' || s.p[s.len - 1] == '\t'))
		s.len--;
	return s;
}
