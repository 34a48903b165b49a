#ifndef AGENT_SERVE_SCHEDULE_H
#define AGENT_SERVE_SCHEDULE_H
/*
 * Slots: how many turns are live, how many processes run, and which queued turn starts next
 * (spec 2.6, 3.3).
 */
#include <stdbool.h>
#include <stdint.h>

#include "mem/mem.h"

struct daemon;

/* Whoever needs a slot for a process: granted() is called when there is one. */
struct process_claim {
	struct list in_queue;
	void (*granted)(struct process_claim *c);
};

struct schedule {
	int64_t active, active_max; /* turns with a live task, reserved ones too */
	int64_t most_active;        /* … at once, since memory was last given back */
	struct loop_timer *trim;
	int64_t processes, processes_max; /* child processes; max 0: no limit */
	struct list process_queue;        /* struct process_claim by in_queue */
	int64_t process_queued;
	bool granting;            /* slots are being handed to the queue */
	bool starting;            /* a start job is under way */
	struct loop_timer *retry; /* the store refused to start one */
	bool ready;               /* there may be a ready turn in the store */
};

void schedule_init(struct daemon *d, int64_t active_max, int64_t processes_max);
void schedule_release(struct daemon *d);
/* Takes a slot for a turn, or false. */
bool schedule_reserve(struct daemon *d);
void schedule_unreserve(struct daemon *d);
/* A queued turn may be ready: starts what there is room for, one per round. */
void schedule_kick(struct daemon *d);

/* A process slot now (true), or a place in the queue: granted() is called when it comes. */
bool schedule_process(struct daemon *d, struct process_claim *c);
/* No slot is free, and as many wait for one as there are. */
bool schedule_process_full(const struct daemon *d);
void schedule_process_done(struct daemon *d);
/* Leaves the queue. */
void schedule_process_forget(struct daemon *d, struct process_claim *c);

#endif
