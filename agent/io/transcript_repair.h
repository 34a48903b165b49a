#ifndef AGENT_IO_TRANSCRIPT_REPAIR_H
#define AGENT_IO_TRANSCRIPT_REPAIR_H
/* Repairs of one item. */
#include "agent/io/transcript.h"
#include "json/json.h"

enum {
	TRANSCRIPT_NAME_MAX = 64, /* of a tool: the smallest that one of the providers takes */
};

/* The item as it goes out: `json` itself where nothing is wrong with it, else a new text in `a`;
 * absent when nothing is left of it. `doc` is the item, parsed into `scratch`; `it` what it says.
 * *ret_what: what was repaired, NULL for nothing. */
struct str transcript_repair(struct arena *a, struct str json, const struct json *doc,
	const struct item *it, const struct transcript_options *o, const char **ret_what);

/* A result whose pictures go in a user's message behind it: chat completions take them from a user
 * alone. That is how they are asked, no repair. */
bool transcript_moves_pictures(const struct item *it, const struct transcript_options *o);

#endif
