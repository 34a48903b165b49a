/*
 * Requests to consort-write and its answers, as text. Pure: no system call is made here.
 */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "agent/helper/write.h"
#include "mem/mem.h"

enum {
	WORDS_MAX = 10,       /* the longest line has nine */
	LINE_MAX_BYTES = 256, /* nine numbers of at most 20 digits */
	MODE_MAX = 0777,
};

#define GREETING "consort-write 1"
#define OK       "ok"
#define SKIPPED  "not_tried"

const struct error_kind WRITE_INVALID = {"invalid_write_request", ERROR_CLASS_BUG};
const struct error_kind WRITE_UNANSWERED = {"write_unanswered", ERROR_CLASS_UNAVAILABLE};

/* What an answer's code may mean. */
static const struct error_kind *const kinds[] = {
	&GUARD_INVALID_PATH,
	&GUARD_NOT_FOUND,
	&GUARD_NOT_REGULAR,
	&GUARD_TOO_LARGE,
	&GUARD_CHANGED,
	&GUARD_DENIED,
	&GUARD_FILE_CHANGED,
	&WRITE_INVALID,
	&ERROR_LIMIT,
	&ERROR_INVALID,
};

/* Only what guard_resolve could have given: absolute, whole parts, none of them '.' or '..'. */
static bool is_resolved(struct str path)
{
	struct str rest = {path.p + 1, path.len - 1}, part;

	if (path.len < 2 || path.len >= PATH_MAX || path.p[0] != '/' ||
		memchr(path.p, '\0', path.len))
		return false;
	while (str_next(&rest, '/', &part)) {
		if (part.len == 0 || part.len > NAME_MAX || str_is(part, ".") || str_is(part, ".."))
			return false;
	}
	return true;
}

static int check(const struct write_op *op, struct error *err)
{
	if (!op->path.p || !is_resolved(op->path))
		return error_set(err, &WRITE_INVALID, "a path is not absolute and resolved");
	if (op->content.len > WRITE_FILE_MAX_BYTES)
		return error_set(err, &ERROR_LIMIT, "a file of %zu bytes is over %d",
			op->content.len, WRITE_FILE_MAX_BYTES);
	if (op->how.new_mode > MODE_MAX)
		return error_set(err, &WRITE_INVALID, "a mode is over 0777");
	return 0;
}

static int put_expect(struct buf *to, const struct guard_expect *e)
{
	switch (e->kind) {
	case GUARD_EXPECT_ANYTHING:
		return buf_puts(to, "any\n");
	case GUARD_EXPECT_ABSENT:
		return buf_puts(to, "absent\n");
	case GUARD_EXPECT_SAME:
		break;
	}
	return buf_printf(to, "same %llu %llu %llu %lld\n", (unsigned long long)e->dev,
		(unsigned long long)e->ino, (unsigned long long)e->size_bytes,
		(long long)e->mtime_ns);
}

/* A full buffer is seen once, at the end. */
static void put_op(struct buf *to, const struct write_op *op)
{
	if (op->verb == WRITE_PUBLISH)
		(void)buf_printf(to, "publish %zu %zu %d %u ", op->path.len, op->content.len,
			op->how.make_parents, (unsigned)op->how.new_mode);
	else
		(void)buf_printf(to, "unlink %zu ", op->path.len);
	(void)put_expect(to, &op->how.expect);
	(void)buf_put_str(to, op->path);
	if (op->verb == WRITE_PUBLISH)
		(void)buf_put_str(to, op->content);
	(void)buf_putc(to, '\n');
}

int write_encode(const struct write_op *ops, size_t count, struct buf *to, struct error *err)
{
	if (count > WRITE_OPS_MAX)
		return error_set(err, &ERROR_LIMIT, "%zu files are over %d", count, WRITE_OPS_MAX);
	(void)buf_printf(to, GREETING " %zu\n", count);
	for (size_t i = 0; i < count; i++) {
		if (check(&ops[i], err) < 0)
			return -1;
		put_op(to, &ops[i]);
	}
	(void)buf_puts(to, "end\n");
	return to->full ? error_set(err, &ERROR_LIMIT, "what is to be written is over %d bytes",
				  WRITE_REQUEST_MAX_BYTES)
			: 0;
}

/* One line cut into words; -1 when there is none of that shape. */
struct line {
	struct str words[WORDS_MAX];
	size_t count;
};

static int malformed(const char *what, struct error *err)
{
	return error_set(err, &WRITE_INVALID, "the request has %s", what);
}

static int take_line(struct str *rest, struct line *ret, struct error *err)
{
	struct str text = {rest->p, rest->len < LINE_MAX_BYTES ? rest->len : LINE_MAX_BYTES};
	const char *end = text.len > 0 ? memchr(text.p, '\n', text.len) : NULL;
	struct line l = {.count = 0};

	if (!end)
		return malformed("a line without an end", err);
	text.len = (size_t)(end - text.p);
	rest->p += text.len + 1;
	rest->len -= text.len + 1;
	while (l.count < WORDS_MAX && str_next(&text, ' ', &l.words[l.count]))
		l.count++;
	*ret = l;
	return 0;
}

/* The next len bytes. */
static int take_bytes(struct str *rest, uint64_t len, struct str *ret, struct error *err)
{
	if (rest->len < len)
		return malformed("fewer bytes than it says", err);
	*ret = (struct str){rest->p, (size_t)len};
	rest->p += len;
	rest->len -= (size_t)len;
	return 0;
}

/* Words from `at` on, to the end of the line. */
static int read_expect(const struct line *l, size_t at, struct guard_expect *ret, struct error *err)
{
	uint64_t dev, ino, size;
	int64_t mtime;

	if (l->count == at + 1 && str_is(l->words[at], "any")) {
		*ret = (struct guard_expect){.kind = GUARD_EXPECT_ANYTHING};
		return 0;
	}
	if (l->count == at + 1 && str_is(l->words[at], "absent")) {
		*ret = (struct guard_expect){.kind = GUARD_EXPECT_ABSENT};
		return 0;
	}
	if (l->count != at + 5 || !str_is(l->words[at], "same"))
		return malformed("an unknown expectation", err);
	if (text_u64(l->words[at + 1], UINT64_MAX, "device", &dev, err) < 0 ||
		text_u64(l->words[at + 2], UINT64_MAX, "inode", &ino, err) < 0 ||
		text_u64(l->words[at + 3], INT64_MAX, "size", &size, err) < 0 ||
		text_i64(l->words[at + 4], INT64_MIN, INT64_MAX, "time", &mtime, err) < 0)
		return -1;
	*ret = (struct guard_expect){GUARD_EXPECT_SAME, dev, ino, size, mtime};
	return 0;
}

static int read_publish(
	const struct line *l, struct str *rest, struct write_op *op, struct error *err)
{
	uint64_t path_len, content_len, parents, mode;

	if (l->count < 6)
		return malformed("a publish line that is too short", err);
	if (text_u64(l->words[1], PATH_MAX, "path length", &path_len, err) < 0 ||
		text_u64(l->words[2], WRITE_FILE_MAX_BYTES, "content length", &content_len, err) <
			0 ||
		text_u64(l->words[3], 1, "parents", &parents, err) < 0 ||
		text_u64(l->words[4], MODE_MAX, "mode", &mode, err) < 0 ||
		read_expect(l, 5, &op->how.expect, err) < 0)
		return -1;
	op->verb = WRITE_PUBLISH;
	op->how.make_parents = parents == 1;
	op->how.new_mode = (mode_t)mode;
	if (take_bytes(rest, path_len, &op->path, err) < 0)
		return -1;
	return take_bytes(rest, content_len, &op->content, err);
}

static int read_unlink(
	const struct line *l, struct str *rest, struct write_op *op, struct error *err)
{
	uint64_t path_len;

	if (l->count < 3)
		return malformed("an unlink line that is too short", err);
	if (text_u64(l->words[1], PATH_MAX, "path length", &path_len, err) < 0 ||
		read_expect(l, 2, &op->how.expect, err) < 0)
		return -1;
	op->verb = WRITE_UNLINK;
	return take_bytes(rest, path_len, &op->path, err);
}

static int read_op(struct str *rest, struct write_op *ret, struct error *err)
{
	struct write_op op = {.content = STR("")};
	struct str end = STR("");
	struct line l;
	int rc;

	if (take_line(rest, &l, err) < 0)
		return -1;
	if (str_is(l.words[0], "publish"))
		rc = read_publish(&l, rest, &op, err);
	else if (str_is(l.words[0], "unlink"))
		rc = read_unlink(&l, rest, &op, err);
	else
		rc = malformed("an unknown operation", err);
	if (rc < 0 || take_bytes(rest, 1, &end, err) < 0)
		return -1;
	if (!str_is(end, "\n"))
		return malformed("more bytes than it says", err);
	if (check(&op, err) < 0)
		return -1;
	*ret = op;
	return 0;
}

int write_decode(struct str request, struct write_op *ops, size_t *ret_count, struct error *err)
{
	struct str rest = request;
	struct line l;
	uint64_t count;

	if (take_line(&rest, &l, err) < 0)
		return -1;
	if (l.count != 3 || !str_is(l.words[0], "consort-write") || !str_is(l.words[1], "1"))
		return malformed("an unknown greeting", err);
	if (text_u64(l.words[2], WRITE_OPS_MAX, "count", &count, err) < 0)
		return -1;
	for (uint64_t i = 0; i < count; i++) {
		if (read_op(&rest, &ops[i], err) < 0)
			return error_prefix(err, "operation %llu", (unsigned long long)i + 1);
	}
	if (!str_is(rest, "end\n"))
		return malformed("no proper end", err);
	*ret_count = (size_t)count;
	return 0;
}

int write_answer_put(struct buf *to, const struct error *failed)
{
	if (!failed)
		return buf_puts(to, OK "\n");
	return buf_printf(to, "%s %s\n", error_code(failed), failed->text);
}

int write_answer_skip(struct buf *to)
{
	return buf_puts(to, SKIPPED "\n");
}

static const struct error_kind *kind_of(struct str code)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (str_is(code, kinds[i]->code))
			return kinds[i];
	}
	return &ERROR_SYS;
}

int write_answers(struct str output, size_t count, size_t *ret_done, struct error *err)
{
	struct str rest = output, line, code;

	*ret_done = 0;
	while (*ret_done < count) {
		if (!rest.p || !memchr(rest.p, '\n', rest.len)) /* a cut line says nothing */
			return error_set(err, &WRITE_UNANSWERED,
				"the write helper ended before it answered");
		(void)str_next(&rest, '\n', &line);
		if (!str_is(line, OK)) {
			(void)str_next(&line, ' ', &code);
			return error_set(err, kind_of(code), STR_FMT,
				STR_ARG(line.p ? line : STR("the write failed")));
		}
		(*ret_done)++;
	}
	return 0;
}
