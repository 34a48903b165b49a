#ifndef AGENT_CORE_REHEARSAL_H
#define AGENT_CORE_REHEARSAL_H
/*
 * Rehearsal: a model that is a script (DESIGN 6, rehearsal(5)). Pure: a script and a conversation
 * in, the next reply out, so that a restart in the middle changes nothing: where the script stands
 * is worked out from the items.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/item.h"
#include "agent/core/rehearsal_drill.h"
#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind REHEARSAL_INVALID; /* rehearsal_invalid: names line and field */

enum {
	REHEARSAL_FILE_MAX_BYTES = 16 * 1024 * 1024, /* ours */
	REHEARSAL_LINES_MAX = 100000,                /* ours */
	REHEARSAL_DELAY_MAX_MS = 600000,             /* ours: as the longest command */
};

struct rehearsal;

/* What the script says next. Strings live as long as the script, ids of calls in the arena. */
struct rehearsal_reply {
	struct str say; /* may be empty */
	struct item_call *calls;
	const struct drill_expect *expects; /* what is stated of each call */
	size_t call_count;
	int64_t delay_ms;    /* before the first byte */
	int64_t chunk_bytes; /* 0: the text comes at once; else in pieces of this size */
	bool cut;            /* the stream ends in the middle of this reply */
	struct str error;    /* fails with this code and detail instead */
	struct str detail;
	bool ended; /* the script has no more lines; `say` says so */
	int line;   /* in the file, from 1; 0 when ended */
};

/* Reads a whole script (JSON Lines); keeps nothing of `text`. */
int rehearsal_parse(struct str text, struct rehearsal **ret, struct error *err);
void rehearsal_free(struct rehearsal *r); /* NULL does nothing */
/* From the script's first line: {"rehearsal":1,"name":…,"about":…}; absent where it has none. */
struct str rehearsal_name(const struct rehearsal *r);
struct str rehearsal_about(const struct rehearsal *r);
/* The first user message that the script is meant to be given, or absent. */
struct str rehearsal_prompt(const struct rehearsal *r);
/* What it states as a drill; all zero where it is none. */
const struct drill_terms *rehearsal_terms(const struct rehearsal *r);

/* The reply to this conversation (stored items, oldest first). */
int rehearsal_next(const struct rehearsal *r, struct arena *a, const struct str *items,
	size_t count, struct rehearsal_reply *ret, struct error *err);

#endif
