/*
 * parse: a text into the parts of RFC 3986, and those of an absolute URL into a struct url.
 */
#include "url/internal.h"

#include <strings.h>

const struct error_kind URL_INVALID = {"invalid_url", ERROR_CLASS_USAGE};
const struct error_kind URL_SCHEME = {"invalid_url_scheme", ERROR_CLASS_USAGE};

static const struct {
	const char *name;
	uint16_t port;
	bool secure;
} schemes[] = {
	[URL_HTTP] = {"http",  80,  false},
	[URL_HTTPS] = {"https", 443, true },
	[URL_WS] = {"ws",    80,  false},
	[URL_WSS] = {"wss",   443, true },
};

size_t url_find_any(struct str s, const char *bytes)
{
	size_t at = 0;

	while (at < s.len && (s.p[at] == '\0' || !strchr(bytes, s.p[at])))
		at++;
	return at;
}

static bool is_scheme(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		const char c = s.p[i];

		if (!url_is_alpha(c) &&
			(i == 0 || (!url_is_digit(c) && c != '+' && c != '-' && c != '.')))
			return false;
	}
	return s.len > 0;
}

/* Cuts what stands behind the first `mark` off *rest; absent when there is no mark. */
static struct str cut_behind(struct str *rest, const char *mark)
{
	const size_t at = url_find_any(*rest, mark);
	struct str cut = {NULL, 0};

	if (at < rest->len)
		cut = url_after(*rest, at + 1);
	rest->len = at;
	return cut;
}

int url_split(struct str text, struct url_parts *ret, struct error *err)
{
	struct url_parts parts = {
		.scheme = {NULL, 0}
        };
	struct str rest = text.p ? text : STR("");
	size_t at;

	if (text.len > URL_MAX_BYTES)
		return error_set(err, &URL_INVALID, "a URL of over %d bytes", URL_MAX_BYTES);
	at = url_find_any(rest, ":/?#");
	if (at < rest.len && rest.p[at] == ':') {
		parts.scheme = url_before(rest, at);
		rest = url_after(rest, at + 1);
		if (!is_scheme(parts.scheme))
			return error_set(err, &URL_INVALID, "a ':' that ends no scheme");
	}
	parts.fragment = cut_behind(&rest, "#");
	parts.query = cut_behind(&rest, "?");
	if (rest.len >= 2 && rest.p[0] == '/' && rest.p[1] == '/') {
		rest = url_after(rest, 2);
		at = url_find_any(rest, "/");
		parts.authority = url_before(rest, at);
		rest = url_after(rest, at);
	}
	parts.path = rest;
	*ret = parts;
	return 0;
}

/* RFC 3986's characters, and those that it leaves out but that links in use hold and every client
 * sends as they are. No blank, no quote, no angle bracket, no backslash, no '#'. */
static bool is_url_byte(char c)
{
	return url_is_alpha(c) || url_is_digit(c) || strchr("-._~!$&'()*+,;=:@/?%[]{}|^`", c);
}

static int check_part(struct str part, const char *name, struct error *err)
{
	for (size_t i = 0; i < part.len; i++) {
		const char c = part.p[i];

		if (c == '\0' || !is_url_byte(c))
			return error_set(err, &URL_INVALID,
				"the %s holds the byte 0x%02x, which is of no URL", name,
				(unsigned char)c);
		if (c == '%' && (part.len - i < 3 || url_hex(part.p[i + 1]) < 0 ||
					url_hex(part.p[i + 2]) < 0))
			return error_set(
				err, &URL_INVALID, "the %s has a '%%' that starts no escape", name);
	}
	return 0;
}

int url_check_bytes(const struct url_parts *parts, struct error *err)
{
	if (check_part(parts->path, "path", err) < 0 || check_part(parts->query, "query", err) < 0)
		return -1;
	return check_part(parts->fragment, "fragment", err);
}

static int find_scheme(struct str name, enum url_scheme *ret, struct error *err)
{
	if (!name.p)
		return error_set(err, &URL_INVALID, "a URL without a scheme");
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (strlen(schemes[i].name) == name.len &&
			strncasecmp(schemes[i].name, name.p, name.len) == 0) {
			*ret = (enum url_scheme)i;
			return 0;
		}
	}
	return error_set(err, &URL_SCHEME, "the scheme is none of http, https, ws and wss");
}

int url_parse(struct str text, struct url *ret, struct error *err)
{
	struct url_parts parts;
	struct url u;

	if (text.len == 0)
		return error_set(err, &URL_INVALID, "an empty URL");
	if (url_split(text, &parts, err) < 0 || find_scheme(parts.scheme, &u.scheme, err) < 0)
		return -1;
	if (!parts.authority.p)
		return error_set(err, &URL_INVALID, "no '//' follows the scheme");
	if (url_parse_authority(parts.authority, &u.at, err) < 0 ||
		url_check_bytes(&parts, err) < 0)
		return -1;
	if (parts.path.len == 0 && text.len == URL_MAX_BYTES) /* with its "/" it is longer */
		return error_set(err, &URL_INVALID, "a URL of over %d bytes", URL_MAX_BYTES);
	u.path = parts.path.len > 0 ? parts.path : STR("/");
	u.query = parts.query;
	*ret = u;
	return 0;
}

const char *url_scheme_name(enum url_scheme s)
{
	return schemes[s].name;
}

bool url_is_secure(const struct url *u)
{
	return schemes[u->scheme].secure;
}

uint16_t url_port(const struct url *u)
{
	return u->at.port != 0 ? u->at.port : schemes[u->scheme].port;
}

bool url_same_origin(const struct url *a, const struct url *b)
{
	return url_is_secure(a) == url_is_secure(b) && url_port(a) == url_port(b) &&
	       strcmp(a->at.host, b->at.host) == 0;
}
