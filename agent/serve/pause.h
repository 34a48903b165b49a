#ifndef AGENT_SERVE_PAUSE_H
#define AGENT_SERVE_PAUSE_H
/*
 * The andon cord (agent spec 9): any agent may pull it, the daemon's own socket alone lets it go.
 *
 * While it holds no turn starts or goes on, whoever asks. What has begun is ended as interrupted
 * with the cause `paused`: running turns, and parked ones too, since whether a turn that waits for
 * a verdict has parked yet is nothing a person could see. What is queued stays queued.
 *
 * It holds from the moment that somebody asks for it, so that nothing can start between that and
 * its commit; the reply comes behind the commit.
 */
#include <stdbool.h>

#include "agent/io/store_pause.h"
#include "loop/loop.h"

struct daemon;

struct pause {
	struct store_pause now;   /* as committed */
	int pulling;              /* requests that are not committed yet */
	struct loop_timer *again; /* the store refused to end a parked turn */
};
void pause_init(struct daemon *d);
void pause_release(struct daemon *d);
/* No turn may start. */
bool pause_holds(const struct daemon *d);

/* A store job that pulls it is on its way; it came back: *p is how it is now, NULL: it was refused.
 */
void pause_pulling(struct daemon *d);
void pause_pulled(struct daemon *d, const struct store_pause *p);
/* As it was found at open. Before any turn is started. */
void pause_found(struct daemon *d, const struct store_pause *p);
/* Somebody resumed, and that is committed. */
void pause_ended(struct daemon *d);
/* The outcome of a parked turn was refused: it is tried again while the cord is pulled. */
void pause_retry(struct daemon *d);

#endif
