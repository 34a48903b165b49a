/*
 * Pages of numbered lines.
 */
#include "agent/tool/page.h"

const struct error_kind READ_LINE_TOO_LONG = {"read_line_too_long", ERROR_CLASS_LIMIT};

enum {
	NOTICES_MAX_BYTES = 512, /* ours: what all notices of a page together may take */
	NUMBER_MAX_BYTES = 24,   /* "%6d\t" of any number, and a line feed */
	REPLACEMENT_BYTES = 3,   /* U+FFFD */
};

/* What is known of the whole text. */
struct facts {
	size_t lines;
	bool crlf, cut_last, binary;
};

static struct facts look(struct str text)
{
	struct facts f = {
		.binary = !utf8_valid(text) || (text.len > 0 && memchr(text.p, 0, text.len))};
	const char *p = text.p, *end = text.p + text.len;

	while (p < end) {
		const char *feed = memchr(p, '\n', (size_t)(end - p));

		f.lines++;
		f.crlf = f.crlf || (feed && feed > p && feed[-1] == '\r');
		f.cut_last = !feed;
		p = feed ? feed + 1 : end;
	}
	return f;
}

/* Bytes that the line takes once it is clean. */
static size_t shown_bytes(struct str line)
{
	size_t bytes = 0, step;
	uint32_t point;

	if (utf8_valid(line))
		return line.len;
	for (size_t i = 0; i < line.len; i += step ? step : 1) {
		step = utf8_decode(line.p + i, line.len - i, &point);
		bytes += step ? step : REPLACEMENT_BYTES;
	}
	return bytes;
}

/* Skips to the line; *rest becomes what follows from there on. */
static void skip_lines(struct str *rest, int64_t count)
{
	struct str line;

	while (count-- > 0 && str_next(rest, '\n', &line))
		;
}

static void write_notices(const struct page_source *s, const struct facts *f, size_t first,
	size_t next, struct buf *to)
{
	if (f->lines == 0)
		(void)buf_puts(
			to, "[the file is empty]\n"); /* notices fit: room is left for them */
	else if (first > f->lines)
		(void)buf_printf(to, "[the last line is %zu]\n", f->lines);
	else if (next <= f->lines)
		(void)buf_printf(to, "[lines %zu to %zu of %zu: go on with offset %zu]\n", first,
			next - 1, f->lines, next);
	if (first > f->lines)
		return;
	if (f->binary)
		(void)buf_puts(to,
			"[not all of this is UTF-8 text: other bytes are shown as \xef\xbf\xbd]\n");
	if (f->crlf)
		(void)buf_puts(to, "[lines end in CRLF]\n");
	if (f->cut_last && next > f->lines)
		(void)buf_puts(to, "[no line end after the last line]\n");
	if (s->redacted)
		(void)buf_puts(to, "[secrets are shown as [REDACTED]: do not copy such a line into "
				   "an edit]\n");
}

/* Writes lines until limit or page is full; returns the number of the line that would come next. */
static size_t write_lines(struct str rest, size_t first, int64_t limit, struct buf *to)
{
	size_t room = PAGE_SHOWN_MAX_BYTES - NOTICES_MAX_BYTES, number = first;
	struct str line;

	while (limit-- > 0 && rest.len > 0 && str_next(&rest, '\n', &line)) {
		if (line.len > 0 && line.p[line.len - 1] == '\r' && rest.p)
			line.len--;
		if (line.len > room || to->len + NUMBER_MAX_BYTES + shown_bytes(line) > room)
			break;
		(void)buf_printf(to, "%6zu\t", number++); /* fits: there was room */
		(void)utf8_put_clean(to, line);
		(void)buf_putc(to, '\n');
	}
	return number;
}

static struct facts facts_of(const struct page_source *s)
{
	struct facts f = look(s->text);

	if (s->total > 0)
		f.lines = s->total;
	return f;
}

int page_write(const struct page_source *s, int64_t offset, int64_t limit, struct buf *to,
	struct error *err)
{
	struct facts f = facts_of(s);
	size_t first = (size_t)offset, next = first;
	struct str rest = s->text;

	if (first <= f.lines) {
		skip_lines(&rest, offset - 1 - (int64_t)s->before);
		next = write_lines(rest, first, limit, to);
		if (next == first)
			return error_set(err, &READ_LINE_TOO_LONG,
				"line %zu is longer than a page of %d bytes: use a shell command, "
				"such as cut",
				first, PAGE_SHOWN_MAX_BYTES);
	}
	write_notices(s, &f, first, next, to);
	return 0;
}
