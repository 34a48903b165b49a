#ifndef CRASH_HISTORY_H
#define CRASH_HISTORY_H
/* Bots' conversations and the end of their work, as a client reads them. */
#include "test/crash/rig.h"

/* Waits until no turn runs or is queued. Broken when that takes too long. */
void history_wait_idle(struct client *c, int limit_ms);
/* Reads the items after node `after`: each call of the model's has exactly one result before
 * anything else comes, and none is open at the end. Returns the newest node. */
int64_t history_check(struct client *c, const char *bot, int64_t after);

#endif
