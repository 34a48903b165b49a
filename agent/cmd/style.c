/* How things look. */
#include "agent/cmd/style.h"

#include <inttypes.h>

#include "mem/mem.h"

static const char *const codes[] = {
	[STYLE_PLAIN] = "",
	[STYLE_BOLD] = "\033[1m",
	[STYLE_DIM] = "\033[2m",
	[STYLE_GOOD] = "\033[32m",
	[STYLE_BAD] = "\033[31m",
	[STYLE_ASK] = "\033[33m",
};

static void begin(struct buf *to, bool colours, enum style s)
{
	if (colours && s != STYLE_PLAIN)
		(void)buf_puts(to, codes[s]); /* full is seen by the owner of the buffer */
}

static void end(struct buf *to, bool colours, enum style s)
{
	if (colours && s != STYLE_PLAIN)
		(void)buf_puts(to, "\033[0m");
}

void style_put(struct buf *to, bool colours, enum style s, const char *text)
{
	struct str words = str_from(text);
	bool newline = str_ends(words, STR("\n"));

	words.len -= newline;
	if (words.len > 0) {
		begin(to, colours, s);
		(void)buf_put_str(to, words);
		end(to, colours, s);
	}
	if (newline)
		(void)buf_putc(to, '\n');
}

/* At most `max` bytes, less a character that the cut would split. */
static struct str cut(struct str text, size_t max)
{
	size_t back = 0;

	if (text.len <= max)
		return text;
	while (back < 4 && back < max && ((unsigned char)text.p[max - back] & 0xc0) == 0x80)
		back++;
	return (struct str){text.p, back < 4 ? max - back : max};
}

static void put_line(
	struct buf *to, bool colours, enum style s, struct str text, size_t max, bool tabs)
{
	struct str shown = cut(text, max);

	begin(to, colours, s);
	if (tabs)
		(void)text_put_visible(to, shown);
	else
		(void)text_put_line(to, shown);
	if (shown.len < text.len)
		(void)buf_puts(to, " ...");
	end(to, colours, s);
}

void style_line(struct buf *to, bool colours, enum style s, struct str text, size_t max)
{
	put_line(to, colours, s, text, max, false);
}

static size_t count_lines(struct str text)
{
	size_t count = 0;
	struct str line;

	while (str_next(&text, '\n', &line))
		count++;
	return count;
}

static void put_left_out(struct buf *to, bool colours, const struct style_block *how, size_t count)
{
	_cleanup_(mem) char *text = xasprintf(
		"... %zu line%s left out ...", count, count == 1 ? "" : "s");

	(void)buf_printf(to, "%*s", (int)how->indent, "");
	style_put(to, colours, STYLE_DIM, text);
	(void)buf_putc(to, '\n');
}

void style_block(
	struct buf *to, bool colours, enum style s, struct str text, const struct style_block *how)
{
	size_t count, at = 0, first_out, last_out;
	struct str line;

	if (str_ends(text, STR("\n")))
		text.len--;
	count = count_lines(text);
	/* what is left out is at least two lines: for one the mark would take as much room */
	first_out = count > how->head_lines + how->tail_lines + 1 ? how->head_lines : count;
	last_out = first_out < count ? count - how->tail_lines : count;
	for (; str_next(&text, '\n', &line); at++) {
		if (at == first_out)
			put_left_out(to, colours, how, last_out - first_out);
		if (at >= first_out && at < last_out)
			continue;
		if (str_ends(line, STR("\r")))
			line.len--;
		if (line.len > 0)
			(void)buf_printf(to, "%*s", (int)how->indent, "");
		put_line(to, colours, s, line, how->line_max_bytes, true);
		(void)buf_putc(to, '\n');
	}
}

void style_duration(struct buf *to, int64_t ms)
{
	if (ms < 1000)
		(void)buf_printf(to, "%" PRId64 " ms", ms < 0 ? 0 : ms);
	else if (ms < 60000)
		(void)buf_printf(to, "%" PRId64 ".%" PRId64 " s", ms / 1000, ms % 1000 / 100);
	else
		(void)buf_printf(
			to, "%" PRId64 " min %" PRId64 " s", ms / 60000, ms % 60000 / 1000);
}

void style_count(struct buf *to, int64_t n)
{
	if (n >= 1000) {
		style_count(to, n / 1000);
		(void)buf_printf(to, ",%03" PRId64, n % 1000);
	} else {
		(void)buf_printf(to, "%" PRId64, n);
	}
}
