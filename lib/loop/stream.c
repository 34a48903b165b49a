/*
 * loop: streams. Reads come one a round and go to their owner at once; writes go to the kernel at
 * once as far as it takes them, the rest waits in chunks and leaves by writev(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "internal.h"
#include "os/os.h"

enum {
	CHUNK_MIN_BYTES = 16384, /* ours: many small packets share one */
	WRITE_VECTORS = 64,      /* ours: 1 MiB of smallest chunks in one call */
};

struct chunk {
	struct chunk *next;
	size_t start, len, cap; /* data[start..len) is still to go */
	char data[];
};

struct loop_stream {
	struct loop *loop;
	struct loop_stream_callbacks cb;
	void *arg;
	int fd, write_fd;           /* -1: none; equal for a socket */
	uv_poll_t poll, write_poll; /* the second one for another descriptor */
	uv_idle_t spin;             /* reads what cannot be polled: files, /dev/null */
	bool polled, write_polled, spinning;
	int events, write_events; /* what is polled for now */
	unsigned open_handles;
	struct chunk *first, *last;
	size_t queued;
	struct loop_task task; /* tells what was found out inside a call of the owner */
	struct error failure;  /* of a write; told when reading ends */
	bool paused, read_over, write_over, blocked, ending, tell_drained, tell_ended, closed;
};

static void stream_ready(uv_poll_t *poll, int status, int events);
static void stream_spin(uv_idle_t *spin);

static bool is_shared(const struct loop_stream *s)
{
	return s->fd == s->write_fd;
}

static void handle_gone(uv_handle_t *h)
{
	struct loop_stream *s = h->data;

	if (--s->open_handles == 0)
		free(s);
}

/* Interest */

static void poll_for(uv_poll_t *poll, int *now, int wanted)
{
	if (*now == wanted)
		return;
	*now = wanted;
	if (wanted)
		must(uv_poll_start(poll, wanted, stream_ready) == 0);
	else
		(void)uv_poll_stop(poll); /* always 0 */
}

/* Asks the kernel for exactly what the stream can use now. */
static void update_interest(struct loop_stream *s)
{
	bool reads, writes;

	if (s->closed)
		return;
	reads = s->fd >= 0 && !s->paused && !s->read_over;
	writes = s->queued > 0 && s->blocked;
	if (s->polled)
		poll_for(&s->poll, &s->events,
			(reads ? UV_READABLE : 0) | (writes && is_shared(s) ? UV_WRITABLE : 0));
	if (s->write_polled)
		poll_for(&s->write_poll, &s->write_events, writes ? UV_WRITABLE : 0);
	if (s->spinning && reads)
		(void)uv_idle_start(&s->spin, stream_spin); /* fails only without a callback */
	else if (s->spinning)
		(void)uv_idle_stop(&s->spin); /* always 0 */
}

/* The write queue */

static void queue_drop(struct loop_stream *s)
{
	struct chunk *next;

	for (struct chunk *c = s->first; c; c = next) {
		next = c->next;
		free(c);
	}
	s->first = s->last = NULL;
	s->queued = 0;
}

static void queue_add(struct loop_stream *s, const char *p, size_t len)
{
	struct chunk *c = s->last;
	size_t fits = c ? c->cap - c->len : 0;

	fits = fits < len ? fits : len;
	s->queued += len;
	if (fits > 0) {
		memcpy(c->data + c->len, p, fits);
		c->len += fits;
		p += fits;
		len -= fits;
	}
	if (len == 0)
		return;
	c = xmalloc(sizeof(*c) + (len > CHUNK_MIN_BYTES ? len : CHUNK_MIN_BYTES));
	*c = (struct chunk){.len = len, .cap = len > CHUNK_MIN_BYTES ? len : CHUNK_MIN_BYTES};
	memcpy(c->data, p, len);
	if (s->last)
		s->last->next = c;
	else
		s->first = c;
	s->last = c;
}

static void queue_consume(struct loop_stream *s, size_t n)
{
	must(n <= s->queued);
	s->queued -= n;
	while (n > 0) {
		struct chunk *c = s->first;
		size_t here = c->len - c->start;

		if (n < here) {
			c->start += n;
			return;
		}
		n -= here;
		s->first = c->next;
		if (!s->first)
			s->last = NULL;
		free(c);
	}
}

/* One writev of the queue's head: 1 some went, 0 the kernel is full, -1 failed with errno. */
static int queue_write(struct loop_stream *s)
{
	struct iovec v[WRITE_VECTORS];
	int count = 0;
	ssize_t n;

	for (struct chunk *c = s->first; c && count < WRITE_VECTORS; c = c->next)
		v[count++] = (struct iovec){c->data + c->start, c->len - c->start};
	do {
		n = writev(s->write_fd, v, count);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -1;
	queue_consume(s, (size_t)n);
	return 1;
}

/* Writing */

/* The handle goes with its descriptor: closing it later would make libuv forget whatever has the
 * same number by then. */
static void close_write_end(struct loop_stream *s)
{
	if (s->write_polled)
		uv_close((uv_handle_t *)&s->write_poll, handle_gone);
	s->write_polled = false;
	os_close(s->write_fd);
	s->write_fd = -1;
}

static void finish_writes(struct loop_stream *s)
{
	s->write_over = true;
	if (is_shared(s))
		(void)shutdown(
			s->fd, SHUT_WR); /* fails when the peer is gone, which reading tells */
	else
		close_write_end(s);
}

/* A failed write loses nothing the peer sent before: a socket is read to its end first, which comes
 * since it is shut down here. Without that the failure is told after the round. */
static void fail_writes(struct loop_stream *s, int sys)
{
	errno = sys;
	(void)error_sys(&s->failure, "write to a peer"); /* always -1 */
	queue_drop(s);
	s->write_over = true;
	if (is_shared(s) && !s->read_over && shutdown(s->fd, SHUT_RDWR) == 0)
		return;
	s->tell_ended = !s->read_over;
	s->read_over = true;
	if (s->tell_ended)
		loop_task_add(s->loop, &s->task);
}

/* Gives the kernel what it takes now. */
static void flush(struct loop_stream *s)
{
	int went = 1;

	if (s->queued == 0 || s->write_over)
		return;
	while (s->queued > 0 && went > 0)
		went = queue_write(s);
	s->blocked = s->queued > 0;
	if (went < 0) {
		fail_writes(s, errno);
	} else if (s->queued == 0) {
		s->tell_drained = s->cb.drained != NULL;
		if (s->ending)
			finish_writes(s);
	}
}

static void tell_drained(struct loop_stream *s)
{
	if (!s->tell_drained || s->closed || s->failure.kind)
		return;
	s->tell_drained = false;
	if (s->queued == 0)
		s->cb.drained(s->arg);
}

static void tell_later(void *arg)
{
	struct loop_stream *s = arg;

	tell_drained(s);
	if (s->tell_ended && !s->closed) {
		s->tell_ended = false;
		s->cb.ended(s->arg, &s->failure);
	}
	update_interest(s);
}

/* Reading */

static void end_reading(struct loop_stream *s, int sys)
{
	struct error err = s->failure;

	s->read_over = true;
	if (sys != 0 && !err.kind) {
		errno = sys;
		(void)error_sys(&err, "read from a peer"); /* always -1 */
	}
	s->cb.ended(s->arg, err.kind ? &err : NULL);
}

/* One read into buf. How many bytes came, 0 when that was all there is for now. */
static size_t read_once(struct loop_stream *s, char *buf)
{
	ssize_t n;

	do {
		n = read(s->fd, buf, LOOP_READ_BYTES);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		s->cb.data(s->arg, buf, (size_t)n);
		return (size_t)n;
	}
	if (n == 0 || errno != EAGAIN)
		end_reading(s, n == 0 ? 0 : errno);
	return 0;
}

static bool wants_data(const struct loop_stream *s)
{
	return !s->closed && !s->paused && !s->read_over && s->fd >= 0;
}

static void stream_spin(uv_idle_t *spin)
{
	struct loop_stream *s = spin->data;

	if (wants_data(s))
		(void)read_once(s, s->loop->read_buffer); /* told to the owner */
	update_interest(s);
}

static void stream_ready(uv_poll_t *poll, int status, int events)
{
	struct loop_stream *s = poll->data;
	bool for_writes = is_shared(s) || poll == &s->write_poll;

	if (status < 0) { /* libuv stopped polling; reading and writing say what is wrong */
		*(poll == &s->poll ? &s->events : &s->write_events) = 0;
		events = UV_READABLE | UV_WRITABLE;
	}
	if (for_writes && (events & UV_WRITABLE) != 0) {
		flush(s);
		tell_drained(s);
	}
	if (poll == &s->poll && (events & UV_READABLE) != 0 && wants_data(s))
		(void)read_once(s, s->loop->read_buffer); /* told to the owner */
	update_interest(s);
}

/* Opening and closing */

/* What epoll refuses, a file or /dev/null, never makes anyone wait. */
static bool open_poll(struct loop_stream *s, uv_poll_t *poll, int fd)
{
	if (uv_poll_init(&s->loop->uv, poll, fd) < 0)
		return false;
	poll->data = s;
	s->open_handles++;
	return true;
}

static void open_spin(struct loop_stream *s)
{
	must(uv_idle_init(&s->loop->uv, &s->spin) == 0);
	s->spin.data = s;
	s->spinning = true;
	s->open_handles++;
}

struct loop_stream *loop_stream_new(
	struct loop *l, int fd, int write_fd, const struct loop_stream_callbacks *cb, void *arg)
{
	struct loop_stream *s = xcalloc(1, sizeof(*s));

	s->loop = l;
	s->cb = *cb;
	s->arg = arg;
	s->fd = fd;
	s->write_fd = write_fd < 0 ? fd : write_fd;
	must(s->write_fd >= 0);
	loop_task_init(&s->task, tell_later, s);
	s->polled = fd >= 0 && open_poll(s, &s->poll, fd);
	if (!s->polled)
		open_spin(s); /* also what the memory waits for when nothing else is open */
	s->write_polled = !is_shared(s) && open_poll(s, &s->write_poll, s->write_fd);
	update_interest(s);
	return s;
}

void loop_stream_pause(struct loop_stream *s)
{
	s->paused = true;
	update_interest(s);
}

void loop_stream_resume(struct loop_stream *s)
{
	s->paused = false;
	update_interest(s);
}

void loop_stream_flush(struct loop_stream *s)
{
	flush(s);
	if (s->tell_drained)
		loop_task_add(s->loop, &s->task);
	update_interest(s);
}

void loop_stream_write(struct loop_stream *s, const void *p, size_t len)
{
	ssize_t n = 0;

	if (len == 0 || s->write_over || s->ending)
		return;
	if (s->queued == 0) {
		do {
			n = write(s->write_fd, p, len);
		} while (n < 0 && errno == EINTR);
		if (n < 0 && errno != EAGAIN) {
			fail_writes(s, errno);
			update_interest(s);
			return;
		}
		n = n < 0 ? 0 : n;
		s->blocked = (size_t)n < len;
	}
	if ((size_t)n < len)
		queue_add(s, (const char *)p + n, len - (size_t)n);
	else if (s->cb.drained) {
		s->tell_drained = true;
		loop_task_add(s->loop, &s->task);
	}
	update_interest(s);
}

size_t loop_stream_queued(const struct loop_stream *s)
{
	return s->queued;
}

void loop_stream_end_writes(struct loop_stream *s)
{
	if (s->ending || s->write_over)
		return;
	s->ending = true;
	if (s->queued == 0)
		finish_writes(s);
}

bool loop_stream_is_gone(const struct loop_stream *s)
{
	struct pollfd look = {.fd = s->fd};

	return !s->closed && is_shared(s) && poll(&look, 1, 0) == 1 &&
	       (look.revents & (POLLHUP | POLLERR)) != 0;
}

void loop_stream_drain(struct loop_stream *s, size_t max_bytes)
{
	/* Not the loop's own buffer: this may run inside some data(). */
	_cleanup_(mem) char *buf = xmalloc(LOOP_READ_BYTES);
	size_t total = 0, n = 1;

	while (n > 0 && total < max_bytes && wants_data(s)) {
		n = read_once(s, buf);
		total += n;
	}
	update_interest(s);
}

void loop_stream_close(struct loop_stream *s)
{
	if (!s || s->closed)
		return;
	s->closed = true;
	queue_drop(s);
	loop_task_cancel(&s->task);
	if (s->polled)
		uv_close((uv_handle_t *)&s->poll, handle_gone);
	if (s->write_polled)
		uv_close((uv_handle_t *)&s->write_poll, handle_gone);
	if (s->spinning)
		uv_close((uv_handle_t *)&s->spin, handle_gone);
	if (!is_shared(s))
		os_close(s->write_fd);
	os_close(s->fd);
}
