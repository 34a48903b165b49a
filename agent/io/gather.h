#ifndef AGENT_IO_GATHER_H
#define AGENT_IO_GATHER_H
/*
 * A model's reply, gathered from the events of its stream into what the store keeps: `responses`
 * one item for each output item, `messages` and `chat` one message. Pure.
 */
#include "agent/io/provider.h"
#include "mem/mem.h"
#include "model/model.h"

extern const struct error_kind PROVIDER_INCOMPLETE;     /* provider_incomplete */
extern const struct error_kind PROVIDER_RESPONSE_LIMIT; /* provider_response_limit */

struct gather {
	enum model_family family;
	struct arena arena;
	struct str *items;
	size_t item_count;
	struct item_call *calls;
	size_t *call_items;
	size_t call_count;
	struct buf text;   /* what it said */
	struct buf blocks; /* `messages`: its content so far */
	size_t bytes;      /* of the blocks that are over */
	size_t open_bytes; /* of the one that is not */
	bool refused, has_usage;
	enum model_stop stop;
	struct model_usage usage;
};
void gather_init(struct gather *g, enum model_family f);
void gather_release(struct gather *g);
/* Any event but a fault. */
int gather_take(struct gather *g, const struct model_event *e, struct error *err);
/* The reply is whole: what it is, or why it is none (PROVIDER_REFUSED, PROVIDER_INCOMPLETE). Lives
 * as long as g. */
int gather_finish(struct gather *g, struct provider_reply *ret, struct error *err);
struct provider_usage gather_usage(const struct gather *g);

#endif
