#ifndef CRASH_TURNS_H
#define CRASH_TURNS_H
/*
 * What the events say became of each turn and call, checked as they come in the order of their
 * cursors, and compared with what the commands really did: the ledger.
 *
 * A shell call of a script writes "BOT TURN MARK" to the ledger in its workspace; its arguments
 * hold "$AGENT_TURN MARK", and no two calls of a turn have one mark.
 */
#include "test/crash/rig.h"

struct call {
	char *id;
	int64_t mark; /* 0: it writes nothing */
	int64_t node; /* of the result */
	bool started, completed, cancelled, denied, unknown;
	int lines; /* in the ledger */
};
struct turn {
	int64_t id; /* 0: not seen */
	char *bot;
	bool queued, accepted, parked, finished;
	int64_t accepted_at, resumed_at; /* cursors */
	char status[16], error[32];
	struct call *calls;
	size_t call_count, call_cap;
};
struct turns {
	struct turn *rows; /* by id */
	int64_t cap, last;
	int64_t finished, interrupted, started, completed, unknown, cancelled, parks; /* so far */
};
void turns_release(struct turns *t);
/* A durable event; arg is the turns. Broken when it cannot follow what came before. */
void turns_event(void *arg, const struct json *line);
struct turn *turns_get(struct turns *t, int64_t id); /* NULL: not seen */
/* Reads lines of a ledger from *offset on. */
void turns_read_ledger(struct turns *t, const char *path, int64_t *offset);
/* Compares calls with their lines, turns `from` and later. All must be finished. */
void turns_check_ledger(const struct turns *t, int64_t from);

#endif
