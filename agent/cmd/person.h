#ifndef AGENT_CMD_PERSON_H
#define AGENT_CMD_PERSON_H
/*
 * Asks the person at the terminal for verdicts, one call after the other, and sends what they say.
 *
 * What was typed before a question stood there is thrown away: an answer is given to what was read.
 */
#include <stdbool.h>

#include "agent/cmd/render.h"
#include "agent/cmd/stream.h"
#include "error/error.h"

struct person {
	bool there;       /* standard input and output are a terminal */
	bool asking;      /* a question stands on the terminal */
	struct list open; /* struct question, oldest first */
};

void person_init(struct person *p, bool wanted);
void person_release(struct person *p);

/* One pending approval as `approvals` lists it: queued when a gate of tag "person" is open. False:
 * it is not for a person here. */
bool person_add(struct person *p, const struct json *approval);
/* The call was decided or has begun: nothing is asked about it any more. */
void person_forget(struct person *p, struct str bot, struct str call_id);
/* Before anything else is printed: ends the line of a question. */
void person_step_aside(struct person *p);
/* Puts the next question, when one is open and none stands there. */
void person_ask(struct person *p);
/* Standard input is readable. A verdict that the daemon refuses is told of; -1 when the connection
 * is lost. */
int person_hear(struct person *p, struct stream *s, struct render *r, struct error *err);

/* Who answers, for the record: the name of this user. Never NULL. */
const char *person_name(void);

enum person_says { PERSON_ALLOWS, PERSON_DENIES };
/* "y" or "yes" allows; "", "n" and "no" deny; anything else denies with that as the reason. Pure.
 */
enum person_says person_read(struct str line, struct str *ret_reason);

#endif
