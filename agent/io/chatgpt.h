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

#include "agent/io/provider_auth.h"
#include "clock/clock.h"
#include "error/error.h"
#include "fetch/fetch.h"
#include "loop/loop.h"
#include "secret/secret.h"

extern const struct error_kind CHATGPT_ENDED; /* chatgpt_sign_in_ended, denied: sign in again */

struct chatgpt;
struct chatgpt_options {
	struct loop *loop;
	struct fetch *fetch;
	const struct clock *clock;
	struct secret_set *secrets;
	const char *path; /* of chatgpt.json; copied */
};
struct chatgpt *chatgpt_new(const struct chatgpt_options *o);
void chatgpt_free(struct chatgpt *c); /* not in a ready(); asks are dropped; NULL does nothing */
/* Learns what is in the file now, so that it is redacted. One stat(2) when nothing has changed.
 * NULL does nothing. */
void chatgpt_look(struct chatgpt *c);

/* The grant's key is the access token, `more` the account as a C string, or NULL. err:
 * TOKENS_MISSING and its like, CHATGPT_ENDED, or TOKEN_CALL_UNAVAILABLE, the one that may do later.
 * Tokens of the number `refused` are renewed, unless others are there already. */
struct chatgpt_ask;
struct chatgpt_ask *chatgpt_ask(
	struct chatgpt *c, uint64_t refused, auth_on_grant ready, void *arg);
/* No ready() afterwards. After it the ask frees itself. NULL does nothing. */
void chatgpt_cancel(struct chatgpt_ask *a);

#endif
