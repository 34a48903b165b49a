#ifndef ATTEST_ISSUER_H
#define ATTEST_ISSUER_H
/*
 * An issuer of tokens on loopback that is a provider too, and a sign-in with it: the command, and
 * who plays its browser.
 *
 * It is a thread of the case. It signs everybody in, hands out tokens by number (1, 2 …), renews
 * only with the newest refresh token, and answers POST …/responses with "done". What it was asked
 * is kept byte for byte.
 */
#include "attest/attest.h"

struct issuer;
struct issuer *issuer_start(struct attest *t); /* ends with the case */
const char *issuer_url(const struct issuer *i);
/* For --provider: NAME of this URL with the ChatGPT sign-in. */
const char *issuer_provider(struct attest *t, const struct issuer *i, const char *name);
/* How long access tokens live that are given from now on; an hour before it is said. Below 0: they
 * are over when they are given. */
void issuer_life(struct issuer *i, int64_t seconds);
/* As a provider it answers 401 to every access token given so far. */
void issuer_revoke(struct issuer *i);
/* All requests so far, and how many hold the text. */
struct str issuer_heard(struct attest *t, struct issuer *i);
int issuer_count(struct attest *t, struct issuer *i, const char *text);
/* How many times tokens were given; those of a number. */
int issuer_given(struct issuer *i);
const char *issuer_access(struct attest *t, struct issuer *i, int number);
const char *issuer_refresh(struct attest *t, struct issuer *i, int number);

/* `agent login chatgpt --no-browser`, at a free port. */
struct signin {
	pid_t pid;
	int port;        /* of its callback */
	const char *out; /* file of what it prints, stderr too */
	const char *page;
};
struct signin_start {
	mode_t mask;
	const char *const *args; /* further ones, NULL-terminated; may be NULL */
	const char *const *env;
	const char *const *wrap; /* a program before it */
};
/* Returns when it waits for the browser. */
struct signin signin_begin(struct attest *t, const struct issuer *i, const struct signin_start *s);
/* The browser: the page, and where it leads. The callback's answer. */
struct str signin_browse(struct attest *t, const struct signin *s);
int signin_end(struct attest *t, const struct signin *s); /* its exit status */
/* All of it, under umask 000; broken unless it ends well. */
void signin(struct attest *t, const struct issuer *i);

/* The answer of GET target at that port of 127.0.0.1, whole; "" when nobody listens. */
struct str issuer_get(struct attest *t, int port, const char *target);

#endif
