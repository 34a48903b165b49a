#ifndef AGENT_CMD_STYLE_H
#define AGENT_CMD_STYLE_H
/* How things look: colours, indents, what is left out of a long text. Pure. */
#include <stdbool.h>
#include <stdint.h>

#include "text/text.h"

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_GOOD, STYLE_BAD, STYLE_ASK };

/* Our own words in a style. */
void style_put(struct buf *to, bool colours, enum style s, const char *text);
/* Text from outside in a style, one line of it, at most `max` bytes (a mark says that more was
 * there). */
void style_line(struct buf *to, bool colours, enum style s, struct str text, size_t max);
/* Lines from outside, indented, the middle of a long text left out. */
struct style_block {
	size_t indent, head_lines, tail_lines, line_max_bytes;
};
void style_block(
	struct buf *to, bool colours, enum style s, struct str text, const struct style_block *how);

/* "340 ms", "2.1 s", "3 min 12 s" */
void style_duration(struct buf *to, int64_t ms);
/* "12,345" */
void style_count(struct buf *to, int64_t n);

#endif
