#ifndef AGENT_CMD_LIMITS_H
#define AGENT_CMD_LIMITS_H
/*
 * The flags of a bot's own limits, and of what is done when its context is full (spec 2.6): for a
 * new bot and for one that is configured.
 */
#include "agent/core/bot_limits.h"
#include "cli/cli.h"
#include "error/error.h"
#include "json/json.h"

struct limit_options {
#define LIMIT_MEMBER(name, ...) struct cli_number name;
	BOT_LIMITS(LIMIT_MEMBER)
#undef LIMIT_MEMBER
	const char *cache_ttl, *compaction_instructions, *compaction_instructions_file,
		*compaction_model, *fallbacks;
	bool no_compaction;
};
#define LIMIT_ONE(...) +1
enum { LIMIT_OPTIONS = 6 BOT_LIMITS(LIMIT_ONE) };
#undef LIMIT_ONE
extern const struct cli_option limit_options[LIMIT_OPTIONS];

/* The name of a flag that was given, or NULL. */
const char *limits_given(const struct limit_options *o);
/* As members of the request. CLI_USAGE_ERROR. */
int limits_put(struct json_out *j, const struct limit_options *o, struct error *err);

#endif
