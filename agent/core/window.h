#ifndef AGENT_CORE_WINDOW_H
#define AGENT_CORE_WINDOW_H
/*
 * The context window of a model call (spec 4.4): which part of the conversation goes, where it may
 * begin, what of it may go as stubs, what a summary may stand for. Pure: sizes in, places out.
 *
 * The window begins at a turn and is kept where it is while what follows fits, so that call after
 * call begins with the same bytes. What is never split: a turn, but by a summary; and an exchange,
 * which is a reply with the results of its calls.
 */
#include <stddef.h>
#include <stdint.h>

#include "agent/core/bot_limits.h"
#include "agent/core/item.h"

struct window_item {
	int64_t node, turn;
	int64_t bytes;       /* as it goes: of its stub where it has one */
	enum item_role role; /* needed by window_cut and window_settled alone */
	bool begins_turn;
	bool stubbed;
};

struct window {
	const struct window_item *items; /* oldest first, to the head */
	size_t count;
	int64_t pinned_bytes; /* of what stands before them wherever they begin */
	/* The first item is of a turn whose beginning a summary stands for: that turn's prompt goes
	 * all the same (0: no such prompt). */
	int64_t prompt_bytes;
	struct bot_limits limits;
};

/* Of all that goes when the window begins with items[from]. */
int64_t window_bytes(const struct window *w, size_t from);
/* Over compact_at percent of the budget. */
bool window_is_due(const struct window *w);
/* Over the budget. */
bool window_is_over(const struct window *w);
/* What is left to add, down to three quarters of the budget; not negative. */
int64_t window_room_bytes(const struct window *w);
int64_t window_room_items(const struct window *w);

/* Where it should begin now that it is over its budget: with the oldest turn that leaves it within
 * three quarters, or with the newest turn if that fits at all. -1: nowhere. */
ptrdiff_t window_start(const struct window *w);
/* The newest turn's first item; -1 when the window holds no turn's beginning. */
ptrdiff_t window_newest_turn(const struct window *w);
/* Results before this item may go as stubs: those of the newest compact_keep percent may not, nor
 * those that no reply has followed yet. */
size_t window_settled(const struct window *w);
/* What comes before this item is for a summary: it leaves at most compact_keep percent, if it can,
 * and never divides an exchange. A turn is divided only when it is the newest. 0: nothing to
 * summarise. */
size_t window_cut(const struct window *w);

/* What an item is, by its first bytes (as many as WINDOW_HEAD_BYTES): the daemon writes items in
 * one way. ITEM_USER, ITEM_RESULT, or ITEM_ASSISTANT for all that belongs to a reply. */
enum { WINDOW_HEAD_BYTES = 64 };
enum item_role window_role(struct str head);

#endif
