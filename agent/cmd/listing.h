#ifndef AGENT_CMD_LISTING_H
#define AGENT_CMD_LISTING_H
/*
 * What `ls`, `turns` and `approvals` print: pages of the daemon's as one JSON array or one table.
 */
#include <stdbool.h>

#include "agent/cmd/columns.h"
#include "error/error.h"
#include "json/json.h"
#include "text/text.h"

struct listing {
	bool pretty;
	size_t count;
	struct buf json;
	struct columns table;
	void (*row)(struct columns *to, const struct json *item); /* as many cells as headings */
};
void listing_init(struct listing *l, bool pretty, const char *const *headings,
	void (*row)(struct columns *to, const struct json *item));
void listing_add(struct listing *l, const struct json *item);
/* Nothing is printed before all pages are here. */
int listing_print(struct listing *l, struct error *err);
void listing_release(struct listing *l);
static inline void listing_cleanup(struct listing *l)
{
	listing_release(l);
}

/* A number as a cell; absent when it is none. */
void listing_number(struct columns *to, const struct json *value);

#endif
