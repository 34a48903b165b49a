#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H
/*
 * wire: JSON Lines on a stream (agent spec 2.1, 2.2): lines in under a cap, packets out under a
 * cap.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "loop/loop.h"
#include "text/text.h"

enum {
	WIRE_LINE_MAX_BYTES = 1024 * 1024,    /* spec 2.1, the newline counts */
	WIRE_OUT_PACKETS_MAX = 64,            /* spec 2.2 */
	WIRE_OUT_BYTES_MAX = 2 * 1024 * 1024, /* spec 2.2 */
};

/* Splits bytes into lines, whatever the chunks. Pure: no I/O. */
struct wire_lines {
	struct buf partial;
	size_t max_bytes;
	bool broken; /* a line passed the cap: nothing more comes out */
	bool told;   /* partial holds the line that was lent last */
};
void wire_lines_init(struct wire_lines *w, size_t max_bytes);
void wire_lines_release(struct wire_lines *w);
/* Calls line() for each whole line, without its newline; stops early when line() returns false (the
 * rest of the chunk is dropped: the owner is closing). -1 with ERROR_LIMIT when a line is too long.
 */
int wire_lines_put(struct wire_lines *w, const char *p, size_t len,
	bool (*line)(void *arg, struct str line), void *arg, struct error *err);
/* The same one line at a time: cuts it off *rest. 1 with a line, which is valid until the next
 * call; 0 when *rest is used up; -1 as above. */
int wire_lines_next(
	struct wire_lines *w, struct str *rest, struct str *ret_line, struct error *err);
/* Bytes of a line that has not ended. */
size_t wire_lines_pending(const struct wire_lines *w);

/*
 * A peer on a stream. line() gets each whole line; closed() once: the peer left, a line was too
 * long (ERROR_LIMIT), an unterminated line at the end (ERROR_INVALID), or the out queue was full
 * (ERROR_TOO_LONG is not used: WIRE_SLOW). After closed() only wire_peer_free is of use.
 */
extern const struct error_kind WIRE_SLOW; /* slow_reader */
struct wire_peer;
struct wire_callbacks {
	void (*line)(void *arg, struct str line);
	void (*closed)(void *arg, const struct error *err); /* err NULL: a clean end */
	void (*drained)(void *arg); /* all that was queued is in the kernel; may be NULL */
	/* The peer says no more but still listens (shutdown(2), the end of what is piped into
	 * socat): the owner answers what it owes, then finishes. NULL: that is closed(). */
	void (*said_all)(void *arg);
	/* The peer has left while it was paused: nobody hears an answer, and what it said before is
	 * told when it is resumed. Comes again each second until then. May be NULL. */
	void (*gone)(void *arg);
};
struct wire_peer *wire_peer_new(
	struct loop *l, int fd, int write_fd, const struct wire_callbacks *cb, void *arg);
/* Queues one packet: the line, which holds no newline, and a newline. When the queue's packets or
 * bytes are over their caps the peer is closed at once, what was queued is dropped, closed()
 * follows in the next round and -1 is returned; also -1, and nothing else, once the peer is closed
 * or finishing. */
int wire_peer_send(struct wire_peer *p, struct str line);
/* The same for several lines, with newlines between them, as one packet. */
int wire_peer_send_lines(struct wire_peer *p, struct str lines);
void wire_peer_pause(struct wire_peer *p); /* no line() until resumed; lines already read wait */
void wire_peer_resume(struct wire_peer *p);
/* Sends what is queued, then ends; closed() follows, with WIRE_SLOW when the peer did not take it
 * within 1 s. No line() any more. */
void wire_peer_finish(struct wire_peer *p);
size_t wire_peer_queued_packets(const struct wire_peer *p);
/* The way out still works in closed() after a fault of input (ERROR_LIMIT, ERROR_INVALID): says one
 * last line, sends what is queued within 1 s and frees itself. No callbacks any more. At any other
 * time the same; a peer whose way out is closed is just freed. */
void wire_peer_farewell(struct wire_peer *p, struct str line);
void wire_peer_free(struct wire_peer *p); /* closes at once, no callback; NULL does nothing */

#endif
