#ifndef AGENT_HELPER_WRITE_H
#define AGENT_HELPER_WRITE_H
/*
 * The language of consort-write, the program that carries writes out: one way to write for every
 *bot (agent spec 7.6). The daemon starts it by sandbox_command_new inside the bot's sandbox, or
 *plainly for a bot without one, and gives it the whole request on stdin. It resolves nothing: paths
 *are real ones (guard_resolve), and a link that has appeared on one is refused.
 *
 *	consort-write 1 COUNT LF
 *	then COUNT times one of
 *	publish PATH_BYTES CONTENT_BYTES PARENTS MODE EXPECT LF path content LF
 *	unlink PATH_BYTES EXPECT LF path LF
 *	and at last
 *	end LF
 *
 * PARENTS is 1 where missing folders are to be made, else 0. MODE is a decimal file mode for a file
 *that is not there yet, 0 for the usual one. EXPECT is `any`, `absent` or `same DEV INO SIZE
 *MTIME_NS`. Nothing is written before the request has been read to its end and understood: one that
 *was cut does nothing at all.
 *
 * For each operation one line comes back, as soon as it is done: `ok`, or `CODE DETAIL`, after
 *which the rest is answered `not_tried`. Exit status: 0 all done, 1 an operation failed, 2 no such
 *request.
 */
#include <stdbool.h>
#include <stddef.h>

#include "error/error.h"
#include "guard/guard.h"
#include "text/text.h"

enum {
	WRITE_OPS_MAX = 1024,                       /* ours: a patch of 1 MiB touches fewer files */
	WRITE_FILE_MAX_BYTES = 4 * 1024 * 1024,     /* agent spec 5.4: what edit may leave */
	WRITE_REQUEST_MAX_BYTES = 64 * 1024 * 1024, /* ours: both processes hold it in memory */
	WRITE_ANSWERS_MAX_BYTES = WRITE_OPS_MAX *
				  (ERROR_TEXT_MAX + 64), /* every line, at its longest */
};

extern const struct error_kind WRITE_INVALID;    /* invalid_write_request */
extern const struct error_kind WRITE_UNANSWERED; /* write_unanswered: the helper ended too early */

enum write_verb { WRITE_PUBLISH, WRITE_UNLINK };
struct write_op {
	enum write_verb verb;
	struct str path; /* absolute and resolved */
	struct str content;
	struct guard_write how; /* of an unlink only .expect counts */
};

/* The daemon's half. */
/* `to` is empty and was born with WRITE_REQUEST_MAX_BYTES. WRITE_INVALID for what the helper would
 * not take either; ERROR_LIMIT when it is too much. */
int write_encode(const struct write_op *ops, size_t count, struct buf *to, struct error *err);
/* Reads the helper's output. 0: all `count` operations were done. -1: the first failure; *ret_done
 * says how many were done before it. It is written in both cases. */
int write_answers(struct str output, size_t count, size_t *ret_done, struct error *err);

/* The helper's half. */
/* ops has room for WRITE_OPS_MAX; they point into `request`. */
int write_decode(struct str request, struct write_op *ops, size_t *ret_count, struct error *err);
int write_answer_put(struct buf *to, const struct error *failed); /* NULL: ok */
int write_answer_skip(struct buf *to);

#endif
