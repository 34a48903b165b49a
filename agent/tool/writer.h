#ifndef AGENT_TOOL_WRITER_H
#define AGENT_TOOL_WRITER_H
/*
 * How write, edit and apply_patch change files (spec 7.6): a worker works out what is to be
 * written, then consort-write, started inside the bot's sandbox or plainly, writes it. The daemon
 * itself writes nothing.
 */
#include "agent/helper/write.h"
#include "agent/tool/internal.h"
#include "proc/proc.h"

struct writer_run {
	struct tool_run run;
	struct tool_targets targets;
	struct write_op *ops; /* what compute() wants done; paths and contents live in `work` */
	size_t op_count;
	/* On a worker: reads, sets ops. Touches only this struct and what it owns. */
	int (*compute)(struct writer_run *w, struct error *err);
	/* On the loop, when the helper has ended: finishes the run. The first `done` operations
	 * were done; err is NULL when that is all of them. */
	void (*report)(struct writer_run *w, size_t done, const struct error *err);
	void (*release)(struct writer_run *w); /* frees the tool's own struct */
	struct arena work;
	const struct guard_id *never; /* the host's */
	size_t never_count;

	/* writer.c's own */
	struct sandbox_survey *survey; /* NULL outside */
	struct sandbox_command *box;
	struct proc_command *command;
	struct buf request, answers, complaint;
	struct error err;
	int rc;
	bool outside, cancelled;
};

/* Sets it up; targets are found first. On success the worker runs and *ret is the run. Always takes
 * w: on failure it is released. */
int writer_start(struct writer_run *w, const struct tool_context *c, const struct str_list *paths,
	const struct tool_order *o, struct tool_run **ret, struct error *err);
void writer_cancel(struct tool_run *r);

/* For compute(). What stands at the target now, as the helper must find it; `mode` 0 when absent.
 */
int writer_expect(
	const struct tool_target *t, struct guard_expect *ret, mode_t *ret_mode, struct error *err);
/* The whole content, of a file that must be there. In w->work. */
int writer_read(
	struct writer_run *w, const struct tool_target *t, struct str *ret, struct error *err);

/* For report(): text for the model, redacted. */
void writer_say(struct writer_run *w, const struct buf *text);
/* "line 3" or "lines 3, 14, 159 …", appended. */
void writer_put_lines(struct buf *to, size_t count, const size_t *lines);

#endif
