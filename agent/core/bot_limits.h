#ifndef AGENT_CORE_BOT_LIMITS_H
#define AGENT_CORE_BOT_LIMITS_H
/*
 * A bot's own limits, set at create and configure (spec 2.6): one table for the request's fields,
 * the flags, the record and what the store keeps.
 */
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "json/json.h"

struct bot_limits {
	int64_t context_bytes, context_items;
	int64_t note_turns;
	int64_t compact_at, compact_keep; /* percent of context_bytes; keep is below at */
	int64_t retain_turns;             /* 0: all */
	int64_t max_output_tokens;        /* 0: the model's limit */
	int64_t keep_warm;                /* seconds; 0: off */
	int64_t cache_hours; /* how long a provider keeps the prompt: 0 five minutes, 1 */
};

struct bot_limit {
	const char *name;
	size_t offset; /* of an int64_t in struct bot_limits */
	int64_t min, max, fallback;
};
extern const struct bot_limit bot_limit_table[];
extern const size_t bot_limit_count;

/* All of them at their defaults. */
void bot_limits_init(struct bot_limits *l);
/* What holds between two of them: compact_keep below compact_at. */
int bot_limits_check(const struct bot_limits *l, struct error *err);
/* As members of the open object. */
void bot_limits_write(struct json_out *j, const struct bot_limits *l);
/* What the store kept: members that are absent keep their default. NULL: all at default. */
int bot_limits_read(const struct json *object, struct bot_limits *ret, struct error *err);

#endif
