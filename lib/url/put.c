/*
 * put: a URL and its parts written as they were read. Nothing is normalised here either.
 */
#include "url/internal.h"

static void put_host(struct buf *to, const struct url_authority *a, uint16_t port)
{
	(void)buf_printf(to, a->form == URL_HOST_IPV6 ? "[%s]" : "%s", a->host);
	if (port != 0)
		(void)buf_printf(to, ":%u", (unsigned)port);
}

void url_put_target(struct buf *to, const struct url *u)
{
	(void)buf_put_str(to, u->path);
	if (u->query.p) {
		(void)buf_putc(to, '?');
		(void)buf_put_str(to, u->query);
	}
}

void url_put_host(struct buf *to, const struct url *u)
{
	const struct url plain = {.scheme = u->scheme};

	put_host(to, &u->at, u->at.port == url_port(&plain) ? 0 : u->at.port);
}

void url_put(struct buf *to, const struct url *u)
{
	(void)buf_printf(to, "%s://", url_scheme_name(u->scheme));
	put_host(to, &u->at, u->at.port);
	url_put_target(to, u);
}
