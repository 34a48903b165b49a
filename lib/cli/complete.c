/*
 * complete: the scripts that let a shell complete a program's commands and options, from the same
 * rows that are parsed. Values are completed where their name says what they are: FILE and FOLDER.
 */
#include "cli/internal.h"
#include "mem/mem.h"

const char *const cli_shells[] = {"bash", "zsh", "fish", NULL};

enum value_sort { VALUE_NONE, VALUE_FILE, VALUE_FOLDER, VALUE_OTHER };

static enum value_sort value_of(const struct cli_option *o)
{
	static const struct {
		const char *name;
		enum value_sort sort;
	} sorts[] = {
		{"FILE", VALUE_FILE  },
		{"PATH", VALUE_FILE  },
		{"DIR",  VALUE_FOLDER},
	};

	if (!o->value)
		return VALUE_NONE;
	for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
		if (strcmp(o->value, sorts[i].name) == 0)
			return sorts[i].sort;
	}
	return VALUE_OTHER;
}

/* A text within '…'; `colon` (zsh) also escapes what ends a description there. */
static void put_quoted(struct buf *to, const char *text, bool colon)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\'')
			(void)buf_puts(to, "'\\''");
		else if (colon && strchr("[]:\\", *p))
			(void)buf_printf(to, "\\%c", *p);
		else
			(void)buf_putc(to, *p);
	}
}

/* bash: the words that may come next, by the command. A flag before it is only --help, --version.
 */

static void bash_options(struct buf *to, const struct cli_command *c)
{
	const struct cli_option *o;

	(void)buf_printf(to, "\t'%s') words='--help", c->name);
	for (size_t n = 0; (o = cli_option_at(c, n, NULL)); n++)
		(void)buf_printf(to, " --%s", o->name);
	(void)buf_puts(to, "' ;;\n");
}

/* The options of all commands whose value is of this sort, as a pattern of `case`. */
static void bash_pattern(struct buf *to, const struct cli_program *p, enum value_sort sort)
{
	_cleanup_(buf) struct buf seen = BUF_INIT(64 * 1024);
	bool first = true;

	(void)buf_puts(&seen, "|");
	for (size_t i = 0; i < p->count; i++) {
		const struct cli_option *o;

		for (size_t n = 0; (o = cli_option_at(p->commands[i], n, NULL)); n++) {
			_cleanup_(mem) char *name = xasprintf("|--%s|", o->name);

			if (value_of(o) != sort || strstr(seen.data, name))
				continue;
			(void)buf_puts(&seen, name + 1);
			(void)buf_printf(to, "%s--%s", first ? "" : " | ", o->name);
			first = false;
		}
	}
	if (first)
		(void)buf_puts(to, "''"); /* none: a word that is never there */
}

static void bash_values(struct buf *to, const struct cli_program *p)
{
	(void)buf_puts(to, "\tcase $before in\n\t");
	bash_pattern(to, p, VALUE_FILE);
	(void)buf_puts(to, ")\n\t\tcompopt -o filenames\n"
			   "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
			   "\t\treturn ;;\n\t");
	bash_pattern(to, p, VALUE_FOLDER);
	(void)buf_puts(to, ")\n\t\tcompopt -o filenames\n"
			   "\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
			   "\t\treturn ;;\n\t");
	bash_pattern(to, p, VALUE_OTHER);
	(void)buf_puts(to, ") return ;;\n\tesac\n");
}

static void put_bash(struct buf *to, const struct cli_program *p)
{
	(void)buf_printf(to,
		"# bash completion of %s: made by '%s completion bash'\n"
		"_%s()\n{\n"
		"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tlocal command=${COMP_WORDS[1]} words\n"
		"\tCOMPREPLY=()\n"
		"\t[ \"$word\" = = ] && word=\n"
		"\t[ \"$before\" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}\n",
		p->name, p->name, p->name);
	(void)buf_puts(to, "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords='help --help --version");
	for (size_t i = 0; i < p->count; i++)
		(void)buf_printf(
			to, " %.*s", (int)cli_first_word(p->commands[i]), p->commands[i]->name);
	(void)buf_puts(to, "'\n\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
			   "\t\treturn\n\tfi\n");
	bash_values(to, p);
	(void)buf_puts(to, "\tcase \"$command ${COMP_WORDS[2]-}\" in\n");
	for (size_t i = 0; i < p->count; i++) {
		const struct cli_command *c = p->commands[i];

		if (c->name[cli_first_word(c)])
			(void)buf_printf(to, "\t'%s') command='%s' ;;\n", c->name, c->name);
	}
	(void)buf_puts(to, "\tesac\n\tcase $command in\n");
	for (size_t i = 0; i < p->count; i++)
		bash_options(to, p->commands[i]);
	(void)buf_puts(to, "\t*) return ;;\n\tesac\n"
			   "\tcase $word in\n"
			   "\t-*) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\") ;;\n"
			   "\tesac\n}\n");
	(void)buf_printf(to, "complete -o default -F _%s %s\n", p->name, p->name);
}

/* zsh: one _arguments call a command. */

static void zsh_option(struct buf *to, const struct cli_option *o)
{
	static const char *const actions[] = {
		[VALUE_FILE] = "_files", [VALUE_FOLDER] = "_files -/", [VALUE_OTHER] = " "};

	(void)buf_printf(to, " \\\n\t\t\t'%s--%s%s[", o->sort == CLI_TEXTS ? "*" : "", o->name,
		o->value ? "=" : "");
	put_quoted(to, o->help, true);
	(void)buf_putc(to, ']');
	if (o->value) {
		(void)buf_putc(to, ':');
		put_quoted(to, o->value, true);
		(void)buf_printf(to, ":%s", actions[value_of(o)]);
	}
	(void)buf_putc(to, '\'');
}

static void zsh_command(struct buf *to, const struct cli_command *c)
{
	const struct cli_option *o;

	(void)buf_printf(
		to, "\t'%s')\n\t\t_arguments -s '(- *)--help[print this and exit]'", c->name);
	for (size_t n = 0; (o = cli_option_at(c, n, NULL)); n++)
		zsh_option(to, o);
	if (c->args_max != 0)
		(void)buf_puts(to, " \\\n\t\t\t'*::argument:_default'");
	(void)buf_puts(to, "\n\t\t;;\n");
}

static void put_zsh(struct buf *to, const struct cli_program *p)
{
	(void)buf_printf(to,
		"#compdef %s\n# zsh completion of %s: made by '%s completion zsh'\n"
		"_%s()\n{\n\tlocal -a commands\n\tlocal command\n\tcommands=(\n",
		p->name, p->name, p->name, p->name);
	for (size_t i = 0; i < p->count; i++) {
		const struct cli_command *c = p->commands[i];

		(void)buf_printf(to, "\t\t'%.*s:", (int)cli_first_word(c), c->name);
		put_quoted(to, c->purpose, false);
		(void)buf_puts(to, "'\n");
	}
	(void)buf_printf(to,
		"\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe 'command' commands\n"
		"\t\treturn\n\tfi\n\tcommand=${words[2]}\n"
		"\tshift words\n\t(( CURRENT-- ))\n"
		"\tcase \"$command ${words[2]-}\" in\n");
	for (size_t i = 0; i < p->count; i++) {
		const struct cli_command *c = p->commands[i];

		if (c->name[cli_first_word(c)])
			(void)buf_printf(to,
				"\t'%s')\n\t\tcommand='%s'\n\t\tshift words\n"
				"\t\t(( CURRENT-- ))\n\t\t;;\n",
				c->name, c->name);
	}
	(void)buf_puts(to, "\tesac\n\tcase $command in\n");
	for (size_t i = 0; i < p->count; i++)
		zsh_command(to, p->commands[i]);
	(void)buf_printf(to,
		"\tesac\n}\nif [ \"$funcstack[1]\" = _%s ]; then\n\t_%s \"$@\"\nelse\n"
		"\tcompdef _%s %s\nfi\n",
		p->name, p->name, p->name, p->name);
}

/* fish: one line an option. */

static void fish_when(struct buf *to, const struct cli_command *c)
{
	size_t first = cli_first_word(c);

	(void)buf_printf(to, "'__fish_seen_subcommand_from %.*s", (int)first, c->name);
	if (c->name[first])
		(void)buf_printf(to, "; and __fish_seen_subcommand_from %s", c->name + first + 1);
	(void)buf_putc(to, '\'');
}

static void fish_option(struct buf *to, const struct cli_program *p, const struct cli_command *c,
	const struct cli_option *o)
{
	static const char *const values[] = {[VALUE_NONE] = "",
		[VALUE_FILE] = " -r -F",
		[VALUE_FOLDER] = " -x -a '(__fish_complete_directories)'",
		[VALUE_OTHER] = " -x"};

	(void)buf_printf(to, "complete -c %s -n ", p->name);
	fish_when(to, c);
	(void)buf_printf(to, " -l %s%s -d '", o->name, values[value_of(o)]);
	put_quoted(to, o->help, false);
	(void)buf_puts(to, "'\n");
}

static void put_fish(struct buf *to, const struct cli_program *p)
{
	(void)buf_printf(to,
		"# fish completion of %s: made by '%s completion fish'\ncomplete -c %s -f\n"
		"complete -c %s -l help -s h -d 'print help and exit'\n",
		p->name, p->name, p->name, p->name);
	for (size_t i = 0; i < p->count; i++) {
		const struct cli_command *c = p->commands[i];
		const struct cli_option *o;

		(void)buf_printf(to, "complete -c %s -n __fish_use_subcommand -a %.*s -d '",
			p->name, (int)cli_first_word(c), c->name);
		put_quoted(to, c->purpose, false);
		(void)buf_puts(to, "'\n");
		for (size_t n = 0; (o = cli_option_at(c, n, NULL)); n++)
			fish_option(to, p, c, o);
	}
}

int cli_completion(const struct cli_program *p, const char *shell, struct buf *to)
{
	static void (*const writers[])(struct buf *, const struct cli_program *) = {
		put_bash, put_zsh, put_fish};

	for (size_t i = 0; i < ARRAY_LEN(writers); i++) {
		if (strcmp(shell, cli_shells[i]) == 0) {
			writers[i](to, p);
			return to->full ? -1 : 0;
		}
	}
	return -1;
}
