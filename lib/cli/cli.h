#ifndef CLI_CLI_H
#define CLI_CLI_H
/*
 * cli: command and option tables, usage text, exit status (agent spec 12).
 *
 * The command comes first; `--flag VALUE` or `--flag=VALUE`; a value starting with `--` needs `=`;
 * `--` ends options; `-h`, `--help` and `help COMMAND` print to stdout and exit 0, touching
 * nothing. Unknown, misplaced and repeated flags are usage errors that name the argument and
 * exit 2. Help and completion come from the same rows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "text/text.h"

enum {
	CLI_OK = 0,
	CLI_FAILED = 1, /* failed, incomplete, timed out or lost connection */
	CLI_USAGE = 2,
	CLI_LOST_RACE = 75, /* serve: another daemon owns the store (EX_TEMPFAIL) */
};

extern const struct error_kind CLI_USAGE_ERROR; /* usage */

enum cli_sort { CLI_FLAG, CLI_TEXT, CLI_NUMBER, CLI_TEXTS };

/* One option. Where it goes: FLAG bool, TEXT const char *, NUMBER struct cli_number, TEXTS struct
 * cli_texts (repeatable). */
struct cli_option {
	const char *name; /* without the dashes */
	enum cli_sort sort;
	const char *value; /* what the value is called in help, NULL for a flag */
	const char *help;  /* one line, lower case, no full stop */
	size_t offset;
	int64_t min, max; /* NUMBER */
};
struct cli_number {
	bool set;
	int64_t value;
};
struct cli_texts {
	const char **items; /* point into argv */
	size_t count;
};
#define CLI_OPT_FLAG(S, m, name, help)                                                             \
	{                                                                                          \
		name, CLI_FLAG, NULL, help, offsetof(S, m), 0, 0                                   \
	}
#define CLI_OPT_TEXT(S, m, name, value, help)                                                      \
	{                                                                                          \
		name, CLI_TEXT, value, help, offsetof(S, m), 0, 0                                  \
	}
#define CLI_OPT_TEXTS(S, m, name, value, help)                                                     \
	{                                                                                          \
		name, CLI_TEXTS, value, help, offsetof(S, m), 0, 0                                 \
	}
#define CLI_OPT_NUMBER(S, m, name, value, lo, hi, help)                                            \
	{                                                                                          \
		name, CLI_NUMBER, value, help, offsetof(S, m), lo, hi                              \
	}

/* Options several commands share, by the same offsets: a group stands at the start of its struct.
 */
struct cli_group {
	const char *title; /* heading in help, NULL for the command's own */
	const struct cli_option *options;
	size_t count;
	size_t base; /* added to each offset */
};

enum { CLI_GROUPS_MAX = 6 };

struct cli_command {
	const char *name;       /* may be two words: "login chatgpt" */
	const char *arguments;  /* "[--] PROMPT…", for help */
	int args_min, args_max; /* -1: any number */
	const char *purpose;    /* one line for the list */
	const char *about;      /* a paragraph for the command's own help, may be NULL */
	struct cli_group groups[CLI_GROUPS_MAX];
	size_t options_size; /* sizeof the struct the groups fill; at most 4096 */
	int (*run)(void *options, char **args, int count); /* an exit status */
};

struct cli_program {
	const char *name, *version, *purpose;
	const struct cli_command *const *commands;
	size_t count;
	const char *footer; /* environment and so on, for the program's help; may be NULL */
};

/* Finds the command, reads its options into a zeroed struct and runs it. Prints help, version and
 * usage errors itself. Returns the exit status. */
int cli_main(const struct cli_program *p, int argc, char **argv);

/* The words of a command line; they stay the caller's. */
struct cli_words {
	char **items;
	int count;
};
/* For tests and completion: reads options of one command; `words` begins after the command's name
 * and is left with those that are no options, moved to the front. `options` is zeroed by the
 * caller, who releases its TEXTS; after an error none is left. cli_main does that itself. Asking
 * for help is an error here. */
int cli_parse(
	const struct cli_command *c, struct cli_words *words, void *options, struct error *err);
/* The help text of the program (c NULL) or of a command, as printed. */
int cli_help(const struct cli_program *p, const struct cli_command *c, struct buf *to);
/* The shells completion is written for, NULL-terminated: bash, zsh, fish. */
extern const char *const cli_shells[];
/* Appends the script that completes the program's commands, options, and values called FILE, PATH
 * or DIR. -1: no such shell, or `to` is full. */
int cli_completion(const struct cli_program *p, const char *shell, struct buf *to);
/* A usage error found by a command itself: prints "NAME COMMAND: text" and returns CLI_USAGE. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_texts_release(struct cli_texts *t);

#endif
