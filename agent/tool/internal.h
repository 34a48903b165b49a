#ifndef AGENT_TOOL_INTERNAL_H
#define AGENT_TOOL_INTERNAL_H
/*
 * What the tools share: a run and how it ends, texts for the model, the handing over of writes.
 */
#include "agent/tool/tool.h"

/* Why a call leaves the sandbox: judgement.why. */
#define TOOL_WHY_ESCALATED "require_escalated"
#define TOOL_WHY_OUTSIDE   "outside_writable_folders"
#define TOOL_WHY_PROTECTED "protected"
#define TOOL_WHY_RULE      "rule" /* … or needs a verdict where it is */

/*
 * A run: the part that every tool's own struct starts with. `busy` says that a worker or the store
 * still holds it; a run that is freed then goes when they give it back. Whatever ends it, done()
 * comes once, in a round of its own, and never after tool_run_free.
 */
struct tool_run {
	const struct tool_context *context;
	struct arena arena; /* of the result */
	struct tool_result result;
	tool_done done;
	void *arg;
	struct loop_timer *timer;
	void (*release)(struct tool_run *r); /* the tool's own members; frees the struct */
	bool busy;                           /* something will call back with this run */
	bool over;                           /* the result stands, done() was or will be called */
	bool orphaned;                       /* freed while busy */
};

void tool_run_init(struct tool_run *r, const struct tool_context *c, const struct tool_order *o,
	void (*release)(struct tool_run *r));
/* The result stands: done() comes in the next round. Once. */
void tool_run_finish(struct tool_run *r, struct str output, bool failed);
/* The same with an error as the result. */
void tool_run_fail(struct tool_run *r, const struct error *err);
/* Ends it as cancelled, with an error that says so. */
void tool_run_cancelled(struct tool_run *r);
/* What was busy is back: true when the run was freed meanwhile, and is gone now. */
bool tool_run_back(struct tool_run *r);
/* For `free` and, of a run that nothing outside has to be told of, `cancel` of a tool's entry. */
void tool_run_free(struct tool_run *r);
void tool_run_cancel(struct tool_run *r);

/*
 * Where a call would write: each path of it resolved, and what the sandbox says of the place.
 */
struct tool_target {
	struct guard_path path;
	enum sandbox_place place; /* SANDBOX_OUTSIDE for a bot without a sandbox */
};
struct tool_targets {
	struct tool_target *items;
	size_t count;
};
void tool_targets_release(struct tool_targets *t);
static inline void tool_targets_cleanup(struct tool_targets *t)
{
	tool_targets_release(t);
}
/* For judge(): where a call that writes to these paths would run. TOOL_REFUSED_PATH for what no
 * gate can allow, SANDBOX_PROTECTED_LINK. */
int tool_targets_judge(const struct tool_context *c, struct arena *a, const struct str_list *paths,
	struct tool_judgement *ret, struct error *err);
/* For start(): resolves again. GUARD_CHANGED for what is no longer what was judged, or would leave
 * the sandbox without `outside`. */
int tool_targets_find(const struct tool_context *c, const struct str_list *paths, bool outside,
	struct tool_targets *ret, struct error *err);

/* That a file is each of those that verdicts named: GUARD_CHANGED. Brief. */
int tool_check_allowed(const struct tool_context *c, const struct guard_path *p, struct error *err);

/* What the bot's command rules make of a judgement of this script (spec 7.8). RULES_FORBIDDEN,
 * RULES_UNREADABLE. */
int tool_rules_judge(const struct tool_context *c, struct arena *a, struct str script,
	struct tool_judgement *j, struct error *err);

enum {
	TOOL_INCIDENTS_MAX = 8,               /* ours: shown; more say no more */
	TOOL_INCIDENT_MAX_BYTES = 512,        /* ours: of a path */
	TOOL_INCIDENTS_MAX_BYTES = 64 * 1024, /* as JSON, each byte of a path escaped as \u00XX */
};
/* What a survey says after a command: `incidents`, of the result as well, and `protection_cut`
 * where it did not see everything. Nothing in the usual case. */
void tool_incidents_put(struct tool_run *r, const struct sandbox_survey *v, struct json_out *j);

/* Whether the bot has a sandbox. */
bool tool_sandboxed(const struct tool_context *c);
/* The workspace: there, a folder, and still the one it was. TOOL_WORKSPACE_MISSING. */
int tool_check_workspace(const struct tool_context *c, struct error *err);
/* No NUL in an argument that becomes a C string. */
int tool_check_text(struct str s, const char *what, struct error *err);
/* A C string of it in the arena; NULL for absent. */
char *tool_cstr(struct arena *a, struct str s);
/* What a buffer holds, in the arena. */
struct str tool_keep(struct arena *a, const struct buf *b);

#endif
