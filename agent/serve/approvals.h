#ifndef AGENT_SERVE_APPROVALS_H
#define AGENT_SERVE_APPROVALS_H
/*
 * `approvals`: what waits for a verdict, of live turns and of parked ones (spec 6.4). And
 * `serve_approvals`, whose holder gets the first page of it, and is sent what comes later.
 */
#include <stdint.h>

#include "text/text.h"

struct request;

struct approvals_args {
	struct str bot, tag, after;
	int64_t limit;
};
void op_approvals(struct request *r, const void *raw); /* struct approvals_args */

struct serve_args {
	struct str tag;
	int64_t lease_ms;
};
void op_serve_approvals(struct request *r, const void *raw); /* struct serve_args */

#endif
