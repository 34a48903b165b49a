#ifndef AGENT_IO_TOKEN_CALL_H
#define AGENT_IO_TOKEN_CALL_H
/*
 * One request to an issuer's token endpoint: a code or a refresh token turned into tokens.
 *
 * Nothing of the form and nothing of the answer but a plain error word stands in an error.
 */
#include "agent/io/oauth.h"
#include "clock/clock.h"
#include "error/error.h"
#include "fetch/fetch.h"
#include "text/text.h"

/* signin_refused, denied: the issuer will not give tokens for this; sign in again. */
extern const struct error_kind TOKEN_CALL_REFUSED;
/* signin_unavailable, unavailable: it could not be asked, or could not answer; perhaps later. */
extern const struct error_kind TOKEN_CALL_UNAVAILABLE;

struct token_call;
/* Once, never inside the start: answer, or err (OAUTH_INVALID too). What it is handed dies with it.
 */
typedef void (*token_call_done)(
	void *arg, const struct oauth_answer *answer, const struct error *err);
struct token_request {
	struct fetch *fetch;
	const struct clock *clock;
	const char *issuer;
	struct buf *form; /* taken, and wiped at the end */
	token_call_done done;
	void *arg;
};
int token_call_start(const struct token_request *q, struct token_call **ret, struct error *err);
/* No done() afterwards. After done() the call frees itself. NULL does nothing. */
void token_call_cancel(struct token_call *c);

#endif
