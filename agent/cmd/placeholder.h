#ifndef AGENT_CMD_PLACEHOLDER_H
#define AGENT_CMD_PLACEHOLDER_H
/* The names that a script may use for what exists only while it is rehearsed (rehearsal(5)). Pure.
 */
#include "text/text.h"

struct placeholder {
	const char *name; /* "@home@" */
	const char *value;
};
/* `text` with each name replaced by its value, appended to `to`; a value is not looked at again.
 * `list` ends with a row without a name. -1: `to` is full. */
int placeholder_fill(struct buf *to, struct str text, const struct placeholder *list);

#endif
