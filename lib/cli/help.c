/*
 * help: the text of `--help`, from the same rows that are parsed. Two columns, 80 wide.
 */
#include <inttypes.h>

#include "cli/internal.h"
#include "mem/mem.h"

enum {
	WIDTH = 80,        /* of a terminal nobody has widened */
	INDENT = 2,        /* before a command or option */
	GAP = 2,           /* between the columns */
	LABEL_MAX = 28,    /* ours: a longer label has its text on the next line */
	LABEL_BYTES = 256, /* ours: names and value names are ours and short */
	TEXT_BYTES = 1024,
};

/* Characters, each taken as one column: our texts hold no wide ones. */
static size_t width_of(struct str s)
{
	size_t width = 0;

	for (size_t i = 0; i < s.len; i++)
		width += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return width;
}

static void put_blanks(struct buf *to, size_t count)
{
	while (count--)
		(void)buf_putc(to, ' '); /* a full buffer is seen once, by cli_help */
}

/* Words of one line, broken before column WIDTH, later lines indented. `at` is the column now. */
static void put_wrapped(struct buf *to, struct str text, size_t at, size_t indent)
{
	bool first = true;
	struct str word;

	while (str_next(&text, ' ', &word)) {
		size_t width = width_of(word);

		if (width == 0)
			continue;
		if (!first && at + 1 + width > WIDTH) {
			(void)buf_putc(to, '\n');
			put_blanks(to, indent);
			at = indent;
		} else if (!first) {
			(void)buf_putc(to, ' ');
			at++;
		}
		(void)buf_put_str(to, word);
		at += width;
		first = false;
	}
	(void)buf_putc(to, '\n');
}

/* Lines that fit stay as they are, columns and all; longer ones are wrapped at their own indent. */
static void put_paragraphs(struct buf *to, const char *text)
{
	struct str rest = str_from(text), line;

	while (str_next(&rest, '\n', &line)) {
		size_t indent = 0;

		if (!rest.p && line.len == 0)
			break; /* after the last newline */
		if (width_of(line) <= WIDTH) {
			(void)buf_put_str(to, line);
			(void)buf_putc(to, '\n');
			continue;
		}
		while (indent < line.len && line.p[indent] == ' ')
			indent++;
		put_blanks(to, indent);
		put_wrapped(to, (struct str){line.p + indent, line.len - indent}, indent, indent);
	}
}

static void put_row(struct buf *to, const char *label, size_t column, const char *text)
{
	size_t width = width_of(str_from(label));

	put_blanks(to, INDENT);
	(void)buf_puts(to, label);
	if (INDENT + width + GAP > column) {
		(void)buf_putc(to, '\n');
		put_blanks(to, column);
	} else {
		put_blanks(to, column - INDENT - width);
	}
	put_wrapped(to, str_from(text), column, column);
}

static void option_label(const struct cli_option *o, struct buf *to)
{
	(void)buf_printf(to, "--%s", o->name);
	if (o->value)
		(void)buf_printf(to, " %s", o->value);
}

static void option_text(const struct cli_option *o, struct buf *to)
{
	(void)buf_puts(to, o->help);
	if (o->sort == CLI_TEXTS)
		(void)buf_puts(to, " (may be repeated)");
	if (o->sort != CLI_NUMBER)
		return;
	if (o->max < INT64_MAX)
		(void)buf_printf(to, " (%" PRId64 " to %" PRId64 ")", o->min, o->max);
	else if (o->min > INT64_MIN && o->min != 0)
		(void)buf_printf(to, " (%" PRId64 " or more)", o->min);
}

static void widen(size_t *column, size_t label_width)
{
	if (label_width <= LABEL_MAX && INDENT + label_width + GAP > *column)
		*column = INDENT + label_width + GAP;
}

static size_t option_column(const struct cli_command *c)
{
	size_t column = INDENT + sizeof("--help, -h") - 1 + GAP;
	const struct cli_option *o;

	for (size_t n = 0; (o = cli_option_at(c, n, NULL)); n++) {
		_cleanup_(buf) struct buf label = BUF_INIT(LABEL_BYTES);

		option_label(o, &label);
		widen(&column, width_of(buf_str(&label)));
	}
	return column;
}

static void put_group(struct buf *to, const struct cli_group *g, size_t column)
{
	if (g->title)
		(void)buf_printf(to, "\n%s:\n", g->title);
	for (size_t i = 0; i < g->count; i++) {
		_cleanup_(buf) struct buf label = BUF_INIT(LABEL_BYTES),
					  text = BUF_INIT(TEXT_BYTES);

		option_label(&g->options[i], &label);
		option_text(&g->options[i], &text);
		put_row(to, buf_str(&label).p, column, buf_str(&text).p);
	}
}

/* "make a bot" as a sentence. */
static void put_purpose(struct buf *to, const char *purpose)
{
	bool lower = purpose[0] >= 'a' && purpose[0] <= 'z';
	_cleanup_(mem) char *sentence = xasprintf("%s.", purpose);

	if (lower)
		sentence[0] = (char)(sentence[0] - 'a' + 'A');
	put_wrapped(to, str_from(sentence), 0, 0);
}

static void put_command(struct buf *to, const struct cli_program *p, const struct cli_command *c)
{
	size_t column = option_column(c);
	const char *arguments = c->arguments ? c->arguments : "";

	(void)buf_printf(to, "Usage: %s %s [OPTION…]%s%s\n\n", p->name, c->name,
		*arguments ? " " : "", arguments);
	put_purpose(to, c->purpose);
	if (c->about) {
		(void)buf_putc(to, '\n');
		put_paragraphs(to, c->about);
	}
	(void)buf_puts(to, "\nOptions:\n");
	for (size_t g = 0; g < CLI_GROUPS_MAX; g++)
		if (!c->groups[g].title)
			put_group(to, &c->groups[g], column);
	put_row(to, "--help, -h", column, "print this and exit");
	for (size_t g = 0; g < CLI_GROUPS_MAX; g++)
		if (c->groups[g].title && c->groups[g].count)
			put_group(to, &c->groups[g], column);
}

static void put_program(struct buf *to, const struct cli_program *p)
{
	size_t column = INDENT + sizeof("--help, -h") - 1 + GAP;

	for (size_t i = 0; i < p->count; i++)
		widen(&column, width_of(str_from(p->commands[i]->name)));
	(void)buf_printf(to, "Usage: %s COMMAND [OPTION…] [ARGUMENT…]\n\n", p->name);
	put_purpose(to, p->purpose);
	(void)buf_puts(to, "\nCommands:\n");
	for (size_t i = 0; i < p->count; i++)
		put_row(to, p->commands[i]->name, column, p->commands[i]->purpose);
	(void)buf_puts(to, "\nOptions:\n");
	put_row(to, "--help, -h", column, "print this and exit");
	put_row(to, "--version", column, "print the version and exit");
	(void)buf_printf(to,
		"\n'%s help COMMAND' says more about a command.\n"
		"'%s completion SHELL' prints what bash, zsh or fish needs to complete.\n",
		p->name, p->name);
	if (p->footer) {
		(void)buf_putc(to, '\n');
		put_paragraphs(to, p->footer);
	}
}

int cli_help(const struct cli_program *p, const struct cli_command *c, struct buf *to)
{
	if (c)
		put_command(to, p, c);
	else
		put_program(to, p);
	return to->full ? -1 : 0;
}
