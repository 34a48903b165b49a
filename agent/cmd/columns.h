#ifndef AGENT_CMD_COLUMNS_H
#define AGENT_CMD_COLUMNS_H
/*
 * A table for people: a heading and rows in columns as wide as their widest cell. Pure.
 */
#include <stddef.h>

#include "text/text.h"

enum { COLUMNS_MAX = 8 };

struct columns {
	size_t count;
	char **cells; /* row after row, the heading first */
	size_t cell_count;
};
/* `headings` NULL-terminated, at most COLUMNS_MAX. */
void columns_init(struct columns *c, const char *const *headings);
/* The next cell: what came from outside is made harmless. Absent: "-". */
void columns_add(struct columns *c, struct str text);
/* The last row must be complete. Nothing but the heading: nothing is written. */
int columns_write(const struct columns *c, struct buf *to);
void columns_release(struct columns *c);
static inline void columns_cleanup(struct columns *c)
{
	columns_release(c);
}

#endif
