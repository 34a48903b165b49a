#ifndef AGENT_IO_CHATGPT_H
#define AGENT_IO_CHATGPT_H
/*
 * The daemon's hold on the ChatGPT sign-in: tokens for requests, renewed when they must be.
 *
 * Promises
 *   AG-170  tokens are renewed before they expire, and when a provider refuses them.
 *   AG-179  every token of the file, and of those it held before, is in the redaction set.
 *
 * One renewal is under way at a time, and all who wait get what it brings. The file is looked at
 * before each use: a newer sign-in counts from then on, and is never written over by a renewal that
 * began before it. A renewal that the issuer refuses is not tried again until the file changes.
 */
#include <stdint.h>

#include "clock/clock.h"
#include "error/error.h"
#include "fetch/fetch.h"
#include "loop/loop.h"
#include "secret/secret.h"

extern const struct error_kind
	CHATGPT_ENDED; /* chatgpt_sign_in_ended, unavailable: sign in again */

struct chatgpt;
struct chatgpt_options {
	struct loop *loop;
	struct fetch *fetch;
	const struct clock *clock;
	struct secret_set *secrets;
	const char *path; /* of chatgpt.json; copied */
};
struct chatgpt *chatgpt_new(const struct chatgpt_options *o);
void chatgpt_free(struct chatgpt *c); /* asks are dropped; NULL does nothing */
/* Learns what is in the file now, so that it is redacted. One stat(2) when nothing has changed. */
void chatgpt_look(struct chatgpt *c);

struct chatgpt_grant {
	const struct secret *access;
	struct str account; /* absent: the tokens name none */
	uint64_t number;    /* of these tokens; never 0 */
};
struct chatgpt_ask;
/* ready() once, never inside: a grant, which dies with the call, or err: TOKENS_MISSING and its
 * like, CHATGPT_ENDED, TOKEN_CALL_UNAVAILABLE. `refused`: the number of tokens that a provider
 * answered with 401, which are renewed unless others are there already; 0: none. */
struct chatgpt_ask *chatgpt_ask(struct chatgpt *c, uint64_t refused,
	void (*ready)(void *arg, const struct chatgpt_grant *g, const struct error *err),
	void *arg);
/* No ready() afterwards. After it the ask frees itself. NULL does nothing. */
void chatgpt_cancel(struct chatgpt_ask *a);

#endif
