#ifndef AGENT_CORE_TURN_H
#define AGENT_CORE_TURN_H
/*
 * The turn's state machine (spec 3.2, 3.4): state × event → state and action. Pure: it decides what
 * comes next, serve/live.c carries it out and reports back what happened.
 *
 * The order of truth is in the table: an intent is committed before a tool runs, a result before
 * the model goes on.
 */
#include <stdbool.h>

enum turn_state {
	TURN_NEW, /* the store has started it; it begins when what was asked with it is answered */
	TURN_RESUMING,   /* back from a park: where it goes on is known within the same step */
	TURN_BOUNDARY,   /* between two rounds: committing the steers that are taken up */
	TURN_LOADING,    /* reading the context from the store */
	TURN_SHAPING,    /* committing where the window begins, or what of it goes as stubs */
	TURN_SUMMING_UP, /* a model is summarising what is old */
	TURN_COMPACTING, /* committing the summary, or what it cost */
	TURN_MODEL,      /* the model is answering */
	TURN_APPENDING,  /* committing the reply and the planned calls */
	TURN_DECIDING,   /* what becomes of the current call */
	TURN_ANNOUNCING, /* committing a request for verdicts */
	TURN_GATED,      /* waiting for verdicts */
	TURN_HOSTLESS,   /* waiting for who carries the tool out */
	TURN_STARTING,   /* committing that the call executes */
	TURN_TOOL,       /* the tool runs */
	TURN_RECORDING,  /* committing the call's result */
	TURN_PARKING,    /* committing what it will wait for */
	TURN_CLOSING,    /* committing the final reply and, unless a steer came, the outcome */
	TURN_ENDING,     /* committing the turn's outcome */
	TURN_OVER,
	TURN_STATES
};

enum turn_event {
	EV_BEGIN,
	EV_RESUMED,      /* the model is to be asked, after a look at the boundary */
	EV_RESUMED_CALL, /* a call of the round is next */
	EV_RESUMED_WAIT, /* a call that only waits had started before the park */
	EV_CONTEXT_READ,
	EV_CONTEXT_FAILED,
	EV_CONTEXT_GREW, /* the window must begin later, or results go as stubs */
	EV_COMPACT_DUE,
	EV_SUMMED_UP,     /* or not: what it cost is to be recorded */
	EV_LIMIT_REACHED, /* rounds or budget: no further model call */
	EV_REPLY_CALLS,   /* the model wants tools */
	EV_REPLY_FINAL,   /* the model is done */
	EV_MODEL_FAILED,
	EV_PACED,       /* the provider asked to wait for long */
	EV_MODEL_AGAIN, /* it failed, and is asked anew */
	EV_COMMITTED,
	EV_COMMITTED_STOP, /* committed, and somebody asked to stop meanwhile */
	EV_STEERED,        /* committed, and steers came that keep the turn going */
	EV_STEERED_STOP,
	EV_COMMIT_FAILED, /* refused for good: it says something the store will never take */
	EV_LOST,          /* not even the outcome could be recorded */
	EV_CLEAR,         /* the call may run; nothing is to be done at the boundary */
	EV_UNANNOUNCED,   /* the call needs verdicts nobody was asked for */
	EV_HELD,          /* the call waits for verdicts */
	EV_REFUSED,       /* the call gets a result without running */
	EV_NO_MORE_CALLS,
	EV_UNHOSTED, /* nobody is there to carry the call out */
	EV_HOSTED,
	EV_ALLOWED,
	EV_DENIED,
	EV_TOOL_DONE,
	EV_PARK, /* what it waits for may take long */
	EV_STOP, /* interrupt or shutdown */
	TURN_EVENTS
};

enum turn_action {
	DO_NOTHING,
	LOOK_ROUND, /* what is due between two rounds */
	READ_CONTEXT,
	COMMIT_WINDOW,
	ASK_SUMMARY,
	COMMIT_SUMMARY,
	ASK_MODEL,
	STOP_MODEL, /* and then COMMIT_FINISH */
	COMMIT_APPEND,
	COMMIT_LAST, /* the final reply and the outcome, or the steers, in one commit */
	DECIDE_CALL,
	COMMIT_ANNOUNCE,
	WAIT_VERDICTS,
	WAIT_HOST,
	COMMIT_START,
	RUN_TOOL,
	STOP_TOOL,
	COMMIT_RESULT,
	COMMIT_UNRUN, /* the current call never ran: its result says cancelled */
	COMMIT_PARK,
	COMMIT_FINISH,
	LEAVE, /* parked: the task ends, the turn does not */
	LET_GO,
};

/* Looks the move up. false: no such move; nothing changes. */
bool turn_step(enum turn_state *state, enum turn_event event, enum turn_action *ret_action);

const char *turn_state_name(enum turn_state s);
const char *turn_event_name(enum turn_event e);

#endif
