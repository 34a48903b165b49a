/* Conversations, and whether work goes on. */
#include "test/crash/history.h"

#include <string.h>

enum {
	PAGE_NODES = 100,
	CALLS_MAX = 64, /* of one reply */
	LOOK_MS = 5,
};

void history_wait_idle(struct client *c, int limit_ms)
{
	int64_t until = rig_now_ms() + limit_ms;

	for (;;) {
		const struct json *stats = rig_call(c, "\"op\":\"stats\"");

		if (rig_i64(stats, "active_turns") == 0 && rig_i64(stats, "queued_turns") == 0 &&
			rig_i64(stats, "waiting_turns") == 0 &&
			rig_i64(stats, "paced_turns") == 0 &&
			rig_i64(stats, "running_processes") == 0) /* in the background */
			return;
		rig_true(rig_now_ms() < until,
			"queued turns do not start: %lld active, %lld queued",
			(long long)rig_i64(stats, "active_turns"),
			(long long)rig_i64(stats, "queued_turns"));
		rig_pause(LOOK_MS);
	}
}

/* Each call of an assistant's item has exactly one result before anything else comes. */
struct line_state {
	struct str open[CALLS_MAX];
	size_t count;
	char text[4096];
	size_t used;
};

static void open_call(struct line_state *l, struct str id)
{
	must(l->count < ARRAY_LEN(l->open) && l->used + id.len < sizeof(l->text));
	memcpy(l->text + l->used, id.p, id.len);
	l->open[l->count++] = (struct str){l->text + l->used, id.len};
	l->used += id.len;
}

static void close_call(struct line_state *l, struct str id, const char *bot)
{
	for (size_t i = 0; i < l->count; i++) {
		if (!str_eq(l->open[i], id))
			continue;
		l->open[i] = l->open[--l->count];
		return;
	}
	rig_broken("bot %s: a result for " STR_FMT ", which has one or was never asked", bot,
		STR_ARG(id));
}

static void walk_item(struct line_state *l, const struct json *item, const char *bot)
{
	struct str role = json_str(json_get(item, "role"));
	const struct json *calls = json_get(item, "tool_calls");

	if (str_is(role, "tool")) {
		close_call(l, json_str(json_get(item, "tool_call_id")), bot);
		return;
	}
	rig_true(l->count == 0, "bot %s: call " STR_FMT " has no result", bot, STR_ARG(l->open[0]));
	l->used = 0;
	if (!calls)
		return;
	json_for_each (call, calls)
		open_call(l, json_str(json_get(call, "id")));
}

/* The page's ids as a list in JSON; the number of them. */
static size_t page_ids(const struct json *page, struct buf *ids, int64_t *ret_last)
{
	size_t count = 0;

	json_for_each (n, json_get(page, "nodes")) {
		*ret_last = rig_i64(n, "node");
		(void)buf_printf(ids, "%s%lld", count++ ? "," : "", (long long)*ret_last);
	}
	must(!ids->full);
	return count;
}

int64_t history_check(struct client *c, const char *bot, int64_t after)
{
	struct line_state l = {.count = 0};
	size_t count;

	do {
		_cleanup_(buf) struct buf ids = BUF_INIT(65536);
		const struct json *page = rig_call(c,
			"\"op\":\"history_nodes\",\"bot\":\"%s\",\"min_node\":%lld,\"limit\":%d,"
			"\"oldest_first\":true",
			bot, (long long)after + 1, PAGE_NODES);
		int64_t last = after;

		count = page_ids(page, &ids, &last);
		if (count == 0)
			break;
		page = rig_call(c,
			"\"op\":\"history_items\",\"bot\":\"%s\",\"nodes\":[" STR_FMT "]", bot,
			STR_ARG(buf_str(&ids)));
		json_for_each (row, json_get(page, "items")) {
			if (!json_get(row, "item"))
				break;
			walk_item(&l, json_get(row, "item"), bot);
			after = rig_i64(row, "node");
		}
		rig_true(after <= last, "history_items gave more than was asked");
	} while (count > 0);
	rig_true(l.count == 0, "bot %s is idle and call " STR_FMT " has no result", bot,
		STR_ARG(l.open[0]));
	return after;
}
