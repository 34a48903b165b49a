#ifndef AGENT_IO_STORE_CONTEXT_H
#define AGENT_IO_STORE_CONTEXT_H
/*
 * The store: what of a conversation goes into a model call (spec 4.4), and the views that shape it:
 * where the window begins, the note, summaries, what goes as stubs (spec 3.6, 4.2).
 *
 * A view never changes the conversation: nodes stay as they are (AG-203). Each version of one holds
 * from its node on, until the next; a fork takes those at or before its point.
 */
#include "agent/core/window.h"
#include "agent/io/store.h"

/* What must be done before the model can be asked. */
enum store_need {
	STORE_FITS,    /* nothing: the items are there */
	STORE_BEGIN,   /* the window has to begin elsewhere, or what was left out told anew */
	STORE_ELIDE,   /* results have to go as stubs */
	STORE_COMPACT, /* what is old wants a summary */
};
struct store_stub {
	int64_t node;
	struct str item;
};
struct store_ask {
	int64_t bot;
	bool whole;                 /* give the whole conversation too, where items do not */
	int64_t compact_from_bytes; /* below, STORE_COMPACT is not the answer; INT64_MAX: never */
};
/* All in the arena given. */
struct store_window {
	struct bot now;
	enum store_need need;
	int64_t bytes, item_bytes; /* of all that goes; of the items alone */
	struct str summary, note, omitted;
	/* STORE_FITS: what goes. STORE_COMPACT: what the summary is to stand for. Oldest first. */
	struct str *items;
	size_t item_count;
	struct str *whole; /* as it was said, from the first item to the head; or none */
	size_t whole_count;
	/* STORE_BEGIN */
	int64_t start; /* node, 0: the beginning */
	int64_t first; /* node: the window's first item then; what stands before it is told */
	int64_t omitted_turns;
	struct str omission;
	/* STORE_ELIDE */
	int64_t floor; /* node: results up to it */
	struct store_stub *stubs;
	size_t stub_count;
	int64_t saved_bytes;
	/* STORE_COMPACT */
	int64_t coverage;      /* node: the last the summary stands for */
	int64_t covered_bytes; /* what it replaces, an older summary with it */
	int64_t prompt_bytes;  /* of the prompt that goes all the same */
};
/* The context of the bot's next call. STORE_CONTEXT_LIMIT: the newest turn cannot fit. The bot's
 * own limits hold (core/bot_limits.h), as they are now. */
int store_window(struct store_view *v, const struct store_ask *ask, struct arena *a,
	struct store_window *ret, struct error *err);
/* Carries STORE_BEGIN or STORE_ELIDE out; the latter records `elided`. The bot's turn must run:
 * STORE_STALE_TURN. */
int store_window_set(
	struct store_tx *tx, int64_t turn, const struct store_window *w, struct error *err);

/* How much may be added to the conversation so that what goes stays within three quarters of the
 * budget (spec 3.3: steers). */
int store_context_room(struct store_view *v, int64_t bot, int64_t *ret_bytes, int64_t *ret_items,
	struct error *err);

/* A summary, or what became of one. */
struct store_compaction {
	int64_t bot, turn;
	struct store_usage usage; /* of the call, charged to turn and bot; event `usage` */
	bool has_usage;
	struct str model; /* PROVIDER/MODEL that wrote it */
	struct str text;  /* absent: it failed, and only its tokens are recorded */
	int64_t coverage;
	int64_t context_before, context_after; /* bytes of all that goes */
};
/* Records the usage (purpose "compaction"), then version and `compacted`. */
int store_compact(struct store_tx *tx, const struct store_compaction *c, struct error *err);

/* The items of one turn of the bot's lineage, oldest first (STORE_TURN_NOT_IN_HISTORY), and how
 * many bytes a result may add before the running turn would not fit. */
extern const struct error_kind STORE_TURN_NOT_IN_HISTORY; /* turn_not_in_history */
struct store_turn_items {
	struct str *items;
	size_t count;
	int64_t room_bytes;
};
int store_turn_items(struct store_view *v, int64_t bot, int64_t turn, struct arena *a,
	struct store_turn_items *ret, struct error *err);

/* For a fork that has its row and its head: binds the versions of the source's note, summary and
 * stubs at or before node `point`, and the window's beginning where nothing before it differs. */
int store_views_fork(struct store_tx *tx, const struct bot *source, int64_t point, int64_t fork,
	struct error *err);

#endif
