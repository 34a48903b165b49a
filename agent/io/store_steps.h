#ifndef AGENT_IO_STORE_STEPS_H
#define AGENT_IO_STORE_STEPS_H
/*
 * Steps of a served call, on record: what was asked, what was decided, how it ended. They are
 * events of the turn, and receipts; a call whose daemon died has an unknown end, and so have they.
 */
#include "agent/io/store.h"

struct store_step {
	int64_t bot, turn, node;
	struct str call_id, step, name;
	const struct gate *gates;
	size_t gate_count;
};
/* Event `approval_requested`. STORE_STALE_TURN when the turn does not run; as below. */
int store_step_announce(struct store_tx *tx, const struct store_step *s, int64_t *ret_announced_ms,
	struct error *err);
/* Event `step_decided`, and the receipts. */
int store_step_decide(struct store_tx *tx, const struct store_step *s,
	const struct store_verdict *verdicts, size_t count, bool allow, struct error *err);
/* Event `step_completed`. */
int store_step_end(struct store_tx *tx, const struct store_step *s, bool ok, struct str summary,
	struct error *err);

#endif
