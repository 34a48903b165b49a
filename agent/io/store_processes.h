#ifndef AGENT_IO_STORE_PROCESSES_H
#define AGENT_IO_STORE_PROCESSES_H
/*
 * Commands in the background (spec 3.7, 4.1): a row before one starts, its result and artifacts
 * before whoever waits for it wakes. One that the daemon's end leaves `running` is found finished
 * with `process_lost` at the next open: nobody saw how it went on.
 */
#include "agent/io/store.h"

struct store_process {
	int64_t id, bot, turn;
	struct str call_id;
	bool finished;
	struct str result; /* JSON as the tool gives it; absent while it runs */
};
/* Makes the row of one that is to start. */
int store_process_insert(struct store_tx *tx, int64_t bot, int64_t turn, struct str call_id,
	int64_t *ret_id, struct error *err);
/* Its result, once; the artifacts belong to the call that started it. STORE_STALE_TURN when it has
 * one. */
int store_process_finish(struct store_tx *tx, const struct store_process *p,
	const struct store_artifact *artifacts, size_t artifact_count, struct error *err);
/* 1, 0 there is none of that id, or -1. */
int store_process_get(struct store_view *v, int64_t id, struct arena *a, struct store_process *ret,
	struct error *err);

#endif
