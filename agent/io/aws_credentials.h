#ifndef AGENT_IO_AWS_CREDENTIALS_H
#define AGENT_IO_AWS_CREDENTIALS_H
/*
 * The daemon's hold on AWS credentials: keys for requests, asked for again when they must be (agent
 * spec 8.6).
 *
 * Promises
 *   AG-172  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN are used where they are
 *           set, in the environment or in ~/.agent/env.
 *   AG-173  otherwise `aws configure export-credentials --format process` says them. No file of
 *           AWS's own is opened here.
 *
 * The program runs once at a time, and all who wait get what it says; it is started at most every
 * ten seconds. Keys that run out within five minutes are renewed before they are used; when that
 * fails they serve until they have run out.
 */
#include <stdint.h>

#include "agent/io/sigv4.h"
#include "clock/clock.h"
#include "error/error.h"
#include "loop/loop.h"
#include "secret/secret.h"

extern const struct error_kind AWS_CREDENTIALS; /* aws_credentials_unavailable */

struct aws;
struct aws_options {
	struct loop *loop;
	const struct clock *clock;
	struct secret_store *keys;  /* environment, then env file */
	struct secret_set *secrets; /* learns what the program says; NULL: nobody reads it */
	const char *supervisor;     /* of the program (proc.h); copied; NULL: none */
	int64_t timeout_ms;         /* of the program; 0: 30 s */
};
struct aws *aws_new(const struct aws_options *o);
void aws_free(struct aws *a); /* asks are dropped; NULL does nothing */

/* AWS_REGION, else AWS_DEFAULT_REGION; lives as long as `a`. Absent and err when neither is set or
 * it is no region's name. */
struct str aws_region(struct aws *a, struct error *err);
/* What can be told without asking anybody: a half of the static keys is missing. */
int aws_check(struct aws *a, struct error *err);

struct aws_grant {
	struct sigv4_keys keys;
	uint64_t number; /* of these keys; never 0 */
};
struct aws_ask;
/* ready() once, never inside: a grant, which dies with the call, or AWS_CREDENTIALS. `refused`: the
 * number of keys that a provider did not take; 0: none. */
struct aws_ask *aws_ask(struct aws *a, uint64_t refused,
	void (*ready)(void *arg, const struct aws_grant *g, const struct error *err), void *arg);
/* No ready() afterwards. After it the ask frees itself. NULL does nothing. */
void aws_cancel(struct aws_ask *k);
/* Whether an ask after a refusal of these keys can bring others. */
bool aws_may_renew(struct aws *a, uint64_t refused);

/* What the program printed, as JSON of the form that AWS calls `process`. Pure. */
struct aws_answer {
	struct str id, secret, token; /* token absent: none; in the arena, to be wiped */
	int64_t expires_s;            /* 0: never */
};
int aws_read_answer(struct arena *a, struct str text, struct aws_answer *ret, struct error *err);
void aws_answer_wipe(struct aws_answer *w);
/* "2023-05-30T21:04:27+00:00" (RFC 3339) as seconds since 1970; -1 for what is none. */
int aws_read_time(struct str s, int64_t *ret_s);

#endif
