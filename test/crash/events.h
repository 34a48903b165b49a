#ifndef CRASH_EVENTS_H
#define CRASH_EVENTS_H
/*
 * The durable events a test has seen, by cursor, and followers that compare what they are sent with
 * it: the same cursor is the same event for ever, cursors of one follower strictly rise, and `*`
 * leaves none out (nothing is pruned here, and a cursor that rolled back is given again).
 */
#include "test/crash/rig.h"

struct event {
	char *text; /* the line as compact JSON; NULL: not seen */
	char *bot;
};
struct events {
	struct event *rows; /* by cursor */
	int64_t cap, last;  /* last: the highest seen */
};
void events_release(struct events *e);

struct follower {
	struct client *c;
	struct events *seen;
	char bot[64];   /* "*": all */
	int64_t after;  /* where it began */
	int64_t cursor; /* of the last event it got */
	bool live;      /* follow_live came */
	int64_t *got;   /* every cursor, for one bot's follower */
	size_t count, cap;
	/* Called for each durable event in its order; may be NULL. */
	void (*event)(void *arg, const struct json *line);
	void *arg;
};
/* Sends the request. The client is the follower's from now on. */
void follower_start(
	struct follower *f, struct client *c, struct events *seen, const char *bot, int64_t after);
/* Takes what is there, waiting at most wait_ms for the first line. False: the daemon is gone. */
bool follower_read(struct follower *f, int wait_ms);
/* Reads until it is live. Broken when that takes too long. */
void follower_catch_up(struct follower *f);
/* Of one bot: between its start and its last event it got every event of the bot that was seen. */
void follower_check(const struct follower *f);
void follower_release(struct follower *f);

#endif
