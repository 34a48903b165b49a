/* Limits of Anthropic's models, by generation. */
#include "agent/io/claude.h"

#include "mem/mem.h"

static const struct {
	const char *prefix; /* behind "claude-"; the first that fits counts */
	struct claude_model model;
} generations[] = {
	{"3-7-",          {64000, CLAUDE_BUDGET}    },
	{"3-5-",          {8192, CLAUDE_NO_THINKING}},
	{"3-",            {4096, CLAUDE_NO_THINKING}},
	{"2",             {4096, CLAUDE_NO_THINKING}},
	{"instant",       {4096, CLAUDE_NO_THINKING}},
	{"haiku-4-5",     {64000, CLAUDE_BUDGET}    },
	{"sonnet-4-5",    {64000, CLAUDE_BUDGET}    },
	{"opus-4-5",      {64000, CLAUDE_BUDGET}    },
	{"opus-4-1",      {32000, CLAUDE_BUDGET}    },
	{"opus-4-0",      {32000, CLAUDE_BUDGET}    },
	{"opus-4-2025",   {32000, CLAUDE_BUDGET}    },
	{"sonnet-4-0",    {64000, CLAUDE_BUDGET}    },
	{"sonnet-4-2025", {64000, CLAUDE_BUDGET}    },
	{"",	      {128000, CLAUDE_ADAPTIVE} },
};
static const struct claude_model others = {32000, CLAUDE_NO_THINKING};

static const struct {
	const char *level;
	int64_t tokens;
} budgets[] = {
	{"low",    2048 },
	{"medium", 8192 },
	{"high",   16384},
	{"xhigh",  16384},
	{"max",    16384},
};

enum { BUDGET_LEAST = 1024 }; /* the API's */

const struct claude_model *claude_model(struct str name)
{
	static const struct str maker = {"claude-", 7};
	ptrdiff_t at = str_find(name, maker, 0);
	struct str rest;

	if (at < 0)
		return &others;
	rest = (struct str){name.p + at + maker.len, name.len - (size_t)at - maker.len};
	for (size_t i = 0; i < ARRAY_LEN(generations); i++) {
		if (str_starts(rest, str_from(generations[i].prefix)))
			return &generations[i].model;
	}
	return &others; /* not reached: the last row fits everything */
}

int64_t claude_budget(struct str level, int64_t max_tokens)
{
	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		int64_t room = max_tokens - BUDGET_LEAST;

		if (!str_is(level, budgets[i].level))
			continue;
		if (budgets[i].tokens <= room)
			return budgets[i].tokens;
		return room >= BUDGET_LEAST ? room : 0;
	}
	return 0;
}
