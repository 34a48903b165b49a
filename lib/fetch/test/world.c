/* world: see world.h. */
#include "world.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "os/os.h"

enum { RAW_MAX_BYTES = 64 * 1024 * 1024 };

/* The server */

static void peer_drop(struct peer *p)
{
	loop_stream_close(mem_take(&p->stream));
	loop_timer_free(mem_take(&p->timer));
}

void peer_say(struct peer *p, const char *text)
{
	loop_stream_write(p->stream, text, strlen(text));
}

void peer_close(struct peer *p)
{
	loop_stream_end_writes(p->stream);
}

void peer_reset(struct peer *p)
{
	struct linger at_once = {.l_onoff = 1};

	assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
	peer_drop(p);
}

static void say_one(void *arg)
{
	struct peer *p = arg;

	if (p->slow_at < p->slow.len) {
		loop_stream_write(p->stream, p->slow.data + p->slow_at++, 1);
		loop_timer_set(p->timer, 0);
	} else if (p->slow_close) {
		peer_close(p);
	}
}

void peer_say_slowly(struct peer *p, const char *text, bool then_close)
{
	buf_clear(&p->slow);
	must(buf_puts(&p->slow, text) == 0);
	p->slow_at = 0;
	p->slow_close = then_close;
	if (!p->timer)
		p->timer = loop_timer_new(p->server->loop, say_one, p);
	loop_timer_set(p->timer, 0);
}

void peer_go_raw(struct peer *p)
{
	http_reader_free(mem_take(&p->reader));
}

struct peer *server_last_peer(struct server *s)
{
	assert_false(list_empty(&s->peers));
	return list_entry(s->peers.prev, struct peer, node);
}

/* One event of a request; false when no more is to be read now. */
static bool read_request(struct peer *p, struct str *in)
{
	struct server *s = p->server;
	struct error err = ERROR_INIT;
	struct str chunk;
	int e = http_read(p->reader, in, &chunk, &err);

	if (e < 0)
		fail_msg("the server read no request: %s", err.text);
	if (e == HTTP_HEAD)
		buf_clear(&p->body);
	if (e == HTTP_BODY)
		must(buf_put_str(&p->body, chunk) == 0);
	if (e == (s->rules.at_head ? HTTP_HEAD : HTTP_END)) {
		p->requests++;
		s->requests++;
		if (s->rules.request)
			s->rules.request(p, http_reader_head(p->reader));
	}
	return e > HTTP_MORE && !s->rules.at_head && p->reader && p->stream;
}

static void peer_data(void *arg, const char *bytes, size_t len)
{
	struct peer *p = arg;
	struct str in = {bytes, len};

	must(buf_put(&p->raw, bytes, len) == 0);
	while (p->reader && read_request(p, &in))
		;
	if (p->stream && p->server->rules.at_head && p->requests > 0)
		loop_stream_pause(p->stream);
	if (!p->reader && in.len > 0 && p->server->rules.raw)
		p->server->rules.raw(p, in);
}

static void peer_ended(void *arg, const struct error *err)
{
	struct peer *p = arg;

	(void)err;
	p->server->ended++;
	peer_drop(p);
}

static void server_accepted(void *arg, int fd)
{
	static const struct loop_stream_callbacks callbacks = {peer_data, peer_ended, NULL};
	struct server *s = arg;
	struct peer *p = xcalloc(1, sizeof(*p));
	int on = 1;

	/* What is said is there at once, not when the one before was acknowledged. */
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	s->accepted++;
	p->server = s;
	p->fd = fd;
	p->reader = s->rules.raw_only ? NULL : http_reader_new(HTTP_REQUESTS);
	p->raw = p->body = p->slow = (struct buf)BUF_INIT(RAW_MAX_BYTES);
	p->stream = loop_stream_new(s->loop, fd, -1, &callbacks, p);
	list_add_tail(&s->peers, &p->node);
}

static int bound_socket(uint16_t *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

void server_open(struct server *s, struct loop *l, const struct server_rules *rules)
{
	struct error err = ERROR_INIT;
	int fd;

	*s = (struct server){.loop = l, .rules = *rules};
	list_init(&s->peers);
	fd = bound_socket(&s->port);
	assert_int_equal(listen(fd, SOMAXCONN), 0);
	assert_ok(loop_listen(l, fd, server_accepted, s, &s->listener, &err), &err);
}

void server_close(struct server *s)
{
	loop_listener_close(mem_take(&s->listener));
	list_for_each_safe (p, &s->peers, struct peer, node) {
		peer_drop(p);
		http_reader_free(p->reader);
		buf_release(&p->raw);
		buf_release(&p->body);
		buf_release(&p->slow);
		free(p);
	}
	list_init(&s->peers);
}

uint16_t silent_port(int fds[8])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint16_t port;

	/* Its queue is full after a few: the next connection gets no answer at all. */
	fds[0] = bound_socket(&port);
	assert_int_equal(listen(fds[0], 0), 0);
	at.sin_port = htons(port);
	for (size_t i = 1; i < 8; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(
			fds[i], (struct sockaddr *)&at, sizeof(at)); /* in progress is enough */
	}
	return port;
}

int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(d);
	while (readdir(d))
		count++;
	(void)closedir(d); /* only read */
	return count;
}

/* The client */

void world_open(struct world *w, const struct server_rules *rules, const struct fetch_options *o)
{
	struct fetch_options options = o ? *o : (struct fetch_options){0};
	struct error err = ERROR_INIT;

	*w = (struct world){.loop = loop_new()};
	options.loop = w->loop;
	assert_ok(fetch_new(&options, &w->fetch, &err), &err);
	server_open(&w->server, w->loop, rules);
}

void world_close(struct world *w)
{
	fetch_free(w->fetch);
	server_close(&w->server);
	loop_free(w->loop);
}

void world_run(struct world *w)
{
	if (w->running > 0)
		loop_run(w->loop);
	assert_int_equal(w->running, 0);
}

static void stop_loop(void *arg)
{
	loop_stop(arg);
}

void world_wait(struct world *w, int64_t ms)
{
	struct loop_timer *t = loop_timer_new(w->loop, stop_loop, w->loop);

	loop_timer_set(t, ms);
	loop_run(w->loop);
	loop_timer_free(t);
}

/* Calls */

static void tell(struct call *c, char what)
{
	size_t len = strlen(c->told);

	if (what == 'b' && len > 0 && c->told[len - 1] == 'b')
		return;
	must(len + 1 < sizeof(c->told));
	c->told[len] = what;
}

static void over(struct call *c)
{
	c->call = NULL;
	if (--c->world->running == 0)
		loop_stop(c->world->loop);
}

static void at(struct call *c, enum moment m)
{
	if (c->pause_at == m)
		fetch_pause(c->call);
	if (c->resume_at == m)
		fetch_resume(c->call);
	if (c->cancel_at != m)
		return;
	fetch_cancel(c->call);
	fetch_cancel(c->call); /* twice is once */
	if (c->free_too)
		fetch_free(mem_take(&c->world->fetch));
	if (m != AT_DONE)
		over(c);
}

static void on_sent(void *arg)
{
	struct call *c = arg;

	tell(c, 's');
	at(c, AT_SENT);
}

static void on_head(void *arg, const struct http_head *h)
{
	struct call *c = arg;
	struct str x = http_header_get(h, "X-Test");

	tell(c, 'h');
	c->status = h->status;
	at(c, AT_HEAD);
	/* What was handed over is there until the return, cancelled or not. */
	assert_int_equal(h->status, c->status);
	must(x.len < sizeof(c->header));
	if (x.p)
		memcpy(c->header, x.p, x.len);
}

static void on_body(void *arg, struct str bytes)
{
	struct call *c = arg;

	assert_true(bytes.len > 0);
	tell(c, 'b');
	at(c, AT_BODY);
	if (c->in_body)
		c->in_body(c);
	must(buf_put_str(&c->body, bytes) == 0);
}

static void on_done(void *arg, const struct error *err)
{
	struct call *c = arg;

	tell(c, err ? 'e' : 'd');
	if (err)
		c->err = *err;
	at(c, AT_DONE);
	if (c->then)
		c->then(c);
	over(c);
}

void call_init(struct call *c, struct world *w)
{
	*c = (struct call){.world = w, .body = BUF_INIT(RAW_MAX_BYTES)};
}

static size_t count_headers(const struct request *r)
{
	size_t n = 0;

	while (n < ARRAY_LEN(r->headers) && r->headers[n].name.p)
		n++;
	return n;
}

static size_t count_pieces(const struct request *r)
{
	size_t n = 0;

	while (n < ARRAY_LEN(r->body) && r->body[n].p)
		n++;
	return n;
}

void call_start(struct call *c, const struct request *r)
{
	static const struct fetch_callbacks callbacks = {on_sent, on_head, on_body, on_done};
	_cleanup_(mem) char *local = xasprintf(
		"http://127.0.0.1:%u%s", c->world->server.port, r->path ? r->path : "/");
	struct fetch_request request = {.method = r->method ? r->method : "GET",
		.headers = r->headers,
		.header_count = count_headers(r),
		.body = r->body,
		.body_count = count_pieces(r),
		.head_ms = r->head_ms,
		.idle_ms = r->idle_ms,
		.total_ms = r->total_ms,
		.fresh = r->fresh,
		.upgrade = r->upgrade};
	struct error err = ERROR_INIT;
	struct url url;

	assert_ok(url_parse(str_from(r->url ? r->url : local), &url, &err), &err);
	request.url = r->parsed ? r->parsed : &url;
	c->world->running++;
	assert_ok(fetch_start(c->world->fetch, &request, &callbacks, c, &c->call, &err), &err);
	assert_string_equal(c->told, "");
}

void call_do(struct call *c, const struct request *r)
{
	call_start(c, r);
	world_run(c->world);
}

void call_release(struct call *c)
{
	buf_release(&c->body);
}

void assert_done(const struct call *c, int status, const char *body)
{
	size_t len = strlen(c->told);

	if (c->err.kind)
		fail_msg("failed with %s: %s", c->err.kind->code, c->err.text);
	assert_true(len > 0 && c->told[len - 1] == 'd');
	assert_int_equal(c->status, status);
	if (body)
		assert_string_equal(buf_str(&c->body).p, body);
}

void assert_failed(const struct call *c, const struct error_kind *kind, const char *says)
{
	size_t len = strlen(c->told);

	assert_true(len > 0 && c->told[len - 1] == 'e');
	if (!error_is(&c->err, kind) || !strstr(c->err.text, says))
		fail_msg("not %s with '%s' but %s: %s", kind->code, says, error_code(&c->err),
			c->err.text);
}
