#ifndef AGENT_IO_CLAUDE_H
#define AGENT_IO_CLAUDE_H
/* What Anthropic's models of each generation take (agent spec 8.2). Pure. */
#include <stdint.h>

#include "text/text.h"

enum claude_thinking {
	CLAUDE_NO_THINKING,
	CLAUDE_BUDGET,   /* so many tokens */
	CLAUDE_ADAPTIVE, /* as much as it finds right, by effort */
};
struct claude_model {
	int64_t max_tokens; /* its full limit */
	enum claude_thinking thinking;
};
/* By name, whatever stands before "claude-" (a vendor's prefix). One that nobody here has heard of
 * is taken for a new one; a model of another maker gets the middle and no thinking. */
const struct claude_model *claude_model(struct str name);
/* The thinking budget of a reasoning level; at least 1,024 below max_tokens, else 0: none. */
int64_t claude_budget(struct str level, int64_t max_tokens);

#endif
