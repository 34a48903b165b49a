#ifndef AGENT_SERVE_ARTIFACT_H
#define AGENT_SERVE_ARTIFACT_H
/* What `read` asks the store for: "TURN/CALL_ID/stdout", "TURN/CALL_ID/stderr", "result/NODE"
 * (spec 4.3). */
#include <stdint.h>

#include "error/error.h"
#include "text/text.h"

/* The artifact member of struct tool_host; arg is the daemon. */
void artifact_fetch(void *arg, int64_t bot, struct str reference, void *run,
	void (*done)(void *run, struct str bytes, const struct error *err));

#endif
