#ifndef AGENT_IO_OAUTH_H
#define AGENT_IO_OAUTH_H
/*
 * oauth: what is sent to an issuer of tokens and what comes back, as text (RFC 6749, RFC 7636).
 * Pure.
 *
 * The client is a public one: no secret, PKCE S256 instead. Tokens are read for two things only,
 * their expiry and the account they belong to; whether they are genuine is the provider's to say.
 */
#include <stdint.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

extern const struct error_kind OAUTH_ISSUER; /* invalid_issuer, usage */
extern const struct error_kind
	OAUTH_INVALID; /* signin_invalid_answer, io: not what was asked for */

/* Where people sign in to ChatGPT: public facts of the sign-in that OpenAI's own command line
 * does. */
struct oauth_facts {
	const char *issuer, *client_id, *scope, *originator;
	const char *account_claim; /* a member of … */
	const char *claims;        /* … this claim of a token */
	uint16_t port;             /* of the callback that is registered for the client */
};
extern const struct oauth_facts oauth_chatgpt;

#define OAUTH_CALLBACK_PATH "/auth/callback"

enum {
	OAUTH_RANDOM_BYTES = 32,             /* RFC 7636 4.1 */
	OAUTH_CHARS_SIZE = 44,               /* of 32 bytes in base64url, with the NUL */
	OAUTH_TOKEN_MAX_BYTES = 16 * 1024,   /* ours: several times the largest in use */
	OAUTH_ANSWER_MAX_BYTES = 128 * 1024, /* ours: three tokens and what stands around them */
};

/* 32 bytes as 43 characters: a verifier, or a state. */
void oauth_spell(const unsigned char random[OAUTH_RANDOM_BYTES], char ret[OAUTH_CHARS_SIZE]);
/* The S256 challenge of a verifier. */
void oauth_challenge(const char *verifier, char ret[OAUTH_CHARS_SIZE]);
/* Whether two texts are the same, in a time that depends on their lengths alone. */
bool oauth_same(struct str a, struct str b);

/* An issuer must be an https URL, or http to this machine: codes and tokens go there. Without a
 * query; '/' at its end is no part of it. */
int oauth_check_issuer(struct str issuer, struct str *ret, struct error *err);

/* One sign-in. */
struct oauth_ask {
	const char *issuer, *verifier, *state;
	uint16_t port; /* of the callback */
};
/* What the browser is to open. */
void oauth_put_authorize_url(struct buf *to, const struct oauth_ask *a);
/* Where codes and refresh tokens are turned into tokens, and the two forms. */
void oauth_put_token_url(struct buf *to, const char *issuer);
void oauth_put_code_form(struct buf *to, const struct oauth_ask *a, struct str code);
void oauth_put_refresh_form(struct buf *to, struct str refresh);

/* What an issuer answered; in the arena. What it left out is absent. */
struct oauth_answer {
	struct str access, refresh, id, account;
	int64_t expires_s; /* seconds since the epoch; 0: not said */
};
/* The answer to a form; OAUTH_INVALID when it has no access token, or one that no header could
 * carry. Its text repeats nothing of the answer. */
int oauth_read_answer(struct arena *a, struct str body, int64_t now_s, struct oauth_answer *ret,
	struct error *err);
/* The error code of a refusal, when it is a plain word (RFC 6749 5.2) of at most 64 bytes; else
 * absent. */
struct str oauth_read_refusal(struct arena *a, struct str body);

#endif
