#ifndef AGENT_CMD_SWEEP_H
#define AGENT_CMD_SWEEP_H
/*
 * Folders that rehearsals leave when they are killed. Each holds a lock as long as its owner lives.
 */
#include "error/error.h"

#define SWEEP_PARENT "/var/tmp"
#define SWEEP_PREFIX "consort-rehearse-"
#define SWEEP_LOCK   "lock"

/* A new folder of this user's, locked: *ret_fd holds it. The caller frees the path. */
int sweep_make(char **ret_path, int *ret_fd, struct error *err);
/* Removes this user's folders whose owner is gone, and says so on stderr. What cannot be removed is
 * left, and said as well. */
void sweep_left(void);

#endif
