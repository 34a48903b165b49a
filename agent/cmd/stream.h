#ifndef AGENT_CMD_STREAM_H
#define AGENT_CMD_STREAM_H
/*
 * The events of one connection, in order, also those that arrive while something is asked.
 */
#include <poll.h>
#include <stdint.h>

#include "agent/cmd/ask.h"
#include "client/client.h"
#include "mem/mem.h"

struct stream {
	struct client *client;
	struct list waiting; /* lines that came and were not looked at */
	struct stream_line *now;
	struct arena arena; /* of the line looked at */
	int64_t cursor;     /* of the newest durable event that was looked at */
};

struct stream_event {
	struct str line;         /* as JSON text, without a newline */
	const struct json *json; /* parsed */
	struct str kind, bot;
	int64_t turn; /* 0: none */
	const struct json *data;
};

void stream_init(struct stream *s, struct client *c);
void stream_release(struct stream *s);

/* A request whose answer is awaited; events that come first wait their turn. */
int stream_call(struct stream *s, struct ask *a, const struct json **ret, struct error *err);
/* Follows one bot, or "*", from a cursor on. */
int stream_follow(struct stream *s, const char *bot, int64_t after, struct error *err);
/* The cursor behind which this bot has no event now. */
int stream_newest(struct stream *s, const char *bot, int64_t *ret, struct error *err);

/* The next event, valid until the next call: 1; 0 when one of `others` is ready first (its revents
 * say which); -1 when the connection is lost. */
int stream_next(struct stream *s, struct pollfd *others, size_t count, struct stream_event *ret,
	struct error *err);

#endif
