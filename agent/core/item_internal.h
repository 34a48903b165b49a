#ifndef AGENT_CORE_ITEM_INTERNAL_H
#define AGENT_CORE_ITEM_INTERNAL_H
/* What the encodings of items share. */
#include "agent/core/item.h"

enum {
	/* ours: a prompt's pictures, or a tool's output whose every byte was escaped; the buffer
	 * never meets this with what the daemon's limits let through */
	ITEM_MAX_BYTES = 64 * 1024 * 1024,
};

/* What was built, in the arena. */
struct str item_finish(struct arena *a, const struct buf *b);
/* The texts of a list's parts whose "type" is one of `types` (NULL-terminated, each naming the
 * member its text stands in: "output_text:text"), joined; absent when there are none. */
struct str item_join(struct arena *a, const struct json *parts, const char *const *types);
/* How many parts are of this type. */
size_t item_count_parts(const struct json *parts, const char *type);
/* A string, or parts. */
struct str item_content(struct arena *a, const struct json *content, const char *const *types);

/* Each encoding: the parts of a user's message, and a reader of a parsed item, which takes what it
 * has not written itself too (unknown members are passed over). */
void item_chat_parts(struct json_out *j, struct str text, const struct item_picture *p, size_t n);
void item_responses_parts(
	struct json_out *j, struct str text, const struct item_picture *p, size_t n);
void item_messages_parts(
	struct json_out *j, struct str text, const struct item_picture *p, size_t n);
int item_read_chat(struct arena *a, const struct json *doc, struct item *it, struct error *err);
int item_read_responses(
	struct arena *a, const struct json *doc, struct item *it, struct error *err);
int item_read_messages(struct arena *a, const struct json *doc, struct item *it, struct error *err);

#endif
