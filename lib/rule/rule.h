#ifndef RULE_RULE_H
#define RULE_RULE_H
/*
 * rule: command rules: the one reader of plain scripts and the one of `.rules` files.
 *
 * A rule is a pattern of words and a decision. It matches a command whose first words equal the
 * pattern, in order and byte for byte (agent spec 7.8): `git` matches neither `git-lfs` nor
 * `/usr/bin/git`, and an element of the pattern may list alternatives. Of all rules that match the
 * strictest counts: forbidden, then prompt, then allow.
 *
 * Promises
 *   AG-116, AG-118 to AG-120  RULE_ALLOW needs a plain script whose every command an allow rule
 *           matches. "Not understood" is never plain.
 *   AG-121 to AG-123  forbidden and prompt rules look into every script, plain or not, at every
 *           command that can be told from its text.
 *   AG-127  rules that could not be read refuse every command.
 *   AG-227  rules look at first words only; a path is another word than the name it ends in.
 *
 * Plain
 *   One or more commands, joined by `&&`, `||`, `|`, `;` or newlines; the last may be followed by
 *   `;` or newlines, and newlines may stand before the first and after `&&`, `||` and `|`. A
 *   command is one or more words between blanks (space and tab only). A word is one or more of
 *     - bare characters: letters, digits and  _ - . / , : + = @ % ^ ] !  and, but at the start of a
 *       word, #
 *     - '…', in which anything stands but '
 *     - "…", in which anything stands but "  $  `  and backslash
 *   with nothing in between. All of it is valid UTF-8, without control characters but tab and
 *   newline; characters past ASCII stand in quotes. The first word of a command, quotes removed,
 *     - consists of letters, digits and  _ - . / , : + @  alone (so no NAME=VALUE, no %1, no !) and
 *       begins with neither - nor + (which `sh -c` would take for an option), or is [
 *     - is no reserved word of dash or bash, and no builtin of theirs that may change what later
 *       words mean, runs its words or writes a variable (eval . export alias set read printf …).
 *   No word of `test` or `[` is -v, with which bash evaluates the next. At most
 *   RULE_SCRIPT_MAX_BYTES. Everything else is not plain: substitutions, redirections, comments,
 *   `&`, groups, globs, `~`, backslashes, line ends of other systems. dash and bash execute the
 *   commands of a plain script with exactly these words (test/rule_differential.c tries them on
 *   it); a person who puts functions or options for their shell into the environment of the daemon
 *   is their own master.
 *
 * Found
 *   For forbidden and prompt rules a lenient reader goes through the script, whatever it is, and
 *   prefers a command too many to one too few. It looks into groups, subshells, functions, both
 *   forms of command substitution, process substitution, parameter expansion, here-documents and
 *   their like; behind assignments, redirections and reserved words; behind programs that start
 *   others (sudo, env, xargs, find -exec … : the table in wrap.c) and into the scripts that `sh
 *   -c`, eval, trap and so on are given. Quotes are taken off as bash does. A word that only
 *   running would tell stands for any number of any words ($x), or for one ("$x"), a glob for what
 * it can match. A script too tangled to be followed to its end, or too long, counts as one that
 * every forbidden and prompt rule matches. Not found: a program whose name only running would tell,
 * and what other programs make of their arguments, files and input (python -c, make, a script that
 * is first written).
 *
 * How the daemon is to call it
 *   rules_from_json at create and configure with the member `rules`; store what rules_put_json
 *   writes; keep the struct rules with the bot. Where a shell call is judged, rules_decide with the
 *   very bytes that /bin/sh -c gets:
 *     RULE_FORBIDDEN  refuse with rules_refusal's error, also when it asks to escalate
 *     RULE_PROMPT     the call waits for the gate, or is refused without one; allowed, it runs
 *                     outside if it asked to escalate, else inside
 *     RULE_ALLOW      sandboxed bots: it runs outside, unasked, found on the daemon's PATH
 *     RULE_NONE       as without rules
 *   A bot that another bot made is given its creator's rules, and no others.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

enum {
	RULE_SCRIPT_MAX_BYTES = 65536, /* ours: four of the longest shell call (agent spec 5.1) */
	RULE_PATTERN_MAX = 32,         /* ours: words of a pattern; the matcher's are bits */
	RULE_ALTERNATIVES_MAX = 64,    /* ours */
	RULE_WORD_MAX_BYTES = 1024,    /* ours */
	RULE_JUSTIFICATION_MAX_BYTES = 1024, /* ours: a line that a person or a model reads */
	RULE_EXAMPLES_MAX = 64,              /* ours: of each kind, per rule */
	RULES_MAX = 4096,                    /* ours: four times what a decision is measured with */
	RULES_FILE_MAX_BYTES = 262144,       /* sonny spec 9 */
	RULES_FILES_MAX = 64,                /* sonny spec 9 */
};

/* A script in a rule's field, a word that is none, an unknown name: the text says where. */
extern const struct error_kind RULES_INVALID; /* invalid_rules, usage */
/* A file or folder that could not be read whole and understood: "FILE:LINE: what", and what refuses
 * every command. */
extern const struct error_kind RULES_UNREADABLE; /* rules_unreadable, denied */
extern const struct error_kind RULES_LIMIT;      /* rules_limit, limit: more than a number above */
extern const struct error_kind RULES_FORBIDDEN;  /* rule_forbidden, denied */

enum rule_decision { RULE_NONE, RULE_ALLOW, RULE_PROMPT, RULE_FORBIDDEN }; /* strictest last */
extern const char *const rule_decision_names[]; /* "none", "allow", … */

/*
 * Scripts.
 */
enum rule_join { RULE_FIRST, RULE_THEN, RULE_AND, RULE_OR, RULE_PIPE }; /* ; && || | */

struct rule_command {
	struct str_list words; /* at least one, quotes removed, no NUL inside and one behind */
	enum rule_join join;   /* to the command before */
};
struct rule_script {
	struct rule_command *commands;
	size_t count;
};
/* Why a script is not plain: words of ours, and the byte. */
struct rule_doubt {
	const char *why;
	size_t at;
};
/* 1 it is plain: its commands, in the arena. 0 it is not: the doubt. */
int rule_script_read(
	struct arena *a, struct str script, struct rule_script *ret, struct rule_doubt *ret_doubt);
/* Appends it as a plain script that is read as the same. */
void rule_script_put(struct buf *to, const struct rule_script *s);

/* A word that the lenient reader found. */
enum rule_certainty {
	RULE_EXACT,
	RULE_HOLE,  /* one word; a NUL in the text stands for any bytes */
	RULE_SHAPE, /* one word or more: a glob; NUL as before */
	RULE_ANY,   /* any number of any words */
};
struct rule_word {
	struct str text;
	enum rule_certainty certainty;
};
struct rule_found {
	struct rule_word *words;
	size_t count;
};
struct rule_finds {
	struct rule_found *items; /* each once per place, commands before those found in them */
	size_t count;
	bool tangled; /* it was not followed to its end */
};
/* Every command that can be told from a script, in the arena. */
void rule_find(struct arena *a, struct str script, struct rule_finds *ret);

/*
 * Rules. A set lives in one piece; what is borrowed from it lives as long.
 */
struct rule {
	struct str_list *pattern; /* each element's alternatives */
	size_t length;
	enum rule_decision decision;
	struct str justification; /* absent: none */
	struct str file;          /* where it was read; absent: in JSON */
	uint32_t line;            /* in the file, or its place in the list; from 1 */
};
struct rules;
/* No rules at all. */
struct rules *rules_new(void);
void rules_free(struct rules *r); /* NULL does nothing */
static inline void rules_cleanup(struct rules **r)
{
	rules_free(*r);
}
/* The set that refuses every command. `why` is made one line and cut to 1 KiB. */
struct rules *rules_new_unreadable(struct str why);
/* Why it refuses every command; absent: it does not. */
struct str rules_unreadable(const struct rules *r);
size_t rules_count(const struct rules *r);
const struct rule *rules_at(const struct rules *r, size_t i); /* in the order they were read */

/* [{"pattern": [WORD or [WORD, …], …], "decision": "allow", "prompt" or "forbidden",
 * "justification": TEXT (may be left out)}, …] or {"unreadable": WHY}. RULES_INVALID or RULES_LIMIT
 * name the place ("rules[3].pattern[0]: …"). */
int rules_from_json(const struct json *value, struct rules **ret, struct error *err);
/* The same form; name is NULL in arrays and at the top. */
void rules_put_json(const struct rules *r, struct json_out *j, const char *name);
/* The member `pattern` of one rule. */
void rule_put_pattern(const struct rule *rule, struct json_out *j);

/*
 * The text of a `.rules` file, added to a set; `name` is what errors call it. RULES_UNREADABLE or
 * RULES_LIMIT; the set may have got some of the file's rules and is to be freed. The language is
 * calls, one after another, and comments from # to the end of a line:
 *
 *	prefix_rule(
 *		pattern = ["git", ["push", "fetch"]],
 *		decision = "prompt",                  # allow, prompt or forbidden; allow without it
 *		justification = "it leaves the machine",
 *		match = ["git push origin", ["git", "fetch"]],
 *		not_match = ["git status"],
 *	)
 *	host_executable(name = "git", paths = ["/usr/bin/git"])
 *
 * Arguments are named, each once, in any order; a list may end in a comma. A string is "…" or '…'
 * on one line, with \\ \" \' \n and \t and no other escape. An example is a plain script of one
 * command, or its words; one that fails makes the file unreadable. host_executable is checked and
 * has no effect here, where no path matches a name.
 */
int rules_read_text(struct rules *r, const char *name, struct str text, struct error *err);
/* One file, or the files *.rules of a folder in the order of their names (bytes), hidden ones left
 * out. What is a symbolic link, or no regular file, is RULES_UNREADABLE; so is a path at which
 * there is nothing. */
int rules_read_path(const char *path, struct rules **ret, struct error *err);

/*
 * Decisions.
 */
struct rule_verdict {
	enum rule_decision decision;
	const struct rule
		*rule; /* of that decision, the first that matched; NULL: none is to blame */
	bool plain;
	bool tangled; /* decided as though every forbidden and prompt rule matched */
};
/* What the rules say of a script. Pure, and total: there is no script it fails on. An unreadable
 * set forbids. */
void rules_decide(const struct rules *r, struct str script, struct rule_verdict *ret);
/* Why a script was forbidden, for a person or a model: RULES_UNREADABLE or RULES_FORBIDDEN. -1. */
int rules_refusal(const struct rules *r, const struct rule_verdict *v, struct error *err);
/* Appends one rule for a person: "prompt [git push|fetch] (rule 3): why". */
void rule_put_text(const struct rule *rule, struct buf *to);
/* Appends why a script is decided as it is, command by command and word by word, for a person: what
 * comes from outside is made visible. The decision is rules_decide's. */
void rules_explain(const struct rules *r, struct str script, struct buf *to);

#endif
