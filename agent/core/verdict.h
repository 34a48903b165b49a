#ifndef AGENT_CORE_VERDICT_H
#define AGENT_CORE_VERDICT_H
/*
 * Verdicts on one call (spec 6): which gates must allow it, who said what, what that comes to.
 * Pure.
 *
 * A call needs an allow from every gate (AG-146), the first deny denies it (AG-147), an unanswered
 * gate denies when it expires (AG-149). The daemon reads neither tag nor arguments (AG-145).
 *
 * An allow may be given for what its giver knew: until_prior lets it lapse when an earlier call of
 * the round finished after the announcement, and the call is announced again.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/bot.h"
#include "error/error.h"
#include "text/text.h"

extern const struct error_kind VERDICT_ALREADY;      /* approval_already_answered */
extern const struct error_kind VERDICT_SUPERSEDED;   /* approval_superseded */
extern const struct error_kind VERDICT_NONE_PENDING; /* no_pending_approval */
extern const struct error_kind VERDICT_TAG_REQUIRED; /* tag_required */

enum verdict_state { VERDICT_OPEN, VERDICT_ALLOWED, VERDICT_DENIED };

struct verdict_slot {
	struct gate gate;
	enum verdict_state state;
	char by[BY_MAX_BYTES + 1];
	char *reason; /* owned, NULL: none given */
	char *path;   /* owned: the file that was allowed, by its real name; NULL: none was named */
	int64_t at_ms, waited_ms;
	bool until_prior; /* of an allow */
	bool recorded;    /* its receipt is written */
};

enum { VERDICT_SUBJECT_BYTES = 64 /* SHA-256, in hex */ };

struct verdicts {
	struct verdict_slot slots[BOT_GATES_MAX];
	size_t count;         /* 0: the call needs no verdict */
	int64_t request;      /* number of the announcement, from 1; 0: not announced */
	int64_t announced_ms; /* real time */
	bool prior_done;      /* an earlier call finished since it was announced */
	char subject[VERDICT_SUBJECT_BYTES + 1]; /* digest of what they are about; "": not known */
};

/* The gates of `b` that name this tool. */
void verdicts_init(struct verdicts *v, const struct bot *b, struct str tool);
void verdicts_release(struct verdicts *v);
/* Announced (again): all slots are open. */
void verdicts_announce(struct verdicts *v, int64_t request, int64_t now_ms);

/* DENIED when a slot is, ALLOWED when all are, else OPEN. No slots: ALLOWED. */
enum verdict_state verdicts_outcome(const struct verdicts *v);
/* The slot that denied, or NULL. */
const struct verdict_slot *verdicts_denier(const struct verdicts *v);

struct verdict_answer {
	struct str tag; /* absent: the one gate there is */
	int64_t request;
	bool allow;
	struct str by;     /* absent: nobody's name */
	struct str reason; /* absent: none */
	struct str path;   /* of an allow; absent: none */
	bool until_prior;  /* of an allow */
};
/* One gate's answer; the first per gate stands, and none counts once the gate has expired. */
int verdicts_answer(
	struct verdicts *v, const struct verdict_answer *a, int64_t now_ms, struct error *err);

/* An earlier call of the round has finished. */
void verdicts_prior_done(struct verdicts *v);
/* Whether an allow holds no more, since it was given until an earlier call finishes. */
bool verdicts_lapsed(const struct verdicts *v);
/* Whether one of them would lapse so. */
bool verdicts_may_lapse(const struct verdicts *v);

/* Milliseconds until the next open gate expires, at least 0; -1: none does. */
int64_t verdicts_expire_in(const struct verdicts *v, int64_t now_ms);
/* Denies every open gate whose time is over; how many. */
size_t verdicts_expire(struct verdicts *v, int64_t now_ms);

#endif
