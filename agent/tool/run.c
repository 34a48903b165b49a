/*
 * The life of a run, as all tools share it.
 */
#include "agent/tool/internal.h"

static const struct error_kind TOOL_CANCELLED = {"cancelled", ERROR_CLASS_CONFLICT};

static void tell(void *arg)
{
	struct tool_run *r = arg;

	r->done(r->arg, &r->result); /* may free the run */
}

void tool_run_init(struct tool_run *r, const struct tool_context *c, const struct tool_order *o,
	void (*release)(struct tool_run *r))
{
	r->context = c;
	r->done = o->done;
	r->arg = o->arg;
	r->release = release;
	r->timer = loop_timer_new(c->host->loop, tell, r);
}

void tool_run_finish(struct tool_run *r, struct str output, bool failed)
{
	if (r->over)
		return;
	r->over = true;
	r->result.output = output;
	r->result.failed = failed;
	loop_timer_set(r->timer, 0);
}

void tool_run_fail(struct tool_run *r, const struct error *err)
{
	if (!r->over)
		tool_run_finish(r, tool_error_output(r->context->host, &r->arena, err), true);
}

void tool_run_cancelled(struct tool_run *r)
{
	struct error err = ERROR_INIT;

	if (r->over)
		return;
	(void)error_set(&err, &TOOL_CANCELLED, "the call was ended before it was done");
	r->result.cancelled = true;
	tool_run_fail(r, &err);
}

static void destroy(struct tool_run *r)
{
	arena_release(&r->arena);
	r->release(r);
}

bool tool_run_back(struct tool_run *r)
{
	r->busy = false;
	if (!r->orphaned)
		return false;
	destroy(r);
	return true;
}

void tool_run_free(struct tool_run *r)
{
	if (!r)
		return;
	loop_timer_free(mem_take(&r->timer));
	r->over = true;
	if (r->busy)
		r->orphaned = true;
	else
		destroy(r);
}

void tool_run_cancel(struct tool_run *r)
{
	tool_run_cancelled(r);
}
