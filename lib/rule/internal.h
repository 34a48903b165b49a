#ifndef RULE_INTERNAL_H
#define RULE_INTERNAL_H
/*
 * rule, inside: sets of rules as they are filled, matching, and the lenient reader's parts.
 */
#include "rule/rule.h"
#include "table/table.h"

/*
 * Names (names.c).
 */
bool rule_list_has(const char *list, struct str word); /* blanks between; NULL has none */
bool rule_is_reserved(struct str word);                /* a reserved word of dash or bash */
bool rule_is_meddling(struct str word); /* a builtin that may change what later words mean */
bool rule_is_variable(struct str word); /* NAME=… or NAME+=… */

/*
 * Sets (set.c).
 */
/* The rules that may match one first word, in their order. */
struct rule_bucket {
	uint32_t *items; /* places in the set */
	size_t count, cap;
};
struct rules {
	struct arena a;
	struct rule *items;
	size_t count, cap;
	size_t count_of[RULE_FORBIDDEN + 1];
	struct table *by_word; /* first word: struct rule_bucket */
	struct str unreadable;
};
/* A rule being made; what it holds is copied by rules_add. `where` names it in errors of `kind`. */
struct rule_draft {
	struct str_list pattern[RULE_PATTERN_MAX];
	size_t length;
	enum rule_decision decision;
	struct str justification;
	struct str file;
	uint32_t line;
};
/* RULES_LIMIT when the set is full. Words and texts were checked. */
int rules_add(struct rules *r, const struct rule_draft *d, struct error *err);
/* What a word of a pattern may be: NULL, or what is wrong with it. */
const char *rule_check_word(struct str word);
const char *rule_check_justification(struct str text);

/*
 * Matching (match.c).
 */
bool rule_matches(const struct rule *rule, const struct rule_word *words, size_t count);
bool rule_matches_exactly(const struct rule *rule, const struct str_list *words);
/* Whether any bytes for each NUL of the shape make the text of it. */
bool rule_shape_fits(struct str shape, struct str text);
bool rule_element_has(const struct str_list *element, struct str word);

/*
 * The lenient reader (find.c, lex.c, wrap.c).
 */
enum {
	WORD_MAX_BYTES = 2 *
			 RULE_SCRIPT_MAX_BYTES, /* words put together are longer than they were */
	FIND_DEPTH_MAX = 32,       /* ours: scripts within scripts; people write two or three */
	FIND_COMMANDS_MAX = 16384, /* ours: a plain script of the longest size has twice as many */
	FIND_STEPS_MAX = 16 * RULE_SCRIPT_MAX_BYTES, /* ours: each byte read so often, a few ms */
};
struct finder {
	struct arena *a;
	struct rule_found *items;
	size_t count, cap;
	size_t steps;  /* left */
	size_t shapes; /* commands whose names are told in part */
	int depth;
	bool tangled;
	bool fed;   /* a program reads a script, or words of one, from a file or its input */
	bool flows; /* and what another writes may get there */
};
/* Reads a script within the script. The text lives as long as the arena. */
void rule_find_script(struct finder *f, struct str text);
/* One command: notes it, and what it starts. The words live as long as the arena, may be changed,
 * and are followed by one more, a RULE_ANY. */
void rule_find_command(struct finder *f, struct rule_word *words, size_t count);
/* What the command at words[at] starts: marks where others begin, reads scripts it is given, blurs
 * words that are put in their places later. Whether more words may be added behind. */
bool rule_find_started(
	struct finder *f, struct rule_word *words, size_t count, size_t at, bool *begins);
/* Whether the command is a shell, so that its words are no text but its own. */
bool rule_find_is_shell(const struct rule_found *c);
/* A word as it would stand in a script. */
struct str rule_find_text(struct finder *f, const struct rule_word *word);
/* n steps are done; false when none are left, and then it is tangled. */
static inline bool rule_find_spend(struct finder *f, size_t n)
{
	if (f->tangled || n > f->steps) {
		f->tangled = true;
		return false;
	}
	f->steps -= n;
	return true;
}

#endif
