#ifndef HARNESS_REPLY_H
#define HARNESS_REPLY_H
/*
 * A model's reply with its texts put in, and its two forms: a stream of events, or one JSON
 * document.
 */
#include "test/harness/ask.h"

struct reply_call {
	struct str id, tool, arguments;
};
struct reply {
	struct arena arena;
	const struct ask *ask;
	char *id;
	struct str think, say, refuse; /* absent: none */
	struct reply_call *calls;
	size_t call_count;
	struct model_usage usage;
	enum model_stop stop;
};

/* `fault` may change its ids or leave it empty; it may be NULL. */
void reply_init(struct reply *r, const struct ask *ask, const struct script_round *round,
	const struct script_fault *fault);
void reply_estimate(struct reply *r, size_t body_bytes); /* what of usage the script leaves open */
void reply_release(struct reply *r);

/* Appends the whole stream. *ret_call: where it could break inside the first call's arguments, or
 * half of it where there is no call. */
void reply_stream(
	const struct reply *r, const struct script_fault *fault, struct buf *to, size_t *ret_call);
/* The same as one document. */
void reply_whole(const struct reply *r, int64_t now_ms, struct buf *to);

/* What the item of a block of this sort is called. */
const char *reply_item_id(
	struct arena *a, const struct reply *r, enum model_block sort, size_t index);
/* One item of the output of a `responses` reply. */
struct str reply_item(struct arena *a, const struct reply *r, size_t index);
/* Of the blocks: think, say or refuse, then the calls. */
enum model_block reply_block(const struct reply *r, size_t index, struct str *ret_text,
	const struct reply_call **ret_call);
size_t reply_blocks(const struct reply *r);

#endif
