/*
 * Gates that a bot has of others: its source's and its creator's (agent spec 6.1).
 */
#include "agent/core/bot.h"

static bool is_listed(const struct str_list *l, struct str s)
{
	for (size_t i = 0; i < l->count; i++) {
		if (str_eq(l->items[i], s))
			return true;
	}
	return false;
}

static bool has_tool(const struct bot_settings *set, struct str name)
{
	return is_listed(&set->tools, name) || served_tools_find(&set->served, name);
}

/* Those of `add` that the bot has and that are not yet in `to`, which has room for them. */
static void add_tools(
	struct str_list *to, const struct str_list *add, const struct bot_settings *set)
{
	for (size_t i = 0; i < add->count; i++) {
		if (has_tool(set, add->items[i]) && !is_listed(to, add->items[i]))
			to->items[to->count++] = add->items[i];
	}
}

/* 0 is never, so the longest. */
static int64_t shorter(int64_t a_ms, int64_t b_ms)
{
	if (a_ms == 0 || b_ms == 0)
		return a_ms + b_ms;
	return a_ms < b_ms ? a_ms : b_ms;
}

static struct gate *find(struct gate *list, size_t count, struct str tag)
{
	for (size_t i = 0; i < count; i++) {
		if (str_eq(list[i].tag, tag))
			return &list[i];
	}
	return NULL;
}

static void merge_one(
	struct arena *a, struct gate *to, const struct gate *from, const struct bot_settings *set)
{
	size_t room = to->tools.count + from->tools.count + 1;
	struct str_list both = {arena_alloc(a, room * sizeof(struct str)), 0};

	add_tools(&both, &to->tools, set);
	add_tools(&both, &from->tools, set);
	to->tools = both;
	to->expire_ms = shorter(to->expire_ms, from->expire_ms);
}

int bot_add_gates(struct arena *a, struct bot_settings *set, const struct gate *add, size_t count,
	struct error *err)
{
	struct gate *list = arena_alloc(a, (set->gate_count + count + 1) * sizeof(*list));
	size_t n = 0, kept = 0;

	for (; n < set->gate_count; n++)
		list[n] = set->gates[n];
	for (size_t i = 0; i < count; i++) {
		struct gate *same = find(list, n, add[i].tag);

		if (!same) {
			same = &list[n++];
			*same = (struct gate){.tag = add[i].tag, .expire_ms = add[i].expire_ms};
		}
		merge_one(a, same, &add[i], set);
	}
	for (size_t i = 0; i < n; i++) {
		if (list[i].tools.count > 0)
			list[kept++] = list[i];
	}
	if (kept > BOT_GATES_MAX)
		return error_set(err, &BOT_INVALID_GATE,
			"gates: with those it takes over they are %zu, over %d", kept,
			BOT_GATES_MAX);
	set->gates = list;
	set->gate_count = kept;
	return 0;
}
