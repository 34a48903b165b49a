#ifndef ATTEST_PROMISE_H
#define ATTEST_PROMISE_H
/* The promise tables, compiled in from docs/promises. */
#include <stddef.h>

struct promise {
	const char *id, *text;
	const char *pending; /* why there is no case yet, or NULL */
};
extern const struct promise agent_promises[]; /* ended by a row without an id */

#endif
