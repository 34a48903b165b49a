/*
 * wire: a peer on a stream: lines in as fast as its owner takes them, packets out under caps.
 */
#include <string.h>

#include "wire/wire.h"

enum {
	FINISH_MAX_MS = 1000, /* wire.h: how long a peer may take to read the rest */
	LOOK_MS = 1000,       /* wire.h: how often one that is not read from is looked at */
};

const struct error_kind WIRE_SLOW = {"slow_reader", ERROR_CLASS_LIMIT};

enum peer_state {
	PEER_OPEN,
	PEER_FAULTED,   /* its input is over, its output still works; closed() was told */
	PEER_FINISHING, /* what is queued goes out, what comes in is dropped */
	PEER_ENDED,     /* closed() is due or told; the stream is closed */
};

struct wire_peer {
	struct loop *loop;
	struct loop_stream *stream;
	struct wire_callbacks cb;
	void *arg;
	enum peer_state state;
	bool paused, freed;
	bool silent; /* after a farewell: nobody is told, it frees itself */
	bool over;   /* it says no more; said_all() was told */
	struct wire_lines lines;
	struct buf held; /* read but not told, while paused */
	/* Packets not yet in the kernel, by the count of bytes sent when each ends: a ring. */
	uint64_t ends[WIRE_OUT_PACKETS_MAX];
	size_t first, packets;
	uint64_t sent_bytes;
	struct loop_timer *soon;  /* goes on with what is held, or tells the end */
	struct loop_timer *limit; /* of finishing */
	struct loop_timer *look;  /* whether it is gone, while nothing is read */
	struct loop_exit *exit;   /* of a silent one */
	bool end_due;
	struct error end; /* what closed() gets; no kind: a clean end */
};

/* Ends */

static void peer_destroy(void *arg)
{
	struct wire_peer *p = arg;

	wire_lines_release(&p->lines);
	buf_release(&p->held);
	free(p);
}

void wire_peer_free(struct wire_peer *p)
{
	if (!p || p->freed)
		return;
	p->freed = true;
	p->state = PEER_ENDED;
	loop_stream_close(mem_take(&p->stream));
	loop_timer_free(mem_take(&p->soon));
	loop_timer_free(mem_take(&p->limit));
	loop_timer_free(mem_take(&p->look));
	loop_exit_free(mem_take(&p->exit));
	loop_defer(p->loop, peer_destroy, p); /* this may be inside one of its callbacks */
}

static void free_silent(void *arg)
{
	wire_peer_free(arg);
}

/* Closes the stream now and tells in the next round. err NULL: a clean end. What was read stays:
 * this may be inside line(), whose bytes it is. */
static void peer_end(struct wire_peer *p, const struct error *err)
{
	p->state = PEER_ENDED;
	loop_stream_close(mem_take(&p->stream));
	loop_timer_stop(p->limit);
	loop_timer_stop(p->look);
	p->packets = 0;
	p->end_due = true;
	error_clear(&p->end);
	if (err)
		p->end = *err;
	loop_timer_set(p->soon, 0);
}

static void tell_closed(struct wire_peer *p, const struct error *err)
{
	if (p->silent)
		wire_peer_free(p);
	else
		p->cb.closed(p->arg, err);
}

/* The input broke a rule. The stream stays for a last word. */
static void peer_fault(struct wire_peer *p, const struct error *err)
{
	struct error copy = *err;

	p->state = PEER_FAULTED;
	loop_stream_pause(p->stream);
	buf_release(&p->held);
	tell_closed(p, &copy);
}

/* Lines in */

/* Tells lines until rest is used up or the owner wants no more. */
static void tell_lines(struct wire_peer *p, struct str *rest)
{
	struct error err = ERROR_INIT;
	struct str line = {NULL, 0};
	int got = 1;

	while (p->state == PEER_OPEN && !p->paused && got > 0) {
		got = wire_lines_next(&p->lines, rest, &line, &err);
		if (got > 0)
			p->cb.line(p->arg, line);
	}
	if (got < 0)
		peer_fault(p, &err);
}

static void on_data(void *arg, const char *bytes, size_t len)
{
	struct wire_peer *p = arg;
	struct str rest = {bytes, len};

	if (p->state != PEER_OPEN)
		return;         /* finishing: read so that the peer is not stuck writing */
	must(p->held.len == 0); /* a stream with something held is paused */
	tell_lines(p, &rest);
	if (p->state == PEER_OPEN && rest.len > 0)
		must(buf_put(&p->held, rest.p, rest.len) == 0);
}

static void tell_held(struct wire_peer *p)
{
	struct str rest = buf_str(&p->held);

	tell_lines(p, &rest);
	if (p->state != PEER_OPEN)
		return;
	buf_consume(&p->held, p->held.len - rest.len);
	if (!p->paused) {
		buf_release(&p->held);
		loop_stream_resume(p->stream);
	}
}

static void on_soon(void *arg)
{
	struct wire_peer *p = arg;

	if (p->end_due) {
		p->end_due = false;
		tell_closed(p, p->end.kind ? &p->end : NULL);
	} else if (p->state == PEER_OPEN && !p->paused) {
		tell_held(p);
	}
}

static void on_ended(void *arg, const struct error *err)
{
	struct wire_peer *p = arg;
	struct error cut = ERROR_INIT;

	if (p->state == PEER_FINISHING && !err)
		return; /* it says no more, but may still read */
	if (!err && p->state == PEER_OPEN && wire_lines_pending(&p->lines) > 0) {
		(void)error_set(
			&cut, &ERROR_INVALID, "the last line has no newline"); /* always -1 */
		peer_fault(p, &cut);
		return;
	}
	if (!err && p->state == PEER_OPEN && p->cb.said_all && !loop_stream_is_gone(p->stream)) {
		p->over = true;
		loop_timer_set(p->look, LOOK_MS);
		p->cb.said_all(p->arg);
		return;
	}
	if (p->state == PEER_OPEN || p->state == PEER_FINISHING)
		peer_end(p, err);
}

/* Nothing is read, so nothing else tells that a peer has left: to one that owes it an answer only
 * later, or never, it would stay for ever. */
static void on_look(void *arg)
{
	struct wire_peer *p = arg;

	if (p->state != PEER_OPEN || (!p->paused && !p->over))
		return;
	loop_timer_set(p->look, LOOK_MS);
	if (!loop_stream_is_gone(p->stream))
		return;
	if (p->over)
		peer_end(p, NULL);
	else if (p->cb.gone)
		p->cb.gone(p->arg);
}

void wire_peer_pause(struct wire_peer *p)
{
	p->paused = true;
	if (p->state != PEER_OPEN)
		return;
	loop_stream_pause(p->stream);
	if (!loop_timer_active(p->look))
		loop_timer_set(p->look, LOOK_MS);
}

void wire_peer_resume(struct wire_peer *p)
{
	p->paused = false;
	if (p->state == PEER_OPEN)
		loop_timer_set(p->soon, 0);
}

/* Packets out */

static void count_packets(struct wire_peer *p)
{
	uint64_t gone = p->stream ? p->sent_bytes - loop_stream_queued(p->stream) : p->sent_bytes;

	while (p->packets > 0 && p->ends[p->first] <= gone) {
		p->first = (p->first + 1) % WIRE_OUT_PACKETS_MAX;
		p->packets--;
	}
}

static bool has_room(struct wire_peer *p, size_t len)
{
	size_t queued = loop_stream_queued(p->stream);

	count_packets(p);
	return p->packets < WIRE_OUT_PACKETS_MAX && queued <= WIRE_OUT_BYTES_MAX &&
	       len <= WIRE_OUT_BYTES_MAX - queued;
}

static void put_packet(struct wire_peer *p, struct str line)
{
	_cleanup_(mem) char *packet = xmalloc(line.len + 1);

	if (line.len > 0)
		memcpy(packet, line.p, line.len);
	packet[line.len] = '\n';
	p->sent_bytes += line.len + 1;
	p->ends[(p->first + p->packets) % WIRE_OUT_PACKETS_MAX] = p->sent_bytes;
	p->packets++;
	loop_stream_write(p->stream, packet, line.len + 1);
	count_packets(p);
}

/* Whether the packet went into the queue; one more look at the kernel before giving up. */
static bool try_packet(struct wire_peer *p, struct str line)
{
	if (!has_room(p, line.len + 1)) {
		loop_stream_flush(p->stream);
		if (!has_room(p, line.len + 1))
			return false;
	}
	put_packet(p, line);
	return true;
}

int wire_peer_send(struct wire_peer *p, struct str line)
{
	must(line.len == 0 || !memchr(line.p, '\n', line.len));
	return wire_peer_send_lines(p, line);
}

int wire_peer_send_lines(struct wire_peer *p, struct str lines)
{
	struct error slow = ERROR_INIT;

	if (p->state != PEER_OPEN)
		return -1;
	if (try_packet(p, lines))
		return 0;
	(void)error_set(&slow, &WIRE_SLOW, "the peer does not read: %zu packets, %zu bytes wait",
		p->packets, loop_stream_queued(p->stream)); /* always -1 */
	peer_end(p, &slow);
	return -1;
}

size_t wire_peer_queued_packets(const struct wire_peer *p)
{
	uint64_t gone = p->stream ? p->sent_bytes - loop_stream_queued(p->stream) : p->sent_bytes;
	size_t waiting = p->packets;

	while (waiting > 0 &&
		p->ends[(p->first + p->packets - waiting) % WIRE_OUT_PACKETS_MAX] <= gone)
		waiting--;
	return waiting;
}

static void on_drained(void *arg)
{
	struct wire_peer *p = arg;

	if (p->state == PEER_FINISHING)
		peer_end(p, NULL);
	else if (p->state == PEER_OPEN && p->cb.drained)
		p->cb.drained(p->arg);
}

/* Finishing */

static void on_limit(void *arg)
{
	struct wire_peer *p = arg;
	struct error slow = ERROR_INIT;

	(void)error_set(&slow, &WIRE_SLOW, "the peer did not read the rest within %d ms",
		FINISH_MAX_MS); /* always -1 */
	peer_end(p, &slow);
}

static void start_finishing(struct wire_peer *p)
{
	p->state = PEER_FINISHING;
	if (loop_stream_queued(p->stream) == 0) {
		peer_end(p, NULL);
		return;
	}
	loop_timer_set(p->limit, FINISH_MAX_MS);
	loop_stream_resume(p->stream);
}

void wire_peer_finish(struct wire_peer *p)
{
	if (p->state == PEER_OPEN)
		start_finishing(p);
}

void wire_peer_farewell(struct wire_peer *p, struct str line)
{
	p->silent = true;
	if (p->state == PEER_ENDED && !p->end_due) {
		wire_peer_free(p);
		return;
	}
	p->exit = loop_exit_new(p->loop, free_silent, p);
	if (p->state != PEER_OPEN && p->state != PEER_FAULTED)
		return;            /* already on its way out */
	(void)try_packet(p, line); /* no room: it will not read this either */
	start_finishing(p);
}

struct wire_peer *wire_peer_new(
	struct loop *l, int fd, int write_fd, const struct wire_callbacks *cb, void *arg)
{
	static const struct loop_stream_callbacks stream_callbacks = {
		on_data, on_ended, on_drained};
	struct wire_peer *p = xcalloc(1, sizeof(*p));

	p->loop = l;
	p->cb = *cb;
	p->arg = arg;
	wire_lines_init(&p->lines, WIRE_LINE_MAX_BYTES);
	p->held = (struct buf)BUF_INIT(WIRE_LINE_MAX_BYTES); /* a read is far less */
	p->soon = loop_timer_new(l, on_soon, p);
	p->limit = loop_timer_new(l, on_limit, p);
	p->look = loop_timer_new(l, on_look, p);
	p->stream = loop_stream_new(l, fd, write_fd, &stream_callbacks, p);
	return p;
}
