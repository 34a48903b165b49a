#ifndef AGENT_TOOL_PAGE_H
#define AGENT_TOOL_PAGE_H
/*
 * A text shown by the page, its lines numbered (spec 5.3). Pure.
 */
#include "error/error.h"
#include "text/text.h"

extern const struct error_kind READ_LINE_TOO_LONG; /* read_line_too_long */

enum {
	PAGE_SHOWN_MAX_BYTES = 65536, /* spec 5.3: notices included */
	PAGE_LINES_MAX = 5000,        /* spec 5.3 */
	PAGE_LINES_DEFAULT = 500,     /* spec 5.3 */
};

struct page_source {
	struct str text; /* redacted already */
	bool redacted;   /* and changed by that */
	/* Of a part, which begins with a line and has more than a page unless it has the end. */
	size_t before; /* lines before the text */
	size_t total;  /* lines of the whole; 0: the text is the whole */
};
/* Appends lines from `offset` (1 is the first) on, at most `limit`, and notices about what is not
 * as it seems. */
int page_write(const struct page_source *s, int64_t offset, int64_t limit, struct buf *to,
	struct error *err);

#endif
