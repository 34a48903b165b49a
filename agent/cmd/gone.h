#ifndef AGENT_CMD_GONE_H
#define AGENT_CMD_GONE_H
/* Ending a daemon and waiting until its process is gone (spec 9, 12). */
#include <stdint.h>

#include "client/client.h"
#include "error/error.h"

extern const struct error_kind GONE_TIMEOUT; /* daemon_shutdown_timeout */

/* Asks it to shut down and waits for 30 s beyond the grace. *ret_pid as it gave it, 0: none. */
int gone_shutdown(struct client *c, int64_t grace_ms, int64_t *ret_pid, struct error *err);
/* The same without grace, and by SIGKILL when it does not go. For a daemon that is ours alone. */
void gone_force(struct client *c);

#endif
