#ifndef ATTEST_WEBSOCKET_H
#define ATTEST_WEBSOCKET_H
/*
 * The server's side of a WebSocket, played by hand: on a connection whose request asked for one.
 * What a client must not do (frames without a mask, an extension) breaks the case.
 */
#include "attest/attest.h"
#include "attest/provider.h"

/* Answers the handshake. */
void websocket_accept(struct attest *t, const struct played_request *q);
/* The next text message, in one frame, waiting at most 10 s. */
struct str websocket_read(struct attest *t, int conn);
void websocket_write(struct attest *t, int conn, const char *text);

#endif
