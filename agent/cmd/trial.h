#ifndef AGENT_CMD_TRIAL_H
#define AGENT_CMD_TRIAL_H
/*
 * One rehearsal, from its script to its end: a stage, a bot, one turn in which every call that
 * would wait is answered with a denial, and what came of it.
 */
#include <stdbool.h>

#include "agent/cmd/approval.h"
#include "agent/cmd/drill.h"
#include "agent/cmd/stage.h"
#include "agent/cmd/stream.h"
#include "rule/rule.h"

extern const struct error_kind TRIAL_INTERRUPTED; /* interrupted, unavailable */

/* What a person named; what they did not is the script's, or a default. */
struct trial_flags {
	const char *sandbox, *workspace, *approval, *approve, *prompt, *rules;
	struct cli_texts writable_roots;
	bool network;
};

struct trial {
	const struct trial_flags *flags;
	struct rehearsal *script; /* as it was read */
	struct buf text;
	struct arena arena;
	/* What holds: */
	const char *sandbox;
	bool sandboxed, network;
	struct approval approval;
	struct rules *rules; /* NULL: none */

	struct stage stage;
	struct stream stream;
	struct drill drill;
	struct str_list items; /* of the conversation, in the arena */
	size_t item_room;
	char *status, *error; /* of the turn, when it is over */
	/* May be NULL. After each call; -1 ends the rehearsal. */
	int (*on_call)(struct trial *t, const struct drill_call *c, struct error *err);
	void (*on_begin)(struct trial *t);
	void *arg;
};

enum trial_result {
	TRIAL_AS_STATED,
	TRIAL_UNLIKE,
	TRIAL_NOT_JUDGED, /* it states something, but for another bot than the flags make */
	TRIAL_NOTHING_STATED,
};

/* Reads the script and settles what holds. CLI_USAGE_ERROR: the flags are wrong. `t` is released
 * either way. */
int trial_read(
	struct trial *t, const struct trial_flags *flags, const char *path, struct error *err);
/* Runs it to the end of its turn; trial_close is due either way. */
int trial_run(struct trial *t, int interrupts, struct error *err);
/* After trial_run: how it went; in `why` a sentence where it is not as stated or not judged. */
enum trial_result trial_judge(const struct trial *t, struct buf *why);
bool trial_completed(const struct trial *t);
/* Ends the daemon and removes the stage; keeps what was found. */
void trial_close(struct trial *t);
void trial_release(struct trial *t);

#endif
