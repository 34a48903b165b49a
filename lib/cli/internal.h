#ifndef CLI_INTERNAL_H
#define CLI_INTERNAL_H
/*
 * cli, inside: reading arguments by table, and finding what a mistyped word was meant to be.
 */
#include "cli/cli.h"

/* The options of all groups of a command, numbered through; NULL past the last. *ret_offset (may be
 * NULL) gets where the option goes in the command's struct. */
const struct cli_option *cli_option_at(const struct cli_command *c, size_t n, size_t *ret_offset);

/* What cli_parse does, for one that may know the other commands (p may be NULL). 1: help is asked
 * for, and nothing else was looked at after it. */
int cli_read(const struct cli_program *p, const struct cli_command *c, struct cli_words *words,
	void *options, struct error *err);

/* Releases the repeatable options in a command's struct. */
void cli_release(const struct cli_command *c, void *options);

/* Length of the first word of a command's name. */
size_t cli_first_word(const struct cli_command *c);

/* The command `typed` comes near to, or NULL. */
const char *cli_suggest_command(const struct cli_program *p, const char *typed);
/* The option of c that `typed` (without dashes) comes near to, or NULL. */
const char *cli_suggest_option(const struct cli_command *c, struct str typed);

#endif
