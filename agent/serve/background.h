#ifndef AGENT_SERVE_BACKGROUND_H
#define AGENT_SERVE_BACKGROUND_H
/*
 * Commands in the background (spec 3.7, 5.1): each outlives the call and the turn that started it,
 * holds a process slot from its start to its end, and ends with the daemon.
 *
 * Made → its row and the call's result committed together → started when there is a slot → its
 * result committed → whoever waits for it is told.
 */
#include <stdbool.h>

#include "agent/io/store.h"
#include "agent/serve/live.h"

struct background;
struct daemon;

/* Of the turn's current call; copies all it needs. */
struct background *background_new(const struct live_turn *t, const struct live_call *c);
/* For one that was not started; NULL does nothing. */
void background_free(struct background *b);
/* In a store job: its row, and the call's result that names it. */
int background_insert(struct store_tx *tx, struct background *b, struct arena *a,
	struct store_result *ret, struct error *err);
/* Its row is committed: from here on it looks after itself. stopped: its turn was, meanwhile. */
void background_start(struct background *b, bool stopped);
/* Ends all of them; their results say so. */
void backgrounds_cancel(struct daemon *d);
/* The daemon ends: all are ended, nothing more is recorded; then, when no job of theirs is under
 * way, they are let go. */
void backgrounds_abandon(struct daemon *d);
void backgrounds_release(struct daemon *d);

#endif
