/*
 * fetch: the client and its options; a request checked and written down.
 */
#include "fetch/fetch.h"

#include <openssl/crypto.h>
#include <strings.h>

#include "clock/clock.h"
#include "internal.h"

enum {
	CONNECT_MS = 10 * 1000,       /* agent spec 2.6 */
	IDLE_KEEP_MS = 60 * 1000,     /* fetch.h */
	SMALL_BODY_BYTES = 16 * 1024, /* ours: goes with the head in one packet or record */
	FIRST_MAX_BYTES = HTTP_HEAD_MAX_BYTES + SMALL_BODY_BYTES,
};

const struct error_kind FETCH_RESOLVE = {"fetch_resolve_failed", ERROR_CLASS_UNAVAILABLE};
const struct error_kind FETCH_CONNECT = {"fetch_connect_failed", ERROR_CLASS_UNAVAILABLE};
const struct error_kind FETCH_TLS = {"fetch_tls_failed", ERROR_CLASS_UNAVAILABLE};
const struct error_kind FETCH_TIMEOUT = {"fetch_timeout", ERROR_CLASS_UNAVAILABLE};
const struct error_kind FETCH_PRIVATE = {"fetch_private_address", ERROR_CLASS_DENIED};
const struct error_kind FETCH_BROKEN = {"fetch_broken", ERROR_CLASS_IO};
const struct error_kind FETCH_ANSWER = {"fetch_invalid_answer", ERROR_CLASS_IO};

/* The client */

static int read_options(struct fetch *f, const struct fetch_options *o, struct error *err)
{
	if (proxy_init(&f->https_proxy, o->https_proxy, "HTTPS_PROXY", err) < 0 ||
		proxy_init(&f->http_proxy, o->http_proxy, "HTTP_PROXY", err) < 0)
		return -1;
	if (o->proxy_anonymous) {
		proxy_forget_login(&f->https_proxy);
		proxy_forget_login(&f->http_proxy);
	}
	if (o->refuse_private) {
		proxy_release(&f->https_proxy);
		proxy_release(&f->http_proxy);
	}
	f->refuse_private = o->refuse_private;
	f->no_proxy = xstrdup(o->no_proxy);
	f->ca_file = xstrdup(o->ca_file);
	f->connect_ms = o->connect_ms > 0 ? o->connect_ms : CONNECT_MS;
	f->idle_keep_ms = o->idle_keep_ms > 0 ? o->idle_keep_ms : IDLE_KEEP_MS;
	f->per_origin_max = o->per_origin_max;
	return 0;
}

int fetch_new(const struct fetch_options *o, struct fetch **ret, struct error *err)
{
	struct fetch *f = xcalloc(1, sizeof(*f));

	f->loop = o->loop;
	list_init(&f->origins);
	if (read_options(f, o, err) < 0) {
		fetch_free(f);
		return -1;
	}
	f->idle_timer = loop_timer_new(f->loop, pool_timer, f);
	*ret = f;
	return 0;
}

void fetch_free(struct fetch *f)
{
	if (!f)
		return;
	must(f->calls == 0);
	pool_free(f);
	must(f->counts.connections == 0);
	loop_timer_free(f->idle_timer);
	if (f->tls) /* a callback of this round may be looking at what it holds */
		loop_defer(f->loop, tls_shared_free, f->tls);
	proxy_release(&f->https_proxy);
	proxy_release(&f->http_proxy);
	free(f->no_proxy);
	free(f->ca_file);
	free(f);
}

void fetch_counts(const struct fetch *f, struct fetch_counts *ret)
{
	*ret = f->counts;
}

/* A request */

static bool is_word(struct str s, const char *word)
{
	return s.len == strlen(word) && strncasecmp(s.p, word, s.len) == 0;
}

static bool has_no_body(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static int check_request(const struct fetch_request *r, struct error *err)
{
	static const char *const ours[] = {"Host", "Content-Length", "Transfer-Encoding"};
	bool socket = r->url->scheme == URL_WS || r->url->scheme == URL_WSS;

	if (strlen(r->method) >= sizeof(((struct fetch_call *)0)->method))
		return error_set(err, &ERROR_TOO_LONG, "a request's method");
	if (strcmp(r->method, "CONNECT") == 0)
		return error_set(err, &ERROR_INVALID, "CONNECT is for proxies alone");
	if (socket && !r->upgrade)
		return error_set(err, &ERROR_INVALID, "%s:// needs an upgrade",
			url_scheme_name(r->url->scheme));
	for (size_t i = 0; i < r->header_count; i++)
		for (size_t k = 0; k < ARRAY_LEN(ours); k++)
			if (is_word(r->headers[i].name, ours[k]))
				return error_set(err, &ERROR_INVALID,
					"header %s is not the caller's to give", ours[k]);
	return 0;
}

static int put_given_headers(struct fetch_call *c, const struct fetch_request *r, struct error *err)
{
	for (size_t i = 0; i < r->header_count; i++) {
		_cleanup_(mem) char *name = xstrndup(r->headers[i].name.p, r->headers[i].name.len);

		if (strlen(name) != r->headers[i].name.len)
			return error_set(err, &HTTP_INVALID, "a header's name holds a NUL");
		if (http_put_header(&c->first, name, r->headers[i].value, err) < 0)
			return -1;
		if (is_word(r->headers[i].name, "Connection") &&
			is_word(r->headers[i].value, "close"))
			c->last = true;
	}
	return 0;
}

static size_t body_bytes(const struct fetch_request *r)
{
	size_t sum = 0;

	for (size_t i = 0; i < r->body_count; i++)
		sum += r->body[i].len;
	return sum;
}

/* A small body goes with the head; a large one stays where it is. */
static void take_body(struct fetch_call *c, const struct fetch_request *r)
{
	if (body_bytes(r) <= SMALL_BODY_BYTES) {
		for (size_t i = 0; i < r->body_count; i++)
			(void)buf_put_str(&c->first, r->body[i]); /* seen by write_request */
		return;
	}
	c->body = xmemdup(r->body, r->body_count * sizeof(*r->body));
	c->body_count = r->body_count;
}

static int put_start(struct fetch_call *c, const struct fetch_request *r, struct error *err)
{
	bool absolute = c->origin->proxy && !c->origin->tunnel; /* RFC 9112 3.2.2 */
	struct buf text = BUF_INIT(URL_MAX_BYTES + URL_HOST_MAX_BYTES);
	int rc;

	(absolute ? url_put : url_put_target)(&text, r->url);
	rc = http_put_request(&c->first, r->method, buf_str(&text), err);
	buf_clear(&text);
	url_put_host(&text, r->url);
	if (rc == 0)
		rc = http_put_header(&c->first, "Host", buf_str(&text), err);
	buf_release(&text);
	if (rc == 0 && absolute && c->origin->proxy->authorization)
		rc = http_put_header(&c->first, "Proxy-Authorization",
			str_from(c->origin->proxy->authorization), err);
	return rc;
}

static int write_request(struct fetch_call *c, const struct fetch_request *r, struct error *err)
{
	if (put_start(c, r, err) < 0 || put_given_headers(c, r, err) < 0)
		return -1;
	if (!has_no_body(r->method) || body_bytes(r) > 0)
		http_put_length(&c->first, body_bytes(r));
	http_put_end(&c->first);
	if (c->first.full || c->first.len > HTTP_HEAD_MAX_BYTES)
		return error_set(err, &HTTP_LIMIT, "the request's head is over %d bytes",
			HTTP_HEAD_MAX_BYTES);
	take_body(c, r);
	return 0;
}

static struct fetch_call *new_call(struct fetch *f, const struct fetch_request *r)
{
	struct fetch_call *c = xcalloc(1, sizeof(*c));

	list_init(&c->node);
	c->fetch = f;
	c->first = (struct buf)BUF_INIT(FIRST_MAX_BYTES);
	memcpy(c->method, r->method, strlen(r->method));
	c->fresh = r->fresh;
	c->upgrade = r->upgrade;
	c->repeatable = has_no_body(r->method) && body_bytes(r) == 0 && !r->upgrade;
	c->head_ms = r->head_ms;
	c->idle_ms = r->idle_ms;
	c->total_ms = r->total_ms;
	return c;
}

int fetch_start(struct fetch *f, const struct fetch_request *r, const struct fetch_callbacks *cb,
	void *arg, struct fetch_call **ret, struct error *err)
{
	struct fetch_call *c;

	if (check_request(r, err) < 0)
		return -1;
	c = new_call(f, r);
	c->cb = *cb;
	c->arg = arg;
	c->origin = pool_origin(f, r->url, r->upgrade);
	if (write_request(c, r, err) < 0) {
		call_discard(c);
		return -1;
	}
	call_begin(c);
	*ret = c;
	return 0;
}
