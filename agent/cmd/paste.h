#ifndef AGENT_CMD_PASTE_H
#define AGENT_CMD_PASTE_H
/*
 * Whole commands for a person to paste into a shell, quoted so that nothing in them acts.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/cmd/startup.h"
#include "text/text.h"

/* How this program and its daemon are named in another shell. */
struct paste {
	char *program; /* "agent" where PATH leads to it, else its path; quoted */
	bool pretty;   /* what is followed is shown for people */
	char *place;   /* "" or " --store PATH", " --socket PATH"; quoted */
};
void paste_init(
	struct paste *p, const struct place_options *place, const char *store, const char *socket);
void paste_release(struct paste *p);

/* One word for a POSIX shell. What is not plain text is written with $'…', which bash, zsh and ksh
 * know. */
void paste_quote(struct buf *to, struct str word);

struct paste_call {
	struct str bot, call_id, tag, step; /* step: absent for the call itself */
	int64_t turn, request;
};
void paste_answer(struct buf *to, const struct paste *p, const struct paste_call *c, bool allow);
/* An absent bot: all of them. */
void paste_follow(struct buf *to, const struct paste *p, struct str bot, int64_t after);
void paste_result(struct buf *to, const struct paste *p, struct str bot, int64_t turn);
/* "agent run --bot NAME …" */
void paste_continue(struct buf *to, const struct paste *p, struct str bot);

#endif
