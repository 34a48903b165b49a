#ifndef AGENT_SERVE_ARTIFACT_H
#define AGENT_SERVE_ARTIFACT_H
/* What tools ask the store for. `read`: "TURN/CALL_ID/stdout", "TURN/CALL_ID/stderr", "result/NODE"
 * (spec 4.3). `history`: the items of a turn (spec 5.7). */
#include <stdint.h>

#include "agent/tool/tool.h"
#include "error/error.h"
#include "text/text.h"

/* The artifact member of struct tool_host; arg is the daemon. */
void artifact_fetch(void *arg, int64_t bot, struct str reference, int64_t line, void *run,
	void (*done)(void *run, const struct tool_text *text, const struct error *err));
/* The history member. */
void history_fetch(void *arg, int64_t bot, int64_t turn, void *run,
	void (*done)(void *run, const struct str_list *items, int64_t room_bytes,
		const struct error *err));

#endif
