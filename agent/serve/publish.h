#ifndef AGENT_SERVE_PUBLISH_H
#define AGENT_SERVE_PUBLISH_H
/*
 * Followers: durable events to whoever follows the bot, in commit order, replayed from a cursor
 * first (spec 2.4). The switch from replay to live is made in a storage job, so that nothing falls
 * between and nothing repeats.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/io/store.h"
#include "mem/mem.h"
#include "text/text.h"

struct daemon;
struct session;

struct follow {
	struct daemon *d;
	struct session *session; /* NULL: over; freed when no job holds it */
	struct list in_session, in_publisher;
	int64_t bot;        /* 0: all */
	char *name;         /* as asked for */
	int64_t cursor;     /* of the last event sent */
	int64_t told;       /* it was told that events up to this one may be gone */
	bool live, reading; /* reading: a store job holds it */
	struct page *page;  /* being sent, or the last one sent */
};

struct publisher {
	struct list live;    /* follows that get events as they come */
	struct list batched; /* sessions with events of this round */
	bool deferred;       /* … which go at its end */
	struct buf line;
};

void publisher_init(struct publisher *p);
void publisher_release(struct publisher *p);
/* From the store, for every committed event. arg: the daemon. */
void publish_event(void *arg, const struct store_event *e);
/* A non-durable event: `data` is a JSON object text. */
void publish_passing(struct daemon *d, int64_t bot, struct str name, int64_t turn, const char *kind,
	struct str data);
/* Tells its followers that the bot is gone. */
void publish_deleted(struct daemon *d, int64_t bot, struct str name);
/* Starts replaying after f->cursor. Takes the name. */
void follow_start(struct session *s, int64_t bot, const char *name, int64_t after);
/* Ends a follow of that name; true if there was one. */
bool follow_stop(struct session *s, const char *name);
/* The session sent all it had: replays go on. */
void follow_drained(struct session *s);
void follow_session_gone(struct session *s);
/* The line of an event, without a newline. */
int event_put(struct buf *b, const struct store_event *e);

#endif
