#ifndef AGENT_CORE_PATCH_INTERNAL_H
#define AGENT_CORE_PATCH_INTERNAL_H
/*
 * What a patch is made of, between its reader (patch.c) and what applies it (patch_apply.c).
 */
#include "agent/core/edit.h"

enum { PATCH_KEEP = ' ', PATCH_REMOVE = '-', PATCH_PUT = '+' };

struct patch_line {
	char sort; /* one of the above */
	struct str text;
};

struct patch_hunk {
	const struct str *headers; /* lines to go past first, in order */
	size_t header_count;
	const struct patch_line *lines;
	size_t line_count;
	size_t blank_tail; /* how many last lines are wholly empty: perhaps the writer's spacing */
	bool at_end;       /* "*** End of File" */
	int line;          /* of the patch, from 1 */
};

#endif
