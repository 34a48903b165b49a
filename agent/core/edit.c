/*
 * One text replaced by another, byte for byte elsewhere.
 *
 * An `old` without a carriage return is matched against the content with its CRLFs read as line
 * ends, and a `new` takes the line ends of its place. Where the model wrote carriage returns, it
 * meant them: they are taken literally. Searching is linear in the content, also for hostile texts.
 */
#include "agent/core/edit.h"

const struct error_kind EDIT_TARGET_NOT_FOUND = {"edit_target_not_found", ERROR_CLASS_NOT_FOUND};
const struct error_kind EDIT_TARGET_AMBIGUOUS = {"edit_target_ambiguous", ERROR_CLASS_CONFLICT};
const struct error_kind EDIT_NOT_UTF8 = {"edit_not_utf8", ERROR_CLASS_USAGE};
const struct error_kind EDIT_TOO_LARGE = {"edit_result_too_large", ERROR_CLASS_LIMIT};

enum { LIST_MAX_BYTES = 256 }; /* ours: line numbers in an error, which holds 512 bytes */

#define NO_PLACE ((size_t)-1)

/* The content as it is searched: CRLF became LF. */
struct view {
	struct str original, text;
	struct buf store;  /* of text when it is no borrowed original */
	uint32_t *removed; /* offsets in text of the line feeds that a CR stood before, ascending */
	size_t removed_count;
};

static void view_cleanup(struct view *v)
{
	buf_release(&v->store);
	free(v->removed);
}

static size_t first_invalid(struct str s)
{
	size_t at = 0, len = 1;
	uint32_t point;

	while (at < s.len && len > 0) {
		len = utf8_decode(s.p + at, s.len - at, &point);
		at += len;
	}
	return at;
}

int edit_check_text(struct str content, struct error *err)
{
	static const char advice[] = "change it with a shell command, such as iconv or sed";

	if (utf8_valid(content))
		return 0;
	if (str_starts(content, STR("\xff\xfe")) || str_starts(content, STR("\xfe\xff")))
		return error_set(err, &EDIT_NOT_UTF8, "the file is UTF-16: %s", advice);
	return error_set(err, &EDIT_NOT_UTF8, "the file is not UTF-8 from byte %zu on: %s",
		first_invalid(content) + 1, advice);
}

/* Makes the view; `literal` keeps carriage returns. */
static void view_init(struct view *v, struct str content, bool literal)
{
	size_t from = 0;

	*v = (struct view){
		.original = content, .text = content, .store = BUF_INIT(content.len + 1)};
	if (literal || str_find(content, STR("\r\n"), 0) < 0)
		return;
	v->removed = xcalloc(content.len / 2, sizeof(*v->removed));
	for (;;) {
		ptrdiff_t at = str_find(content, STR("\r\n"), from);
		size_t end = at < 0 ? content.len : (size_t)at;

		must(buf_put(&v->store, content.p + from, end - from) == 0);
		if (at < 0)
			break;
		v->removed[v->removed_count++] = (uint32_t)v->store.len;
		from = end + 1; /* the line feed comes with the next part */
	}
	v->text = buf_str(&v->store);
}

/* Where an offset of the view lies in the original; *seen counts carriage returns left out before
 * it and only grows: ask in ascending order. */
static size_t to_original(const struct view *v, size_t at, size_t *seen)
{
	while (*seen < v->removed_count && v->removed[*seen] < at)
		(*seen)++;
	return at + *seen;
}

static bool has(struct str s, char c)
{
	return s.len > 0 && memchr(s.p, c, s.len);
}

static size_t find(struct str text, struct str needle, size_t from)
{
	const char *at;

	if (from > text.len || text.len - from < needle.len)
		return NO_PLACE;
	at = memmem(text.p + from, text.len - from, needle.p, needle.len);
	return at ? (size_t)(at - text.p) : NO_PLACE;
}

static size_t count_lines(struct str text, size_t from, size_t to)
{
	size_t lines = 0;

	for (const char *p = text.p + from; (p = memchr(p, '\n', (size_t)(text.p + to - p))); p++)
		lines++;
	return lines;
}

/* Appends the lines of the first places, overlapping ones too: "4, 9, 12". */
static void list_places(struct buf *list, struct str text, struct str needle, size_t *ret_count)
{
	size_t line = 1, counted = 0, count = 0, last = 0;

	for (size_t at = find(text, needle, 0); at != NO_PLACE; at = find(text, needle, at + 1)) {
		line += count_lines(text, counted, at);
		counted = at;
		if (++count > EDIT_PLACES_SHOWN) {
			(void)buf_puts(list, " …");
			break;
		}
		if (line != last)
			(void)buf_printf(list, "%s%zu", count > 1 ? ", " : "", line);
		last = line;
	}
	*ret_count = count;
}

static int ambiguous(const struct view *v, struct str old, struct error *err)
{
	_cleanup_(buf) struct buf list = BUF_INIT(LIST_MAX_BYTES);
	size_t count;

	list_places(&list, v->text, old, &count);
	return error_set(err, &EDIT_TARGET_AMBIGUOUS,
		"old stands in %s%zu places (lines %s): give more of the text around the one you "
		"mean, or set "
		"replace_all",
		count > EDIT_PLACES_SHOWN ? "more than " : "",
		count > EDIT_PLACES_SHOWN ? (size_t)EDIT_PLACES_SHOWN : count, buf_str(&list).p);
}

/* The first line of the text that has something on it. */
static struct str first_words(struct str text)
{
	struct str line;

	while (str_next(&text, '\n', &line)) {
		line = str_trim(line);
		if (line.len > 0)
			return line;
	}
	return (struct str){NULL, 0};
}

static int not_found(const struct view *v, struct str old, struct error *err)
{
	_cleanup_(buf) struct buf list = BUF_INIT(LIST_MAX_BYTES);
	struct str words = first_words(old);
	size_t count = 0;

	if (words.p && words.len < old.len)
		list_places(&list, v->text, words, &count);
	if (count == 0)
		return error_set(err, &EDIT_TARGET_NOT_FOUND, "old is not in the file%s",
			has(old, '\r') ? " (it holds a carriage return)" : "");
	return error_set(err, &EDIT_TARGET_NOT_FOUND,
		"old is not in the file; its first words are, at lines %s: look at the white space "
		"and at what "
		"follows",
		buf_str(&list).p);
}

/* Looks line ends up, in ascending order of places, without reading anything twice. */
struct line_ends {
	struct str content;
	size_t next; /* the first line feed at or after the place asked for last, or content.len */
	const char *last; /* the last line feed of all */
	bool ready;
};

/* What ends lines at [start, end): inside it, else after it, else before it. */
static const char *line_end_at(struct line_ends *l, size_t start)
{
	const char *feed;

	if (!l->ready) {
		l->last = memrchr(l->content.p, '\n', l->content.len);
		l->next = 0;
	}
	if (!l->ready || l->next < start) {
		feed = memchr(l->content.p + start, '\n', l->content.len - start);
		l->next = feed ? (size_t)(feed - l->content.p) : l->content.len;
	}
	l->ready = true;
	feed = l->next < l->content.len ? l->content.p + l->next : l->last;
	return feed && feed > l->content.p && feed[-1] == '\r' ? "\r\n" : "\n";
}

/* Appends `new` with these line ends. */
static void put_new(struct buf *to, struct str new, const char *line_end)
{
	struct str line;
	bool first = true;

	if (line_end[0] == '\n') {
		(void)buf_put_str(to, new);
		return;
	}
	while (str_next(&new, '\n', &line)) {
		if (!first)
			(void)buf_puts(to, line_end);
		(void)buf_put_str(to, line);
		first = false;
	}
}

/* Writes the content with every place, the first of which is at `at`, replaced. */
static void put_all(const struct view *v, const struct edit *e, size_t at, struct buf *to,
	struct edit_report *ret)
{
	struct line_ends ends = {.content = v->original};
	size_t seen = 0, copied = 0, line = 1, counted = 0;
	bool has_lines = has(e->new, '\n') && !has(e->new, '\r') && !has(e->old, '\r');

	*ret = (struct edit_report){.count = 0};
	for (; at != NO_PLACE && !to->full; at = find(v->text, e->old, at + e->old.len)) {
		size_t start = to_original(v, at, &seen);
		size_t end = to_original(v, at + e->old.len, &seen);

		(void)buf_put(to, v->original.p + copied,
			start - copied); /* fullness is looked at below */
		if (ret->count < EDIT_PLACES_SHOWN && !to->full) {
			line += count_lines(buf_str(to), counted, to->len);
			counted = to->len;
			ret->lines[ret->count] = line;
		}
		put_new(to, e->new, has_lines ? line_end_at(&ends, start) : "\n");
		copied = end;
		ret->count++;
	}
	(void)buf_put(to, v->original.p + copied, v->original.len - copied);
}

int edit_replace(struct str content, const struct edit *e, struct buf *to, struct edit_report *ret,
	struct error *err)
{
	_cleanup_(view) struct view v;
	struct edit_report report;
	size_t at;

	view_init(&v, STR(""), true);
	if (e->old.len == 0)
		return error_set(
			err, &EDIT_TARGET_NOT_FOUND, "old is empty: it would match everywhere");
	if (content.len > EDIT_FILE_MAX_BYTES)
		return error_set(
			err, &EDIT_TOO_LARGE, "the file is over %d bytes", EDIT_FILE_MAX_BYTES);
	if (edit_check_text(content, err) < 0)
		return -1;
	view_init(&v, content, has(e->old, '\r'));
	at = find(v.text, e->old, 0);
	if (at == NO_PLACE)
		return not_found(&v, e->old, err);
	if (!e->replace_all && find(v.text, e->old, at + 1) != NO_PLACE)
		return ambiguous(&v, e->old, err);
	put_all(&v, e, at, to, &report);
	if (to->full || to->len > EDIT_FILE_MAX_BYTES) {
		buf_clear(to);
		return error_set(err, &EDIT_TOO_LARGE, "the file would be over %d bytes",
			EDIT_FILE_MAX_BYTES);
	}
	*ret = report;
	return 0;
}
