#ifndef AGENT_CMD_CANARY_H
#define AGENT_CMD_CANARY_H
/*
 * The files a drill lays out, and how they are afterwards. Every path is resolved and must then lie
 * below the scratch home or the workspace's copy: a link in a person's copied folder leads nowhere.
 */
#include <stdbool.h>

#include "agent/core/rehearsal_drill.h"
#include "error/error.h"
#include "text/text.h"

extern const struct error_kind CANARY_MISPLACED; /* canary_misplaced, conflict */

struct canary_place {
	const char *home, *workspace; /* absolute, without links */
};
/* Makes the files, 0644, and looks that nothing is there yet which is to be absent. */
int canary_lay(const struct drill_terms *t, const struct canary_place *at, struct error *err);
/* Whether all is as it should be; what is not is told in `why`, one sentence, the first found. */
bool canary_well(const struct drill_terms *t, const struct canary_place *at, struct buf *why);

#endif
