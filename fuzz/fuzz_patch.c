/*
 * fuzz patch: what a patch does not name stays, byte for byte and in its order; as many lines go
 * and come as it says; it does the same twice, and one that is refused leaves nothing.
 *
 * Input: a byte for the file, then the file, a line "%%" and the patch; without that line, a file
 * is made for the patch to fit.
 */
#include "agent/core/patch_internal.h"
#include "fuzz/fuzz.h"

enum {
	OUT_MAX_BYTES = 64 * 1024 * 1024, /* ours: far above any input */
	LINES_MAX = 400,                  /* ours: what is compared in a square */

	/* Of the first byte. */
	MADE_CRLF = 1,
	MADE_CUT = 2, /* no final line end */
	MADE_MARK = 4,
	MADE_BLANKS = 8, /* at line ends */
	MADE_TWICE = 16,
};

static const struct str mark = {"\xef\xbb\xbf", 3};

struct lines {
	struct str at[LINES_MAX]; /* with their ends */
	size_t count;
	bool fit;
};

static void split(struct str text, struct lines *ret)
{
	*ret = (struct lines){.fit = true};
	if (str_starts(text, mark))
		text = (struct str){text.p + mark.len, text.len - mark.len};
	for (size_t at = 0, n; at < text.len; at += n) {
		const char *feed = memchr(text.p + at, '\n', text.len - at);

		n = feed ? (size_t)(feed - text.p) + 1 - at : text.len - at;
		ret->fit = ret->count < LINES_MAX;
		if (!ret->fit)
			return;
		ret->at[ret->count++] = (struct str){text.p + at, n};
	}
}

static bool is_whole(struct str line)
{
	return str_ends(line, STR("\n"));
}

/* A last line without an end gets one when another comes after it. */
static bool is_kept(struct str before, struct str after)
{
	if (!is_whole(before) && str_starts(after, before))
		return after.len == before.len ||
		       str_is((struct str){after.p + before.len, after.len - before.len}, "\n") ||
		       str_is((struct str){after.p + before.len, after.len - before.len}, "\r\n");
	return str_eq(before, after);
}

/* How many lines of the one stand in the other, in the same order. */
static size_t common(const struct lines *before, const struct lines *after)
{
	size_t row[LINES_MAX + 1] = {0};

	for (size_t i = 0; i < before->count; i++) {
		size_t diagonal = 0;

		for (size_t j = 0; j < after->count; j++) {
			const size_t up = row[j + 1];

			if (is_kept(before->at[i], after->at[j]))
				row[j + 1] = diagonal + 1;
			else if (row[j] > up)
				row[j + 1] = row[j];
			diagonal = up;
		}
	}
	return row[after->count];
}

struct counts {
	size_t removed, put, changing; /* lines, lines, hunks that do either */
};

static struct counts count_lines(const struct patch_op *op)
{
	struct counts c = {.removed = 0};

	for (size_t i = 0; i < op->hunk_count; i++) {
		const struct counts before = c;

		for (size_t k = 0; k < op->hunks[i].line_count; k++) {
			c.removed += op->hunks[i].lines[k].sort == PATCH_REMOVE;
			c.put += op->hunks[i].lines[k].sort == PATCH_PUT;
		}
		c.changing += c.removed + c.put > before.removed + before.put;
	}
	return c;
}

/* Whether the lines of `after` from `at` on are the hunk's new ones. Kept lines may differ in the
 * white space around them; an empty last one may have no line to see. */
static bool is_new(
	const struct patch_hunk *h, const struct lines *after, size_t at, size_t *ret_end)
{
	for (size_t i = 0; i < h->line_count - h->blank_tail; i++) {
		const struct patch_line *l = &h->lines[i];

		if (l->sort == PATCH_REMOVE)
			continue;
		if (!str_eq(str_trim(at < after->count ? after->at[at] : STR("")),
			    str_trim(l->text)))
			return false;
		at++;
	}
	*ret_end = at;
	return true;
}

/* Each hunk's new lines stand together, one hunk's after the other's. */
static void check_hunks(const struct patch_op *op, const struct lines *after)
{
	size_t at = 0, end = 0;

	for (size_t i = 0; i < op->hunk_count; i++, at = end) {
		while (!is_new(&op->hunks[i], after, at, &end))
			must(at++ < after->count);
	}
}

static void check_applied(
	const struct patch_op *op, struct str content, struct str made, const struct edit_report *r)
{
	static struct lines before, after;
	const struct counts c = count_lines(op);

	must(str_starts(content, mark) == str_starts(made, mark) || content.len == 0);
	if (op->hunk_count == 0)
		must(str_eq(content, made));
	must(utf8_valid(made) || op->hunk_count == 0);
	must(r->count == c.changing);
	split(content, &before);
	split(made, &after);
	if (!before.fit || !after.fit)
		return;
	must(before.count >= c.removed);
	/* In a file that ends without a line end, an empty last line is none to see. */
	if (before.count == 0 || is_whole(before.at[before.count - 1]))
		must(after.count == before.count - c.removed + c.put);
	else
		must(after.count == before.count - c.removed + c.put ||
			after.count + 1 == before.count - c.removed + c.put);
	must(common(&before, &after) >= before.count - c.removed);
	check_hunks(op, &after);
	for (size_t i = 0; i < r->count && i < EDIT_PLACES_SHOWN; i++) {
		must(r->lines[i] >= 1 && r->lines[i] <= before.count - c.removed + c.put + 1);
		must(i == 0 || r->lines[i] >= r->lines[i - 1]);
	}
}

static void apply(const struct patch_op *op, struct str text)
{
	_cleanup_(buf) struct buf made = BUF_INIT(OUT_MAX_BYTES), again = BUF_INIT(OUT_MAX_BYTES);
	_cleanup_(fuzz_exact) const struct str content = fuzz_exact(text);
	struct edit_report report = {.count = SIZE_MAX}, same = report;
	struct error err = ERROR_INIT;
	const int rc = patch_apply(op, content, &made, &report, &err);

	must(patch_apply(op, content, &again, &same, NULL) == rc);
	must(str_eq(buf_str(&made), buf_str(&again)) && report.count == same.count);
	if (rc < 0) {
		fuzz_check_error(&err);
		must(made.len == 0 && report.count == SIZE_MAX);
		return;
	}
	check_applied(op, content, buf_str(&made), &report);
}

static void put_line(struct buf *to, struct str line, unsigned how)
{
	(void)buf_put_str(to, line);
	(void)buf_puts(to, how & MADE_BLANKS ? " \t" : "");
	(void)buf_puts(to, how & MADE_CRLF ? "\r\n" : "\n");
}

/* A file that has what the hunks look for. */
static void make_file(const struct patch_op *op, unsigned how, struct buf *to)
{
	if (how & MADE_MARK)
		(void)buf_put_str(to, mark);
	for (size_t i = 0; i < op->hunk_count * (how & MADE_TWICE ? 2 : 1); i++) {
		const struct patch_hunk *h = &op->hunks[i % op->hunk_count];

		(void)buf_printf(to, "before hunk %zu\n", i);
		for (size_t k = 0; k < h->header_count; k++)
			put_line(to, h->headers[k], how);
		for (size_t k = 0; k < h->line_count; k++) {
			if (h->lines[k].sort != PATCH_PUT)
				put_line(to, h->lines[k].text, how);
		}
	}
	must(!to->full);
	if ((how & MADE_CUT) && to->len > 0)
		to->len--;
}

static void check_op(const struct patch_op *op)
{
	must(op->path.len > 0 && !memchr(op->path.p, '\0', op->path.len) && op->line > 0);
	must(!op->move_to.p || (op->kind == PATCH_UPDATE && op->move_to.len > 0));
	must(op->kind != PATCH_ADD || op->added.len == 0 || is_whole(op->added));
	must(op->kind != PATCH_UPDATE || op->hunk_count > 0 || op->move_to.p);
}

/* Cuts at the line "%%". */
static struct str cut_file(struct str *rest, struct str *ret_file)
{
	const ptrdiff_t at = str_find(*rest, STR("\n%%\n"), 0);

	*ret_file = (struct str){NULL, 0};
	if (at < 0)
		return *rest;
	*ret_file = (struct str){rest->p, (size_t)at + 1};
	return (struct str){rest->p + at + 4, rest->len - (size_t)at - 4};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned how = size > 0 ? data[0] : 0;
	struct str rest = fuzz_str(data + (size > 0), size > 0 ? size - 1 : 0), file;
	_cleanup_(fuzz_exact) const struct str patch = fuzz_exact(cut_file(&rest, &file));
	_cleanup_(arena) struct arena a = {NULL};
	const struct patch_op *ops = NULL;
	struct error err = ERROR_INIT;
	size_t count = 0;

	if (patch_parse(&a, patch, &ops, &count, &err) < 0) {
		must(error_is(&err, &PATCH_INVALID) && !ops && count == 0);
		fuzz_check_error(&err);
		return 0;
	}
	must(count > 0);
	for (size_t i = 0; i < count; i++) {
		_cleanup_(buf) struct buf made = BUF_INIT(OUT_MAX_BYTES);

		check_op(&ops[i]);
		if (ops[i].kind != PATCH_UPDATE)
			continue;
		if (!file.p)
			make_file(&ops[i], how, &made);
		if (file.p && (how & MADE_CUT))
			file.len -= is_whole(file);
		apply(&ops[i], file.p ? file : buf_str(&made));
	}
	return 0;
}
