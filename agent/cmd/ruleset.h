#ifndef AGENT_CMD_RULESET_H
#define AGENT_CMD_RULESET_H
/*
 * --rules PATH: command rules that a person gives a bot, from a file or the files *.rules of a
 * folder; '' is no rule at all.
 */
#include "json/json.h"
#include "rule/rule.h"

/* What cannot be read refuses every command (AG-127): that is told on stderr, and is not an error.
 * `command` is who says it. The caller frees. */
struct rules *ruleset_read(const char *command, const char *path);
/* As the member `rules`, without those that let something out: for a bot that must not. */
void ruleset_put_strict(struct json_out *j, const struct rules *r);
/* As the member `rules` of a request; nothing when path is NULL. */
void ruleset_put(struct json_out *j, const char *command, const char *path);

#endif
