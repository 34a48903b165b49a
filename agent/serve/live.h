#ifndef AGENT_SERVE_LIVE_H
#define AGENT_SERVE_LIVE_H
/*
 * Live turns: carries out the actions of core/turn by the store, a provider and the tools.
 *
 * A turn has at most one writing job under way, and reports back to its state machine when that is
 * committed. Calls run one at a time, in order.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/bot.h"
#include "agent/core/retry.h"
#include "agent/core/turn.h"
#include "agent/core/verdict.h"
#include "agent/io/provider.h"
#include "agent/io/store_context.h"
#include "agent/io/store_park.h"
#include "agent/io/store_steer.h"
#include "agent/serve/asked.h"
#include "agent/serve/leases.h"
#include "agent/serve/schedule.h"
#include "agent/tool/tool.h"
#include "json/json.h"
#include "loop/loop.h"

struct background;
struct daemon;
struct live_warm;
struct ruleset;
struct wait_look;

struct live_call {
	struct str call_id, name, arguments; /* in the round's arena */
	const struct tool *tool;             /* NULL: none of that name for this bot */
	const struct served_tool *served;    /* … and then what its client declared, or NULL */
	const void *args;
	struct tool_judgement judged; /* as announced */
	int64_t judged_version;       /* of the settings, when its turn came */
	struct verdicts verdicts;
	int64_t announced_mono_ms; /* when verdicts.announced_ms was, by the clock nobody sets */
	bool required;             /* verdicts were found to be needed */
	bool started;
	struct error refusal; /* set: it gets this as its result without running */
	int64_t node;         /* of the item that holds it */
	size_t item;
};

struct live_turn {
	struct daemon *d;
	enum turn_state state;
	struct arena arena;   /* the turn's */
	struct arena round;   /* one model reply and its calls */
	struct arena context; /* what goes into the call, until the provider needs it no more */
	struct store_window window; /* in it */
	struct bot bot; /* settings as of the last round or configure; jobs must not look at it */
	const struct ruleset *rules; /* its command rules, NULL: none; bot.set.rules is in it */
	int64_t version;             /* grows when the settings are replaced */
	struct store_turn info;
	struct str workspace;
	int64_t rounds;
	int64_t tokens_used; /* as of the last context; only kept where the turn has a budget */
	bool stop;
	bool abandoned;         /* the daemon ends without it: nothing is driven any more */
	const char *stop_cause; /* the turn's error: cancelled, daemon_shutdown */

	struct provider_call *call;
	struct provider_request request;
	struct live_warm *warm; /* keeps the provider's cache of it; NULL: no need */
	struct retry retry;     /* of the model call under way */
	size_t fallback;        /* which model is asked: 0 its own, n the bot's nth fallback */
	struct live_call *calls;
	size_t call_count, at;

	char served_lease[LEASE_NAME_BYTES + 1]; /* who has the current call; "": nobody */
	struct request *served_reply;            /* answered when its result is recorded */
	struct list steps;                       /* struct step, of the current call */
	struct tool_run *run;
	struct process_claim claim;
	struct background *background; /* made, its row not committed yet */
	bool process_held;
	struct loop_timer *timer; /* expiry of gates, or the next try of a job */

	/* The writing job under way. */
	int (*job)(struct store_tx *tx, void *arg, struct error *err);
	void (*job_done)(struct live_turn *t);
	int64_t backoff_ms;
	bool job_pending;
	int reads_pending;

	struct store_compaction compaction;
	int64_t compact_from_bytes; /* no summary is tried below: the last one failed */

	struct store_append append;
	int64_t *nodes;
	int64_t hold_until_mono_ms; /* a gated call waits live until then, and parked from then on
				     */
	int64_t announced_ms;
	struct store_call *announce;
	size_t announce_count;
	size_t *announced_calls; /* index into calls of each */
	int64_t *announce_requests;
	struct store_result result;
	struct store_verdict verdict_rows[BOT_GATES_MAX];
	size_t verdict_count;
	bool sandboxed;
	bool last_failed; /* the call just recorded was denied, failed or exited non-zero */
	struct store_finish finish;
	struct store_finished finished;
	bool steers;                /* there may be some to take up */
	bool steers_more;           /* of the last batch */
	size_t steers_taken;        /* by the last commit */
	struct store_park park;     /* what it parks for, or was parked for */
	struct wait_look *look;     /* the tool `wait` asks the store */
	int64_t wait_until_mono_ms; /* of that tool; 0: as long as it takes */
	bool wait_resumed;          /* … which was set before it parked */
	int64_t park_offset_ms; /* what real time is ahead for park.deadline_ms: see serve/park.h */
	struct error fault;     /* of a failed turn */
	struct str fault_code;
};

/* A turn that the store has just started. Copies what it keeps. Its slot is already reserved. */
void live_start(struct daemon *d, const struct store_turn *info, const struct bot *bot);
/* A parked turn that the store has just put back to running. Its slot is already reserved. cause:
 * somebody asked to stop it meanwhile, or NULL. */
void live_resume(
	struct daemon *d, const struct store_round *r, int64_t offset_ms, const char *cause);
/* The provider holds all calls until then: the turn parks and holds nothing (spec 8.4). For the
 * model's callbacks, which have no call under way any more then. */
void live_park_paced(struct live_turn *t, int64_t until_mono_ms);
/* NULL when that bot has no live turn. */
struct live_turn *live_find(struct daemon *d, struct str bot);
/* Ends it as interrupted with this cause (a literal); the first cause wins. */
void live_stop(struct live_turn *t, const char *cause);
/* Its bot's settings were replaced. */
void live_configured(struct daemon *d, const struct bot *b);
/* A verdict for one of its calls. */
int live_answer(
	struct live_turn *t, struct str call_id, const struct verdict_answer *a, struct error *err);
/* It was announced: its gates' time begins. */
void live_announced(const struct live_turn *t, struct live_call *c, int64_t request);
/* The time its gates go by: when it was announced and what passed since, wherever the clock of the
 * day was set to meanwhile. */
int64_t live_gate_now(const struct live_turn *t, const struct live_call *c);
/* As it is shown to whoever may answer. */
struct asked live_asked(const struct live_turn *t, const struct live_call *c);
/* They were announced: whoever serves their tags is told. Indices of calls. */
void live_push(struct live_turn *t, const size_t *calls, size_t count);
/* Whether this call waits for a verdict now. */
bool live_call_pending(const struct live_turn *t, size_t at);
/* The daemon ends without it: what runs is ended, nothing more is recorded. live_free when no job
 * of its is under way any more. */
void live_abandon(struct live_turn *t);
void live_free(struct live_turn *t);

/* live_retry.c: the model that is asked, what it cost, and what becomes of a call that failed. */
struct str live_model_name(const struct live_turn *t);
struct provider *live_model_provider(
	const struct live_turn *t, struct str *ret_model, struct error *err); /* NULL: none */
void live_model_failed(struct live_turn *t, const struct provider_failure *f);
void live_model_answered(struct live_turn *t);
/* What may show of what a provider said: without the keys. */
void live_clean_error(const struct daemon *d, struct error *err);
struct store_usage live_usage(const struct provider_usage *u, int64_t sent_ms);

/* Parts of the driver in files of their own (live_calls.c, live_model.c, live_park.c). */
struct live_turn *live_new(struct daemon *d, const struct store_turn *info, const struct bot *bot);
/* It is over here: what it held goes back. */
void live_release(struct live_turn *t);
void live_boundary(struct live_turn *t);
/* In a store job: takes up what is queued for it; how many in steers_taken. */
int live_take_steers(struct store_tx *tx, struct live_turn *t, struct error *err);
void live_commit_park(struct live_turn *t);
void live_park_handles(struct live_turn *t, const struct tool_wait *w);
/* The tool `wait`, which the turn itself is. */
void live_wait(struct live_turn *t);
/* The result of the current call, in the round's arena. */
void live_set_result(struct live_turn *t, struct str output, bool failed);
void live_set_result_with(struct live_turn *t, struct str output, bool failed,
	const struct item_picture *pictures, size_t picture_count);
void live_set_error(struct live_turn *t, const struct error *err);
void live_claim_init(struct live_turn *t);
/* Deep copies of what outlives the caller's; without the rules, which may be long. */
void live_keep_bot(struct arena *a, const struct bot *b, struct bot *ret);
void live_leave(struct live_turn *t);
void live_step(struct live_turn *t, enum turn_event e);
void live_commit(struct live_turn *t, int (*job)(struct store_tx *, void *, struct error *),
	void (*done)(struct live_turn *));
void live_read_context(struct live_turn *t);
/* The context is needed no more: a provider took it, or the call is over. */
void live_context_release(struct live_turn *t);
void live_commit_window(struct live_turn *t);
void live_ask_summary(struct live_turn *t);
void live_commit_summary(struct live_turn *t);
void live_publish_delta(struct live_turn *t, const char *kind, struct str delta);
void live_item_repaired(void *arg, const char *what);
/* What all of a bot's calls have in common: instructions, tools, limits, the cache's key. */
void live_set_request(struct live_turn *t);
/* The same for another request; tools, cache key: where these are kept. */
void live_fill_request(struct live_turn *t, struct provider_request *r, struct arena *tools,
	struct arena *cache_key);
/* live_warm.c: the model was asked: from now on its provider's cache of that is kept warm, while
 * the reply streams or a tool runs (agent spec 8.5). */
void live_warm_begin(struct live_turn *t, const struct provider *p);
void live_warm_end(struct live_turn *t);
void live_ask_model(struct live_turn *t);
void live_commit_append(struct live_turn *t, bool last);
void live_decide(struct live_turn *t);
void live_commit_announce(struct live_turn *t);
void live_wait_verdicts(struct live_turn *t);
/* The timer of a gated turn. */
void live_gate_timer(struct live_turn *t);
void live_park_verdict(struct live_turn *t);
/* For approval_hold_ms; then it parks. */
void live_wait_host(struct live_turn *t);
void live_park_host(struct live_turn *t);
void live_commit_start(struct live_turn *t);
void live_run_tool(struct live_turn *t);
void live_stop_tool(struct live_turn *t);
void live_commit_result(struct live_turn *t);
void live_commit_unrun(struct live_turn *t);
void live_commit_finish(struct live_turn *t);
void live_context(const struct live_turn *t, const struct live_call *c, struct tool_context *ret);
/* Its tool and arguments; false: it is refused. */
bool live_prepare_call(struct live_turn *t, struct live_call *c);
/* Judges a call and says whose verdicts it needs; sets the refusal where it cannot run at all. */
void live_plan_call(struct live_turn *t, struct live_call *c);
void live_round_release(struct live_turn *t);
/* A context read came back; the turn goes when it was over and this was the last. */
void live_read_returned(struct live_turn *t);
struct str live_user_item(struct arena *a, const struct store_turn *turn);

#endif
