#ifndef AGENT_IO_WS_LINES_H
#define AGENT_IO_WS_LINES_H
/*
 * The WebSocket connections of a `responses-ws` provider: one for each bot, kept a minute after its
 * last reply (agent spec 8.2).
 *
 * What a connection was last asked and told is remembered, by hash: a request that only goes on
 * from there is sent as what is new behind `previous_response_id`. When the server does not know
 * that response any more, or a kept connection turns out to be dead before it has said a word, the
 * call goes out again whole; nobody hears of it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/io/body.h"
#include "agent/io/ws.h"
#include "error/error.h"
#include "fetch/fetch.h"
#include "loop/loop.h"

struct ws_lines;
struct ws_lines_options {
	struct loop *loop;
	struct fetch *fetch;
	int64_t idle_ms; /* a connection without a response is closed after; 0: 60 s */
	int64_t life_ms; /* no response begins on one that is older; 0: 55 min */
};
struct ws_lines *ws_lines_new(const struct ws_lines_options *o);
/* Its turns must be over. NULL does nothing. */
void ws_lines_free(struct ws_lines *l);
struct ws_lines_counts {
	size_t open, idle;
};
void ws_lines_counts(const struct ws_lines *l, struct ws_lines_counts *ret);

/* One response, from its request to its last event. */
struct ws_turn_request {
	int64_t bot;
	const struct url *url;
	const struct http_header *headers; /* of the handshake, where one is needed */
	size_t header_count;
	const struct body *body; /* until ws_turn_taken */
};
struct ws_turn_callbacks {
	/* A new connection is there: what its server said. */
	void (*opened)(void *arg, const struct http_head *h);
	/* The server wants no WebSocket: its answer, then over(NULL). */
	void (*refused)(void *arg, const struct http_head *h);
	void (*body)(void *arg, struct str bytes);
	void (*message)(void *arg, struct str json);
	/* The connection is over before the response is. */
	void (*over)(void *arg, const struct error *err);
};
struct ws_turn;
/* Callbacks never come inside. */
int ws_turn_start(struct ws_lines *l, const struct ws_turn_request *r,
	const struct ws_turn_callbacks *cb, void *arg, struct ws_turn **ret, struct error *err);
/* The response has begun: the request is not sent again, and the body not looked at. */
void ws_turn_taken(struct ws_turn *t);
/* Whether only what is new was sent, so that sending it whole is worth a try. */
bool ws_turn_is_partial(const struct ws_turn *t);
/* Sends the request whole, on the same connection. Before ws_turn_taken. */
void ws_turn_again(struct ws_turn *t);
/* The response is whole: its id, and its items as a next request will repeat them. The connection
 * is kept; the turn is gone. */
void ws_turn_whole(
	struct ws_turn *t, struct str response_id, const struct str *items, size_t count);
/* The response is not wanted, or failed: the connection ends with it. Allowed inside a callback;
 * after over() it is gone by itself. NULL does nothing. */
void ws_turn_cancel(struct ws_turn *t);

#endif
