#ifndef AGENT_SERVE_WAIT_H
#define AGENT_SERVE_WAIT_H
/*
 * `wait`: outcomes of turns and of background commands, now or when they end (spec 2.3, 3.7).
 */
#include <stdint.h>

#include "agent/serve/handles.h"
#include "json/json.h"

struct request;

void op_wait(struct request *r, const void *raw); /* struct wait_args */
struct wait_args {
	struct str_list handles;
	int64_t timeout_ms;
	bool any;
};

#endif
