#ifndef AGENT_IO_PACE_HEADERS_H
#define AGENT_IO_PACE_HEADERS_H
/* The rate limits that a reply's headers tell: x-ratelimit-*, anthropic-ratelimit-*. Pure. */
#include <stdbool.h>
#include <stdint.h>

#include "http/http.h"
#include "text/text.h"

enum pace_dimension { PACE_REQUESTS, PACE_TOKENS, PACE_INPUT, PACE_OUTPUT, PACE_DIMENSIONS };

struct pace_limit {
	bool known; /* limit and remaining were there and make sense */
	int64_t limit, remaining;
	int64_t reset_ms; /* until it is full again; -1: not said */
};
void pace_read_headers(
	const struct http_head *h, int64_t real_ms, struct pace_limit ret[PACE_DIMENSIONS]);

/* "6m0s", "1h2m3.5s", "20ms", "7" (seconds): ms, or -1. */
int64_t pace_duration_ms(struct str text);
/* RFC 3339: ms since 1970, or -1. */
int64_t pace_moment_ms(struct str text);

#endif
