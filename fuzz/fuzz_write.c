/*
 * fuzz write: a request that is taken is the one spelling of what it asks for, and asks for no path
 * that guard_resolve could not have given; what is written is read as it was, or refused by both
 * sides; no answer is counted that did not come.
 *
 * Input: a request, or answers; the same bytes also make a request here.
 */
#include <limits.h>

#include "agent/helper/write.h"
#include "fuzz/fuzz.h"

enum {
	OPS_MAX_HERE = 6,
	NUMBERS = 8, /* bytes of an operation before its path */
};

static void check_path(struct str path)
{
	struct str rest = path, part;

	must(path.len >= 2 && path.len < PATH_MAX && path.p[0] == '/');
	must(!memchr(path.p, '\0', path.len));
	(void)str_next(&rest, '/', &part); /* before the first slash: nothing */
	while (str_next(&rest, '/', &part))
		must(part.len > 0 && part.len <= NAME_MAX && !str_is(part, ".") &&
			!str_is(part, ".."));
}

static void check_same(const struct write_op *a, const struct write_op *b)
{
	const struct guard_expect *x = &a->how.expect, *y = &b->how.expect;

	must(a->verb == b->verb && str_eq(a->path, b->path) && x->kind == y->kind);
	must(x->dev == y->dev && x->ino == y->ino && x->size_bytes == y->size_bytes &&
		x->mtime_ns == y->mtime_ns);
	if (a->verb == WRITE_UNLINK)
		return;
	must(str_eq(a->content, b->content) && a->how.new_mode == b->how.new_mode);
	must(a->how.make_parents == b->how.make_parents);
}

static void check_request(struct str text)
{
	_cleanup_(buf) struct buf again = BUF_INIT(WRITE_REQUEST_MAX_BYTES);
	_cleanup_(fuzz_exact) const struct str request = fuzz_exact(text);
	static struct write_op ops[WRITE_OPS_MAX];
	struct error err = ERROR_INIT;
	size_t count = SIZE_MAX;

	if (write_decode(request, ops, &count, &err) < 0) {
		must(count == SIZE_MAX);
		fuzz_check_error(&err);
		return;
	}
	must(count <= WRITE_OPS_MAX);
	for (size_t i = 0; i < count; i++) {
		check_path(ops[i].path);
		must(ops[i].content.len <= WRITE_FILE_MAX_BYTES && ops[i].how.new_mode <= 0777);
	}
	must(write_encode(ops, count, &again, NULL) == 0);
	must(str_eq(request, buf_str(&again)));
}

static uint64_t spread(unsigned char c) /* small ones, and those at the edges */
{
	return c < 128 ? c : c < 192 ? (uint64_t)INT64_MAX - (c - 128) : UINT64_MAX - (c - 192);
}

/* An operation from some bytes: numbers, then path, NUL, content. */
static struct write_op make_op(struct str part)
{
	static const unsigned char zeros[NUMBERS];
	const unsigned char *n = part.len < NUMBERS ? zeros : (const unsigned char *)part.p;
	struct str rest = {part.p + NUMBERS, part.len - NUMBERS};
	struct write_op op = {.verb = n[0] & 1 ? WRITE_UNLINK : WRITE_PUBLISH, .content = STR("")};

	if (part.len < NUMBERS)
		rest = part;
	if (n[1] % 3 == GUARD_EXPECT_SAME)
		op.how.expect = (struct guard_expect){GUARD_EXPECT_SAME, spread(n[2]), spread(n[3]),
			spread(n[4]) & INT64_MAX, (int64_t)spread(n[5])};
	else
		op.how.expect.kind = n[1] % 3;
	if (!str_next(&rest, '\0', &op.path))
		op.path = STR("");
	if (op.verb == WRITE_UNLINK)
		return op;
	op.how.make_parents = n[6] & 1;
	op.how.new_mode = (mode_t)n[7] * 4;
	if (rest.p)
		op.content = rest;
	return op;
}

static void check_made(struct str input)
{
	_cleanup_(buf) struct buf request = BUF_INIT(WRITE_REQUEST_MAX_BYTES);
	struct write_op ops[OPS_MAX_HERE];
	static struct write_op got[WRITE_OPS_MAX];
	struct error err = ERROR_INIT;
	struct str part;
	size_t count = 0, again;

	while (count < OPS_MAX_HERE && str_next(&input, '\x1e', &part))
		ops[count++] = make_op(part);
	if (write_encode(ops, count, &request, &err) < 0) {
		fuzz_check_error(&err);
		return;
	}
	for (size_t i = 0; i < count; i++)
		check_path(ops[i].path);
	must(write_decode(buf_str(&request), got, &again, NULL) == 0 && again == count);
	for (size_t i = 0; i < count; i++)
		check_same(&ops[i], &got[i]);
	for (size_t cut = 0; cut < request.len; cut += 1 + cut / 16) /* half a request is none */
		must(write_decode((struct str){request.data, cut}, got, &again, NULL) == -1);
}

static size_t count_ok(struct str output)
{
	size_t n = 0;

	for (; str_starts(output, STR("ok\n")); n++)
		output = (struct str){output.p + 3, output.len - 3};
	return n;
}

static void check_answers(struct str text)
{
	_cleanup_(fuzz_exact) const struct str output = fuzz_exact(text);
	const size_t ok = count_ok(output);

	for (size_t wanted = 0; wanted <= ok + 1; wanted++) {
		struct error err = ERROR_INIT;
		size_t done = SIZE_MAX;
		const int rc = write_answers(output, wanted, &done, &err);

		must(done == (wanted < ok ? wanted : ok) && (rc == 0) == (wanted <= ok));
		if (rc < 0)
			must(err.kind);
	}
}

/* A failure as the helper says it arrives as it was. */
static void check_failure(struct str input)
{
	_cleanup_(buf) struct buf output = BUF_INIT(WRITE_ANSWERS_MAX_BYTES);
	struct error sent = ERROR_INIT, got = ERROR_INIT;
	size_t done;

	(void)error_set(&sent, &GUARD_DENIED, "x" STR_FMT, STR_ARG(str_cut(input, 400)));
	must(write_answer_put(&output, NULL) == 0 && write_answer_put(&output, &sent) == 0 &&
		write_answer_skip(&output) == 0);
	must(write_answers(buf_str(&output), 3, &done, &got) == -1 && done == 1);
	must(error_is(&got, &GUARD_DENIED) && strcmp(got.text, sent.text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str input = fuzz_str(data, size);

	check_request(input);
	check_made(input);
	check_answers(input);
	check_failure(input);
	return 0;
}
