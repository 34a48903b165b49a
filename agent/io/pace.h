#ifndef AGENT_IO_PACE_H
#define AGENT_IO_PACE_H
/*
 * Pacing: how fast a provider may be asked (agent spec 8.4).
 *
 * One pool per model of a provider; dated snapshots of a model share their alias's. A pool is a
 * line, first come first served, before a few buckets: requests, tokens, input tokens, output
 * tokens. A bucket holds nothing back until a reply's headers have taught it its limit. What a call
 * will cost is estimated by its bytes and corrected by what calls turned out to cost. A pool that
 * the provider asked to wait is closed until then.
 *
 * Pure but for memory: the time is the caller's, monotonic ms unless it says otherwise.
 */
#include <stdbool.h>
#include <stdint.h>

#include "error/error.h"
#include "http/http.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind PACE_LIMIT; /* provider_pacing_limit */

enum {
	PACE_PARK_MS = 250, /* agent spec 8.4: a longer wait is spent outside the line */
};

struct pace; /* of one provider */
struct pace_pool;

struct pace *pace_new(void);
void pace_free(struct pace *p); /* no ticket may be in it; NULL does nothing */
/* Never NULL; lives as long as p. */
struct pace_pool *pace_pool(struct pace *p, struct str model);
/* The name of the pool a model belongs to: without a date at its end. */
struct str pace_alias(struct str model);

/* A call's place in the line, then among those under way. Embedded; zeroed at first. */
struct pace_ticket {
	struct pace_pool *pool; /* NULL: in none */
	struct list in_pool;    /* in its line, or under way */
	bool under_way, told;   /* told: its headers came */
	int64_t bytes, output_cap, tokens;
};
struct pace_cost {
	int64_t bytes;      /* of the request's text */
	int64_t output_cap; /* tokens; 0: none was asked for */
};
/* Joins the line. PACE_LIMIT: it is more than the provider ever lets through at once. */
int pace_enter(struct pace_pool *pool, struct pace_ticket *t, const struct pace_cost *cost,
	struct error *err);
/* How long until it may go: 0 and it is under way, or the time to ask again. A ticket that is not
 * first in its line waits for the first. */
int64_t pace_ask(struct pace_ticket *t, int64_t now_ms);
/* Out of the line, or not under way any more: cancelled, done, failed. Nothing when in none. */
void pace_leave(struct pace_ticket *t);
/* The first of the line that could go, for a caller whose ticket left; NULL: the line is empty. */
struct pace_ticket *pace_first(const struct pace_pool *pool);

/* A reply's head came: its rate limits are learnt. `real_ms` is the time of day, for headers that
 * name moments. */
struct pace_now {
	int64_t mono_ms, real_ms;
};
void pace_learn(struct pace_ticket *t, const struct http_head *h, const struct pace_now *now);
/* What it cost, so that the next estimate is better. input: all of the prompt; -1: not said. */
void pace_used(struct pace_ticket *t, int64_t input_tokens);
/* The provider asked to wait: delay_ms, or -1 when it named no time (1 s at first, doubling to 32).
 * Returns how long the pool is closed now. */
int64_t pace_close(struct pace_pool *pool, int64_t delay_ms, int64_t now_ms);
/* A call succeeded: the next unnamed delay is the first again. */
void pace_well(struct pace_pool *pool);

/* For `stats`: the pools by number, from 0; false at the end. */
struct pace_state {
	struct str model;
	int64_t line, under_way;
	int64_t closed_ms; /* for how long; 0: it is open */
};
bool pace_state(const struct pace *p, size_t i, int64_t now_ms, struct pace_state *ret);

#endif
