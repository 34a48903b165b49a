/* A table for people. */
#include "agent/cmd/columns.h"

#include <stdlib.h>

#include "mem/mem.h"

enum {
	GAP = 2,
	CELL_MAX_BYTES = 4096 * 10, /* ours: a path, each byte of it escaped */
};

static void add(struct columns *c, char *cell)
{
	c->cells = xrealloc(c->cells, c->cell_count + 1, sizeof(*c->cells));
	c->cells[c->cell_count++] = cell;
}

void columns_init(struct columns *c, const char *const *headings)
{
	*c = (struct columns){.cells = NULL};
	for (size_t i = 0; headings[i]; i++)
		add(c, xstrdup(headings[i]));
	c->count = c->cell_count;
	must(c->count > 0 && c->count <= COLUMNS_MAX);
}

void columns_add(struct columns *c, struct str text)
{
	struct buf b = BUF_INIT(CELL_MAX_BYTES);

	if (!text.p)
		text = STR("-");
	if (text_put_line(&b, text) < 0)
		(void)buf_puts(&b, "(too long to show)"); /* fits: nothing was written */
	add(c, buf_take(&b));
}

/* In characters, each taken as one column. */
static size_t width_of(const char *s)
{
	size_t width = 0;

	for (; *s; s++)
		width += ((unsigned char)*s & 0xc0) != 0x80;
	return width;
}

int columns_write(const struct columns *c, struct buf *to)
{
	size_t widths[COLUMNS_MAX] = {0};

	must(c->cell_count % c->count == 0);
	if (c->cell_count == c->count)
		return 0;
	for (size_t i = 0; i < c->cell_count; i++) {
		size_t width = width_of(c->cells[i]);

		if (width > widths[i % c->count])
			widths[i % c->count] = width;
	}
	for (size_t i = 0; i < c->cell_count; i++) {
		bool last = i % c->count == c->count - 1;
		size_t pad = widths[i % c->count] - width_of(c->cells[i]) + GAP;

		(void)buf_puts(to, c->cells[i]); /* a full buffer is seen at the end */
		if (last)
			(void)buf_putc(to, '\n');
		else
			(void)buf_printf(to, "%*s", (int)pad, "");
	}
	return to->full ? -1 : 0;
}

void columns_release(struct columns *c)
{
	for (size_t i = 0; i < c->cell_count; i++)
		free(c->cells[i]);
	free(c->cells);
	*c = (struct columns){.cells = NULL};
}
