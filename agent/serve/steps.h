#ifndef AGENT_SERVE_STEPS_H
#define AGENT_SERVE_STEPS_H
/*
 * Steps of a served call: while it is carried out, its host asks the bot's gates about one action
 * at a time, and says how each ended (agent spec 5.9). A step waits as long as its call runs: the
 * turn does not park, and a call that is over takes its steps along.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/verdict.h"
#include "agent/serve/asked.h"
#include "error/error.h"
#include "json/json.h"

struct live_turn;
struct request;

extern const struct error_kind STEP_EXISTS;   /* step_exists */
extern const struct error_kind STEP_LIMIT;    /* step_limit */
extern const struct error_kind STEP_NOT_OPEN; /* no_pending_step */

enum {
	STEPS_MAX = 256,               /* ours: of one call */
	STEP_NAME_MAX_BYTES = 128,     /* ours */
	STEP_SUMMARY_MAX_BYTES = 2048, /* ours: for a line of a log */
};

struct step_ask {
	struct str bot, call_id, step, name, lease;
	int64_t turn;
	const struct json *arguments;
	struct str_list gates; /* tags; empty: the gates that name the call's tool or the step */
};
/* The request is answered {decision, reason, by} when the verdicts are recorded. */
int steps_ask(struct request *r, const struct step_ask *ask, struct error *err);

struct step_end {
	struct str bot, call_id, step, summary, lease;
	int64_t turn;
	bool ok;
};
/* Answered when it is recorded. */
int steps_end(struct request *r, const struct step_end *end, struct error *err);

/* A verdict on a step. */
int steps_answer(struct live_turn *t, struct str call_id, struct str step,
	const struct verdict_answer *a, struct error *err);
/* Those that wait for a verdict, in the order they came; at most STEPS_MAX. Borrowed. */
size_t steps_asked(const struct live_turn *t, struct asked *ret);
size_t steps_pending(const struct live_turn *t);
/* Their call is over: who asked hears it. */
void steps_over(struct live_turn *t);

#endif
