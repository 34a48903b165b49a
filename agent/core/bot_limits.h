#ifndef AGENT_CORE_BOT_LIMITS_H
#define AGENT_CORE_BOT_LIMITS_H
/*
 * A bot's own limits, set at create and configure (spec 2.6): one list for the request's fields,
 * the flags, the record and what the store keeps.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/core/limits.h"
#include "error/error.h"
#include "json/json.h"

/* X(member and field, flag, what its value is called, least, most, unless given, help) */
#define BOT_LIMITS(X)                                                                              \
	X(context_bytes, "context-bytes", "BYTES", 1024, 64 * 1024 * 1024, CONTEXT_MAX_BYTES,      \
		"of conversation in a request to the model (8388608)")                             \
	X(context_items, "context-items", "N", 2, 65536, CONTEXT_MAX_ITEMS,                        \
		"items of conversation in a request (4096)")                                       \
	X(note_turns, "note-turns", "N", 0, 1000, 48,                                              \
		"of how many left out turns a request names the first lines (48)")                 \
	X(compact_at, "compact-at", "PERCENT", 1, 100, 75,                                         \
		"how full the context is when it is shortened (75)")                               \
	X(compact_keep, "compact-keep", "PERCENT", 1, 99, 25,                                      \
		"how much of it then stays as it is; below compact-at (25)")                       \
	X(retain_turns, "retain-turns", "N", 0, INT32_MAX, 0,                                      \
		"of how many finished turns the records stay (0: of all)")                         \
	X(max_output_tokens, "max-output-tokens", "N", 0, INT32_MAX, 0,                            \
		"that one reply may have (0: the model's limit)")                                  \
	X(keep_warm, "keep-warm", "SECONDS", 0, 299, 240,                                          \
		"after how long an unread prompt cache is read again (240, 0: never)")             \
	X(approval_hold_ms, "approval-hold-ms", "MS", 0, GATE_EXPIRE_MAX_MS,                       \
		APPROVAL_HOLD_DEFAULT_MS,                                                          \
		"how long a turn that waits for a verdict stays in memory (2000)")

struct bot_limits {
#define BOT_LIMIT_MEMBER(name, ...) int64_t name;
	BOT_LIMITS(BOT_LIMIT_MEMBER)
#undef BOT_LIMIT_MEMBER
	int64_t cache_hours; /* how long a provider keeps the prompt: 0 five minutes, 1 */
};

struct bot_limit {
	const char *name;
	size_t offset; /* of an int64_t in struct bot_limits */
	int64_t min, max, fallback;
};
extern const struct bot_limit bot_limit_table[];
extern const size_t bot_limit_count;
/* By cache_hours, NULL-terminated: the values of `cache_ttl`, which is no number. */
extern const char *const bot_cache_ttl_names[];

/* All of them at their defaults. */
void bot_limits_init(struct bot_limits *l);
static inline int64_t *bot_limit_at(struct bot_limits *l, const struct bot_limit *row)
{
	return (int64_t *)((char *)l + row->offset);
}
/* What holds between two of them: compact_keep below compact_at. */
int bot_limits_check(const struct bot_limits *l, struct error *err);
/* As members of the open object. */
void bot_limits_write(struct json_out *j, const struct bot_limits *l);
/* What the store kept: members that are absent keep their default. NULL: all at default. */
int bot_limits_read(const struct json *object, struct bot_limits *ret, struct error *err);

#endif
