/*
 * authority: HOST, HOST:PORT, [IPV6], [IPV6]:PORT.
 *
 * A host is a name, a dotted quad or an IPv6 address, and nothing that another reader could take
 * for one of the others: where the last label of a name is a number in any spelling, inet_aton and
 * browsers read an IPv4 address ("127.1", "0x7f000001", "2130706433"), so it must be a plain one.
 */
#include <arpa/inet.h>

#include "url/internal.h"

enum {
	LABEL_MAX_BYTES = 63, /* RFC 1035 2.3.4 */
	PORT_MAX = 65535,
	IPV6_MAX_BYTES = INET6_ADDRSTRLEN - 1,
};

static int invalid(struct error *err, const char *what)
{
	return error_set(err, &URL_INVALID, "%s", what);
}

static bool is_name_byte(char c)
{
	return url_is_alpha(c) || url_is_digit(c) || c == '-' || c == '_';
}

/* Underscores are of no host name by RFC 1123, but of many in container networks. */
static int check_label(struct str label, struct error *err)
{
	if (label.len == 0)
		return invalid(err, "the host has an empty label");
	if (label.len > LABEL_MAX_BYTES)
		return error_set(
			err, &URL_INVALID, "a label of the host is over %d bytes", LABEL_MAX_BYTES);
	if (label.p[0] == '-')
		return invalid(err, "a label of the host starts with '-'");
	for (size_t i = 0; i < label.len; i++)
		if (!is_name_byte(label.p[i]))
			return invalid(err, "the host has a byte that is of no host name");
	return 0;
}

/* Whether some reader of IPv4 addresses takes the label for a number. */
static bool is_numeric(struct str label)
{
	if (label.len >= 2 && label.p[0] == '0' && url_lower(label.p[1]) == 'x')
		return true;
	for (size_t i = 0; i < label.len; i++)
		if (!url_is_digit(label.p[i]))
			return false;
	return true;
}

static bool is_dotted_quad(struct str s)
{
	struct str part;
	uint64_t value;
	int count = 0;

	while (str_next(&s, '.', &part)) {
		if (text_u64(part, UINT8_MAX, "part", &value, NULL) < 0)
			return false;
		count++;
	}
	return count == 4;
}

static void put_lower(struct str host, char *to)
{
	for (size_t i = 0; i < host.len; i++)
		to[i] = url_lower(host.p[i]);
	to[host.len] = '\0';
}

static int read_name(struct str host, struct url_authority *a, struct error *err)
{
	struct str rest = host, label = {NULL, 0};

	if (host.len == 0)
		return invalid(err, "there is no host");
	if (host.p[host.len - 1] == '.')
		rest.len--;
	if (rest.len > URL_HOST_MAX_BYTES)
		return error_set(
			err, &URL_INVALID, "the host is over %d bytes", URL_HOST_MAX_BYTES);
	while (str_next(&rest, '.', &label))
		if (check_label(label, err) < 0)
			return -1;
	a->form = URL_HOST_NAME;
	if (is_numeric(label)) {
		if (!is_dotted_quad(host))
			return invalid(err, "the host is a number but no plain IPv4 address");
		a->form = URL_HOST_IPV4;
	}
	put_lower(host, a->host);
	return 0;
}

static int read_ipv6(struct str address, struct url_authority *a, struct error *err)
{
	struct in6_addr bytes;

	if (address.len > IPV6_MAX_BYTES || memchr(address.p, '\0', address.len))
		return invalid(err, "no IPv6 address stands in the brackets");
	if (memchr(address.p, '%', address.len))
		return invalid(err, "an IPv6 address with a zone");
	put_lower(address, a->host);
	if (inet_pton(AF_INET6, a->host, &bytes) != 1) /* RFC 4291 2.2, nothing more */
		return invalid(err, "no IPv6 address stands in the brackets");
	a->form = URL_HOST_IPV6;
	return 0;
}

/* What follows the host: nothing, or ':' and a number. */
static int read_port(struct str rest, uint16_t *ret, struct error *err)
{
	uint64_t port = 0;

	if (rest.len == 0)
		return 0;
	if (rest.p[0] != ':')
		return invalid(err, "what follows the brackets is no port");
	if (text_u64(url_after(rest, 1), PORT_MAX, "port", &port, NULL) < 0 || port == 0)
		return error_set(
			err, &URL_INVALID, "the port is no plain number of 1 to %d", PORT_MAX);
	*ret = (uint16_t)port;
	return 0;
}

int url_parse_authority(struct str text, struct url_authority *ret, struct error *err)
{
	struct url_authority a = {.port = 0};
	size_t end;
	int rc;

	if (text.len == 0)
		return invalid(err, "there is no host");
	if (memchr(text.p, '@', text.len))
		return invalid(err, "a user or password stands before the host");
	if (text.p[0] == '[') {
		end = url_find_any(text, "]");
		if (end == text.len)
			return invalid(err, "a bracket before the host is not closed");
		rc = read_ipv6((struct str){text.p + 1, end - 1}, &a, err);
		end++;
	} else {
		end = url_find_any(text, ":");
		rc = read_name(url_before(text, end), &a, err);
	}
	if (rc < 0 || read_port(url_after(text, end), &a.port, err) < 0)
		return -1;
	*ret = a;
	return 0;
}

bool url_is_loopback(const struct url_authority *a)
{
	struct in6_addr bytes;

	switch (a->form) {
	case URL_HOST_NAME:
		return strcmp(a->host, "localhost") == 0;
	case URL_HOST_IPV4:
		return strncmp(a->host, "127.", 4) == 0;
	case URL_HOST_IPV6:
		return inet_pton(AF_INET6, a->host, &bytes) == 1 && IN6_IS_ADDR_LOOPBACK(&bytes);
	}
	return false;
}
