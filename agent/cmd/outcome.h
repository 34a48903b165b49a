#ifndef AGENT_CMD_OUTCOME_H
#define AGENT_CMD_OUTCOME_H
/* The outcome of a turn as `result` and `wait` give it. Pure. */
#include <stdbool.h>

#include "json/json.h"
#include "text/text.h"

bool outcome_is_over(struct str status);
/* Completed, or absorbed by a turn that was running. */
bool outcome_is_good(const struct json *outcome);
/* For people: status, error, and the last words. */
void outcome_write(struct buf *to, bool colours, const struct json *outcome);

#endif
