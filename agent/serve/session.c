/* Sessions: a peer, its requests in order, its follows. */
#include "agent/serve/session.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/serve/bot_sockets.h"
#include "agent/serve/daemon.h"
#include "agent/serve/leases.h"
#include "agent/serve/ready.h"
#include "log/log.h"
#include "wire/wire.h"

enum { BATCH_MAX_BYTES = 256 * 1024 /* ours: an eighth of what may wait for a peer */ };

static const char too_long[] =
	"{\"id\":null,\"error\":\"input_line_limit_or_truncation\",\"detail\":"
	"\"a request is one line of at most 1048576 bytes that ends in a newline\"}";

static void request_free(struct request *r)
{
	if (r->session) {
		list_remove(&r->in_session);
		r->session->request_count--;
	}
	buf_release(&r->reply);
	arena_release(&r->arena);
	free(r);
}

/* It becomes nobody's; one whose job still runs is freed when that answers. */
static void drop_request(struct session *s, struct request *r)
{
	list_remove(&r->in_session);
	r->session = NULL;
	s->request_count--;
	if (r->answered)
		request_free(r);
	else if (r->abandoned)
		r->abandoned(r);
}

static void drop_requests(struct session *s)
{
	list_for_each_safe (r, &s->requests, struct request, in_session)
		drop_request(s, r);
}

static void forget(struct session *s)
{
	struct daemon *d = s->d;

	follow_session_gone(s);
	leases_session_gone(s);
	drop_requests(s);
	list_remove(&s->in_batched);
	buf_release(&s->batch);
	bot_socket_session_gone(s);
	list_remove(&s->in_daemon);
	d->session_count--;
	free(s);
	daemon_look_idle(d);
}

void session_close(struct session *s)
{
	wire_peer_free(mem_take(&s->peer));
	forget(s);
}

/* Before anything else that goes to the peer: the order is what it was said in. */
static void send_batch(struct session *s)
{
	list_remove(&s->in_batched);
	if (s->batch.len > 0)
		(void)wire_peer_send_lines(s->peer, buf_str(&s->batch)); /* as below */
	buf_release(&s->batch);
	s->batch = (struct buf)BUF_INIT(WIRE_LINE_MAX_BYTES);
}

void session_finish(struct session *s)
{
	send_batch(s);
	wire_peer_finish(s->peer);
}

static void on_line(void *arg, struct str line)
{
	request_take(arg, line);
}

static void on_closed(void *arg, const struct error *err)
{
	struct session *s = arg;

	if (err)
		log_event(LOG_INFO, "session.closed", LOG_ERR(err));
	if (error_is(err, &ERROR_LIMIT) || error_is(err, &ERROR_INVALID))
		wire_peer_farewell(mem_take(&s->peer), str_from(too_long));
	else
		wire_peer_free(mem_take(&s->peer));
	forget(s);
}

static void on_drained(void *arg)
{
	follow_drained(arg);
}

static void finish_when_done(struct session *s)
{
	if (s->said_all && s->request_count == 0 && list_empty(&s->follows))
		session_finish(s);
}

static void on_said_all(void *arg)
{
	struct session *s = arg;

	s->said_all = true;
	finish_when_done(s);
}

static void read_on(struct session *s)
{
	if (s->paused && s->request_count < SESSION_REQUESTS_MAX) {
		s->paused = false;
		wire_peer_resume(s->peer);
	}
}

/* Its waits may take for ever and keep its end from being read: nobody hears them any more. */
static void on_gone(void *arg)
{
	struct session *s = arg;

	list_for_each_safe (r, &s->requests, struct request, in_session) {
		if (!r->answered && r->abandoned)
			drop_request(s, r);
	}
	read_on(s);
}

struct session *session_new(struct daemon *d, int fd, const struct session_bot *as)
{
	static const struct wire_callbacks callbacks = {
		on_line, on_closed, on_drained, on_said_all, on_gone};
	struct session *s = xcalloc(1, sizeof(*s));
	struct buf ready = BUF_INIT(WIRE_LINE_MAX_BYTES);

	s->d = d;
	if (as)
		s->as = *as;
	list_init(&s->requests);
	list_init(&s->follows);
	list_init(&s->in_batched);
	s->batch = (struct buf)BUF_INIT(WIRE_LINE_MAX_BYTES);
	list_init(&s->in_own);
	list_init(&s->in_door);
	list_add_tail(&d->sessions, &s->in_daemon);
	d->session_count++;
	s->peer = wire_peer_new(d->loop, fd, -1, &callbacks, s);
	ready_put(d, &s->as, &ready);
	session_send(s, buf_str(&ready));
	buf_release(&ready);
	return s;
}

void sessions_send_batches(struct daemon *d)
{
	d->pub.deferred = false;
	list_for_each_safe (s, &d->pub.batched, struct session, in_batched)
		send_batch(s);
}

static void round_over(void *arg)
{
	sessions_send_batches(arg);
}

void session_send_event(struct session *s, struct str line)
{
	if (s->batch.len + line.len + 1 > BATCH_MAX_BYTES)
		send_batch(s);
	if (s->batch.len > 0)
		(void)buf_putc(&s->batch, '\n'); /* the packet's own newline is its last line's */
	(void)buf_put_str(&s->batch, line); /* fits: a line is below what the buffer may have */
	if (list_empty(&s->in_batched))
		list_add_tail(&s->d->pub.batched, &s->in_batched);
	if (s->d->pub.deferred)
		return;
	s->d->pub.deferred = true;
	loop_defer(s->d->loop, round_over, s->d);
}

void session_send(struct session *s, struct str line)
{
	send_batch(s);
	(void)wire_peer_send(s->peer, line); /* over its caps: closed() follows in the next round */
}

size_t session_queued(const struct session *s)
{
	return wire_peer_queued_packets(s->peer);
}

/* Sends answered requests from the front, and unordered ones wherever they stand. */
static void flush(struct session *s)
{
	bool blocked = false;

	list_for_each_safe (r, &s->requests, struct request, in_session) {
		if (!r->answered || (blocked && !r->row->unordered)) {
			blocked = blocked || !r->row->unordered;
			continue;
		}
		session_send(s, buf_str(&r->reply));
		if (r->replied)
			r->replied(r);
		request_free(r);
	}
	read_on(s);
	finish_when_done(s);
}

struct json_out request_begin(struct request *r)
{
	struct json_out j = JSON_OUT(&r->reply);

	json_open(&j, '{');
	json_put_raw(&j, "id", r->id);
	return j;
}

static void finish_reply(struct request *r)
{
	struct session *s = r->session;

	r->answered = true;
	if (!s)
		request_free(r);
	else
		flush(s);
}

void request_fail(struct request *r, const struct error *err)
{
	struct json_out j;

	buf_clear(&r->reply);
	j = request_begin(r);
	json_put_cstr(&j, "error", error_code(err));
	json_put_cstr(&j, "detail", err && err->text[0] ? err->text : NULL);
	json_close(&j, '}');
	finish_reply(r);
}

void request_end(struct request *r, struct json_out *j)
{
	struct error err = ERROR_INIT;

	json_close(j, '}');
	if (!r->reply.full) {
		finish_reply(r);
		return;
	}
	(void)error_set(&err, &REQUEST_REPLY_LIMIT,
		"the reply is over %d bytes: ask for less at once", WIRE_LINE_MAX_BYTES);
	request_fail(r, &err);
}

void request_answer(struct request *r, struct str json)
{
	struct json_out j = request_begin(r);

	json_put_raw(&j, "result", json);
	request_end(r, &j);
}
