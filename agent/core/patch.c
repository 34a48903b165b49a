/*
 * Reads a patch (spec 5.5). Nothing of a file is looked at here.
 */
#include "agent/core/patch_internal.h"

#include "agent/core/limits.h"

const struct error_kind PATCH_INVALID = {"patch_invalid", ERROR_CLASS_USAGE};

enum { PATH_MAX_BYTES = 4096 }; /* spec 5.4 */

#define BEGIN  "*** Begin Patch"
#define END    "*** End Patch"
#define ADD    "*** Add File: "
#define DELETE "*** Delete File: "
#define UPDATE "*** Update File: "
#define MOVE   "*** Move to: "
#define EOF_   "*** End of File"

/* The lines of the patch, and how far it is read. */
struct reader {
	struct arena *arena;
	const struct str *lines;
	size_t count, at;
};

static int invalid(const struct reader *r, struct error *err, const char *what)
{
	return error_set(err, &PATCH_INVALID, "line %zu: %s", r->at + 1, what);
}

static struct str right_trim(struct str s)
{
	while (s.len > 0 &&
		(s.p[s.len - 1] == ' ' || s.p[s.len - 1] == '\t' || s.p[s.len - 1] == '\r'))
		s.len--;
	return s;
}

static bool is_blank(struct str s)
{
	return str_trim(s).len == 0;
}

/* The line the reader stands at; absent past the last. */
static struct str current(const struct reader *r)
{
	return r->at < r->count ? r->lines[r->at] : (struct str){NULL, 0};
}

static bool at_marker(const struct reader *r, const char *marker)
{
	return r->at < r->count && str_is(right_trim(current(r)), marker);
}

static bool at_prefix(const struct reader *r, const char *prefix)
{
	return r->at < r->count && str_starts(current(r), str_from(prefix));
}

/* Any line that ends an operation's body. */
static bool at_operation(const struct reader *r)
{
	return r->at >= r->count || at_prefix(r, "*** ");
}

/* Splits the text. Where its first line ends in CRLF, the transport made all of them so. */
static void split(struct reader *r, struct arena *a, struct str text)
{
	size_t count = 1, n = 0;
	struct str *lines, line;
	bool crlf = false;

	for (size_t i = 0; i < text.len; i++)
		count += text.p[i] == '\n';
	lines = arena_alloc(a, count * sizeof(*lines));
	while (str_next(&text, '\n', &line)) {
		if (n == 0)
			crlf = str_ends(line, STR("\r"));
		if (crlf && str_ends(line, STR("\r")))
			line.len--;
		lines[n++] = line;
	}
	*r = (struct reader){.arena = a, .lines = lines, .count = n};
}

static int read_path(struct reader *r, const char *prefix, struct str *ret, struct error *err)
{
	struct str path = current(r);

	path = (struct str){path.p + strlen(prefix), path.len - strlen(prefix)};
	path = str_trim(path);
	if (path.len == 0)
		return invalid(r, err, "the path is missing");
	if (path.len > PATH_MAX_BYTES)
		return invalid(r, err, "the path is over 4096 bytes");
	if (memchr(path.p, 0, path.len))
		return invalid(r, err, "the path holds a NUL");
	r->at++;
	*ret = path;
	return 0;
}

/* The body of Add: "+" lines become the content. */
static int read_added(struct reader *r, struct str *ret, struct error *err)
{
	size_t start = r->at, bytes = 0;
	char *content, *to;

	for (; !at_operation(r) && !is_blank(current(r)); r->at++) {
		if (!at_prefix(r, "+"))
			return invalid(r, err, "a line of an added file must start with '+'");
		bytes += current(r).len; /* a line feed instead of the plus */
	}
	content = arena_alloc(r->arena, bytes + 1);
	to = content;
	for (size_t i = start; i < r->at; i++) {
		struct str line = r->lines[i];

		memcpy(to, line.p + 1, line.len - 1);
		to += line.len - 1;
		*to++ = '\n';
	}
	*ret = (struct str){content, bytes};
	return 0;
}

/* "-3,4 +3,5 @@ …", as a unified diff has it: line numbers are not gone by, so it says nothing. */
static bool is_range(struct str header)
{
	return str_starts(header, STR("-")) && str_find(header, STR(" +"), 0) > 0 &&
	       str_find(header, STR(" @@"), 0) > 0;
}

/* The "@@" lines before a hunk. */
static int read_headers(struct reader *r, struct patch_hunk *h, struct error *err)
{
	size_t start = r->at;
	struct str *headers;

	while (at_prefix(r, "@@"))
		r->at++;
	headers = arena_alloc(r->arena, (r->at - start + 1) * sizeof(*headers));
	for (size_t i = start; i < r->at; i++) {
		struct str line = right_trim(r->lines[i]);

		if (line.len > 2 && line.p[2] != ' ') {
			r->at = i;
			return invalid(r, err, "after '@@' comes a blank and a line of the file");
		}
		if (line.len <= 3)
			continue;
		line = (struct str){line.p + 3, line.len - 3};
		if (!is_range(line))
			headers[h->header_count++] = line;
	}
	h->headers = headers;
	return 0;
}

static bool in_hunk(const struct reader *r)
{
	struct str line = current(r);

	if (r->at >= r->count)
		return false;
	return line.len == 0 || line.p[0] == PATCH_KEEP || line.p[0] == PATCH_REMOVE ||
	       line.p[0] == PATCH_PUT;
}

static int read_hunk(struct reader *r, struct patch_hunk *h, struct error *err)
{
	struct patch_line *lines;
	size_t start;

	*h = (struct patch_hunk){.line = (int)r->at + 1};
	if (read_headers(r, h, err) < 0)
		return -1;
	start = r->at;
	while (in_hunk(r))
		r->at++;
	h->line_count = r->at - start;
	lines = arena_alloc(r->arena, (h->line_count + 1) * sizeof(*lines));
	for (size_t i = 0; i < h->line_count; i++) {
		struct str line = r->lines[start + i];

		/* An empty line is a kept empty line whose blank got lost. */
		lines[i] = (struct patch_line){.sort = PATCH_KEEP, .text = line};
		if (line.len > 0)
			lines[i] = (struct patch_line){
				line.p[0], {line.p + 1, line.len - 1}
                        };
	}
	h->lines = lines;
	while (h->blank_tail < h->line_count && r->lines[r->at - 1 - h->blank_tail].len == 0)
		h->blank_tail++;
	if (at_marker(r, EOF_)) {
		h->at_end = true;
		r->at++;
	}
	if (h->line_count == 0)
		return invalid(r, err, "a hunk has no lines: each starts with ' ', '-' or '+'");
	if (!at_operation(r) && !at_prefix(r, "@@"))
		return invalid(r, err, "a line of a hunk starts with ' ', '-' or '+'");
	return 0;
}

static int read_update(struct reader *r, struct patch_op *op, struct error *err)
{
	struct patch_hunk *hunks = NULL;
	size_t cap = 0;

	if (at_prefix(r, MOVE) && read_path(r, MOVE, &op->move_to, err) < 0)
		return -1;
	while (!at_operation(r)) {
		if (op->hunk_count == PATCH_HUNKS_MAX)
			return invalid(r, err, "more than 4096 hunks for one file");
		if (op->hunk_count == cap) {
			struct patch_hunk *more;

			cap = cap ? cap * 2 : 8;
			more = arena_alloc(r->arena, cap * sizeof(*more));
			if (hunks)
				memcpy(more, hunks, op->hunk_count * sizeof(*more));
			hunks = more;
		}
		if (read_hunk(r, &hunks[op->hunk_count], err) < 0)
			return -1;
		op->hunk_count++;
	}
	op->hunks = hunks;
	if (op->hunk_count == 0 && !op->move_to.p)
		return invalid(r, err, "an update has neither hunks nor a new path");
	return 0;
}

static int read_operation(struct reader *r, struct patch_op *op, struct error *err)
{
	*op = (struct patch_op){.kind = PATCH_UPDATE, .line = (int)r->at + 1};
	if (at_prefix(r, ADD)) {
		op->kind = PATCH_ADD;
		return read_path(r, ADD, &op->path, err) < 0 ? -1 : read_added(r, &op->added, err);
	}
	if (at_prefix(r, DELETE)) {
		op->kind = PATCH_DELETE;
		return read_path(r, DELETE, &op->path, err);
	}
	if (at_prefix(r, UPDATE))
		return read_path(r, UPDATE, &op->path, err) < 0 ? -1 : read_update(r, op, err);
	return invalid(r, err,
		"expected '*** Add File: ', '*** Delete File: ', '*** Update File: ' or "
		"'*** End Patch'");
}

/* Every file is named once: what a second naming would mean depends on an order nobody wrote down.
 */
static int check_named_once(const struct patch_op *ops, size_t at, struct error *err)
{
	const struct str names[] = {ops[at].path, ops[at].move_to};

	if (names[1].p && str_eq(names[0], names[1]))
		return error_set(
			err, &PATCH_INVALID, "line %d: moves the file onto itself", ops[at].line);
	for (size_t i = 0; i < at; i++) {
		for (size_t n = 0; n < ARRAY_LEN(names) && names[n].p; n++) {
			if (str_eq(ops[i].path, names[n]) ||
				(ops[i].move_to.p && str_eq(ops[i].move_to, names[n])))
				return error_set(err, &PATCH_INVALID,
					"line %d: the file is named before, at line %d",
					ops[at].line, ops[i].line);
		}
	}
	return 0;
}

static void skip_blank(struct reader *r)
{
	while (r->at < r->count && is_blank(current(r)))
		r->at++;
}

static int read_operations(
	struct reader *r, struct patch_op *ops, size_t *ret_count, struct error *err)
{
	size_t count = 0;

	for (skip_blank(r); !at_marker(r, END); skip_blank(r)) {
		if (r->at >= r->count)
			return invalid(r, err, "'" END "' is missing");
		if (count == PATCH_FILES_MAX)
			return invalid(r, err, "more than 1024 files");
		if (read_operation(r, &ops[count], err) < 0 ||
			check_named_once(ops, count, err) < 0)
			return -1;
		count++;
	}
	r->at++;
	skip_blank(r);
	if (r->at < r->count)
		return invalid(r, err, "there is text after '" END "'");
	*ret_count = count;
	return 0;
}

int patch_parse(struct arena *a, struct str text, const struct patch_op **ret, size_t *ret_count,
	struct error *err)
{
	struct patch_op *ops;
	struct reader r;
	size_t count;

	if (text.len > EDIT_TEXT_MAX_BYTES)
		return error_set(
			err, &PATCH_INVALID, "the patch is over %d bytes", EDIT_TEXT_MAX_BYTES);
	if (!utf8_valid(text))
		return error_set(err, &PATCH_INVALID, "the patch is not UTF-8");
	split(&r, a, text);
	skip_blank(&r);
	if (!at_marker(&r, BEGIN))
		return invalid(&r, err, "must be '" BEGIN "'");
	r.at++;
	ops = arena_alloc(a, PATCH_FILES_MAX * sizeof(*ops));
	if (read_operations(&r, ops, &count, err) < 0)
		return -1;
	if (count == 0)
		return error_set(err, &PATCH_INVALID, "the patch changes no file");
	*ret = ops;
	*ret_count = count;
	return 0;
}
