/*
 * fetch: one connection, from the name to bytes both ways: address, TCP, a proxy's CONNECT, TLS.
 */
#include <stdio.h>

#include "internal.h"

enum {
	HELD_MAX_BYTES = 128 * 1024,  /* twice what the loop reads at once */
	CONNECT_MAX_BYTES = 8 * 1024, /* ours: host twice, and a login */
};

struct place_text place_text(const struct url *u)
{
	struct place_text t;

	(void)snprintf(t.s, sizeof(t.s), "'%s' port %u", u->at.host,
		(unsigned)url_port(u)); /* sized for the longest host */
	return t;
}

/* Ends */

static void conn_free(void *arg)
{
	struct conn *n = arg;

	tls_free(n->tls);
	http_reader_free(n->reader);
	buf_release(&n->held);
	free(n);
}

void conn_close(struct conn *n)
{
	if (n->state == CONN_CLOSED)
		return;
	if (n->tls)
		tls_close(n->tls);
	n->state = CONN_CLOSED;
	loop_lookup_free(mem_take(&n->lookup));
	loop_connect_free(mem_take(&n->connect));
	loop_stream_close(mem_take(&n->stream));
	if (n->call)
		n->call->conn = NULL;
	n->call = NULL;
	/* Not now: a callback may be looking at what the reader or TLS holds. */
	loop_defer(n->fetch->loop, conn_free, n);
	pool_left(n);
}

void conn_fail(struct conn *n, const struct error *err)
{
	struct fetch_call *c = n->call;

	conn_close(n);
	if (c)
		call_fail(c, err);
}

/* Opening: each step starts the next. */

static void opened(struct conn *n)
{
	http_reader_free(mem_take(&n->reader)); /* the proxy's */
	n->state = CONN_OPEN;
	call_connected(n->call, n);
}

void conn_secured(struct conn *n)
{
	opened(n);
}

static void reached_origin(struct conn *n)
{
	struct error err = ERROR_INIT;

	if (!url_is_secure(&n->origin->url)) {
		opened(n);
		return;
	}
	n->state = CONN_TLS;
	if (tls_start(n, &err) < 0)
		conn_fail(n, &err);
}

static void proxy_refused(struct conn *n, const struct error *why)
{
	struct error err = ERROR_INIT;
	const struct url_authority *p = &n->origin->proxy->at;
	const struct http_head *h = http_reader_head(n->reader);

	if (why)
		(void)error_set(&err, &FETCH_CONNECT, "proxy '%s' port %u: %s", p->host, p->port,
			why->text); /* always -1 */
	else
		(void)error_set(&err, &FETCH_CONNECT,
			"proxy '%s' port %u refused a connection to %s: %d %s", p->host, p->port,
			place_text(&n->origin->url).s, h->status,
			http_reason(h->status)); /* always -1 */
	conn_fail(n, &err);
}

/* What the proxy says to CONNECT. A 2xx is the tunnel; nothing can have come through it yet. */
static void proxy_answer(struct conn *n, struct str in)
{
	struct error err = ERROR_INIT;
	struct str chunk;
	int e = http_read(n->reader, &in, &chunk, &err);

	if (e < 0) {
		proxy_refused(n, &err);
	} else if (e == HTTP_HEAD && !http_reader_head(n->reader)->upgrade) {
		proxy_refused(n, NULL);
	} else if (e == HTTP_HEAD && in.len > 0) {
		(void)error_set(&err, &FETCH_CONNECT, "sent bytes of its own"); /* always -1 */
		proxy_refused(n, &err);
	} else if (e == HTTP_HEAD) {
		reached_origin(n);
	}
}

static int put_connect(struct buf *to, const struct origin *o, struct error *err)
{
	bool six = o->url.at.form == URL_HOST_IPV6;
	struct buf target = BUF_INIT(CONNECT_MAX_BYTES);
	int rc;

	(void)buf_printf(&target, six ? "[%s]:%u" : "%s:%u", o->url.at.host,
		(unsigned)url_port(&o->url)); /* far below the ceiling */
	rc = http_put_request(to, "CONNECT", buf_str(&target), err);
	if (rc == 0)
		rc = http_put_header(to, "Host", buf_str(&target), err);
	if (rc == 0 && o->proxy->authorization)
		rc = http_put_header(
			to, "Proxy-Authorization", str_from(o->proxy->authorization), err);
	if (rc == 0)
		http_put_end(to);
	buf_release(&target);
	return rc;
}

static void ask_proxy(struct conn *n)
{
	struct error err = ERROR_INIT;
	struct buf request = BUF_INIT(CONNECT_MAX_BYTES);

	n->state = CONN_PROXY;
	n->reader = http_reader_new(HTTP_RESPONSES);
	http_reader_expect(n->reader, "CONNECT");
	if (put_connect(&request, n->origin, &err) < 0)
		conn_fail(n, &err);
	else
		conn_write(n, buf_str(&request));
	buf_release(&request);
}

/* The stream */

static void stream_data(void *arg, const char *p, size_t len)
{
	struct conn *n = arg;

	if (n->tls)
		tls_input(n->tls, (struct str){p, len});
	else
		conn_plain(n, (struct str){p, len});
}

static void stream_ended(void *arg, const struct error *err)
{
	struct conn *n = arg;

	conn_ended(n, !err && !n->tls, err);
}

static void stream_drained(void *arg)
{
	struct conn *n = arg;

	if (n->state == CONN_OPEN && n->call)
		call_drained(n->call);
}

void conn_plain(struct conn *n, struct str bytes)
{
	size_t taken;

	if (n->state == CONN_PROXY) {
		proxy_answer(n, bytes);
		return;
	}
	if (!n->call) { /* nobody asked: what it belongs to can never be known */
		conn_close(n);
		return;
	}
	taken = call_input(n->call, bytes);
	if (n->state != CONN_CLOSED && taken < bytes.len)
		must(buf_put(&n->held, bytes.p + taken, bytes.len - taken) == 0);
}

static void ended_early(struct conn *n, const struct error *why)
{
	struct error err = ERROR_INIT;
	const char *reason = why ? why->text : "the connection was closed";
	struct place_text place = place_text(&n->origin->url);

	if (n->state == CONN_PROXY) {
		(void)error_set(&err, &FETCH_CONNECT, "%s", reason); /* always -1 */
		proxy_refused(n, &err);
		return;
	}
	(void)error_set(&err, &FETCH_TLS, "%s: no end of the TLS handshake: %s", place.s,
		reason); /* always -1 */
	conn_fail(n, &err);
}

void conn_ended(struct conn *n, bool clean, const struct error *err)
{
	if (n->state != CONN_OPEN)
		ended_early(n, err);
	else if (n->call)
		call_ended(n->call, clean, err);
	else
		conn_close(n);
}

/* Opening, from its beginning */

static void connected(void *arg, int fd, const struct error *why)
{
	static const struct loop_stream_callbacks callbacks = {
		stream_data, stream_ended, stream_drained};
	struct conn *n = arg;
	struct error err = ERROR_INIT;

	loop_connect_free(mem_take(&n->connect));
	if (fd < 0) {
		err = *why;
		err.kind = &FETCH_CONNECT;
		(void)error_prefix(&err, "%s '%s'", n->origin->proxy ? "proxy" : "host",
			n->origin->proxy ? n->origin->proxy->at.host
					 : n->origin->url.at.host); /* always -1 */
		conn_fail(n, &err);
		return;
	}
	n->stream = loop_stream_new(n->fetch->loop, fd, -1, &callbacks, n);
	if (n->origin->tunnel)
		ask_proxy(n);
	else
		reached_origin(n);
}

/* Those that may be connected to: none of the others is sent a single packet. */
static size_t keep_public(
	const union loop_address *a, size_t count, union loop_address ret[LOOP_ADDRESSES_MAX])
{
	size_t kept = 0;

	for (size_t i = 0; i < count && kept < LOOP_ADDRESSES_MAX; i++) {
		if (!fetch_address_is_private(&a[i]))
			ret[kept++] = a[i];
	}
	return kept;
}

static void found(void *arg, const union loop_address *a, size_t count, const struct error *why)
{
	union loop_address public[LOOP_ADDRESSES_MAX];
	struct conn *n = arg;
	struct error err = ERROR_INIT;

	loop_lookup_free(mem_take(&n->lookup));
	if (count == 0) {
		err = *why;
		err.kind = &FETCH_RESOLVE;
		conn_fail(n, &err);
		return;
	}
	if (n->fetch->refuse_private) {
		count = keep_public(a, count, public);
		a = public;
	}
	if (count == 0) {
		(void)error_set(&err, &FETCH_PRIVATE, "host '%s' is at no public address",
			n->origin->url.at.host); /* always -1 */
		conn_fail(n, &err);
		return;
	}
	n->state = CONN_CONNECTING;
	n->connect = loop_connect_new(n->fetch->loop, a, count, connected, n);
}

void conn_open(struct origin *o, struct fetch_call *c)
{
	struct conn *n = xcalloc(1, sizeof(*n));
	const char *host = o->proxy ? o->proxy->at.host : o->url.at.host;
	uint16_t port = o->proxy ? o->proxy->at.port : url_port(&o->url);
	union loop_address a;

	list_init(&n->node);
	n->fetch = o->fetch;
	n->origin = o;
	n->call = c;
	n->held = (struct buf)BUF_INIT(HELD_MAX_BYTES);
	pool_joined(n);
	call_connecting(c, n);
	/* An address that is going to be refused goes the long way: no end inside fetch_start. */
	if (loop_address_parse(host, port, &a) &&
		!(n->fetch->refuse_private && fetch_address_is_private(&a)))
		found(n, &a, 1, NULL);
	else
		n->lookup = loop_lookup_new(n->fetch->loop, host, port, found, n);
}

/* In use */

void conn_write(struct conn *n, struct str bytes)
{
	if (n->tls)
		tls_write(n->tls, bytes);
	else
		loop_stream_write(n->stream, bytes.p, bytes.len);
}

size_t conn_queued(const struct conn *n)
{
	return n->stream ? loop_stream_queued(n->stream) : 0;
}

void conn_pause(struct conn *n)
{
	n->paused = true;
	loop_stream_pause(n->stream);
}

void conn_resume(struct conn *n)
{
	struct buf held = n->held;

	if (!n->paused)
		return;
	n->paused = false;
	n->held = (struct buf)BUF_INIT(HELD_MAX_BYTES);
	loop_stream_resume(n->stream);
	conn_plain(n, buf_str(&held));
	buf_release(&held);
	if (n->tls && n->state != CONN_CLOSED && !n->paused)
		tls_continue(n->tls);
}

bool conn_is_quiet(struct conn *n)
{
	return !n->tls || tls_is_quiet(n->tls);
}

void conn_look(struct conn *n)
{
	loop_stream_drain(n->stream, 1); /* what came, and an end, are told inside */
}

bool conn_is_usable(struct conn *n)
{
	conn_look(n);
	return n->state == CONN_OPEN;
}
