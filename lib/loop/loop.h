#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H
/*
 * loop: libuv behind our names. One loop, one thread; only loop_post may be called from others.
 *
 * Callbacks never run inside the call that set them up. Objects with callbacks are closed with
 * their _close, after which their callback does not run any more; memory goes back after the round.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <sys/types.h>

#include "clock/clock.h"
#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

struct loop;

struct loop *loop_new(void);    /* ignores SIGPIPE for the process */
void loop_free(struct loop *l); /* everything on it must be closed; NULL does nothing */
void loop_run(struct loop *l);  /* until loop_stop, or until nothing is left to wait for */
void loop_stop(struct loop *l);
int64_t loop_now_ms(const struct loop *l); /* monotonic, as of the start of the round */

/* For an object that nobody owns any more but that lives on for a while: fn(arg), which closes it,
 * runs in loop_free should it come first. */
struct loop_exit;
struct loop_exit *loop_exit_new(struct loop *l, void (*fn)(void *arg), void *arg);
void loop_exit_free(struct loop_exit *e); /* NULL does nothing */

/* Runs fn(arg) after the round, in order: how an object is freed outside its own step. */
void loop_defer(struct loop *l, void (*fn)(void *arg), void *arg);

/* From any thread: runs fn(arg) on the loop, in order of the calls of one thread. Posts made before
 * the loop is freed are run or dropped with it: what must be seen again is held for. Keeps the loop
 * alive only while `loop_hold` is above 0. */
void loop_post(struct loop *l, void (*fn)(void *arg), void *arg);
void loop_hold(struct loop *l);
void loop_unhold(struct loop *l);

/* Timers. One shot; setting again replaces. */
struct loop_timer;
struct loop_timer *loop_timer_new(struct loop *l, void (*fn)(void *arg), void *arg);
void loop_timer_set(struct loop_timer *t, int64_t after_ms); /* 0: next round */
void loop_timer_stop(struct loop_timer *t);
bool loop_timer_active(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t); /* NULL does nothing */
/* Timers that do not keep the loop alive. */
void loop_timer_unref(struct loop_timer *t);

/* Signals. While one is watched its default does not happen. Each keeps the loop alive. */
struct loop_signal;
struct loop_signal *loop_signal_new(
	struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg);
void loop_signal_free(struct loop_signal *s); /* NULL does nothing */

/* A listening stream socket (not taken apart on error). accept gives a new non-blocking descriptor
 * that the callback owns. Out of descriptors: stops accepting for 100 ms and goes on, calling
 * nothing. */
struct loop_listener;
int loop_listen(struct loop *l, int fd, void (*accepted)(void *arg, int fd), void *arg,
	struct loop_listener **ret, struct error *err); /* takes fd on success */
void loop_listener_close(struct loop_listener *s);      /* closes fd */

/*
 * A descriptor to read from and write to: a socket, or one or two pipe ends; files and /dev/null
 * work too. data() is called with what was read and must take it at once; ended() once, on EOF (err
 * NULL) or failure. After a failure only loop_stream_close is of use; after EOF of a socket whose
 * peer still reads, so are writes. Writes are copied; what the kernel does not take at once is
 * queued without limit: the owner looks at loop_stream_queued and decides. drained() is called,
 * after writes, when the queue is empty. A write that fails drops the queue. What the peer of a
 * socket had sent before is read first, then ended() tells the failure (a paused stream: after it
 * is resumed); with two descriptors at once.
 */
struct loop_stream;
struct loop_stream_callbacks {
	void (*data)(void *arg, const char *p, size_t len);
	void (*ended)(void *arg, const struct error *err);
	void (*drained)(void *arg); /* may be NULL */
};
/* Takes fd (made non-blocking). write_fd -1: the same as fd; else it is taken too. fd -1 with a
 * write_fd: nothing to read, and ended() tells only of a write that failed. */
struct loop_stream *loop_stream_new(
	struct loop *l, int fd, int write_fd, const struct loop_stream_callbacks *cb, void *arg);
void loop_stream_pause(struct loop_stream *s); /* no data() until resumed: the peer feels it */
void loop_stream_resume(struct loop_stream *s);
void loop_stream_write(struct loop_stream *s, const void *p, size_t len);
/* Offers the queue to the kernel now, instead of when it asks: for an owner about to give up on a
 * peer. */
void loop_stream_flush(struct loop_stream *s);
size_t loop_stream_queued(const struct loop_stream *s); /* bytes not yet in the kernel */
void loop_stream_end_writes(struct loop_stream *s); /* after what is queued: shutdown or close */
/* Whether the peer of a socket has closed all of it: nobody hears what is still written. False for
 * one that only says no more, and for what is no socket. For a stream that is paused or whose
 * reading is over, since only reading and writing tell by themselves. */
bool loop_stream_is_gone(const struct loop_stream *s);
/* Reads what is there now, about max_bytes at most, without waiting: data() and ended() run inside.
 */
void loop_stream_drain(struct loop_stream *s, size_t max_bytes);
void loop_stream_close(struct loop_stream *s); /* drops what is queued; NULL does nothing */

/* Names and connections. */
extern const struct error_kind LOOP_NO_ADDRESS; /* no_address, unavailable: a name without one */
extern const struct error_kind
	LOOP_NO_CONNECTION;       /* no_connection, unavailable: none of the addresses answers */
enum { LOOP_ADDRESSES_MAX = 16 }; /* ours: of one name, the rest is not tried */
union loop_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};
/* An IPv4 or IPv6 address written in numbers, without brackets; false for what is none. */
bool loop_address_parse(const char *text, uint16_t port, union loop_address *ret);

/* Asks the system for a name's addresses, on a helper thread (libuv's pool). found() once, with at
 * least one address or with err. A lookup that was given up ends in its own time: loop_free waits
 * for it. */
struct loop_lookup;
struct loop_lookup *loop_lookup_new(struct loop *l, const char *name, uint16_t port,
	void (*found)(
		void *arg, const union loop_address *a, size_t count, const struct error *err),
	void *arg);
void loop_lookup_free(struct loop_lookup *k); /* before or after found(); NULL does nothing */

/* A TCP connection to the first of some addresses that takes one: each is given 250 ms or until it
 * fails, then the next is tried beside it. done() once, with a non-blocking descriptor (TCP_NODELAY
 * set) that it owns, or with -1 and what the last one failed of. */
struct loop_connect;
struct loop_connect *loop_connect_new(struct loop *l, const union loop_address *a, size_t count,
	void (*done)(void *arg, int fd, const struct error *err), void *arg);
void loop_connect_free(struct loop_connect *c); /* before or after done(); NULL does nothing */

/* A child by its pidfd (taken on success): exited() once, with its exit status and signal 0, or 128
 * + signal and the signal. The child is reaped here, after exited(): until that returns its pid is
 * surely its own. NULL when it cannot be watched. */
struct loop_child;
struct loop_child *loop_child_watch(struct loop *l, int pidfd,
	void (*exited)(void *arg, int code, int signal), void *arg, struct error *err);
void loop_child_free(
	struct loop_child *c); /* reaps later, silently, when still running; NULL does nothing */

/* Blocking work on a helper thread (libuv's pool), then done() on the loop. work() must touch only
 * arg. */
void loop_work(struct loop *l, void (*work)(void *arg), void (*done)(void *arg), void *arg);

#endif
