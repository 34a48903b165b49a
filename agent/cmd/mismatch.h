#ifndef AGENT_CMD_MISMATCH_H
#define AGENT_CMD_MISMATCH_H
/* Whether a daemon that runs already is as the startup flags say (spec 2.1). Pure but for path
 * walks. */
#include "agent/cmd/startup.h"
#include "error/error.h"
#include "json/json.h"

/* CLIENT_MISMATCH naming each difference between a flag that was given and the `ready` line. */
int mismatch_check(
	const struct startup_options *given, const struct json *ready, struct error *err);

#endif
