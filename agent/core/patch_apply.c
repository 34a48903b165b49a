/*
 * Applies the hunks of one file (spec 5.5).
 *
 * A hunk's old lines are looked for after the hunk before: exactly, then without white space at
 * their ends, then without any around. The first of these levels that finds them decides. More than
 * one place is an error unless a header that stands there once led to it. Whatever the level, lines
 * that are kept keep the file's own bytes; lines that are put in take the line ends of where they
 * are put.
 */
#include "agent/core/patch_internal.h"

const struct error_kind PATCH_CONTEXT = {"patch_context_not_found", ERROR_CLASS_NOT_FOUND};
const struct error_kind PATCH_AMBIGUOUS = {"patch_context_ambiguous", ERROR_CLASS_CONFLICT};

enum {
	LIST_MAX_BYTES = 256, /* ours: line numbers in an error, which holds 512 bytes */
	QUOTE_MAX_BYTES = 80, /* ours: of a line in an error */
	/* ours: bytes compared for one file; some seconds of it, where a usual patch needs
	   milliseconds */
	WORK_MAX_BYTES = 1 << 30,
};

enum level { EXACT, RIGHT_TRIMMED, TRIMMED, LEVELS };

/* The file: where each line starts. Lines are numbered from 0 here. */
struct file {
	struct str text;
	uint32_t *starts; /* count + 1 */
	size_t count;
	int64_t work_left;
};

/* Lines to look for. */
struct wanted {
	const struct str *lines;
	size_t count;
	size_t *failure; /* of Knuth, Morris and Pratt; room for count */
};

/* Where a level found them. */
struct places {
	size_t at[EDIT_PLACES_SHOWN + 1];
	size_t count;
};

/* One hunk and where it goes. */
struct placed {
	const struct patch_hunk *hunk;
	size_t at, line_count; /* of the hunk's lines that count */
};

static void file_cleanup(struct file *f)
{
	free(f->starts);
}

static void file_init(struct file *f, struct str text)
{
	const char *p = text.p, *end = text.p + text.len;
	size_t feeds = 0;

	for (size_t i = 0; i < text.len; i++)
		feeds += text.p[i] == '\n';
	*f = (struct file){.text = text, .work_left = WORK_MAX_BYTES};
	f->starts = xcalloc(feeds + 2, sizeof(*f->starts));
	while (p < end) {
		const char *feed = memchr(p, '\n', (size_t)(end - p));

		f->starts[f->count++] = (uint32_t)(p - text.p);
		p = feed ? feed + 1 : end;
	}
	f->starts[f->count] = (uint32_t)text.len;
}

/* A line with its end. */
static struct str whole_line(const struct file *f, size_t i)
{
	return (struct str){f->text.p + f->starts[i], f->starts[i + 1] - f->starts[i]};
}

/* What ends a line: "\r\n", "\n", or nothing. */
static const char *line_end(const struct file *f, size_t i)
{
	struct str line = whole_line(f, i);

	if (str_ends(line, STR("\r\n")))
		return "\r\n";
	return str_ends(line, STR("\n")) ? "\n" : "";
}

static struct str line_text(const struct file *f, size_t i)
{
	struct str line = whole_line(f, i);

	line.len -= strlen(line_end(f, i));
	return line;
}

static struct str seen_at(enum level level, struct str s)
{
	if (level == TRIMMED)
		return str_trim(s);
	while (level == RIGHT_TRIMMED && s.len > 0 &&
		(s.p[s.len - 1] == ' ' || s.p[s.len - 1] == '\t' || s.p[s.len - 1] == '\r'))
		s.len--;
	return s;
}

static bool same(struct file *f, enum level level, struct str a, struct str b)
{
	f->work_left -= (int64_t)(a.len < b.len ? a.len : b.len) + 1;
	return str_eq(seen_at(level, a), seen_at(level, b));
}

static void prepare(struct file *f, enum level level, const struct wanted *w)
{
	size_t k = 0;

	w->failure[0] = 0;
	for (size_t i = 1; i < w->count && f->work_left > 0; i++) {
		while (k > 0 && !same(f, level, w->lines[i], w->lines[k]))
			k = w->failure[k - 1];
		if (same(f, level, w->lines[i], w->lines[k]))
			k++;
		w->failure[i] = k;
	}
}

/* All places from line `from` on, as many as fit. Lines being the same is an equivalence at each
 * level, so that the search may skip as if they were letters. */
static void search(
	struct file *f, enum level level, const struct wanted *w, size_t from, struct places *ret)
{
	size_t k = 0;

	ret->count = 0;
	if (w->count > f->count - from)
		return;
	prepare(f, level, w);
	for (size_t i = from; i < f->count && f->work_left > 0; i++) {
		while (k > 0 && !same(f, level, line_text(f, i), w->lines[k]))
			k = w->failure[k - 1];
		if (same(f, level, line_text(f, i), w->lines[k]))
			k++;
		if (k < w->count)
			continue;
		ret->at[ret->count++] = i + 1 - w->count;
		if (ret->count == ARRAY_LEN(ret->at))
			return;
		k = w->failure[k - 1];
	}
}

/* The best level that finds anything. */
static void find(
	struct file *f, const struct wanted *w, size_t from, bool at_end, struct places *ret)
{
	size_t start = from;

	ret->count = 0;
	if (w->count > f->count - from)
		return;
	if (at_end)
		start = f->count - w->count;
	for (enum level level = EXACT; level < LEVELS && ret->count == 0 && f->work_left > 0;
		level++)
		search(f, level, w, start, ret);
}

static int ambiguous(const struct patch_hunk *h, const struct places *p, struct error *err)
{
	_cleanup_(buf) struct buf list = BUF_INIT(LIST_MAX_BYTES);

	for (size_t i = 0; i < p->count && i < EDIT_PLACES_SHOWN; i++)
		(void)buf_printf(&list, "%s%zu", i > 0 ? ", " : "", p->at[i] + 1);
	if (p->count > EDIT_PLACES_SHOWN)
		(void)buf_puts(&list, " …");
	return error_set(err, &PATCH_AMBIGUOUS,
		"the hunk at line %d of the patch fits at lines %s: keep more lines around the "
		"change, or "
		"name a line above it after '@@ '",
		h->line, buf_str(&list).p);
}

static int not_found(const struct file *f, const struct patch_hunk *h, const char *what,
	struct str line, size_t from, struct error *err)
{
	struct str shown = str_cut(line, QUOTE_MAX_BYTES);

	if (f->work_left <= 0)
		return error_set(err, &PATCH_INVALID,
			"the hunk at line %d of the patch needs too much searching", h->line);
	return error_set(err, &PATCH_CONTEXT,
		"the hunk at line %d of the patch: %s not in the file from line %zu on, starting "
		"with '" STR_FMT "'",
		h->line, what, from + 1, STR_ARG(shown));
}

/* Goes past the header lines. *ret_sure: the last of them stands in the rest of the file just once.
 */
static int pass_headers(struct file *f, const struct patch_hunk *h, size_t *from, bool *ret_sure,
	struct places *last, struct error *err)
{
	size_t failure;

	*ret_sure = false;
	for (size_t i = 0; i < h->header_count; i++) {
		struct wanted w = {.lines = &h->headers[i], .count = 1, .failure = &failure};

		find(f, &w, *from, false, last);
		if (last->count == 0)
			return not_found(f, h, "its '@@' line is", h->headers[i], *from, err);
		*ret_sure = last->count == 1;
		*from = last->at[0] + 1;
	}
	return 0;
}

/* The lines that the file must have, of the hunk's first `count` lines. */
static size_t old_lines(const struct patch_hunk *h, size_t count, struct str *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (h->lines[i].sort != PATCH_PUT)
			ret[n++] = h->lines[i].text;
	}
	return n;
}

/* Nothing but lines to put in: after the header, or at the end of the file. */
static int place_addition(const struct file *f, struct placed *p, bool sure, size_t *from,
	const struct places *headers, struct error *err)
{
	bool at_end = p->hunk->at_end || p->hunk->header_count == 0;

	if (!at_end && !sure)
		return ambiguous(p->hunk, headers, err);
	p->at = at_end ? f->count : *from;
	*from = p->at;
	return 0;
}

static int place(struct file *f, struct placed *p, size_t *from, struct error *err)
{
	const struct patch_hunk *h = p->hunk;
	_cleanup_(mem) struct str *old = xcalloc(h->line_count + 1, sizeof(*old));
	_cleanup_(mem) size_t *failure = xcalloc(h->line_count + 1, sizeof(*failure));
	struct wanted w = {.lines = old, .failure = failure};
	struct places places;
	bool sure;

	p->line_count = h->line_count;
	if (pass_headers(f, h, from, &sure, &places, err) < 0)
		return -1;
	w.count = old_lines(h, p->line_count, old);
	if (w.count == 0)
		return place_addition(f, p, sure, from, &places, err);
	find(f, &w, *from, h->at_end, &places);
	if (places.count == 0 && h->blank_tail > 0 && h->blank_tail < w.count) {
		p->line_count -= h->blank_tail;
		w.count -= h->blank_tail;
		find(f, &w, *from, h->at_end, &places);
	}
	if (places.count == 0 || f->work_left <= 0)
		return not_found(f, h, "its lines are", old[0], *from, err);
	if (places.count > 1 && !sure)
		return ambiguous(h, &places, err);
	p->at = places.at[0];
	*from = p->at + w.count;
	return 0;
}

/*
 * Writing the new content.
 */

struct writer {
	const struct file *file;
	struct buf *to;
	size_t line;          /* number of the line that is written next, from 1 */
	size_t next;          /* the file's line that comes next */
	bool open;            /* what was written last has no line end */
	size_t put_end_bytes; /* of the line end written last, when that was a line put in; else 0
			       */
};

static const char *file_line_end(const struct file *f)
{
	return f->count > 0 && line_end(f, 0)[0] ? line_end(f, 0) : "\n";
}

/* As around here: the line before, else the one after, else the file's first. */
static const char *style_at(const struct file *f, size_t i)
{
	if (i > 0 && line_end(f, i - 1)[0])
		return line_end(f, i - 1);
	if (i < f->count && line_end(f, i)[0])
		return line_end(f, i);
	return file_line_end(f);
}

static void keep_line(struct writer *w)
{
	if (w->open)
		(void)buf_puts(
			w->to, file_line_end(w->file)); /* fullness is looked at in the end */
	(void)buf_put_str(w->to, whole_line(w->file, w->next));
	w->open = line_end(w->file, w->next)[0] == '\0';
	w->put_end_bytes = 0;
	w->next++;
	w->line++;
}

static void put_line(struct writer *w, struct str text)
{
	const char *end = style_at(w->file, w->next);

	if (w->open)
		(void)buf_puts(w->to, file_line_end(w->file));
	if (end[0] == '\r' && str_ends(text, STR("\r")))
		text.len--;
	(void)buf_put_str(w->to, text);
	(void)buf_puts(w->to, end);
	w->open = false;
	w->put_end_bytes = strlen(end);
	w->line++;
}

static void write_hunk(struct writer *w, const struct placed *p, struct edit_report *report)
{
	bool reported = false;

	while (w->next < p->at)
		keep_line(w);
	for (size_t i = 0; i < p->line_count; i++) {
		const struct patch_line *l = &p->hunk->lines[i];

		if (l->sort != PATCH_KEEP && !reported) {
			if (report->count < EDIT_PLACES_SHOWN)
				report->lines[report->count] = w->line;
			report->count++;
			reported = true;
		}
		if (l->sort == PATCH_KEEP)
			keep_line(w);
		else if (l->sort == PATCH_REMOVE)
			w->next++;
		else
			put_line(w, l->text);
	}
}

static void write_all(const struct file *f, const struct placed *placed, size_t count,
	struct buf *to, struct edit_report *report)
{
	struct writer w = {.file = f, .to = to, .line = 1};

	for (size_t i = 0; i < count; i++)
		write_hunk(&w, &placed[i], report);
	while (w.next < f->count)
		keep_line(&w);
	/* A file without a final line end stays one, also when its last line is a new one. */
	if (f->count > 0 && line_end(f, f->count - 1)[0] == '\0' && !to->full)
		to->len -= w.put_end_bytes;
}

/* What is before the first line comes with the rest: nothing is written before all is placed. */
static int apply_text(const struct patch_op *op, struct str before, struct str text, struct buf *to,
	struct edit_report *report, struct error *err)
{
	_cleanup_(mem) struct placed *placed = xcalloc(op->hunk_count, sizeof(*placed));
	_cleanup_(file) struct file f;
	size_t from = 0;

	file_init(&f, text);
	for (size_t i = 0; i < op->hunk_count; i++) {
		placed[i].hunk = &op->hunks[i];
		if (place(&f, &placed[i], &from, err) < 0)
			return -1;
	}
	(void)buf_put_str(to, before); /* fullness is looked at in the end */
	write_all(&f, placed, op->hunk_count, to, report);
	return 0;
}

int patch_apply(const struct patch_op *op, struct str content, struct buf *to,
	struct edit_report *ret, struct error *err)
{
	static const struct str mark = {
		"\xef\xbb\xbf", 3}; /* a byte-order mark is no part of line 1 */
	struct edit_report report = {.count = 0};
	struct str before = STR(""), text = content;

	must(op->kind == PATCH_UPDATE);
	if (content.len > EDIT_FILE_MAX_BYTES)
		return error_set(
			err, &EDIT_TOO_LARGE, "the file is over %d bytes", EDIT_FILE_MAX_BYTES);
	if (op->hunk_count > 0 && edit_check_text(content, err) < 0)
		return -1;
	if (str_starts(text, mark)) {
		before = mark;
		text = (struct str){text.p + mark.len, text.len - mark.len};
	}
	if (op->hunk_count == 0)
		(void)buf_put_str(to, content); /* fullness is looked at below */
	else if (apply_text(op, before, text, to, &report, err) < 0)
		return -1;
	if (to->full || to->len > EDIT_FILE_MAX_BYTES) {
		buf_clear(to);
		return error_set(err, &EDIT_TOO_LARGE, "the file would be over %d bytes",
			EDIT_FILE_MAX_BYTES);
	}
	*ret = report;
	return 0;
}
