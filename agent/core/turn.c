/* The moves of a turn. */
#include "agent/core/turn.h"

#include <stddef.h>

#include "mem/mem.h"

static const struct {
	enum turn_state from;
	enum turn_event on;
	enum turn_state to;
	enum turn_action then;
} moves[] = {
	{TURN_NEW,        EV_BEGIN,          TURN_BOUNDARY,   LOOK_ROUND     },
	{TURN_NEW,        EV_STOP,           TURN_ENDING,     COMMIT_FINISH  },
	{TURN_RESUMING,   EV_RESUMED,        TURN_BOUNDARY,   LOOK_ROUND     },
	{TURN_RESUMING,   EV_RESUMED_CALL,   TURN_DECIDING,   DECIDE_CALL    },
	{TURN_RESUMING,   EV_RESUMED_WAIT,   TURN_TOOL,       RUN_TOOL       }, /* its start is committed */
	{TURN_BOUNDARY,   EV_CLEAR,          TURN_LOADING,    READ_CONTEXT   },
	{TURN_BOUNDARY,   EV_COMMITTED,      TURN_LOADING,    READ_CONTEXT   },
	{TURN_BOUNDARY,   EV_COMMITTED_STOP, TURN_ENDING,     COMMIT_FINISH  },
	{TURN_BOUNDARY,   EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_BOUNDARY,   EV_STOP,           TURN_BOUNDARY,   DO_NOTHING     },
	{TURN_LOADING,    EV_CONTEXT_READ,   TURN_MODEL,      ASK_MODEL      },
	{TURN_LOADING,    EV_CONTEXT_FAILED, TURN_ENDING,     COMMIT_FINISH  },
	{TURN_LOADING,    EV_LIMIT_REACHED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_LOADING,    EV_STOP,           TURN_ENDING,     COMMIT_FINISH  },
	{TURN_LOADING,    EV_CONTEXT_GREW,   TURN_SHAPING,    COMMIT_WINDOW  },
	{TURN_LOADING,    EV_COMPACT_DUE,    TURN_SUMMING_UP, ASK_SUMMARY    },
	{TURN_SHAPING,    EV_COMMITTED,      TURN_LOADING,    READ_CONTEXT   },
	{TURN_SHAPING,    EV_COMMITTED_STOP, TURN_ENDING,     COMMIT_FINISH  },
	{TURN_SHAPING,    EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_SHAPING,    EV_STOP,           TURN_SHAPING,    DO_NOTHING     },
	{TURN_SUMMING_UP, EV_SUMMED_UP,      TURN_COMPACTING, COMMIT_SUMMARY },
	{TURN_SUMMING_UP, EV_MODEL_FAILED,   TURN_LOADING,    READ_CONTEXT   }, /* goes on without */
	{TURN_SUMMING_UP, EV_STOP,           TURN_ENDING,     STOP_MODEL     },
	{TURN_COMPACTING, EV_COMMITTED,      TURN_LOADING,    READ_CONTEXT   },
	{TURN_COMPACTING, EV_COMMITTED_STOP, TURN_ENDING,     COMMIT_FINISH  },
	{TURN_COMPACTING, EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_COMPACTING, EV_STOP,           TURN_COMPACTING, DO_NOTHING     },
	{TURN_MODEL,      EV_REPLY_CALLS,    TURN_APPENDING,  COMMIT_APPEND  },
	{TURN_MODEL,      EV_REPLY_FINAL,    TURN_CLOSING,    COMMIT_LAST    },
	{TURN_MODEL,      EV_PACED,          TURN_PARKING,    COMMIT_PARK    },
	{TURN_MODEL,      EV_MODEL_FAILED,   TURN_ENDING,     COMMIT_FINISH  },
	{TURN_MODEL,      EV_MODEL_AGAIN,    TURN_LOADING,    READ_CONTEXT   },
	{TURN_MODEL,      EV_STOP,           TURN_ENDING,     STOP_MODEL     },
	{TURN_APPENDING,  EV_COMMITTED,      TURN_DECIDING,   DECIDE_CALL    },
	{TURN_APPENDING,  EV_COMMITTED_STOP, TURN_ENDING,     COMMIT_FINISH  },
	{TURN_APPENDING,  EV_STOP,           TURN_APPENDING,  DO_NOTHING     },
	{TURN_DECIDING,   EV_CLEAR,          TURN_STARTING,   COMMIT_START   },
	{TURN_DECIDING,   EV_UNANNOUNCED,    TURN_ANNOUNCING, COMMIT_ANNOUNCE},
	{TURN_DECIDING,   EV_HELD,           TURN_GATED,      WAIT_VERDICTS  },
	{TURN_DECIDING,   EV_UNHOSTED,       TURN_HOSTLESS,   WAIT_HOST      },
	{TURN_DECIDING,   EV_DENIED,         TURN_RECORDING,  COMMIT_RESULT  },
	{TURN_DECIDING,   EV_REFUSED,        TURN_RECORDING,  COMMIT_RESULT  },
	{TURN_DECIDING,   EV_NO_MORE_CALLS,  TURN_BOUNDARY,   LOOK_ROUND     },
	{TURN_ANNOUNCING, EV_COMMITTED,      TURN_DECIDING,   DECIDE_CALL    },
	{TURN_ANNOUNCING, EV_COMMITTED_STOP, TURN_ENDING,     COMMIT_FINISH  },
	{TURN_ANNOUNCING, EV_STOP,           TURN_ANNOUNCING, DO_NOTHING     },
	{TURN_GATED,      EV_ALLOWED,        TURN_DECIDING,   DECIDE_CALL    },
	{TURN_GATED,      EV_DENIED,         TURN_RECORDING,  COMMIT_RESULT  }, /* AG-147, AG-149 too */
	{TURN_GATED,      EV_PARK,           TURN_PARKING,    COMMIT_PARK    },
	{TURN_GATED,      EV_STOP,           TURN_ENDING,     COMMIT_FINISH  },
	{TURN_HOSTLESS,   EV_HOSTED,         TURN_DECIDING,   DECIDE_CALL    },
	{TURN_HOSTLESS,   EV_PARK,           TURN_PARKING,    COMMIT_PARK    },
	{TURN_HOSTLESS,   EV_STOP,           TURN_ENDING,     COMMIT_FINISH  },
	{TURN_STARTING,   EV_COMMITTED,      TURN_TOOL,       RUN_TOOL       },
	{TURN_STARTING,   EV_COMMITTED_STOP, TURN_RECORDING,  COMMIT_UNRUN   },
	{TURN_STARTING,   EV_STOP,           TURN_STARTING,   DO_NOTHING     },
	{TURN_TOOL,       EV_TOOL_DONE,      TURN_RECORDING,  COMMIT_RESULT  },
	{TURN_TOOL,       EV_PARK,           TURN_PARKING,    COMMIT_PARK    },
	{TURN_TOOL,       EV_STOP,           TURN_TOOL,       STOP_TOOL      },
	{TURN_RECORDING,  EV_COMMITTED,      TURN_DECIDING,   DECIDE_CALL    },
	{TURN_RECORDING,  EV_COMMITTED_STOP, TURN_ENDING,     COMMIT_FINISH  },
	{TURN_RECORDING,  EV_STOP,           TURN_RECORDING,  DO_NOTHING     },
	{TURN_APPENDING,  EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_ANNOUNCING, EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_STARTING,   EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_RECORDING,  EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_PARKING,    EV_COMMITTED,      TURN_OVER,       LEAVE          },
	{TURN_PARKING,    EV_COMMITTED_STOP, TURN_OVER,       LEAVE          }, /* stopped as parked */
	{TURN_PARKING,    EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_PARKING,    EV_STOP,           TURN_PARKING,    DO_NOTHING     },
	{TURN_CLOSING,    EV_COMMITTED,      TURN_OVER,       LET_GO         },
	{TURN_CLOSING,    EV_COMMITTED_STOP, TURN_OVER,       LET_GO         },
	{TURN_CLOSING,    EV_STEERED,        TURN_LOADING,    READ_CONTEXT   },
	{TURN_CLOSING,    EV_STEERED_STOP,   TURN_ENDING,     COMMIT_FINISH  },
	{TURN_CLOSING,    EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_CLOSING,    EV_STOP,           TURN_CLOSING,    DO_NOTHING     },
	{TURN_ENDING,     EV_COMMIT_FAILED,  TURN_ENDING,     COMMIT_FINISH  },
	{TURN_ENDING,     EV_LOST,           TURN_OVER,       LET_GO         },
	{TURN_ENDING,     EV_COMMITTED,      TURN_OVER,       LET_GO         },
	{TURN_ENDING,     EV_COMMITTED_STOP, TURN_OVER,       LET_GO         },
	{TURN_ENDING,     EV_STOP,           TURN_ENDING,     DO_NOTHING     },
};

bool turn_step(enum turn_state *state, enum turn_event event, enum turn_action *ret_action)
{
	for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
		if (moves[i].from != *state || moves[i].on != event)
			continue;
		*state = moves[i].to;
		*ret_action = moves[i].then;
		return true;
	}
	return false;
}

const char *turn_state_name(enum turn_state s)
{
	static const char *const names[TURN_STATES] = {
		[TURN_NEW] = "new",
		[TURN_RESUMING] = "resuming",
		[TURN_BOUNDARY] = "boundary",
		[TURN_LOADING] = "loading",
		[TURN_SHAPING] = "shaping",
		[TURN_SUMMING_UP] = "summing_up",
		[TURN_COMPACTING] = "compacting",
		[TURN_MODEL] = "model",
		[TURN_APPENDING] = "appending",
		[TURN_DECIDING] = "deciding",
		[TURN_ANNOUNCING] = "announcing",
		[TURN_GATED] = "gated",
		[TURN_HOSTLESS] = "hostless",
		[TURN_STARTING] = "starting",
		[TURN_TOOL] = "tool",
		[TURN_RECORDING] = "recording",
		[TURN_PARKING] = "parking",
		[TURN_CLOSING] = "closing",
		[TURN_ENDING] = "ending",
		[TURN_OVER] = "over",
	};

	must((unsigned)s < TURN_STATES);
	return names[s];
}

const char *turn_event_name(enum turn_event e)
{
	static const char *const names[TURN_EVENTS] = {
		[EV_BEGIN] = "begin",
		[EV_RESUMED] = "resumed",
		[EV_RESUMED_CALL] = "resumed_call",
		[EV_RESUMED_WAIT] = "resumed_wait",
		[EV_CONTEXT_READ] = "context_read",
		[EV_CONTEXT_FAILED] = "context_failed",
		[EV_CONTEXT_GREW] = "context_grew",
		[EV_COMPACT_DUE] = "compact_due",
		[EV_SUMMED_UP] = "summed_up",
		[EV_LIMIT_REACHED] = "limit_reached",
		[EV_REPLY_CALLS] = "reply_calls",
		[EV_REPLY_FINAL] = "reply_final",
		[EV_MODEL_FAILED] = "model_failed",
		[EV_PACED] = "paced",
		[EV_MODEL_AGAIN] = "model_again",
		[EV_COMMITTED] = "committed",
		[EV_COMMITTED_STOP] = "committed_stop",
		[EV_STEERED] = "steered",
		[EV_STEERED_STOP] = "steered_stop",
		[EV_COMMIT_FAILED] = "commit_failed",
		[EV_LOST] = "lost",
		[EV_CLEAR] = "clear",
		[EV_UNANNOUNCED] = "unannounced",
		[EV_HELD] = "held",
		[EV_REFUSED] = "refused",
		[EV_NO_MORE_CALLS] = "no_more_calls",
		[EV_UNHOSTED] = "unhosted",
		[EV_HOSTED] = "hosted",
		[EV_ALLOWED] = "allowed",
		[EV_DENIED] = "denied",
		[EV_TOOL_DONE] = "tool_done",
		[EV_PARK] = "park",
		[EV_STOP] = "stop",
	};

	must((unsigned)e < TURN_EVENTS);
	return names[e];
}
