#ifndef AGENT_IO_WS_H
#define AGENT_IO_WS_H
/*
 * ws: one WebSocket connection to a server, the client's side (RFC 6455), over lib/fetch. There is
 * no other side here: nothing of the daemon takes a WebSocket connection (AG-021, AG-022).
 *
 * Text messages, whole. No extension and no subprotocol is offered, and one that the server takes
 * all the same ends the connection; pings are answered; masking keys come from getrandom(2). Frames
 * are libwslay's to read and write.
 *
 * Callbacks never come inside ws_open; what they are handed dies when they return.
 */
#include <stdbool.h>
#include <stdint.h>

#include "error/error.h"
#include "fetch/fetch.h"
#include "http/http.h"
#include "loop/loop.h"
#include "text/text.h"
#include "url/url.h"

extern const struct error_kind WS_HANDSHAKE; /* ws_handshake_failed, io: not what RFC 6455 says */
extern const struct error_kind WS_INVALID;   /* ws_invalid, io: frames that are none, a bad text */
extern const struct error_kind WS_LIMIT;     /* ws_limit, limit: a message that is too long */
extern const struct error_kind WS_CLOSED;    /* ws_closed, unavailable: the server closed it */

struct ws;
struct ws_options {
	struct loop *loop;
	struct fetch *fetch;
	const struct url *url;             /* any of the four schemes */
	const struct http_header *headers; /* beside those of the handshake */
	size_t header_count;
	size_t message_max_bytes; /* of one that comes */
};
struct ws_callbacks {
	/* It is open; messages may go. */
	void (*open)(void *arg, const struct http_head *h);
	/* The server answered with something else than a WebSocket: the answer's head, its body,
	 * then over(NULL). */
	void (*refused)(void *arg, const struct http_head *h);
	void (*body)(void *arg, struct str bytes);
	void (*message)(void *arg, struct str text);
	/* Once, and nothing after it. err NULL: a refusal is whole. */
	void (*over)(void *arg, const struct error *err);
};
int ws_open(const struct ws_options *o, const struct ws_callbacks *cb, void *arg, struct ws **ret,
	struct error *err);
/* A text message; copied. Only while it is open. */
void ws_send(struct ws *w, struct str text);
/* Says goodbye where it is open, and ends it: no callback afterwards; allowed inside one. After
 * over() it frees itself and must not be touched. NULL does nothing. */
void ws_close(struct ws *w);

#endif
