/* The context window: sizes in, places out. */
#include "agent/core/window.h"

static int64_t percent(int64_t whole, int64_t part)
{
	return whole / 100 * part + whole % 100 * part / 100;
}

/* The prompt that goes although a summary stands for its turn's beginning. */
static bool has_prompt(const struct window *w, size_t from)
{
	return from == 0 && w->prompt_bytes > 0;
}

static int64_t item_count(const struct window *w, size_t from)
{
	return (int64_t)(w->count - from) + has_prompt(w, from);
}

int64_t window_bytes(const struct window *w, size_t from)
{
	int64_t bytes = w->pinned_bytes + (has_prompt(w, from) ? w->prompt_bytes : 0);

	for (size_t i = from; i < w->count; i++)
		bytes += w->items[i].bytes;
	return bytes;
}

static bool is_within(const struct window *w, int64_t bytes, int64_t items, int64_t part)
{
	return bytes <= percent(w->limits.context_bytes, part) &&
	       items <= percent(w->limits.context_items, part);
}

bool window_is_due(const struct window *w)
{
	return !is_within(w, window_bytes(w, 0), item_count(w, 0), w->limits.compact_at);
}

bool window_is_over(const struct window *w)
{
	return !is_within(w, window_bytes(w, 0), item_count(w, 0), 100);
}

enum { START_PERCENT = 75 }; /* spec 4.4: within three quarters of the budget */

static int64_t room(int64_t max, int64_t used)
{
	int64_t left = percent(max, START_PERCENT) - used;

	return left > 0 ? left : 0;
}

int64_t window_room_bytes(const struct window *w)
{
	return room(w->limits.context_bytes, window_bytes(w, 0));
}

int64_t window_room_items(const struct window *w)
{
	return room(w->limits.context_items, item_count(w, 0));
}

ptrdiff_t window_newest_turn(const struct window *w)
{
	for (size_t i = w->count; i > 0; i--) {
		if (w->items[i - 1].begins_turn)
			return (ptrdiff_t)i - 1;
	}
	return -1;
}

ptrdiff_t window_start(const struct window *w)
{
	int64_t bytes = w->pinned_bytes, items = 0;
	ptrdiff_t best = -1;

	for (size_t i = w->count; i > 0; i--) {
		const struct window_item *it = &w->items[i - 1];

		bytes += it->bytes;
		items++;
		if (!is_within(w, bytes, items, best < 0 ? 100 : START_PERCENT))
			break;
		/* the newest turn goes if it fits at all, older ones only within three quarters */
		if (it->begins_turn && (best < 0 || is_within(w, bytes, items, START_PERCENT)))
			best = (ptrdiff_t)i - 1;
	}
	return best;
}

/* A reply begins here: what comes before it is whole exchanges and messages. */
static bool begins_exchange(const struct window *w, size_t i)
{
	return w->items[i].role == ITEM_ASSISTANT &&
	       (i == 0 || w->items[i - 1].role != ITEM_ASSISTANT);
}

/* Where the newest exchange begins, or `count` where there is none. */
static size_t newest_exchange(const struct window *w)
{
	for (size_t i = w->count; i > 0; i--) {
		if (begins_exchange(w, i - 1))
			return i - 1;
	}
	return w->count;
}

size_t window_settled(const struct window *w)
{
	int64_t keep = percent(w->limits.context_bytes, w->limits.compact_keep), kept = 0;
	size_t i = w->count;

	if (w->count > 0 && w->items[w->count - 1].role == ITEM_RESULT)
		i = newest_exchange(w);
	for (size_t k = i; k < w->count; k++)
		kept += w->items[k].bytes;
	while (i > 0 && kept < keep)
		kept += w->items[--i].bytes;
	return i;
}

static bool may_cut(const struct window *w, size_t i)
{
	if (w->items[i].begins_turn)
		return true;
	return w->items[i].turn == w->items[w->count - 1].turn && begins_exchange(w, i);
}

size_t window_cut(const struct window *w)
{
	int64_t bytes = 0;
	size_t cut = 0;

	for (size_t i = w->count; i > 0; i--) {
		const struct window_item *it = &w->items[i - 1];

		bytes += it->bytes;
		if (cut > 0 &&
			!is_within(w, bytes, (int64_t)(w->count - i + 1), w->limits.compact_keep))
			break;
		if (may_cut(w, i - 1))
			cut = i - 1;
	}
	/* The prompt of a divided turn goes all the same: with nothing but it to divide off, the
	 * turn is not divided. */
	if (cut > 0 && w->items[cut - 1].begins_turn && !w->items[cut].begins_turn)
		cut--;
	return cut;
}

enum item_role window_role(struct str head)
{
	if (str_starts(head, STR("{\"role\":\"tool\",")) ||
		str_starts(head, STR("{\"type\":\"function_call_output\",")) ||
		str_starts(head, STR("{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",")))
		return ITEM_RESULT;
	if (str_starts(head, STR("{\"role\":\"user\",")))
		return ITEM_USER;
	return ITEM_ASSISTANT;
}
