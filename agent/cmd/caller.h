#ifndef AGENT_CMD_CALLER_H
#define AGENT_CMD_CALLER_H
/*
 * Who calls: a person, or the command of a bot, as the environment of a bot's commands says
 * (spec 1.3). A guard against accidents, not a boundary.
 */
#include <stdbool.h>

#include "error/error.h"
#include "json/json.h"

/* A command that waits would hold a process slot of the very daemon it waits for. */
bool caller_in_tool_shell(void);
/* Says so with the code "COMMAND_in_tool_shell"; CLI_FAILED. */
int caller_refused(const char *command, const char *instead);

/* The members `from`, or `created_by` and `created_by_id`, when a bot calls. -1: it is named in
 * part. */
int caller_put_from(struct json_out *j, struct error *err);
int caller_put_creator(struct json_out *j, struct error *err);

#endif
