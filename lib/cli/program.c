/*
 * program: from main's arguments to a command's run, with help, version and usage errors on the
 * way.
 */
#include <stdalign.h>
#include <stdio.h>

#include "cli/internal.h"
#include "mem/mem.h"

enum {
	OPTIONS_MAX_BYTES = 4096,      /* cli.h */
	HELP_MAX_BYTES = 64 * 1024,    /* ours: four times the longest */
	SCRIPT_MAX_BYTES = 512 * 1024, /* ours: completion has each option of each command */
};

static const char *program_name = "";

size_t cli_first_word(const struct cli_command *c)
{
	return strcspn(c->name, " ");
}

/* The command that argv begins with, and of how many words its name is. NULL when there is none. */
static const struct cli_command *find_command(
	const struct cli_program *p, int argc, char **argv, int *ret_words)
{
	const struct cli_command *found = NULL;

	for (size_t i = 0; i < p->count; i++) {
		const struct cli_command *c = p->commands[i];
		size_t first = cli_first_word(c);

		if (!str_eq(str_from(argv[0]), (struct str){c->name, first}))
			continue;
		if (!c->name[first] && !found) {
			found = c;
			*ret_words = 1;
		} else if (c->name[first] && argc > 1 &&
			   strcmp(argv[1], c->name + first + 1) == 0) {
			*ret_words = 2;
			return c;
		}
	}
	return found;
}

/* "chatgpt, other": the second words of the commands that begin with this one; NULL when none does.
 */
static char *second_words(const struct cli_program *p, const char *first)
{
	struct buf b = BUF_INIT(1024);

	for (size_t i = 0; i < p->count; i++) {
		const char *name = p->commands[i]->name;
		size_t len = cli_first_word(p->commands[i]);

		if (name[len] && str_eq(str_from(first), (struct str){name, len}))
			(void)buf_printf(&b, "%s%s", b.len ? ", " : "", name + len + 1);
	}
	if (b.len == 0) {
		buf_release(&b);
		return NULL;
	}
	return buf_take(&b);
}

static int say_usage(const char *command, const char *text)
{
	(void)fflush(stdout); /* in order, when both go to one terminal */
	(void)fprintf(stderr, "%s%s%s: %s\nTry '%s%s%s --help'.\n", program_name,
		*command ? " " : "", command, text, program_name, *command ? " " : "", command);
	return CLI_USAGE;
}

static int no_such_command(const struct cli_program *p, int argc, char **argv)
{
	_cleanup_(mem) char *seconds = second_words(p, argv[0]);
	const char *near = cli_suggest_command(p, argv[0]);
	struct error err = ERROR_INIT; /* for its cleaning of what was typed */

	if (seconds && argc > 1)
		(void)error_set(&err, &CLI_USAGE_ERROR,
			"unknown command '%s %s'; after '%s' comes: %s", argv[0], argv[1], argv[0],
			seconds);
	else if (seconds)
		(void)error_set(&err, &CLI_USAGE_ERROR, "after '%s' comes: %s", argv[0], seconds);
	else if (argv[0][0] == '-')
		(void)error_set(&err, &CLI_USAGE_ERROR,
			"'%s' is misplaced: the command comes first", argv[0]);
	else if (near)
		(void)error_set(&err, &CLI_USAGE_ERROR, "unknown command '%s'; did you mean '%s'?",
			argv[0], near);
	else
		(void)error_set(&err, &CLI_USAGE_ERROR, "unknown command '%s'", argv[0]);
	return say_usage("", err.text);
}

static int print(const char *text)
{
	if (fputs(text, stdout) < 0 || fflush(stdout) != 0) {
		perror(program_name);
		return CLI_FAILED;
	}
	return CLI_OK;
}

static int print_help(const struct cli_program *p, const struct cli_command *c)
{
	_cleanup_(buf) struct buf b = BUF_INIT(HELP_MAX_BYTES);

	must(cli_help(p, c, &b) == 0);
	return print(b.data);
}

/* `help`, `help COMMAND`. */
static int help_command(const struct cli_program *p, int argc, char **argv)
{
	const struct cli_command *c;
	int words = 0;

	if (argc == 0)
		return print_help(p, NULL);
	if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 ||
		strcmp(argv[0], "-h") == 0)
		return print_help(p, NULL);
	c = find_command(p, argc, argv, &words);
	if (!c)
		return no_such_command(p, argc, argv);
	if (argc > words)
		return cli_usage("help", "unexpected argument '%s'", argv[words]);
	return print_help(p, c);
}

/* `completion SHELL`. */
static int completion_command(const struct cli_program *p, int argc, char **argv)
{
	_cleanup_(buf) struct buf b = BUF_INIT(SCRIPT_MAX_BYTES);

	if (argc != 1)
		return cli_usage("completion", "needs the shell: bash, zsh or fish");
	if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)
		return print_help(p, NULL);
	if (cli_completion(p, argv[0], &b) < 0)
		return cli_usage(
			"completion", "no shell '%s'; there are: bash, zsh, fish", argv[0]);
	return print(b.data);
}

static int run_command(
	const struct cli_program *p, const struct cli_command *c, int argc, char **argv)
{
	alignas(max_align_t) char options[OPTIONS_MAX_BYTES] = {0};
	struct cli_words words = {argv, argc};
	struct error err = ERROR_INIT;
	int rc, status;

	must(c->options_size <= sizeof(options));
	rc = cli_read(p, c, &words, options, &err);
	if (rc < 0)
		return say_usage(c->name, err.text);
	if (rc > 0)
		return print_help(p, c);
	status = c->run(options, words.items, words.count);
	cli_release(c, options);
	return status;
}

int cli_main(const struct cli_program *p, int argc, char **argv)
{
	const struct cli_command *c;
	int words = 0;

	program_name = p->name;
	if (argc < 2) {
		_cleanup_(buf) struct buf b = BUF_INIT(HELP_MAX_BYTES);

		must(cli_help(p, NULL, &b) == 0);
		(void)fputs(b.data, stderr);
		return CLI_USAGE;
	}
	argc--;
	argv++;
	if (strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "--help") == 0)
		return print_help(p, NULL);
	if (strcmp(argv[0], "help") == 0)
		return help_command(p, argc - 1, argv + 1);
	if (strcmp(argv[0], "completion") == 0)
		return completion_command(p, argc - 1, argv + 1);
	if (strcmp(argv[0], "--version") == 0 && argc == 1) {
		_cleanup_(mem) char *line = xasprintf("%s %s\n", p->name, p->version);

		return print(line);
	}
	c = find_command(p, argc, argv, &words);
	if (!c)
		return no_such_command(p, argc, argv);
	return run_command(p, c, argc - words, argv + words);
}

int cli_usage(const char *command, const char *format, ...)
{
	_cleanup_(mem) char *text = NULL;
	struct error err = ERROR_INIT;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	(void)error_set(&err, &CLI_USAGE_ERROR, "%s", text);
	return say_usage(command, err.text);
}
