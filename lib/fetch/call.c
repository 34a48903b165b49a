/*
 * fetch: one call from its place in line to done(): time limits, the request out, the answer in.
 */
#include "clock/clock.h"
#include "internal.h"

enum {
	SLICE_BYTES = 64 * 1024, /* ours: of a large body, offered to the kernel at a time */
};

static int64_t now_ms(void)
{
	return clock_mono_ms(clock_system());
}

/* Time: one timer for whatever comes first. */

static bool is_past(int64_t at_ms)
{
	return at_ms > 0 && now_ms() >= at_ms;
}

static void arm(struct fetch_call *c)
{
	int64_t at_ms = c->phase_at_ms;

	if (c->total_at_ms > 0 && (at_ms == 0 || c->total_at_ms < at_ms))
		at_ms = c->total_at_ms;
	if (c->resuming)
		loop_timer_set(c->timer, 0);
	else if (at_ms > 0)
		loop_timer_set(c->timer, at_ms > now_ms() ? at_ms - now_ms() : 0);
	else
		loop_timer_stop(c->timer);
}

static void limit_phase(struct fetch_call *c, int64_t limit_ms)
{
	c->phase_at_ms = limit_ms > 0 ? now_ms() + limit_ms : 0;
	arm(c);
}

/* The idle limit moves with every read; its timer only when it fires. */
static void refresh_idle(struct fetch_call *c)
{
	if (c->phase >= CALL_BODY && c->idle_ms > 0 && !c->paused)
		c->phase_at_ms = c->heard_at_ms + c->idle_ms;
}

static void timed_out(struct fetch_call *c, bool total)
{
	struct error err = ERROR_INIT;
	struct place_text place = place_text(&c->origin->url);
	const char *what = "nothing came of the answer's body for";
	int64_t ms = c->idle_ms;

	if (total) {
		what = "not done within";
		ms = c->total_ms;
	} else if (c->phase == CALL_CONNECTING) {
		what = "no connection within";
		ms = c->fetch->connect_ms;
	} else if (c->phase == CALL_HEAD) {
		what = "no answer within";
		ms = c->head_ms;
	}
	(void)error_set(&err, &FETCH_TIMEOUT, "%s: %s %lld ms", place.s, what,
		(long long)ms); /* always -1 */
	call_fail(c, &err);
}

static void timer_fired(void *arg)
{
	struct fetch_call *c = arg;

	if (c->resuming) {
		c->resuming = false;
		if (!c->paused && c->conn)
			conn_resume(c->conn);
		if (c->phase == CALL_OVER)
			return;
	}
	refresh_idle(c);
	/* Where it is this process that was late, what came in time may still be in the kernel. */
	if (is_past(c->phase_at_ms) && c->phase >= CALL_HEAD) {
		conn_look(c->conn);
		if (c->phase == CALL_OVER)
			return;
		refresh_idle(c);
	}
	if (is_past(c->total_at_ms))
		timed_out(c, true);
	else if (is_past(c->phase_at_ms))
		timed_out(c, false);
	else
		arm(c);
}

/* Ends */

static void call_free(void *arg)
{
	struct fetch_call *c = arg;

	buf_release(&c->first);
	free(c->body);
	free(c);
}

/* Its connection, if any, is the caller's to see to. */
static void over(struct fetch_call *c)
{
	c->phase = CALL_OVER;
	loop_timer_free(mem_take(&c->timer));
	c->fetch->calls--;
	loop_defer(c->fetch->loop, call_free, c);
}

/* Gives the connection back, so that what done() starts can have it. Then the last thing. */
static void finish(struct fetch_call *c, bool keep)
{
	struct conn *n = mem_take(&c->conn);

	over(c);
	n->call = NULL;
	if (keep) {
		http_reader_free(mem_take(&n->reader));
		pool_keep(n);
	} else {
		conn_close(n);
	}
	c->cb.done(c->arg, NULL);
}

static void drop(struct fetch_call *c)
{
	struct conn *n = c->conn;
	bool waiting = c->phase == CALL_WAITING;

	over(c);
	if (n)
		conn_close(n);
	else if (waiting)
		pool_give_up(c);
}

void call_fail(struct fetch_call *c, const struct error *err)
{
	drop(c);
	c->cb.done(c->arg, err);
}

void fetch_cancel(struct fetch_call *c)
{
	if (c && c->phase != CALL_OVER)
		drop(c);
}

static void fail_as(struct fetch_call *c, const struct error_kind *kind, const char *what,
	const struct error *why)
{
	struct error err = ERROR_INIT;
	struct place_text place = place_text(&c->origin->url);

	(void)error_set(&err, kind, "%s: %s%s%s", place.s, what, why ? ": " : "",
		why ? why->text : ""); /* always -1 */
	if (why)
		err.sys = why->sys;
	call_fail(c, &err);
}

/* The request */

static bool is_written(const struct fetch_call *c)
{
	return c->first_written && c->body_next == c->body_count;
}

static bool is_in_kernel(const struct fetch_call *c)
{
	return is_written(c) && conn_queued(c->conn) == 0;
}

static void write_slice(struct fetch_call *c)
{
	struct str piece = c->body[c->body_next];
	struct str slice = {piece.p + c->body_at, piece.len - c->body_at};

	if (slice.len > SLICE_BYTES)
		slice.len = SLICE_BYTES;
	c->body_at += slice.len;
	if (c->body_at == piece.len) {
		c->body_next++;
		c->body_at = 0;
	}
	if (slice.len > 0)
		conn_write(c->conn, slice);
}

/* No further than the kernel takes it: what it does not take at once is copied, a slice at most. */
static void write_more(struct fetch_call *c)
{
	if (!c->first_written) {
		c->first_written = true;
		conn_write(c->conn, buf_str(&c->first));
	}
	while (!is_written(c) && conn_queued(c->conn) == 0)
		write_slice(c);
}

static void tell_sent(struct fetch_call *c)
{
	if (c->sent || !is_in_kernel(c))
		return;
	c->sent = true;
	if (c->cb.sent)
		c->cb.sent(c->arg);
}

void call_drained(struct fetch_call *c)
{
	if (c->phase < CALL_HEAD || c->phase == CALL_OVER)
		return;
	write_more(c);
	tell_sent(c);
}

void call_connecting(struct fetch_call *c, struct conn *n)
{
	c->conn = n;
	c->phase = CALL_CONNECTING;
	limit_phase(c, c->fetch->connect_ms);
}

void call_connected(struct fetch_call *c, struct conn *n)
{
	c->conn = n;
	c->phase = CALL_HEAD;
	n->reader = http_reader_new(HTTP_RESPONSES);
	http_reader_expect(n->reader, c->method);
	limit_phase(c, c->head_ms);
	write_more(c);
}

void call_begin(struct fetch_call *c)
{
	c->timer = loop_timer_new(c->fetch->loop, timer_fired, c);
	if (c->total_ms > 0)
		c->total_at_ms = now_ms() + c->total_ms;
	c->fetch->calls++;
	c->phase = CALL_WAITING;
	limit_phase(c, 0);
	pool_ask(c);
}

void call_discard(struct fetch_call *c)
{
	pool_unused(c->origin);
	call_free(c);
}

/* A server may close an unused connection just as it is used again. What cannot have had an effect
 * is then sent once more, over a new one; all else is the caller's to judge. */
static void repeat(struct fetch_call *c)
{
	struct conn *n = mem_take(&c->conn);

	n->call = NULL;
	c->fresh = true;
	c->repeatable = false;
	c->first_written = false;
	c->phase = CALL_WAITING;
	limit_phase(c, 0);
	pool_ask_first(c);
	conn_close(n);
}

/* The answer */

static void got_head(struct fetch_call *c, const struct http_head *h)
{
	if (h->status == 101 && !c->upgrade) {
		fail_as(c, &FETCH_ANSWER, "changes to a protocol nobody asked for", NULL);
		return;
	}
	c->phase = h->status == 101 ? CALL_RAW : CALL_BODY;
	c->keep_alive = h->keep_alive;
	limit_phase(c, c->paused ? 0 : c->idle_ms);
	c->cb.head(c->arg, h);
	if (c->phase != CALL_OVER)
		http_reader_forget_head(c->conn->reader); /* a stream may go on for hours */
}

static void got_end(struct fetch_call *c, struct str rest)
{
	struct conn *n = c->conn;
	bool keep = c->keep_alive && !c->last && is_in_kernel(c) && rest.len == 0 &&
		    conn_is_quiet(n);

	finish(c, keep);
}

/* One event of the answer; false when there is nothing more in `in`, or the call is over. */
static bool read_event(struct fetch_call *c, struct str *in)
{
	struct error err = ERROR_INIT;
	struct str chunk;
	int e;

	if (c->phase == CALL_RAW) {
		chunk = *in;
		*in = (struct str){in->p + in->len, 0};
		if (chunk.len > 0)
			c->cb.body(c->arg, chunk);
		return false;
	}
	e = http_read(c->conn->reader, in, &chunk, &err);
	if (e == HTTP_HEAD)
		got_head(c, http_reader_head(c->conn->reader));
	else if (e == HTTP_BODY)
		c->cb.body(c->arg, chunk);
	else if (e == HTTP_END)
		got_end(c, *in);
	else if (e < 0)
		fail_as(c, &FETCH_ANSWER, "the answer is not HTTP as it should be", &err);
	return e > HTTP_MORE && c->phase != CALL_OVER;
}

size_t call_input(struct fetch_call *c, struct str bytes)
{
	struct str in = bytes;

	if (bytes.len > 0) {
		c->heard = true;
		c->heard_at_ms = now_ms();
		tell_sent(c); /* before what it brought about */
	}
	while (c->phase != CALL_OVER) {
		if (c->paused && c->phase >= CALL_BODY) {
			conn_pause(c->conn);
			return bytes.len - in.len;
		}
		if (!read_event(c, &in))
			break;
	}
	return bytes.len;
}

void call_ended(struct fetch_call *c, bool clean, const struct error *why)
{
	struct error err = ERROR_INIT;
	int e;

	if (c->phase == CALL_RAW && clean) {
		finish(c, false);
		return;
	}
	if (c->phase == CALL_RAW) {
		fail_as(c, &FETCH_BROKEN, "the connection was cut", why);
		return;
	}
	if (!c->heard) {
		if (c->repeatable && c->conn->reused)
			repeat(c);
		else
			fail_as(c, &FETCH_BROKEN, "the connection ended before an answer", why);
		return;
	}
	e = http_read_end(c->conn->reader, &err);
	if (e == HTTP_END && clean)
		finish(c, false);
	else if (e == HTTP_END)
		fail_as(c, &FETCH_BROKEN, "the connection was cut inside the answer", why);
	else
		fail_as(c, &FETCH_BROKEN, "the answer was cut", why ? why : &err);
}

/* Back-pressure */

void fetch_pause(struct fetch_call *c)
{
	if (c->phase == CALL_OVER || c->paused)
		return;
	c->paused = true;
	if (c->phase < CALL_BODY)
		return; /* from the head on */
	conn_pause(c->conn);
	limit_phase(c, 0);
}

void fetch_resume(struct fetch_call *c)
{
	if (c->phase == CALL_OVER || !c->paused)
		return;
	c->paused = false;
	if (c->phase < CALL_BODY)
		return;
	c->resuming = true;
	c->heard_at_ms = now_ms();
	limit_phase(c, c->idle_ms);
}

/* After an upgrade */

void fetch_write(struct fetch_call *c, struct str bytes)
{
	if (c->phase == CALL_OVER)
		return;
	must(c->phase == CALL_RAW);
	conn_write(c->conn, bytes);
}

size_t fetch_write_queued(const struct fetch_call *c)
{
	return c->conn ? conn_queued(c->conn) : 0;
}
