#ifndef AGENT_CMD_INTERRUPTS_H
#define AGENT_CMD_INTERRUPTS_H
/* SIGINT and its like as something to wait for, so that Ctrl-C can mean "stop the turn" first. */
#include <stdbool.h>

#include "error/error.h"

/* From here on SIGINT does not end the process but makes *ret_fd readable; with `all` SIGTERM,
 * SIGHUP and SIGQUIT neither. */
int interrupts_open(bool all, int *ret_fd, struct error *err);
/* How many came. */
int interrupts_take(int fd);

#endif
