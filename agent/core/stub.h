#ifndef AGENT_CORE_STUB_H
#define AGENT_CORE_STUB_H
/*
 * Stubs: what stands in the context for a tool result that was left out of it (spec 4.4, elision).
 * The stored result stays whole; the stub says its size, how to read it, and shows its two ends.
 * Pure, and the same bytes for the same item and node always.
 */
#include <stdbool.h>
#include <stdint.h>

#include "mem/mem.h"
#include "text/text.h"

enum {
	STUB_SHOWN_BYTES = 256,      /* spec 4.4: of each end */
	STUB_SAVES_MIN_BYTES = 1024, /* spec 4.4: it must save as much */
};

/* Makes the item that stands for this stored result. false: it is no result, or a stub would not
 * save enough. In the arena. */
bool stub_make(struct arena *a, struct str item, int64_t node, struct str *ret);

#endif
