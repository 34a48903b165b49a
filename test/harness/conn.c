/*
 * A connection: reads requests, one after another, and sends their answers at the pace and to the
 * end that they have.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "clock/clock.h"
#include "test/harness/server.h"
#include "test/harness/socket.h"

enum {
	BODY_MAX_BYTES = 64 << 20,
	AHEAD_MAX_BYTES = 64 * 1024, /* of next requests, while one is answered */
	QUEUE_MAX_BYTES = 256 * 1024,
	OUT_MAX_BYTES = 400 << 20, /* one write, framed and sealed */
};

enum conn_state {
	CONN_READS,  /* a request */
	CONN_WAITS,  /* before the head or between two pieces: the timer goes on */
	CONN_SENDS,  /* the next piece goes when the last one is out */
	CONN_SILENT, /* nothing goes any more */
	CONN_ENDS,   /* has said all; waits for the peer to end */
	CONN_CLOSED,
};

struct conn {
	struct list node;
	struct server *server;
	struct loop_stream *stream;
	struct loop_timer *timer; /* made when first needed */
	struct tls *tls;
	struct http_reader *reader;
	struct buf body;       /* of the request that is read */
	struct buf ahead;      /* came while an answer was sent */
	struct socket *socket; /* NULL: HTTP is spoken */
	int64_t responses;     /* over it, so far */
	struct answer answer;
	size_t sent;   /* of the answer's body */
	uint64_t told; /* the same, floods counted in full */
	uint64_t number, request;
	int fd; /* the stream's */
	enum conn_state state;
	bool head_sent, ahead_due;
};

static void conn_read(struct conn *c, struct str in);
static void send_more(void *arg);

/* Ends */

static void conn_free(void *arg)
{
	free(arg);
}

static void free_socket(void *arg)
{
	socket_free(arg);
}

static void conn_close(struct conn *c)
{
	if (c->state == CONN_CLOSED)
		return;
	c->state = CONN_CLOSED;
	list_remove(&c->node);
	loop_stream_close(c->stream);
	loop_timer_free(c->timer);
	http_reader_free(c->reader);
	loop_defer(c->server->loop, free_socket, c->socket);
	tls_free(c->tls);
	buf_release(&c->body);
	buf_release(&c->ahead);
	answer_release(&c->answer);
	loop_defer(c->server->loop, conn_free, c);
}

void conn_close_all(struct server *s)
{
	list_for_each_safe (c, &s->conns, struct conn, node)
		conn_close(c);
}

static void conn_write(struct conn *c, struct str plain)
{
	if (!c->tls) {
		loop_stream_write(c->stream, plain.p, plain.len);
		return;
	}
	buf_clear(&c->server->sealed);
	tls_put(c->tls, plain, &c->server->sealed);
	loop_stream_write(c->stream, c->server->sealed.data, c->server->sealed.len);
}

/* Says no more. Closed when the peer ends too: with bytes unread it would be a reset, which takes
 * from the peer what it has not read. */
static void conn_end(struct conn *c, bool politely)
{
	if (c->tls && politely) {
		buf_clear(&c->server->sealed);
		tls_end(c->tls, &c->server->sealed);
		loop_stream_write(c->stream, c->server->sealed.data, c->server->sealed.len);
	}
	c->state = CONN_ENDS;
	loop_stream_resume(c->stream);
	loop_stream_end_writes(c->stream);
}

static void conn_reset(struct conn *c)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};

	/* without it the close is an ordinary one, which a test will see */
	(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	conn_close(c);
}

/* Sending */

static void wait_ms(struct conn *c, int64_t ms)
{
	if (!c->timer)
		c->timer = loop_timer_new(c->server->loop, send_more, c);
	c->state = CONN_WAITS;
	loop_timer_set(c->timer, ms);
}

/* What came of the next request meanwhile, after the round. */
static void read_ahead(void *arg)
{
	struct conn *c = arg;
	struct buf ahead = c->ahead;

	c->ahead_due = false;
	if (c->state != CONN_READS)
		return;
	c->ahead = (struct buf)BUF_INIT(AHEAD_MAX_BYTES);
	loop_stream_resume(c->stream);
	conn_read(c, buf_str(&ahead));
	buf_release(&ahead);
}

static void answer_over(struct conn *c)
{
	enum answer_end end = c->answer.end;
	bool close = c->answer.close;

	if (end == ANSWER_SILENT) {
		c->state = CONN_SILENT;
		return;
	}
	answer_release(&c->answer);
	if (end == ANSWER_RESET) {
		conn_reset(c);
		return;
	}
	if (end == ANSWER_CUT || close) {
		conn_end(c, end != ANSWER_CUT);
		return;
	}
	c->state = CONN_READS;
	if (c->ahead.len > 0 && !c->ahead_due) {
		c->ahead_due = true;
		loop_defer(c->server->loop, read_ahead, c);
	}
}

/* The next event of the stream, as a message; an answer that is no stream is one message, an error.
 * What is cut inside an event is not sent. */
static size_t put_message(struct conn *c, struct buf *to, size_t until)
{
	const struct script_socket *how = &script_settings(c->server->script)->socket;
	struct answer *a = &c->answer;
	struct str body = {a->body.data, until}, line, rest;
	ptrdiff_t end = str_find(body, STR("\n\n"), c->sent);
	_cleanup_(buf) struct buf error = BUF_INIT(OUT_MAX_BYTES);

	if (a->head.len == 0) { /* garbage goes as it is */
		(void)buf_put_str(to, body);
		return until;
	}
	if (body.p[0] == '{') {
		(void)buf_printf(&error, "{\"type\":\"error\",\"status\":%.3s," STR_FMT,
			a->head.data + sizeof("HTTP/1.1 ") - 1, (int)(until - 1), body.p + 1);
		socket_put_text(to, buf_str(&error), 0, how->pings);
		return until;
	}
	if (end < 0)
		return until - c->sent;
	rest = (struct str){body.p + c->sent, (size_t)end - c->sent};
	while (str_next(&rest, '\n', &line)) {
		if (str_starts(line, STR("data: ")) && line.p[6] == '{')
			socket_put_text(to, (struct str){line.p + 6, line.len - 6},
				(size_t)a->chunk_bytes, how->pings);
	}
	return (size_t)end + 2 - c->sent;
}

/* How much of the body goes out at once: all, so many bytes, or one event of a stream. */
static size_t piece_bytes(const struct answer *a, size_t from, size_t until)
{
	size_t len = until - from;
	ptrdiff_t end;

	if (a->chunk_bytes > 0)
		return (size_t)a->chunk_bytes < len ? (size_t)a->chunk_bytes : len;
	if (a->chunk_delay_ms == 0)
		return len;
	end = str_find((struct str){a->body.data, until}, STR("\n\n"), from);
	return end < 0 ? len : (size_t)end + 2 - from;
}

/* Appends the next piece, framed; false when the body is over. */
static bool put_piece(struct conn *c, struct buf *to)
{
	struct answer *a = &c->answer;
	size_t until = a->body.len < a->stop_at ? a->body.len : a->stop_at, len;
	struct str piece;

	if (c->sent >= until && a->flood && flood_more(a->flood, &a->body)) {
		c->sent = 0;
		until = a->body.len;
	}
	if (c->sent >= until)
		return false;
	if (c->socket) {
		len = put_message(c, to, until);
		c->sent += len;
		c->told += len;
		return c->sent < until || a->flood;
	}
	len = piece_bytes(a, c->sent, until);
	piece = (struct str){a->body.data + c->sent, len};
	if (a->chunked)
		http_put_chunk(to, piece);
	else
		(void)buf_put_str(to, piece); /* fits: the body is smaller */
	c->sent += len;
	c->told += len;
	return c->sent < until || a->flood;
}

/* What ends an answer that is whole. Over WebSocket: that of a stream that broke off, and the last
 * that the script has for this connection. */
static void put_end(struct conn *c, struct buf *to)
{
	const int64_t most = script_settings(c->server->script)->socket.responses;
	struct answer *a = &c->answer;

	if (!c->socket) {
		if (a->chunked)
			http_put_last_chunk(to);
		return;
	}
	c->responses++;
	a->close |= a->stop_at < a->body.len || (most > 0 && c->responses >= most);
	if (a->close)
		socket_put_close(to, 1001);
}

static void send_more(void *arg)
{
	struct conn *c = arg;
	struct answer *a = &c->answer;
	_cleanup_(buf) struct buf out = BUF_INIT(OUT_MAX_BYTES);
	bool more;

	c->state = CONN_SENDS;
	if (loop_stream_queued(c->stream) > QUEUE_MAX_BYTES)
		return; /* drained() goes on */
	if (!c->head_sent && !c->socket)
		(void)buf_put_str(&out, buf_str(&a->head)); /* fits */
	c->head_sent = true;
	more = put_piece(c, &out);
	if (!more && a->end == ANSWER_WHOLE)
		put_end(c, &out);
	conn_write(c, buf_str(&out));
	if (!more)
		answer_over(c);
	else if (a->chunk_delay_ms > 0)
		wait_ms(c, a->chunk_delay_ms);
}

static void send_answer(struct conn *c)
{
	c->sent = 0;
	c->told = 0;
	c->head_sent = false;
	if (c->answer.end == ANSWER_SILENT && c->answer.head.len == 0)
		c->state = CONN_SILENT;
	else if (c->answer.delay_ms > 0)
		wait_ms(c, c->answer.delay_ms);
	else
		send_more(c);
}

/* Requests */

static void request_whole(struct conn *c, const struct http_head *h)
{
	struct server *s = c->server;
	_cleanup_(arena) struct arena arena = {NULL, 0};
	struct str target = h->target;
	struct request r = {
		.head = h,
		.body = buf_str(&c->body),
		.arena = &arena,
		.frame = {.now_ms = clock_real_ms(clock_system()),
			  .old = h->minor == 0,
			  .close = !h->keep_alive,
			  .always = &script_settings(s->script)->headers},
	};

	(void)str_next(&target, '?', &r.path); /* a target is not empty */
	r.row = (struct record_request){.now_ms = r.frame.now_ms,
		.connection = c->number,
		.tls = c->tls != NULL,
		.socket = c->socket != NULL,
		.head = h,
		.body = r.body};
	c->request = ++s->requests;
	answer_init(&c->answer);
	c->answer.delay_ms = s->latency_ms;
	route_request(s, &r, &c->answer);
	record_request(s->record, c->request, &r.row);
	buf_release(&c->body);
	send_answer(c);
}

/*
 * WebSocket: the handshake is a row of the record, each message another, as if it were POSTed with
 * the handshake's headers.
 */
static void on_message(void *arg, struct str text)
{
	struct conn *c = arg;
	struct http_head h = *http_reader_head(c->reader);

	if (c->state != CONN_READS)
		return; /* it asked before it was answered; what comes is not kept */
	h.method = STR("POST");
	buf_clear(&c->body);
	(void)buf_put_str(&c->body, text); /* fits: socket.c has the same bound */
	request_whole(c, &h);
}

static void on_pong(void *arg, struct str bytes)
{
	struct conn *c = arg;

	if (c->state != CONN_CLOSED && c->state != CONN_ENDS)
		conn_write(c, bytes);
}

static bool begin_socket(struct conn *c, const struct http_head *h)
{
	static const struct socket_callbacks callbacks = {on_message, on_pong};
	const struct script_socket *how = &script_settings(c->server->script)->socket;
	_cleanup_(buf) struct buf out = BUF_INIT(4096);
	struct record_request row = {.now_ms = clock_real_ms(clock_system()),
		.connection = c->number,
		.tls = c->tls != NULL,
		.head = h,
		.body = STR("")};

	if (!socket_wanted(h) || how->status != 0)
		return false;
	c->request = ++c->server->requests;
	record_request(c->server->record, c->request, &row);
	socket_put_handshake(&out, h, how);
	conn_write(c, buf_str(&out));
	c->socket = socket_new(&callbacks, c);
	return true;
}

static void read_socket(struct conn *c, struct str in)
{
	const char *why;

	if (socket_take(c->socket, in, &why) == 0 || c->state == CONN_CLOSED ||
		c->state == CONN_ENDS)
		return;
	if (why)
		record_bad(c->server->record, ++c->server->requests, c->number, why);
	conn_end(c, true);
}

static void refuse_bytes(struct conn *c, int status, const struct error *why)
{
	struct server *s = c->server;
	struct answer_frame f = {.close = true};
	struct answer_error e = {
		status, {NULL, 0},
                 str_from(why->text)
        };

	c->request = ++s->requests;
	record_bad(s->record, c->request, c->number, why->text);
	answer_init(&c->answer);
	answer_error(&c->answer, &f, MODEL_CHAT, &e);
	send_answer(c);
}

static void head_whole(struct conn *c)
{
	const struct http_head *h = http_reader_head(c->reader);
	struct error err = ERROR_INIT;

	c->body = (struct buf)BUF_INIT(BODY_MAX_BYTES);
	if (h->framing == HTTP_LENGTH && h->length > BODY_MAX_BYTES) {
		(void)error_set(&err, &ERROR_LIMIT, "the body is over %d bytes", BODY_MAX_BYTES);
		refuse_bytes(c, 413, &err);
		return;
	}
	if (h->framing == HTTP_LENGTH)
		(void)buf_reserve(&c->body, (size_t)h->length); /* is not over */
	if (h->framing != HTTP_NO_BODY && http_header_has(h, "expect", "100-continue"))
		conn_write(c, STR("HTTP/1.1 100 Continue\r\n\r\n"));
}

static void read_event(struct conn *c, int event, struct str part)
{
	struct error err = ERROR_INIT;

	if (event == HTTP_HEAD) {
		head_whole(c);
	} else if (event == HTTP_END) {
		if (!begin_socket(c, http_reader_head(c->reader)))
			request_whole(c, http_reader_head(c->reader));
	} else if (event == HTTP_BODY && buf_put_str(&c->body, part) < 0) {
		(void)error_set(&err, &ERROR_LIMIT, "the body is over %d bytes", BODY_MAX_BYTES);
		refuse_bytes(c, 413, &err);
	}
}

static void conn_read(struct conn *c, struct str in)
{
	struct error err = ERROR_INIT;
	struct str part;
	int event;

	while (c->state == CONN_READS && !c->ahead_due && !c->socket) {
		event = http_read(c->reader, &in, &part, &err);
		if (event < 0) {
			refuse_bytes(c, error_is(&err, &HTTP_LIMIT) ? 431 : 400, &err);
			return;
		}
		if (event == HTTP_MORE)
			return;
		read_event(c, event, part);
	}
	if (c->state == CONN_CLOSED || c->state == CONN_ENDS || in.len == 0)
		return;
	if (c->socket) {
		read_socket(c, in);
		return;
	}
	if (buf_put_str(&c->ahead, in) < 0)
		conn_close(c); /* more than it may send ahead */
	else if (c->ahead.len > AHEAD_MAX_BYTES / 2)
		loop_stream_pause(c->stream);
}

/* The stream's */

static void left(struct conn *c)
{
	size_t queued = loop_stream_queued(c->stream);

	if (c->state == CONN_WAITS || c->state == CONN_SENDS || c->state == CONN_SILENT)
		record_left(c->server->record, c->request, c->told > queued ? c->told - queued : 0);
	conn_close(c);
}

static void on_data(void *arg, const char *p, size_t len)
{
	struct conn *c = arg;
	struct server *s = c->server;
	int rc;

	if (c->state == CONN_ENDS)
		return; /* nobody will read it */
	if (!c->tls) {
		conn_read(c, (struct str){p, len});
		return;
	}
	buf_clear(&s->plain);
	buf_clear(&s->sealed);
	rc = tls_take(c->tls, (struct str){p, len}, &s->plain, &s->sealed);
	loop_stream_write(c->stream, s->sealed.data, s->sealed.len);
	if (s->plain.len > 0)
		conn_read(c, buf_str(&s->plain));
	if (rc != 0 && c->state != CONN_CLOSED && c->state != CONN_ENDS)
		left(c);
}

static void on_ended(void *arg, const struct error *err)
{
	struct conn *c = arg;

	(void)err; /* either way nobody listens */
	left(c);
}

static void on_drained(void *arg)
{
	struct conn *c = arg;

	if (c->state == CONN_SENDS)
		send_more(c);
}

void conn_new(struct server *s, int fd)
{
	static const struct loop_stream_callbacks callbacks = {on_data, on_ended, on_drained};
	struct conn *c = xcalloc(1, sizeof(*c));
	int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only slower without */
	c->server = s;
	c->fd = fd;
	c->number = ++s->connections;
	c->ahead = (struct buf)BUF_INIT(AHEAD_MAX_BYTES);
	c->body = (struct buf)BUF_INIT(BODY_MAX_BYTES);
	c->reader = http_reader_new(HTTP_REQUESTS);
	c->tls = s->tls ? tls_new(s->tls) : NULL;
	c->stream = loop_stream_new(s->loop, fd, -1, &callbacks, c);
	list_add_tail(&s->conns, &c->node);
}
