#ifndef AGENT_IO_STORE_STEER_H
#define AGENT_IO_STORE_STEER_H
/*
 * Steers: submissions that a running turn takes up between two rounds (spec 3.3).
 */
#include "agent/io/store.h"

struct store_steer {
	int64_t bot, turn; /* the running one */
	struct str (*user_item)(struct arena *a, const struct store_turn *t);
};
/* Takes up what is queued and fits, as user items: events `steered` of the turn and `turn_finished`
 * of each. *ret_more: a batch was full, and there may be more. */
int store_steers_take(struct store_tx *tx, const struct store_steer *s, size_t *ret_count,
	bool *ret_more, struct error *err);

#endif
