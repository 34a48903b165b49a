/* Names for what exists only during a rehearsal. */
#include "agent/cmd/placeholder.h"

#include <string.h>

static const struct placeholder *begins(struct str text, const struct placeholder *list)
{
	for (; list->name; list++) {
		if (str_starts(text, str_from(list->name)))
			return list;
	}
	return NULL;
}

int placeholder_fill(struct buf *to, struct str text, const struct placeholder *list)
{
	while (text.len > 0) {
		const char *at = memchr(text.p, '@', text.len);
		size_t before = at ? (size_t)(at - text.p) : text.len;
		const struct placeholder *p;

		(void)buf_put(to, text.p, before); /* full is seen below */
		text = (struct str){text.p + before, text.len - before};
		p = begins(text, list);
		if (p)
			(void)buf_puts(to, p->value);
		else
			(void)buf_put(to, text.p, text.len > 0);
		before = p ? strlen(p->name) : text.len > 0;
		text = (struct str){text.p + before, text.len - before};
	}
	return to->full ? -1 : 0;
}
