#ifndef AGENT_IO_STORE_PARK_H
#define AGENT_IO_STORE_PARK_H
/*
 * Parked turns: what a turn waits for, on disk before its task ends (spec 3.2, 3.7, 4.1, 8.4).
 *
 * A parked turn is `waiting` (for handles or for verdicts) or `paced` (for a provider); its bot's
 * status says the same. It outlives the daemon. Nobody but it continues its bot.
 */
#include "agent/io/store.h"

enum park_kind {
	PARK_PACED,   /* until a moment */
	PARK_HANDLES, /* the tool `wait` */
	PARK_VERDICT, /* a gated call */
	PARK_HOST,    /* a call of a served tool that nobody serves */
};
/* Verdicts on a call that does not start yet. */
struct store_partial {
	struct str call_id;
	const struct store_verdict *verdicts;
	size_t count;
};
struct store_park {
	int64_t bot, turn;
	struct str bot_name; /* read, not given */
	int kind;            /* enum park_kind */
	struct str call_id;  /* the call that waits; absent: none */
	struct str_list handles;
	bool any;                   /* one handle is enough */
	int64_t deadline_ms;        /* real time: it goes on by then; 0: never by itself */
	int64_t parked_ms;          /* real time */
	int64_t requests;           /* calls that wait for verdicts */
	struct str host;            /* who serves the tool, by tag; or absent */
	struct str_list prior_done; /* calls before which one finished since they were announced */
	/* What was decided while it waited live; not read back here. */
	const struct store_partial *partials;
	size_t partial_count;
};
/* Event `turn_waiting` or `turn_paced`. This and what follows: STORE_STALE_TURN when the turn is in
 * another state than that needs. */
int store_park(struct store_tx *tx, const struct store_park *p, struct error *err);

/* A call of a parked turn's round that has no result yet. */
struct store_open_call {
	struct str call_id, name;
	struct str item; /* of the conversation, that holds it */
	int64_t node;
	bool executing;
	int64_t request, announced_ms; /* 0: it was not announced */
	const struct gate *gates;      /* tag and expiry alone */
	size_t gate_count;
	struct str judged;                    /* JSON as store_call had it, or absent */
	const struct store_verdict *verdicts; /* on its request */
	size_t verdict_count;
};
struct store_round {
	struct store_turn turn;
	struct bot bot;
	struct store_park park; /* what it waits (or waited) for */
	struct store_open_call *calls;
	size_t call_count;
};
/* What it waits for, of a parked turn. */
int store_park_get(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_park *ret, struct error *err);
/* Everything about a parked turn. */
int store_parked_get(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_round *ret, struct error *err);
/* It runs again: event `turn_resumed`. waited_ms goes on the account of a paced one. */
int store_turn_resume(struct store_tx *tx, int64_t bot, int64_t turn, int64_t waited_ms,
	struct arena *a, struct store_round *ret, struct error *err);
/* Ends a parked turn: the call that waited never had an effect and is cancelled, not unknown. */
int store_park_end(struct store_tx *tx, const struct store_finish *f, struct store_finished *ret,
	struct error *err);
/* Keeps what has been decided on a planned call of a parked turn; whole: nothing is open on it now.
 */
int store_call_verdicts(struct store_tx *tx, const struct store_park *park,
	const struct store_partial *p, bool whole, struct error *err);

#endif
