/* The callback of a sign-in. */
#include "agent/io/callback.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/io/oauth.h"
#include "http/http.h"
#include "mem/mem.h"
#include "os/os.h"
#include "url/url.h"

enum {
	CONNS_MAX = 16,               /* ours: a browser opens a handful */
	REQUEST_MS = 10 * 1000,       /* ours: for the whole head */
	LINGER_MS = 2 * 1000,         /* ours: for what was answered to get out */
	QUERY_VALUE_MAX_BYTES = 4096, /* ours: a code has some 100 bytes */
	ANSWER_MAX_BYTES = 4096,      /* ours: the pages below and their headers */
};

struct conn {
	struct list node;
	struct callback *c;
	struct loop_stream *stream;
	struct loop_timer *timer;
	struct http_reader *reader;
	bool answered;
};

struct callback {
	struct callback_options o;
	struct loop_listener *listener;
	uint16_t port;
	struct list conns; /* oldest first */
	size_t count;
	struct conn *waiting;    /* its browser waits to be told; NULL when that has gone */
	bool used;               /* the callback came */
	struct loop_timer *over; /* nobody waits to be told */
	void (*done)(void *arg);
};

/*
 * Pages. Nothing of a request is in them.
 */
static const char head_of_page[] =
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>agent</title>"
	"<body style=\"font-family:sans-serif;margin:4em auto;max-width:34em\">";
static const char good_page[] =
	"<h1>You are signed in</h1><p>Agent can use ChatGPT now. You can close this page.</p>";
static const char bad_page[] =
	"<h1>The sign-in failed</h1><p>The terminal says why. You can close this page.</p>";
static const char lost_page[] = "<h1>There is nothing here</h1>";

static void put_answer(struct buf *to, int status, const char *page)
{
	size_t len = strlen(head_of_page) + strlen(page);

	http_put_response(to, status);
	/* Names and values of ours: what can fail is the room, and that is enough. */
	(void)http_put_header(to, "content-type", STR("text/html; charset=utf-8"), NULL);
	(void)http_put_header(to, "cache-control", STR("no-store"), NULL);
	(void)http_put_header(to, "referrer-policy", STR("no-referrer"), NULL);
	(void)http_put_header(to, "x-content-type-options", STR("nosniff"), NULL);
	(void)http_put_header(to, "content-security-policy",
		STR("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"), NULL);
	(void)http_put_header(to, "connection", STR("close"), NULL);
	http_put_length(to, len);
	http_put_end(to);
	(void)buf_puts(to, head_of_page);
	(void)buf_puts(to, page);
	must(!to->full);
}

/*
 * Connections.
 */
static void finished(struct callback *c)
{
	void (*done)(void *arg) = c->done;

	c->done = NULL;
	if (done)
		done(c->o.arg);
}

static void conn_free(struct conn *n)
{
	struct callback *c = n->c;
	bool was_waiting = c->waiting == n;

	list_remove(&n->node);
	c->count--;
	loop_stream_close(n->stream);
	loop_timer_free(n->timer);
	http_reader_free(n->reader);
	free(n);
	if (!was_waiting)
		return;
	c->waiting = NULL;
	finished(c);
}

static void answer(struct conn *n, int status, const char *page)
{
	_cleanup_(buf) struct buf out = BUF_INIT(ANSWER_MAX_BYTES);

	put_answer(&out, status, page);
	n->answered = true;
	loop_stream_write(n->stream, out.data, out.len);
	loop_stream_end_writes(n->stream);
	loop_timer_set(n->timer, LINGER_MS);
}

static void on_late(void *arg)
{
	struct conn *n = arg;

	conn_free(n);
}

/* localhost or 127.0.0.1 and our port: a page that made its own name lead here sends that name. */
static bool is_ours(const struct callback *c, struct str host)
{
	struct url_authority at;

	if (!host.p || url_parse_authority(host, &at, NULL) < 0 || at.port != c->port)
		return false;
	return strcmp(at.host, "localhost") == 0 || strcmp(at.host, "127.0.0.1") == 0;
}

/* The values of a query that matter. */
enum { STATE, CODE, ERROR, DESCRIPTION, VALUES };
struct values {
	struct buf text[VALUES];
	struct str at[VALUES]; /* absent: it has none of that name */
};

static void values_cleanup(struct values *v)
{
	for (size_t i = 0; i < VALUES; i++)
		buf_release(&v->text[i]);
}

static int read_values(struct str query, struct values *v)
{
	static const char *const names[VALUES] = {"state", "code", "error", "error_description"};

	for (size_t i = 0; i < VALUES; i++) {
		struct buf *text = &v->text[i];
		int rc;

		text->max = QUERY_VALUE_MAX_BYTES;
		rc = url_query_get(query, names[i], text, NULL);
		if (rc < 0 || text->full)
			return -1;
		if (rc > 0)
			v->at[i] = buf_str(text);
	}
	return 0;
}

/* For this sign-in: its state, and a code or else an error. */
static bool is_answer(const struct callback *c, const struct values *v)
{
	return v->at[STATE].p && oauth_same(v->at[STATE], str_from(c->o.state)) &&
	       (v->at[CODE].len > 0) != (v->at[ERROR].len > 0);
}

/* Only the first counts, and nothing new is heard from then on. */
static bool take_answer(struct conn *n, struct str query)
{
	_cleanup_(values) struct values v = {.at = {{NULL, 0}}};
	struct callback *c = n->c;

	if (c->used || read_values(query, &v) < 0 || !is_answer(c, &v))
		return false;
	c->used = true;
	c->waiting = n;
	loop_timer_stop(n->timer);
	loop_listener_close(mem_take(&c->listener));
	c->o.arrived(
		c->o.arg, &(struct callback_answer){v.at[CODE], v.at[ERROR], v.at[DESCRIPTION]});
	return true;
}

static void take_request(struct conn *n, const struct http_head *h)
{
	struct str query = h->target, path;
	bool there = str_next(&query, '?', &path) && query.p && str_is(path, OAUTH_CALLBACK_PATH) &&
		     str_is(h->method, "GET") && is_ours(n->c, http_header_get(h, "host"));

	if (!there || !take_answer(n, query))
		answer(n, 404, lost_page);
}

static void on_data(void *arg, const char *p, size_t len)
{
	struct conn *n = arg;
	struct str in = {p, len}, body;
	int rc;

	if (n->answered || n->c->waiting == n)
		return; /* one request is all a connection has */
	rc = http_read(n->reader, &in, &body, NULL);
	if (rc == HTTP_HEAD)
		take_request(n, http_reader_head(n->reader));
	else if (rc < 0)
		answer(n, 400, lost_page);
}

static void on_ended(void *arg, const struct error *err)
{
	struct conn *n = arg;

	/* Who only says no more may still be told. */
	if (!err && (n->c->waiting == n || loop_stream_queued(n->stream) > 0))
		return;
	conn_free(n);
}

static void on_accepted(void *arg, int fd)
{
	static const struct loop_stream_callbacks callbacks = {on_data, on_ended, NULL};
	struct callback *c = arg;
	struct conn *n;

	if (c->count == CONNS_MAX)
		conn_free(list_first(&c->conns, struct conn, node));
	n = xcalloc(1, sizeof(*n));
	n->c = c;
	n->stream = loop_stream_new(c->o.loop, fd, -1, &callbacks, n);
	n->timer = loop_timer_new(c->o.loop, on_late, n);
	n->reader = http_reader_new(HTTP_REQUESTS);
	loop_timer_set(n->timer, c->o.request_ms > 0 ? c->o.request_ms : REQUEST_MS);
	list_add_tail(&c->conns, &n->node);
	c->count++;
}

/*
 * The listener.
 */
/* AG-024. */
static int listen_on(uint16_t port, int *ret_fd, uint16_t *ret_port, struct error *err)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	_cleanup_(fd) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(at);
	int on = 1;

	/* Connections of an earlier sign-in, over but not forgotten, must not be in the way. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
		listen(fd, OS_BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return error_sys(err, "listen on 127.0.0.1 port %d", (int)port);
	*ret_port = ntohs(at.sin_port);
	*ret_fd = fd_take(&fd);
	return 0;
}

static void on_over(void *arg)
{
	finished(arg);
}

int callback_open(const struct callback_options *o, struct callback **ret, struct error *err)
{
	_cleanup_(fd) int fd = -1;
	struct callback *c;
	uint16_t port;

	if (listen_on(o->port, &fd, &port, err) < 0)
		return -1;
	c = xcalloc(1, sizeof(*c));
	c->o = *o;
	c->port = port;
	list_init(&c->conns);
	c->over = loop_timer_new(o->loop, on_over, c);
	if (loop_listen(o->loop, fd, on_accepted, c, &c->listener, err) < 0) {
		loop_timer_free(c->over);
		free(c);
		return -1;
	}
	(void)fd_take(&fd); /* the listener's now */
	*ret = c;
	return 0;
}

uint16_t callback_port(const struct callback *c)
{
	return c->port;
}

void callback_finish(struct callback *c, bool good, void (*done)(void *arg))
{
	must(c->used && !c->done);
	c->done = done;
	if (c->waiting)
		answer(c->waiting, 200, good ? good_page : bad_page);
	else
		loop_timer_set(c->over, 0);
}

void callback_close(struct callback *c)
{
	if (!c)
		return;
	c->done = NULL;
	list_for_each_safe (n, &c->conns, struct conn, node)
		conn_free(n);
	loop_listener_close(c->listener);
	loop_timer_free(c->over);
	free(c);
}
