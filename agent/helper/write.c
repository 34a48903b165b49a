/*
 * consort-write: does what a request on stdin says, file by file; see write.h. It runs inside a
 * bot's sandbox, so whatever it is told, it can write no more than that bot's commands can.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/helper/write.h"
#include "mem/mem.h"
#include "os/os.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static int read_request(struct buf *to, struct error *err)
{
	for (;;) {
		enum { STEP_BYTES = 65536 };
		size_t len = 0;

		if (buf_reserve(to, STEP_BYTES) < 0)
			return error_set(err, &ERROR_LIMIT, "the request is over %d bytes",
				WRITE_REQUEST_MAX_BYTES);
		if (os_read_full(STDIN_FILENO, to->data + to->len, STEP_BYTES, &len, err) < 0)
			return -1;
		to->len += len;
		if (len < STEP_BYTES)
			return 0;
	}
}

static int carry_out(const struct write_op *op, struct error *err)
{
	_cleanup_(mem) char *path = xstrndup(op->path.p, op->path.len);
	const struct guard_path p = {.real = path};

	if (op->verb == WRITE_UNLINK)
		return guard_unlink_as(&p, &op->how.expect, err);
	return guard_publish_as(&p, op->content, &op->how, err);
}

/* Each answer goes out at once: whoever ends us knows what was done. */
static int answer(struct buf *line)
{
	int rc = os_write_all(STDOUT_FILENO, line->data, line->len, NULL);

	buf_clear(line);
	return rc;
}

static int carry_out_all(const struct write_op *ops, size_t count)
{
	_cleanup_(buf) struct buf line = BUF_INIT(WRITE_ANSWERS_MAX_BYTES);
	bool failed = false;

	for (size_t i = 0; i < count; i++) {
		struct error err = ERROR_INIT;

		if (failed) {
			(void)write_answer_skip(&line); /* a line has room */
		} else {
			failed = carry_out(&ops[i], &err) < 0;
			(void)write_answer_put(&line, failed ? &err : NULL);
		}
		if (answer(&line) < 0)
			return EXIT_FAILED; /* nobody listens any more */
	}
	return failed ? EXIT_FAILED : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	_cleanup_(buf) struct buf request = BUF_INIT(WRITE_REQUEST_MAX_BYTES + 65536);
	_cleanup_(buf) struct buf line = BUF_INIT(WRITE_ANSWERS_MAX_BYTES);
	_cleanup_(mem) struct write_op *ops = xcalloc(WRITE_OPS_MAX, sizeof(*ops));
	struct error err = ERROR_INIT;
	size_t count;

	if (argc != 1) {
		(void)fprintf(
			stderr, "%s: takes no arguments; see write.h of its source\n", argv[0]);
		return EXIT_USAGE;
	}
	if (read_request(&request, &err) < 0 ||
		write_decode(buf_str(&request), ops, &count, &err) < 0) {
		(void)write_answer_put(&line, &err);
		(void)answer(&line);
		return EXIT_USAGE;
	}
	return carry_out_all(ops, count);
}
