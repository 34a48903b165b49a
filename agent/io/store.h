#ifndef AGENT_IO_STORE_H
#define AGENT_IO_STORE_H
/*
 * The store: every bot, turn, item, call and event, durable before it takes effect (spec 4).
 *
 * One worker thread owns the writing connection. It takes a job plus whatever else is queued, up to
 * 32, runs each in a savepoint of one transaction, commits once, then answers every job: group
 * commit. A job that fails rolls back alone; a failed COMMIT fails them all. A reader thread owns a
 * query-only connection. run() is called on those threads and touches only its arg; done() is
 * called on the loop.
 *
 * Events a job recorded are handed to the publisher on the loop, in commit order, right before that
 * job's done(): so a job that reads "everything after cursor N" and a done() that goes live miss
 * nothing and see nothing twice (spec 2.4).
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/core/bot.h"
#include "agent/io/store_pause.h"
#include "clock/clock.h"
#include "db/db.h"
#include "error/error.h"
#include "loop/loop.h"
#include "mem/mem.h"
#include "receipt/receipt.h"
#include "text/text.h"

extern const struct error_kind STORE_OWNED;              /* store_already_owned, exit 75 */
extern const struct error_kind STORE_BOT_NOT_FOUND;      /* bot_not_found */
extern const struct error_kind STORE_BOT_EXISTS;         /* bot_exists */
extern const struct error_kind STORE_BOT_BUSY;           /* bot_busy */
extern const struct error_kind STORE_ACTIVE_LIMIT;       /* active_agent_limit */
extern const struct error_kind STORE_PAUSED;             /* daemon_paused */
extern const struct error_kind STORE_PENDING_LIMIT;      /* pending_limit */
extern const struct error_kind STORE_IDEMPOTENCY;        /* idempotency_conflict */
extern const struct error_kind STORE_BUDGET;             /* budget_exhausted */
extern const struct error_kind STORE_CREATOR;            /* creator_not_found */
extern const struct error_kind STORE_TURN_NOT_FOUND;     /* turn_not_found */
extern const struct error_kind STORE_STALE_TURN;         /* stale_turn */
extern const struct error_kind STORE_NODE_NOT_FOUND;     /* node_not_in_history */
extern const struct error_kind STORE_ARTIFACT_NOT_FOUND; /* artifact_not_found */
extern const struct error_kind STORE_ARTIFACT_PRUNED;    /* artifact_pruned */
extern const struct error_kind STORE_WORKSPACE_REQUIRED; /* workspace_required */
extern const struct error_kind STORE_EVENT_TOO_LARGE;    /* event_page_item_limit */
extern const struct error_kind STORE_CONTEXT_LIMIT;      /* context_limit */
extern const struct error_kind STORE_CALL_REPEATED;      /* duplicate_call_id */
extern const struct error_kind STORE_CALL_INVALID;       /* invalid_tool_call */
extern const struct error_kind STORE_FORK_NODE;          /* node_not_in_source_history */
extern const struct error_kind STORE_FORK_OPEN;          /* fork_point_has_open_tool_calls */
extern const struct error_kind STORE_FORK_REASONING;     /* fork_point_splits_reasoning */
extern const struct error_kind STORE_ALLOW_WIDENS;       /* allow_widens */

struct store;
struct store_park; /* store_park.h */
struct store_turn;
struct store_tx;   /* a writing job's hold on the store */
struct store_view; /* a reading job's */

struct store_event {
	int64_t id;  /* the cursor */
	int64_t bot; /* 0: none */
	struct str bot_name;
	int64_t turn; /* 0: none */
	struct str kind;
	struct str data; /* JSON object text */
};

struct store_identity {
	char lineage[17];  /* 16 hex digits, drawn when the store was made */
	char identity[33]; /* 32 hex digits, binds the physical file too */
	int schema;
};

/* What open found and mended (spec 3.5). */
struct store_recovery {
	int64_t interrupted_turns;
	int64_t unknown_calls;
	int64_t ready_turns; /* queued turns that may start now */
	int64_t parked_turns;
	int64_t deleted_bots; /* whose deletion had begun */
	int64_t lost_processes;
	int64_t kept_outputs;     /* streams of those that can still be read */
	struct store_pause pause; /* as it was left */
};

struct store_options {
	const char *path; /* canonical */
	int *owner_fd;    /* of store_own, taken over by store_open; NULL: it locks itself */
	struct loop *loop;
	const struct clock *clock;
	/* Called on the loop for every committed event, in order; e dies with the call. */
	void (*published)(void *arg, const struct store_event *e);
	/* Called by store_open for every turn that it interrupts, before that is committed: what
	 * the turn left outside the store is looked after again should this daemon die as well. May
	 * be NULL; b and t die with the call. */
	void (*interrupted)(void *arg, const struct bot *b, const struct store_turn *t);
	/* Called by store_open for every turn that is parked; may be NULL; p dies with the call. */
	void (*parked)(void *arg, const struct store_park *p);
	void *arg;
};
/* Takes the owner lock of a store, in a folder that is there, and nothing else: STORE_OWNED when
 * another daemon has it. Closing the descriptor gives it back. */
int store_own(const char *path, int *ret_fd, struct error *err);
/* Takes the owner lock (STORE_OWNED) where it was not given, opens or makes the store, migrates,
 * recovers in one transaction, starts the threads. What recovery records is not handed to
 * published(): nobody follows yet, and replay finds it. */
int store_open(const struct store_options *o, struct store **ret,
	struct store_recovery *ret_recovery, struct error *err);
/* Finishes queued jobs, closes. Their done() calls are dropped unless the loop still runs. Blocks.
 */
void store_close(struct store *s);
const struct store_identity *store_identity(const struct store *s);
/* The folder of output that lies in files: spill.h. */
const char *store_spill(const struct store *s);

struct store_counts {
	int64_t jobs, groups, reads, queued_jobs;
	int64_t group_sizes[6]; /* 1, 2-3, 4-7, 8-15, 16-31, 32 */
	int64_t file_bytes, wal_bytes;
};
void store_counts(struct store *s, struct store_counts *ret);

/* On the loop's thread. A job holds the loop (loop_hold) until its done() has returned; done may be
 * NULL. run() returns 0 or -1 with err set; what it wrote is kept only for 0. Reads run one by one,
 * in order. */
void store_write(struct store *s, int (*run)(struct store_tx *tx, void *arg, struct error *err),
	void (*done)(void *arg, int rc, const struct error *err), void *arg);
void store_read(struct store *s, int (*run)(struct store_view *v, void *arg, struct error *err),
	void (*done)(void *arg, int rc, const struct error *err), void *arg);
struct store_view *store_tx_view(struct store_tx *tx); /* reading inside a writing job */

/*
 * Bots. Everything that comes out lives in the arena given.
 */
struct store_create {
	struct str name;
	struct bot_settings set;
	struct str provider, family;
	struct str created_by; /* absent: none */
	int64_t created_by_id;
};
/* Inserts the bot, which takes its creator's gates over, and its `created` event. STORE_BOT_EXISTS,
 * STORE_CREATOR, BOT_INVALID_GATE. */
int store_bot_create(struct store_tx *tx, const struct store_create *c, struct arena *a,
	struct bot *ret, struct error *err);
int store_bot_get(
	struct store_view *v, struct str name, struct arena *a, struct bot *ret, struct error *err);
int store_bot_get_id(
	struct store_view *v, int64_t id, struct arena *a, struct bot *ret, struct error *err);
/* By name, after `after` (absent: from the start); at most `limit`. Without instructions. */
int store_bot_list(struct store_view *v, struct str after, int limit, struct arena *a,
	struct bot **ret, size_t *ret_count, struct error *err);
/* Replaces all settings (the caller read, changed and checked them in the same job) and records
 * `configured`. */
int store_bot_configure(struct store_tx *tx, const struct bot *b, struct error *err);

/*
 * The life cycle (spec 3.6). A fork shares its source's nodes and copies what the source is; a
 * deletion and a prune go in pieces of STORE_PIECE_TURNS turns, one job each, so that other bots
 * have their turn between them.
 */
enum { STORE_PIECE_TURNS = 4 };

struct store_fork {
	struct str source, name;
	int64_t checkpoint;    /* node; 0: where the source stands */
	struct str workspace;  /* canonical; absent: the source's */
	int64_t budget_tokens; /* 0: the source's */
	struct str created_by; /* absent: none */
	int64_t created_by_id;
	const struct gate *gates; /* beside the source's and the creator's */
	size_t gate_count;
	bool has_allow; /* it may call `allow` of its tools; else what the source may */
	struct str_list allow;
	const struct bot_settings *confined; /* in its source's place; NULL: as the source is */
};
/* STORE_FORK_NODE, STORE_FORK_OPEN, STORE_FORK_REASONING, STORE_ALLOW_WIDENS, and as create. Event
 * `forked`. */
int store_bot_fork(struct store_tx *tx, const struct store_fork *f, struct arena *a,
	struct bot *ret, struct error *err);

/* What was deleted; pieces add to it. */
struct store_deleted {
	int64_t turns, events, nodes;
};
/* The bot is deleting from now on: it is found no more, its name is not free yet. STORE_BOT_BUSY
 * while it has a turn that is not over or a command in the background. A deletion that has begun is
 * gone on with. *ret_bot: for the pieces. */
int store_bot_delete(struct store_tx *tx, struct str name, int64_t *ret_bot, struct error *err);
/* Nodes that another bot's history holds stay. *ret_done: the bot is gone. */
int store_bot_delete_piece(struct store_tx *tx, int64_t bot, struct store_deleted *sum,
	bool *ret_done, struct error *err);

struct store_pruned {
	int64_t events;
	int64_t cursor; /* of the bot: events up to it may be gone */
};
/* Drops events, calls, ended processes and artifacts of finished turns older than the newest
 * `keep`. Adds to *sum. */
int store_bot_prune_piece(struct store_tx *tx, int64_t bot, int64_t keep, struct store_pruned *sum,
	bool *ret_done, struct error *err);
/* Events up to *ret may be gone; bot 0: of any bot. *ret_there false: there is no such bot (any
 * more). */
int store_pruned_cursor(
	struct store_view *v, int64_t bot, int64_t *ret, bool *ret_there, struct error *err);

/*
 * Turns.
 */
enum turn_status {
	TURN_QUEUED,
	TURN_READY,
	TURN_RUNNING,
	TURN_WAITING,
	TURN_PACED,
	TURN_COMPLETED,
	TURN_FAILED,
	TURN_INTERRUPTED,
	TURN_STEERED,
};
extern const char *const turn_status_names[]; /* by enum, NULL-terminated */
static inline bool turn_status_final(enum turn_status s)
{
	return s >= TURN_COMPLETED;
}
enum delivery { DELIVERY_REJECT, DELIVERY_QUEUE, DELIVERY_STEER };
extern const char *const delivery_names[]; /* NULL-terminated */

struct store_turn {
	int64_t id, bot;
	struct str bot_name, request_id, prompt;
	struct str family; /* of its bot */
	enum turn_status status;
	struct str workspace, model;
	struct str from_bot; /* the sender, absent: the person */
	int64_t from_bot_id, from_turn;
	struct str error, detail; /* of a finished one, may be absent */
	int64_t checkpoint;       /* node id */
	int64_t input_tokens, output_tokens, cached_input_tokens;
	int64_t rounds, started_ms, finished_ms;
	int64_t into_turn, steered_node; /* of a steered one: who took it up, and where */
	struct str origin;     /* JSON {kind, name}: of what is nobody's words, or absent */
	int64_t budget_tokens; /* of the turn itself; 0: none */
	/* JSON [{media_type, base64}]: only where its user item is made; else absent */
	struct str pictures;
	bool was_queued;  /* just started, out of the queue */
	int64_t retries;  /* model calls made anew */
	int64_t paced_ms; /* it was held by its provider */
	int64_t denials;  /* its calls that were denied */
};

struct store_submit {
	struct str bot;
	int64_t bot_id;                                  /* 0: not asked */
	struct str request_id, prompt, workspace, model; /* workspace, model absent: the bot's */
	enum delivery delivery;
	struct str from_bot;
	int64_t from_bot_id, from_turn;
	int64_t expected_turn;      /* of a steer: no other turn takes it up; 0: any */
	struct str origin;          /* JSON {kind, name}, or absent */
	int64_t budget_tokens;      /* that the turn may use; 0: no limit of its own */
	struct str pictures;        /* as of a turn, or absent */
	struct str pictures_digest; /* of them: what tells a repeated request from another */
	bool may_start; /* a slot is reserved; else it is queued or STORE_ACTIVE_LIMIT */
	bool paused;    /* … or STORE_PAUSED: no turn starts now */
	int64_t pending_max, pending_max_bytes; /* of queued turns; 0: none */
	/* Tools that work in a workspace, NULL-terminated; NULL: none. STORE_WORKSPACE_REQUIRED
	 * when the bot has one of them and neither it nor this names a workspace. */
	const char *const *workspace_tools;
	/* Makes the user item's JSON for the bot's family out of the prompt; on the worker thread.
	 */
	struct str (*user_item)(struct arena *a, const struct store_turn *t);
};
struct store_submitted {
	struct store_turn turn;
	struct bot bot; /* as after the commit */
	bool duplicate;
	bool started;   /* running now: the slot is used */
	int64_t cursor; /* of the last event recorded, 0 for a duplicate */
};
/* Admission (spec 3.3): idempotency by (bot, request_id) first, then budget, delivery, limits.
 * Starting records the user node, `accepted`, and makes the bot busy; queueing records `queued`. */
int store_turn_submit(struct store_tx *tx, const struct store_submit *s, struct arena *a,
	struct store_submitted *ret, struct error *err);
/* Starts the oldest `ready` turn of all bots. *ret_found false: there is none. `user_item` as
 * above. */
int store_turn_start_ready(struct store_tx *tx,
	struct str (*user_item)(struct arena *, const struct store_turn *), struct arena *a,
	struct store_turn *ret_turn, struct bot *ret_bot, bool *ret_found, struct error *err);

struct store_usage {
	int64_t input_tokens, output_tokens, cached_input_tokens, sent_ms;
	int64_t cache_write_tokens, cache_write_1h_tokens; /* 0 and less: not said */
	struct str model;    /* PROVIDER/MODEL that answered; absent: not said */
	const char *purpose; /* of a call that is no round; NULL */
};
/* Model calls that failed: how many are made anew, and what one cost all the same, which counts as
 * a round (spec 8.3). STORE_STALE_TURN as above. */
struct store_charge {
	int64_t bot, turn, retries;
	bool has_usage;
	struct store_usage usage;
};
int store_charge(struct store_tx *tx, const struct store_charge *c, struct error *err);
enum {
	/* ours: several times what providers give; so that every event that names a call, or all
	 * calls of a round, stays within a page */
	STORE_CALL_NAME_MAX_BYTES = 256,
};
struct store_call {
	struct str call_id, name, arguments; /* arguments: JSON text */
	size_t item;                         /* index of the item that holds it */
	const struct gate *gates;            /* that must allow it; count 0: no verdict needed */
	size_t gate_count;
	struct str judged; /* JSON: what the verdicts are asked for; kept with the gates */
};
/* One model response: its items as nodes, `message` and `usage` events, its calls as `planned`, and
 * one `approval_requested` for those with gates, whose request number is 1. *ret_nodes: node id of
 * each item, in the arena. STORE_CALL_REPEATED when two calls under way would have one id; one of
 * an earlier round may come again and then names the newest call, its artifacts too.
 * STORE_CALL_INVALID for an id or a name that is empty or over STORE_CALL_NAME_MAX_BYTES.
 * This and what follows: STORE_STALE_TURN when the turn does not run any more, or the call is
 * further. */
struct store_append {
	int64_t bot, turn;
	const struct str *items;
	size_t item_count;
	struct store_usage usage;
	const struct store_call *calls;
	size_t call_count;
};
int store_append(struct store_tx *tx, const struct store_append *ap, struct arena *a,
	int64_t **ret_nodes, int64_t *ret_announced_ms, struct error *err);
/* Announces calls again (or for the first time) with a new request number each; drops earlier
 * verdicts. calls[i].item is not used. *ret_requests in the arena. */
int store_announce(struct store_tx *tx, int64_t bot, int64_t turn, const struct store_call *calls,
	size_t count, struct arena *a, int64_t **ret_requests, int64_t *ret_announced_ms,
	struct error *err);

struct store_verdict {
	struct str tag, by, reason;
	struct str path;    /* the file that was allowed, or absent */
	struct str subject; /* digest of what was decided on, or absent */
	bool allow, until_prior;
	bool recorded; /* its receipt was written by an earlier commit */
	int64_t at_ms, waited_ms, request;
};
/* Marks a call `executing` with the verdicts that allowed it; event `tool_started`. */
int store_tool_start(struct store_tx *tx, int64_t bot, int64_t turn, struct str call_id,
	const struct store_verdict *verdicts, size_t verdict_count, bool sandboxed,
	struct error *err);

/*
 * Receipts: each verdict that took effect, chained (lib/receipt) in the commit that it took effect
 * with. Nothing takes one out; they name bot, turn, call and tool, and of what was asked and said
 * the digests alone.
 */
struct store_receipts {
	const struct receipt *rows;
	size_t count;
	struct receipt_head head;
	struct str chain; /* its name: the store's lineage */
};
/* Those after this number, at most `limit`, and the head as it is with them. */
int store_receipts_read(struct store_view *v, int64_t after, int limit, struct arena *a,
	struct store_receipts *ret, struct error *err);

struct store_artifact {
	struct str stream; /* "stdout", "stderr" */
	struct str bytes;
	int64_t spilled; /* > 0: so many bytes lie in a file beside the store, these do not … */
	struct str name; /* … under this name: see spill.h */
};
struct store_result {
	struct str call_id;
	struct str item; /* the result item for the conversation */
	const struct store_artifact *artifacts;
	size_t artifact_count;
	const struct store_verdict *verdicts; /* of a denied call */
	size_t verdict_count;
	bool denied, cancelled, outcome_unknown;
	struct str note;           /* short, for the event: may be absent */
	struct str_list incidents; /* of a confined command: for the event */
	struct str pin; /* becomes the bot's note from this result on; absent: the note stays */
};
/* The result node, artifacts, call `completed`; event `tool_completed`. */
int store_tool_finish(struct store_tx *tx, int64_t bot, int64_t turn, const struct store_result *r,
	int64_t *ret_node, struct error *err);

struct store_finish {
	int64_t bot, turn;
	enum turn_status status; /* a final one */
	struct str error, detail;
	int64_t retain_turns; /* of the bot: how many keep their records; 0: all */
};
struct store_finished {
	bool next_ready; /* the bot's next queued turn became `ready` */
};
/* Gives every call without a result one: planned → {"error":"cancelled"}, executing →
 * tool_outcome_unknown; then status, checkpoint, `turn_finished`, and the bot's next queued turn
 * becomes `ready`. */
int store_turn_finish(struct store_tx *tx, const struct store_finish *f, struct store_finished *ret,
	struct error *err);
/* Ends a turn that has not started (queued or ready) as interrupted/cancelled; STORE_STALE_TURN
 * when it has. Was it the ready one, the bot's next queued turn is ready now. */
int store_turn_cancel_queued(struct store_tx *tx, int64_t bot, int64_t turn, struct error *err);

int store_turn_get(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_turn *ret, struct error *err);
/* Of one bot after turn id `after`, oldest first; prompts are cut to PREVIEW_MAX_BYTES. */
int store_turn_list(struct store_view *v, int64_t bot, int64_t after, int limit, struct arena *a,
	struct store_turn **ret, size_t *ret_count, struct error *err);
/* The text of the turn's last assistant item (spec 2.3 `result`), by the reader given; absent when
 * none. */
int store_turn_last_item(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct str *ret_item, struct error *err);
int store_queued_counts(
	struct store_view *v, int64_t *ret_turns, int64_t *ret_bytes, struct error *err);

/*
 * Reading.
 */
/* Events of one bot (bot 0: of all) after the cursor, at most limit and about PAGE_MAX_BYTES.
 * *ret_more: the page ended before the events did. */
int store_events(struct store_view *v, int64_t bot, int64_t after, int limit, struct arena *a,
	struct store_event **ret, size_t *ret_count, bool *ret_more, struct error *err);
/* The newest cursor. */
int store_cursor(struct store_view *v, int64_t *ret, struct error *err);

struct store_node {
	int64_t id, turn;
	struct str item; /* absent where only ids were asked for */
};
/* The bot's lineage from node `from` (0: its head), newest first, at most limit nodes with id >=
 * min_node. *ret_next: where the next page starts, 0 at the end: as `from`; with oldest_first,
 * which gives the oldest of them, as `min_node`. STORE_NODE_NOT_FOUND for a `from` of another's. */
int store_history(struct store_view *v, int64_t bot, int64_t from, int64_t min_node, int limit,
	bool oldest_first, struct arena *a, struct store_node **ret, size_t *ret_count,
	int64_t *ret_next, struct error *err);
/* Items of nodes that must belong to the bot's lineage (STORE_NODE_NOT_FOUND). Beyond the first
 * item they are read while they stay within HISTORY_ITEMS_MAX_BYTES; the others are left absent. */
int store_items(struct store_view *v, int64_t bot, const int64_t *nodes, size_t count,
	struct arena *a, struct store_node **ret, struct error *err);

/*
 * Artifacts: what a command wrote, beyond what its result shows. Of the bot's own turns, and of
 * those whose results its history shares, but for commands in the background. STORE_TURN_NOT_FOUND,
 * STORE_ARTIFACT_NOT_FOUND, STORE_ARTIFACT_PRUNED.
 */
struct store_artifact_ref {
	int64_t bot, turn;
	struct str call_id, stream;
};
int store_artifact_get(struct store_view *v, int64_t bot, int64_t turn, struct str call_id,
	struct str stream, struct arena *a, struct str *ret_bytes, struct error *err);
/* At most `limit` bytes from `offset` on; nothing behind the end. Of what is stored in blocks only
 * those that it touches are unpacked. */
struct store_page {
	struct str bytes;
	int64_t total;
	bool running; /* of a command that goes on: more may come */
};
int store_artifact_page(struct store_view *v, const struct store_artifact_ref *ref, int64_t offset,
	int64_t limit, struct arena *a, struct store_page *ret, struct error *err);
/* The bytes from a line on (1: the first): of what lies in a file as many as a page can show and
 * some, else from the beginning on and all. */
struct store_lines {
	struct str bytes;
	int64_t before; /* lines before the bytes */
	int64_t total;  /* lines of the whole; 0: they are those of the bytes */
};
int store_artifact_lines(struct store_view *v, const struct store_artifact_ref *ref, int64_t first,
	struct arena *a, struct store_lines *ret, struct error *err);
/* The streams that the call has, by name; `ref->stream` is not looked at. */
int store_artifact_streams(struct store_view *v, const struct store_artifact_ref *ref,
	struct arena *a, struct str_list *ret, struct error *err);

#endif
