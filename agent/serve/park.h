#ifndef AGENT_SERVE_PARK_H
#define AGENT_SERVE_PARK_H
/*
 * Parked turns in memory: a small entry each, with a timer and what wakes it. Everything else about
 * them is in the store (agent spec 3.7).
 *
 * Deadlines are kept in real time, as the store has them, and counted by the clock nobody sets:
 * `offset_ms` is what the one was ahead of the other when the turn parked. After a restart it is
 * taken anew, and a clock that was set back meanwhile counts as not having moved.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/io/store_park.h"
#include "agent/serve/handles.h"
#include "loop/loop.h"
#include "mem/mem.h"
#include "table/table.h"

struct daemon;
struct request;

enum parked_state {
	PARKED_RESTING,
	PARKED_WANTED,   /* it goes on as soon as it gets a slot */
	PARKED_RESUMING, /* the store is told so */
	PARKED_ENDING,   /* its outcome is being committed */
};
struct parked {
	struct daemon *d;
	int64_t bot, turn;
	int64_t offset_ms, since_mono_ms;
	struct loop_timer *timer; /* NULL: nothing but an answer or a handle wakes it */
	struct list in_queue;     /* of those wanted */
	struct park_look *look;   /* the store is asked about its handles */
	struct handle_watch *watches;
	const char *stop_cause; /* asked to stop while it was on its way back */
	uint8_t kind;           /* enum park_kind */
	uint8_t state;          /* enum parked_state */
	uint8_t watch_count;
	uint8_t requests; /* calls that wait for a verdict */
	char *host;       /* tag of who has to come; NULL: nobody */
	bool again;       /* something ended while the store was asked */
	bool due;         /* it should go on: said while it was ending */
	char name[];      /* of the bot */
};

struct parks {
	struct table *by_bot; /* name → struct parked */
	struct list wanted;   /* struct parked by in_queue, oldest first */
	int64_t waiting, paced;
	int64_t wakeful;  /* those that go on by themselves */
	int64_t requests; /* calls of them that wait for verdicts */
};
void parks_init(struct parks *p);
/* Lets every entry go; the turns stay parked in the store. */
void parks_release(struct parks *p);

/* A turn has parked, or was found so at open; its commit is behind us. */
struct parked *parked_enter(struct daemon *d, const struct store_park *p, int64_t offset_ms);
/* For store_open: as above, with the clock taken anew. */
void parked_found(void *arg, const struct store_park *p);
/* NULL: that bot has no parked turn. */
struct parked *parked_find(struct daemon *d, struct str bot);
/* Whether verdicts on its calls can be given. */
bool parked_is_asked(const struct parked *p);
/* Somebody serves this tag's tools now. */
void parks_host_came(struct daemon *d, struct str tag);
/* How far real time is ahead for a turn that was parked then. */
int64_t parked_offset(const struct daemon *d, int64_t parked_ms);
/* Now, by the time its deadlines are in. */
int64_t parked_now(const struct parked *p);
/* It goes on when there is a slot. Nothing happens to one that is on its way already. */
void parked_resume(struct parked *p);
/* After store_open: what waited for handles may have them already. */
void parks_look(struct daemon *d);
/* Nothing is open any more on one of its calls. */
void parked_answered(struct parked *p);
/* For the schedule: the next one that waits for a slot, which was reserved, is resumed. */
bool parks_want(const struct daemon *d);
void parks_start_next(struct daemon *d);
/* Ends it as interrupted, and answers the request (NULL: nobody asked). */
void parked_stop(struct parked *p, const char *cause, struct request *r);

#endif
