#ifndef AGENT_SERVE_RULEBOOK_H
#define AGENT_SERVE_RULEBOOK_H
/*
 * Command rules as the store has them (JSON), read once and shared by all turns of all bots that go
 * by the same ones. What no turn uses is kept for a while, since the next one is likely to.
 */
#include "rule/rule.h"
#include "text/text.h"

struct rulebook;
struct rulebook *rulebook_new(void);
void rulebook_free(struct rulebook *b); /* and the sets; NULL does nothing */

struct ruleset {
	const struct rules *rules;
	struct str text;
};
/* For as long as it is not given back; NULL for no rules (an absent text). What cannot be read
 * refuses every command. */
const struct ruleset *rulebook_take(struct rulebook *b, struct str text);
void rulebook_give(struct rulebook *b, const struct ruleset *s); /* NULL does nothing */

/* The member `rules` of a request, checked and as the store has it, in the arena; absent when there
 * is no rule in it. RULES_INVALID, RULES_LIMIT. */
int rulebook_read(struct arena *a, const struct json *value, struct str *ret, struct error *err);

#endif
