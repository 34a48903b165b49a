/*
 * fuzz edit: the result is that of a slow and simple replacement: what lies outside the places is
 * unchanged, they are all there are, and more than one is refused unless all are meant.
 *
 * Input: a byte (1: all places), then content, old and new, with 0x1e between.
 */
#include "agent/core/edit.h"
#include "fuzz/fuzz.h"

enum { OUT_MAX_BYTES = 64 * 1024 * 1024 /* ours: far above any input */ };

#define NO_PLACE ((size_t)-1)

/* Where `old` ends when it stands at `at`: its line feeds match CRLF too, unless it has a CR. */
static size_t match_at(struct str content, size_t at, struct str old)
{
	const bool literal = old.len > 0 && memchr(old.p, '\r', old.len);

	for (size_t i = 0; i < old.len; i++) {
		if (!literal && old.p[i] == '\n' && content.len - at >= 2 &&
			content.p[at] == '\r' && content.p[at + 1] == '\n')
			at++;
		if (at == content.len || content.p[at] != old.p[i])
			return NO_PLACE;
		at++;
	}
	return at;
}

/* A line feed is no place of its own when its CR is: where old starts with one. */
static size_t find(struct str content, struct str old, size_t from)
{
	const bool literal = memchr(old.p, '\r', old.len);

	for (; from < content.len; from++) {
		if (!literal && from > 0 && content.p[from] == '\n' && content.p[from - 1] == '\r')
			continue;
		if (match_at(content, from, old) != NO_PLACE)
			return from;
	}
	return NO_PLACE;
}

/* Of the line that a place starts in; of the last line where it has none. */
static bool is_crlf(struct str content, size_t at)
{
	const char *feed = memchr(content.p + at, '\n', content.len - at);

	if (!feed)
		feed = memrchr(content.p, '\n', content.len);
	return feed && feed > content.p && feed[-1] == '\r';
}

static void put_new(struct buf *to, const struct edit *e, bool crlf)
{
	const bool literal = memchr(e->old.p, '\r', e->old.len) ||
			     (e->new.len > 0 && memchr(e->new.p, '\r', e->new.len));

	for (size_t i = 0; i < e->new.len; i++) {
		if (e->new.p[i] == '\n' && crlf && !literal)
			(void)buf_putc(to, '\r');
		(void)buf_putc(to, e->new.p[i]);
	}
}

static size_t line_of(const struct buf *b)
{
	size_t line = 1;

	for (size_t i = 0; i < b->len; i++)
		line += b->data[i] == '\n';
	return line;
}

static void replace(struct str content, const struct edit *e, struct buf *to, struct edit_report *r)
{
	size_t copied = 0;

	for (size_t at = find(content, e->old, 0); at != NO_PLACE;
		at = find(content, e->old, copied)) {
		(void)buf_put(to, content.p + copied, at - copied);
		if (r->count < EDIT_PLACES_SHOWN)
			r->lines[r->count] = line_of(to);
		r->count++;
		put_new(to, e, is_crlf(content, at));
		copied = match_at(content, at, e->old);
	}
	(void)buf_put(to, content.p + copied, content.len - copied);
	must(!to->full);
}

static bool is_too_large(struct str content, const struct edit *e)
{
	_cleanup_(buf) struct buf wanted = BUF_INIT(OUT_MAX_BYTES);
	struct edit_report r = {.count = 0};

	if (content.len > EDIT_FILE_MAX_BYTES)
		return true;
	replace(content, e, &wanted, &r);
	return wanted.len > EDIT_FILE_MAX_BYTES;
}

static void check_refused(struct str content, const struct edit *e, const struct error *err)
{
	const size_t first = e->old.len > 0 ? find(content, e->old, 0) : NO_PLACE;

	fuzz_check_error(err);
	if (error_is(err, &EDIT_NOT_UTF8))
		must(!utf8_valid(content));
	else if (error_is(err, &EDIT_TARGET_NOT_FOUND))
		must(first == NO_PLACE);
	else if (error_is(err, &EDIT_TARGET_AMBIGUOUS))
		must(!e->replace_all && first != NO_PLACE &&
			find(content, e->old, first + 1) != NO_PLACE);
	else
		must(error_is(err, &EDIT_TOO_LARGE) && is_too_large(content, e));
}

static void check_done(
	struct str content, const struct edit *e, struct str made, const struct edit_report *report)
{
	_cleanup_(buf) struct buf wanted = BUF_INIT(OUT_MAX_BYTES);
	struct edit_report r = {.count = 0};

	replace(content, e, &wanted, &r);
	must(str_eq(made, buf_str(&wanted)));
	must(report->count == r.count && r.count > 0 && (r.count == 1 || e->replace_all));
	for (size_t i = 0; i < r.count && i < EDIT_PLACES_SHOWN; i++)
		must(report->lines[i] == r.lines[i]);
	must(utf8_valid(content));
}

static struct str next_part(struct str *rest)
{
	struct str part = STR("");

	(void)str_next(rest, '\x1e', &part); /* absent: empty */
	return fuzz_exact(part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = fuzz_str(data + (size > 0), size > 0 ? size - 1 : 0);
	_cleanup_(fuzz_exact) const struct str content = next_part(&rest);
	_cleanup_(fuzz_exact) const struct str old = next_part(&rest);
	_cleanup_(fuzz_exact) const struct str new = next_part(&rest);
	const struct edit e = {.old = old, .new = new, .replace_all = size > 0 && (data[0] & 1)};
	_cleanup_(buf) struct buf made = BUF_INIT(OUT_MAX_BYTES);
	struct edit_report report = {.count = SIZE_MAX};
	struct error err = ERROR_INIT;

	if (edit_replace(content, &e, &made, &report, &err) < 0) {
		must(made.len == 0 && report.count == SIZE_MAX);
		check_refused(content, &e, &err);
		return 0;
	}
	check_done(content, &e, buf_str(&made), &report);
	return 0;
}
