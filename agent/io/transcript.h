#ifndef AGENT_IO_TRANSCRIPT_H
#define AGENT_IO_TRANSCRIPT_H
/*
 * The items of a request as a provider takes them (agent spec 8.2). Pure.
 *
 * A stored item goes out verbatim, as a piece of the store's own text, unless the provider would
 * refuse it: one item in the history must not end a conversation. What is repaired is repaired in
 * the request only, and told:
 *
 *	any        an item that cannot be read is left out; U+0000 becomes U+FFFD; results come
 *	           right behind the calls they answer; one without its call is left out, a call
 *	           without its result gets one that says so; a tool's name outside
 *	           [A-Za-z0-9_-]{1,64} is spelt with '_'
 *	responses  reasoning that nothing follows is left out
 *	chat       arguments that are no JSON object are {}
 *	messages   a call's input that is no object is {}; empty texts are left out, and messages
 *	           that nothing is left of; thinking at the end of a message is left out
 *
 * Chat completions take pictures from a user alone: those of results go in a message of the user's
 * behind the results of their round. That is no repair.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/core/item.h"
#include "mem/mem.h"
#include "text/text.h"

struct transcript_options {
	enum item_family family;
	bool drop_thinking; /* the provider said that it cannot use what it wrote */
	void (*repaired)(void *arg, const char *what);
	void *arg;
};

enum { TRANSCRIPT_MADE = -1 };
struct transcript_entry {
	enum item_role role;
	struct str json; /* the item; `messages`: what stands between the brackets of its content */
	ptrdiff_t index; /* of the stored item; TRANSCRIPT_MADE: it has none */
	size_t text_bytes; /* without pictures' data: what the provider will count, about */
};
struct transcript {
	struct transcript_entry *entries; /* in the arena */
	size_t count;
};
/* Items must live as long as what comes out. */
void transcript_make(struct arena *a, const struct str *items, size_t count,
	const struct transcript_options *o, struct transcript *ret);

#endif
