#ifndef SAMPLE_H
#define SAMPLE_H
/* A small program's tables, for the tests of cli. */
#include <stdio.h>

#include "cli/cli.h"
#include "mem/mem.h"

struct place_options {
	const char *store;
	bool pretty;
};
struct run_options {
	struct place_options place; /* first: the group's offsets are its own */
	const char *bot;
	bool fresh;
	struct cli_number turn, limit;
	struct cli_texts roots;
};

static const struct cli_option place_rows[] = {
	CLI_OPT_TEXT(struct place_options, store, "store", "FILE", "the store to use"),
	CLI_OPT_FLAG(struct place_options, pretty, "pretty", "write for people"),
};
static const struct cli_option run_rows[] = {
	CLI_OPT_TEXT(struct run_options, bot, "bot", "NAME", "the bot that gets the prompt"),
	CLI_OPT_FLAG(struct run_options, fresh, "new", "make the bot first"),
	CLI_OPT_NUMBER(struct run_options, turn, "turn", "N", 1, INT64_MAX, "after this turn"),
	CLI_OPT_TEXTS(struct run_options, roots, "writable-root", "FOLDER",
		"a folder that commands may write to, beside the workspace, as long as the sandbox "
		"mode allows "
		"writing at all"),
};
static const struct cli_option limit_rows[] = {
	CLI_OPT_NUMBER(struct run_options, limit, "a-limit-with-a-very-long-name", "SECONDS", -5,
		86400, "how long"),
};

static void *last_options;
static struct run_options last_run;
static int last_count, runs;
static char last_args[256];

static inline int sample_run(void *options, char **args, int count)
{
	last_options = options;
	last_run = *(struct run_options *)options;
	last_count = count;
	last_args[0] = '\0';
	for (int i = 0; i < count; i++) {
		size_t len = strlen(last_args);

		(void)snprintf(last_args + len, sizeof(last_args) - len, "[%s]", args[i]);
	}
	runs++;
	return count == 13 ? CLI_LOST_RACE : CLI_OK;
}

static const struct cli_command run_command_row = {
	.name = "run",
	.arguments = "[--] PROMPT…",
	.args_min = 1,
	.args_max = -1,
	.purpose = "give a bot a prompt and follow it",
	.about =
		"A first paragraph that is long enough to be wrapped at the edge of the terminal.\n"
		"\n"
		"  examples   stay as they are\n",
	.groups[0] = {NULL,                   run_rows,              ARRAY_LEN(run_rows), 0},
	.groups[1] = {       "Limits of a new bot",            limit_rows, ARRAY_LEN(limit_rows),                   0 },
	.groups[2] = { "Where", place_rows,                   ARRAY_LEN(place_rows),
		      offsetof(struct run_options,                                 place)},
	.options_size = sizeof(struct run_options),
	.run = sample_run,
};
static const struct cli_command list_command_row = {
	.name = "ls",
	.purpose = "list the bots",
	.groups[0] = {NULL, place_rows, ARRAY_LEN(place_rows), 0},
	.options_size = sizeof(struct run_options),
	.run = sample_run,
};
static const struct cli_command login_command_row = {
	.name = "login chatgpt",
	.purpose = "sign in with a browser",
	.options_size = sizeof(struct run_options),
	.run = sample_run,
};
static const struct cli_command interrupt_command_row = {
	.name = "interrupt",
	.arguments = "[NAME]",
	.args_max = 1,
	.purpose = "stop the running turn",
	.options_size = sizeof(struct run_options),
	.run = sample_run,
};
static const struct cli_command *const sample_commands[] = {
	&run_command_row,
	&list_command_row,
	&login_command_row,
	&interrupt_command_row,
};
static const struct cli_program sample = {
	"sample",
	"1.2.3",
	"runs things for a test",
	sample_commands,
	ARRAY_LEN(sample_commands),
	"Environment:\n  SAMPLE_STORE   the store, when --store is not given\n",
};

#endif
