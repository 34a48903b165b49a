#ifndef AGENT_SERVE_APPROVALS_H
#define AGENT_SERVE_APPROVALS_H
/*
 * `approvals`: what waits for a verdict, of live turns and of parked ones (spec 6.4).
 */
#include <stdint.h>

#include "text/text.h"

struct request;

struct approvals_args {
	struct str bot, tag, after;
	int64_t limit;
};
void op_approvals(struct request *r, const void *raw); /* struct approvals_args */

#endif
