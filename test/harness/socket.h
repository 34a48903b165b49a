#ifndef HARNESS_SOCKET_H
#define HARNESS_SOCKET_H
/*
 * The server's side of a WebSocket: the handshake's answer, what comes read by libwslay, and what
 * goes written here, since it may have to be wrong.
 */
#include "http/http.h"
#include "test/harness/script.h"

/* Whether a request asks for one. */
bool socket_wanted(const struct http_head *h);
/* The handshake's answer, as the script's settings have it. */
void socket_put_handshake(
	struct buf *to, const struct http_head *h, const struct script_socket *how);

struct socket;
struct socket_callbacks {
	void (*message)(void *arg, struct str text);
	void (*send)(void *arg, struct str bytes); /* pongs, and the answer to a close */
};
struct socket *socket_new(const struct socket_callbacks *cb, void *arg);
void socket_free(struct socket *s); /* not in a callback; NULL does nothing */
/* Bytes that came. -1: nothing more comes; the peer has closed, or what it sent is wrong (why). */
int socket_take(struct socket *s, struct str bytes, const char **ret_why);

/* A text message in frames of at most frame_bytes (0: one), each behind a ping where that is
 * asked for. */
void socket_put_text(struct buf *to, struct str text, size_t frame_bytes, bool pings);
void socket_put_close(struct buf *to, uint16_t code);

#endif
