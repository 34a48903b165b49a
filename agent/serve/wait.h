#ifndef AGENT_SERVE_WAIT_H
#define AGENT_SERVE_WAIT_H
/*
 * `wait` and `result`: outcomes of turns, now or when they end (spec 2.3, 3.7).
 */
#include <stdint.h>

#include "agent/io/store.h"
#include "json/json.h"
#include "table/table.h"

struct daemon;
struct request;

struct waiters {
	struct table *by_turn; /* turn id → struct wait_list */
};
void waiters_init(struct waiters *w);
void waiters_release(struct waiters *w);
/* The turn has ended and its end is committed. */
void waiters_notify(struct daemon *d, int64_t turn);

/* The outcome object of a turn as `result` gives it: final or {turn,status,finished:false}. */
void wait_put_outcome(
	struct json_out *j, const char *name, const struct store_turn *t, struct str last_item);

void op_wait(struct request *r, const void *raw); /* struct wait_args */
struct wait_args {
	struct str_list handles;
	int64_t timeout_ms;
	bool any;
};

#endif
