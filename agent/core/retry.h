#ifndef AGENT_CORE_RETRY_H
#define AGENT_CORE_RETRY_H
/*
 * Whether a failed model call is tried again, and when (agent spec 8.4). Pure: the time and the
 * chance are the caller's.
 *
 * A call that failed by itself (5xx, transport, stall) is tried eight times in all, 250 ms later at
 * first and twice as long each time, up to 30 s, plus up to a fifth so that many do not come back
 * at one moment. One whose provider asked to wait is tried 64 times. All within five minutes of the
 * first failure; a wait that would end later is not begun.
 */
#include <stdbool.h>
#include <stdint.h>

enum retry_class {
	RETRY_NEVER,
	RETRY_BACKOFF,
	RETRY_PACE,
};

/* Of one model call and its tries; zeroed for a new one. */
struct retry {
	int failures;     /* tries that failed, of any class */
	int backoffs;     /* … by themselves */
	int64_t first_ms; /* monotonic time of the first failure */
};

struct retry_failure {
	enum retry_class class;
	int64_t delay_ms; /* the provider named it; -1: it did not */
	int64_t now_ms;   /* monotonic */
	uint32_t chance;  /* any number, as random as it gets */
};
/* Notes the failure. true: try again after *ret_delay_ms. */
bool retry_next(struct retry *r, const struct retry_failure *f, int64_t *ret_delay_ms);

#endif
