#ifndef AGENT_IO_STORE_INTERNAL_H
#define AGENT_IO_STORE_INTERNAL_H
/*
 * The store, inside: what its files share. Nobody else includes this but its tests.
 */
#include <pthread.h>

#include "agent/core/item.h"
#include "agent/io/store.h"
#include "agent/io/store_park.h"
#include "agent/io/store_processes.h"
#include "agent/io/store_sql.h"
#include "json/json.h"

extern const struct db_schema store_schema;

enum {
	EVENT_MAX_BYTES = PAGE_MAX_BYTES, /* spec 2.3: a page must be able to hold it */
	SETTINGS_MAX_BYTES = 4 * 1024 *
			     1024, /* ours: all limits of a bot's lists together are below */
	CALL_JSON_MAX_BYTES = 1024 * 1024, /* ours: BOT_GATES_MAX reasons, every byte escaped */
};

/* An event a job recorded, in the arena of its group. */
struct store_recorded {
	struct store_event event;
	struct store_recorded *next;
};

struct store_view {
	struct db *db;
	const char *spill; /* the folder of output that lies in files: spill.h */
};

/* A turn whose files go once the job is committed. */
struct store_dropped {
	int64_t bot, turn;
	struct store_dropped *next;
};

struct store_tx {
	struct store_view view;
	const struct clock *clock;
	struct arena *keep; /* where events live until they are published */
	struct store_recorded *first, *last;
	struct store_dropped *dropped;
};

/* The statement, ready to bind. */
static inline struct db_stmt *store_stmt(const struct store_view *v, enum store_sql which)
{
	return db_prepare(v->db, store_sql[which]);
}

/* A copy in the arena; absent stays absent. */
struct str store_keep(struct arena *a, struct str s);
/* A column's text, copied. */
struct str store_col(struct db_stmt *s, int at, struct arena *a);
/* Binds NULL for 0: ids and times. */
void store_bind_id(struct db_stmt *s, int at, int64_t id);
/* Index of a name in a NULL-terminated list, or -1. */
int store_index_of(const char *const *names, struct str name);

/* Threads and queues: store_worker.c. */
struct store_job;
struct store_lane {
	pthread_t thread;
	pthread_cond_t wake;
	struct list jobs; /* struct store_job, oldest first; under the store's lock */
	int64_t queued;
	bool stop, started;
};
struct store {
	struct db *writer, *reader;
	struct loop *loop;
	const struct clock *clock;
	void (*published)(void *arg, const struct store_event *e);
	void *arg;
	struct store_identity identity;
	char *path, *wal_path, *spill;
	int owner_fd;
	pthread_mutex_t lock; /* over the lanes and the counts */
	struct store_lane writing, reading;
	struct store_counts counts;
	int64_t wal_seen_bytes; /* the writing thread's: size of the WAL when it last looked after
				   it */
};
int store_threads_start(struct store *s, struct error *err);
void store_threads_stop(struct store *s); /* runs what is queued, then joins */

/* Everything a crash left, in the transaction of `tx` (spec 3.5). */
int store_recover(struct store_tx *tx, const struct store_options *o, struct store_recovery *ret,
	struct error *err);

/* Where an event belongs. */
struct store_place {
	int64_t bot, turn;
	struct str bot_name;
};
/* Inserts an event and keeps it for the publisher. `data` is a whole JSON object. */
int store_record(struct store_tx *tx, const struct store_place *at, const char *kind,
	const struct buf *data, struct error *err);

/* A running turn, and where its bot's conversation stands. */
struct store_line {
	struct store_place at;
	int64_t head, depth, total_bytes;
	enum item_family family;
};
/* STORE_TURN_NOT_FOUND, or STORE_STALE_TURN when it does not run. bot_name lives in the arena. */
int store_line_open(const struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_line *ret, struct error *err);
/* Adds an item as the line's newest node; the bot's head follows with store_line_save. */
int store_line_add(struct store_tx *tx, struct store_line *l, struct str item, int64_t *ret_node,
	struct error *err);
int store_line_save(struct store_tx *tx, const struct store_line *l, struct error *err);
/* After a save: with no call of the turn open, the bot may be forked from its head. */
int store_line_close(struct store_tx *tx, const struct store_line *l, struct error *err);

/* Inserts the bot, which takes its creator's gates over; no event. STORE_BOT_EXISTS, STORE_CREATOR.
 */
int store_bot_add(struct store_tx *tx, const struct store_create *c, struct arena *a,
	struct bot *ret, struct error *err);
/* 1 the bot's lineage, which ends in `head`, holds the node; 0, -1. */
int store_in_lineage(
	struct store_view *v, int64_t bot, int64_t head, int64_t node, struct error *err);

/* Events up to this one are gone, of the bot and of the store: store_prune.c. */
int store_set_pruned(struct store_tx *tx, int64_t bot, int64_t cursor, struct error *err);
/* Deletes what a turn left beside its nodes. Adds to *events, moves *cursor on. */
int store_drop_records(
	struct store_tx *tx, int64_t turn, int64_t *events, int64_t *cursor, struct error *err);
/* What a call wrote, packed where that helps: store_artifacts.c. */
int store_artifacts_add(
	struct store_tx *tx, int64_t turn, const struct store_result *r, struct error *err);
/* Whether the turn's records are gone. */
int store_turn_is_pruned(struct store_view *v, int64_t turn, bool *ret, struct error *err);
/* Output in files: store_spill.c. 1 the call runs in the background, and what its stream has by
 * now; 0, -1. */
int store_spill_live(struct store_view *v, const struct store_artifact_ref *ref, int64_t owner,
	int64_t *ret_process, struct error *err);
/* What the process has written to `stream` so far is its call's artifact from now on. *ret_kept:
 * there was something. */
int store_spill_adopt(struct store_tx *tx, const struct store_process *p, size_t stream,
	bool *ret_kept, struct error *err);
/* In the job that takes the turn's artifacts out of the store, before it does. */
int store_spill_drop(struct store_tx *tx, int64_t turn, struct error *err);
/* After the commit. */
void store_spill_remove(const struct store *s, const struct store_dropped *dropped);
/* At the start: what no row knows goes. */
void store_spill_sweep(struct store_view *v);
/* One piece of what the bot retains no longer, in the commit that completes `turn`, whose own
 * records stay. retain 0: all is kept. */
int store_retain(struct store_tx *tx, int64_t bot, int64_t turn, int64_t retain, struct error *err);

/* A round more, unless the call had another purpose, and its tokens on the turn's and the bot's
 * account: store_charge.c. last_message: node of the model's newest item, 0: none. */
int store_account(struct store_tx *tx, const struct store_place *at, const struct store_usage *u,
	int64_t last_message, struct error *err);
int store_record_usage(struct store_tx *tx, const struct store_place *at,
	const struct store_usage *u, struct error *err);

/* Turn rows: store_turn_rows.c. The statement's columns are TURN_COLUMNS. */
int store_turn_from_row(
	struct db_stmt *s, struct arena *a, struct store_turn *ret, struct error *err);

/* The pictures of a turn that has not started, absent when there are none. */
int store_turn_pictures(
	struct store_view *v, int64_t turn, struct arena *a, struct str *ret, struct error *err);

/* Verdicts that take effect with this commit: their receipts, and the bot's count of denials:
 * store_verdicts.c. */
struct store_settled {
	const struct store_place *at;
	struct str call_id, step, name; /* step: absent for the call itself */
	const struct store_verdict *verdicts;
	size_t count;
	enum { SETTLED_PART, SETTLED_ALLOWED, SETTLED_DENIED } outcome;
};
int store_settle(struct store_tx *tx, const struct store_settled *s, struct error *err);

/* Who must allow a call, and how long they have: a member, or (name NULL) a value. */
void store_put_gates(struct json_out *j, const char *name, const struct gate *gates, size_t count);
/* Verdicts as events show them. */
void store_put_approvals(struct json_out *j, const char *name, const struct store_verdict *v,
	size_t count, bool decision);

/* Gives a call its result; the caller saves the line. */
int store_call_complete(struct store_tx *tx, struct store_line *l, const struct store_result *r,
	int64_t *ret_node, struct error *err);
/* Gives every call that has no result one. *ret_unknown: how many of them were executing. */
int store_calls_close(
	struct store_tx *tx, struct store_line *l, int64_t *ret_unknown, struct error *err);
/* The calls of a turn that have no result, in the order they were planned. */
int store_calls_read(struct store_view *v, int64_t turn, struct arena *a,
	struct store_open_call **ret, size_t *ret_count, struct error *err);
/* Keeps verdicts on a planned call. */
int store_call_decided(struct store_tx *tx, const struct store_place *at,
	const struct store_partial *p, struct error *err);
/* Tells the owner of every turn in the state that `which` lists. */
int store_recover_parked(struct store_tx *tx, const struct store_options *o, enum store_sql which,
	int64_t *ret_count, struct error *err);
/* The bot's note, from this node on. */
int store_note_set(
	struct store_tx *tx, int64_t bot, int64_t node, struct str text, struct error *err);
/* Commands that ran in the background when the daemon ended. */
int store_recover_processes(struct store_tx *tx, const struct store_options *o,
	struct store_recovery *ret, struct error *err);
/* Lets the owner see to what a turn left outside the store. */
int store_recover_tell(struct store_tx *tx, const struct store_options *o, int64_t bot,
	int64_t turn, struct error *err);
/* Counts queued turns, and the bytes of their prompts and pictures. */
int store_queue_add(struct store_tx *tx, int64_t turns, int64_t bytes, struct error *err);
static inline int64_t store_queued_bytes(struct str prompt, struct str pictures)
{
	return (int64_t)(prompt.len + pictures.len);
}
/* Ends a queued turn that never ran. */
int store_turn_drop(struct store_tx *tx, const struct store_finish *f, struct error *err);
/* Strict steers whose turn has ended without them fail. */
int store_steers_miss(struct store_tx *tx, int64_t bot, int64_t turn, struct error *err);
/* store_turn_finish, counting. */
int store_turn_end(struct store_tx *tx, const struct store_finish *f, struct store_finished *ret,
	int64_t *ret_unknown, struct error *err);

#endif
