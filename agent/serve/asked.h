#ifndef AGENT_SERVE_ASKED_H
#define AGENT_SERVE_ASKED_H
/*
 * What waits for a verdict, as it is shown: by `approvals`, and to whoever serves its tag (agent
 * spec 6.4).
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/verdict.h"
#include "agent/io/store.h"
#include "agent/tool/tool.h"

struct daemon;

/* Borrows everything. */
struct asked {
	const struct bot *bot;
	const struct store_turn *turn;
	struct str call_id, step; /* step: absent for the call itself */
	struct str name, arguments;
	int64_t node;
	const struct verdicts *verdicts;
	const struct tool_judgement *judged; /* NULL: a step */
};

/* As an object of the open array. */
void asked_put(struct json_out *j, const struct asked *a);
/* Whether a gate is open on it, of that tag (absent: any). */
bool asked_is_open(const struct verdicts *v, struct str tag);
/* They have just been announced: whoever serves a tag of theirs is told, in numbered parts. All are
 * of one turn. */
void asked_push(struct daemon *d, const struct asked *list, size_t count);

#endif
