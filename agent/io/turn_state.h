#ifndef AGENT_IO_TURN_STATE_H
#define AGENT_IO_TURN_STATE_H
/*
 * What the ChatGPT backend says once in a turn and wants to hear again on the turn's later calls
 * (agent spec 8.2). Kept for the newest turn of each bot that called lately.
 */
#include "agent/io/provider.h"
#include "http/http.h"

#define TURN_STATE_HEADER "x-codex-turn-state"

struct turn_states;
struct turn_states *turn_states_new(void);
void turn_states_free(struct turn_states *s); /* NULL does nothing */
/* Absent: nothing was said, or `s` or `r` is NULL. Until the next call. */
struct str turn_state_get(const struct turn_states *s, const struct provider_request *r);
/* The first of a turn counts. NULL `s` does nothing. */
void turn_state_learn(
	struct turn_states *s, const struct provider_request *r, const struct http_head *h);

#endif
