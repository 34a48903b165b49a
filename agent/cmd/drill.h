#ifndef AGENT_CMD_DRILL_H
#define AGENT_CMD_DRILL_H
/*
 * What became of each call of a rehearsal, and why. Pure.
 */
#include <stdbool.h>
#include <stddef.h>

#include "agent/core/rehearsal_drill.h"
#include "json/json.h"
#include "mem/mem.h"
#include "rule/rule.h"
#include "text/text.h"

struct drill {
	struct list calls;         /* struct drill_call, as they were made */
	const struct rules *rules; /* the person's, of which the bot has none that allow; NULL:
				      none */
	bool sandboxed;
	const char *asks; /* tag of the gate a person would have, NULL: none */
	bool judges;      /* what is stated of calls holds for this bot */
	size_t counts[DRILL_VERDICTS];
	size_t stated, unlike; /* calls that something was stated of; that were not so */
};
struct drill_call {
	struct list in_drill;
	char *call_id, *name, *arguments;
	bool started, sandboxed;
	char *why, *justification; /* of what it was asked for; may be NULL */
	enum drill_verdict verdict;
	bool by_rule;               /* a command rule decided it */
	char *reason;               /* one line */
	struct drill_expect expect; /* of the script; its texts live as long as that */
	bool judged;                /* against `expect` */
	char *unlike;               /* how it is not as stated, or NULL */
};

void drill_init(struct drill *d, const char *asks);
void drill_release(struct drill *d);
/* An assistant's item: notes its calls; `expects`, one for each, may be NULL. */
void drill_item(struct drill *d, struct str json, const struct drill_expect *expects);
/* An approval as `approvals` lists it. */
void drill_asked(struct drill *d, const struct json *approval);
/* tool_started */
void drill_started(struct drill *d, const struct json *data);
/* tool_completed with the output: the verdict. NULL when the call was not noted. */
const struct drill_call *drill_completed(
	struct drill *d, const struct json *data, struct str output);

/* For people, or as a line of JSON. */
void drill_write(const struct drill *d, const struct drill_call *c, bool colours, struct buf *to);
void drill_write_json(const struct drill_call *c, struct buf *to);
void drill_write_counts(const struct drill *d, struct buf *to);
void drill_put_counts(const struct drill *d, struct json_out *j);

#endif
