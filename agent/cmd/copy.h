#ifndef AGENT_CMD_COPY_H
#define AGENT_CMD_COPY_H
/*
 * A copy of a folder for a rehearsal to work on: files, folders and links, by handle; what is none
 * of them (sockets, devices, pipes) is left out.
 */
#include <stdint.h>

#include "error/error.h"

extern const struct error_kind COPY_TOO_LARGE; /* folder_too_large */

struct copy_limits {
	int64_t bytes, entries;
};
/* `to` is made, 0700. Links are copied as links, never followed. What was made stays there on
 * failure. */
int copy_tree(
	const char *from, const char *to, const struct copy_limits *limits, struct error *err);

#endif
