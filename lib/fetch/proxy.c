/*
 * fetch: proxies as the environment names them, and the hosts that are reached without.
 */
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <strings.h>

#include "internal.h"

enum {
	PROXY_DEFAULT_PORT = 80,
	PROXY_LOGIN_MAX_BYTES = 1024, /* ours: user, colon and password */
};

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int unescape(struct str s, struct buf *to)
{
	for (size_t i = 0; i < s.len; i++) {
		int high, low;

		if (s.p[i] != '%') {
			(void)buf_putc(to, s.p[i]); /* seen by the caller: to->full */
			continue;
		}
		high = s.len - i > 2 ? hex_value(s.p[i + 1]) : -1;
		low = s.len - i > 2 ? hex_value(s.p[i + 2]) : -1;
		if (high < 0 || low < 0)
			return -1;
		(void)buf_putc(to, (char)(high * 16 + low)); /* as above */
		i += 2;
	}
	return to->full ? -1 : 0;
}

/* "Basic " and the base64 of "user:password" (RFC 7617). */
static int authorize(struct fetch_proxy *p, struct str login, const char *what, struct error *err)
{
	struct buf plain = BUF_INIT(PROXY_LOGIN_MAX_BYTES);
	int rc = unescape(login, &plain);

	if (rc < 0) {
		rc = error_set(err, &URL_INVALID,
			"%s: its user or password has a bad escape, or more than %d bytes", what,
			PROXY_LOGIN_MAX_BYTES);
	} else {
		size_t head = strlen("Basic ");

		p->authorization = xmalloc(head + (plain.len + 2) / 3 * 4 + 1);
		memcpy(p->authorization, "Basic ", head);
		(void)EVP_EncodeBlock((unsigned char *)p->authorization + head,
			(const unsigned char *)buf_str(&plain).p, (int)plain.len); /* its length */
	}
	OPENSSL_cleanse(plain.data, plain.cap);
	buf_release(&plain);
	return rc;
}

int proxy_init(struct fetch_proxy *p, const char *url, const char *what, struct error *err)
{
	struct str rest = str_from(url), login = {0}, end;
	struct str scheme = STR("http://");
	size_t until = 0;

	*p = (struct fetch_proxy){0};
	if (rest.len == 0)
		return 0;
	if (rest.len < scheme.len || strncasecmp(rest.p, scheme.p, scheme.len) != 0)
		return error_set(err, &URL_INVALID, "%s: is no http:// URL", what);
	rest = (struct str){rest.p + scheme.len, rest.len - scheme.len};
	while (until < rest.len && !strchr("/?#", rest.p[until]))
		until++;
	end = (struct str){rest.p + until, rest.len - until};
	if (end.len > 0 && !str_is(end, "/"))
		return error_set(err, &URL_INVALID, "%s: has more than a host and a port", what);
	rest.len = until;
	for (size_t i = rest.len; i-- > 0 && !login.p;)
		if (rest.p[i] == '@') {
			login = (struct str){rest.p, i};
			rest = (struct str){rest.p + i + 1, rest.len - i - 1};
		}
	if (url_parse_authority(rest, &p->at, err) < 0)
		return error_prefix(err, "%s", what);
	if (p->at.port == 0)
		p->at.port = PROXY_DEFAULT_PORT;
	return login.p ? authorize(p, login, what, err) : 0;
}

void proxy_forget_login(struct fetch_proxy *p)
{
	if (p->authorization)
		OPENSSL_cleanse(p->authorization, strlen(p->authorization));
	free(mem_take(&p->authorization));
}

void proxy_release(struct fetch_proxy *p)
{
	proxy_forget_login(p);
	*p = (struct fetch_proxy){0};
}

/* NO_PROXY */

/* One item of the list; an IPv6 address stands there without brackets too. */
static int read_item(struct str item, struct url_authority *ret)
{
	char bracketed[INET6_ADDRSTRLEN + 2];
	int len;

	if (item.len > 0 && item.p[0] == '.')
		item = (struct str){item.p + 1, item.len - 1};
	if (url_parse_authority(item, ret, NULL) == 0)
		return 0;
	if (item.len >= INET6_ADDRSTRLEN)
		return -1;
	len = snprintf(bracketed, sizeof(bracketed), "[" STR_FMT "]", STR_ARG(item));
	return url_parse_authority((struct str){bracketed, (size_t)len}, ret, NULL);
}

/* A name stands for itself and what is below it, with a leading dot or without: as curl reads it.
 */
static bool matches(struct str item, const struct url *u)
{
	struct str host = str_from(u->at.host);
	struct url_authority a;

	if (str_is(item, "*"))
		return true;
	if (read_item(item, &a) < 0)
		return false; /* no host at all, so it is not this one */
	if (a.port != 0 && a.port != url_port(u))
		return false;
	item = str_from(a.host);
	if (a.form != u->at.form || !str_ends(host, item))
		return false;
	return host.len == item.len ||
	       (a.form == URL_HOST_NAME && host.p[host.len - item.len - 1] == '.');
}

bool proxy_is_bypassed(const char *no_proxy, const struct url *u)
{
	struct str rest = str_from(no_proxy), item;

	if (url_is_loopback(&u->at))
		return true;
	while (str_next(&rest, ',', &item))
		if (matches(str_trim(item), u))
			return true;
	return false;
}
