/* events, history_nodes, history_items, item. */
#include <stdlib.h>

#include "agent/serve/op.h"

static const struct error_kind INVALID_NODES = {"invalid_request", ERROR_CLASS_USAGE};

/*
 * events
 */
struct events_args {
	struct str bot;
	int64_t after, limit;
};
static const struct json_field events_fields[] = {
	JSON_STR(struct events_args, bot, .required = true),
	JSON_I64(struct events_args, after),
	JSON_I64(struct events_args, limit, .min = INT64_MIN),
};
struct events_work {
	int limit;
	struct store_event *events;
	size_t count;
	bool more;
	int64_t pruned; /* events up to it may be gone */
};

static int run_events(struct store_view *v, struct request *r, struct error *err)
{
	const struct events_args *args = r->args;
	struct events_work *w = r->work;
	struct bot b;

	if (store_bot_get(v, args->bot, &r->arena, &b, err) < 0)
		return -1;
	w->pruned = b.pruned_cursor;
	return store_events(
		v, b.id, args->after, w->limit, &r->arena, &w->events, &w->count, &w->more, err);
}

static void answer_events(struct request *r)
{
	const struct events_args *args = r->args;
	const struct events_work *w = r->work;
	struct json_out j = request_begin(r);
	struct buf one = BUF_INIT(1024 * 1024);
	int64_t next = args->after;

	json_open_key(&j, "result", '{');
	json_open_key(&j, "events", '[');
	for (size_t i = 0; i < w->count && r->reply.len < PAGE_MAX_BYTES; i++) {
		buf_clear(&one);
		(void)event_put(&one, &w->events[i]); /* the store bounds an event far below this */
		json_put_raw(&j, NULL, buf_str(&one));
		next = w->events[i].id;
	}
	json_close(&j, ']');
	json_put_i64(&j, "next_cursor", next);
	if (w->pruned > args->after)
		json_put_i64(&j, "pruned_before", w->pruned + 1);
	json_close(&j, '}');
	buf_release(&one);
	request_end(r, &j);
}

static void op_events(struct request *r, const void *raw)
{
	const struct events_args *args = raw;
	struct events_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	w->limit = op_page_limit((r->seen & 4) != 0, args->limit);
	if (w->limit == 0) {
		(void)error_set(&err, &REQUEST_INVALID_PAGE, "limit: 1 to %d", PAGE_MAX);
		request_fail(r, &err);
	} else if (bot_check_name(args->bot, "bot", &err) < 0) {
		request_fail(r, &err);
	} else {
		op_read(r, run_events, answer_events);
	}
}

/*
 * history_nodes
 */
struct nodes_args {
	struct str bot;
	int64_t from, limit, min_node;
	bool oldest_first;
};
static const struct json_field nodes_fields[] = {
	JSON_STR(struct nodes_args, bot, .required = true),
	JSON_I64(struct nodes_args, from),
	JSON_I64(struct nodes_args, limit, .min = 1, .max = HISTORY_NODES_MAX),
	JSON_I64(struct nodes_args, min_node),
	JSON_BOOL(struct nodes_args, oldest_first),
};
struct nodes_work {
	struct store_node *nodes;
	size_t count;
	int64_t next;
};

static int run_nodes(struct store_view *v, struct request *r, struct error *err)
{
	const struct nodes_args *args = r->args;
	struct nodes_work *w = r->work;
	struct bot b;
	int limit = args->limit > 0 ? (int)args->limit : PAGE_DEFAULT;

	if (store_bot_get(v, args->bot, &r->arena, &b, err) < 0)
		return -1;
	return store_history(v, b.id, args->from, args->min_node, limit, args->oldest_first,
		&r->arena, &w->nodes, &w->count, &w->next, err);
}

static void answer_nodes(struct request *r)
{
	const struct nodes_args *args = r->args;
	const struct nodes_work *w = r->work;
	const char *next = args->oldest_first ? "next_newer" : "next_from";
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_open_key(&j, "nodes", '[');
	for (size_t i = 0; i < w->count; i++) {
		json_open(&j, '{');
		json_put_i64(&j, "node", w->nodes[i].id);
		json_put_i64(&j, "turn", w->nodes[i].turn);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	if (w->next > 0)
		json_put_i64(&j, next, w->next);
	else
		json_put_null(&j, next);
	json_close(&j, '}');
	request_end(r, &j);
}

static void op_history_nodes(struct request *r, const void *raw)
{
	const struct nodes_args *args = raw;
	struct error err = ERROR_INIT;

	r->work = arena_alloc(&r->arena, sizeof(struct nodes_work));
	if (bot_check_name(args->bot, "bot", &err) < 0)
		request_fail(r, &err);
	else
		op_read(r, run_nodes, answer_nodes);
}

/*
 * history_items and item
 */
struct items_args {
	struct str bot;
	const struct json *nodes;
	int64_t node;
};
static const struct json_field items_fields[] = {
	JSON_STR(struct items_args, bot, .required = true),
	JSON_NODE(struct items_args, nodes, .required = true),
};
static const struct json_field item_fields[] = {
	JSON_STR(struct items_args, bot, .required = true),
	JSON_I64(struct items_args, node, .required = true, .min = 1),
};
struct items_work {
	int64_t *ids;
	size_t count;
	struct store_node *nodes;
};

static int read_ids(
	struct request *r, const struct json *list, struct items_work *w, struct error *err)
{
	if (list->type != JSON_ARRAY || list->count < 1 || list->count > HISTORY_NODES_MAX)
		return error_set(err, &INVALID_NODES, "history_items.nodes: 1 to %d node ids",
			HISTORY_NODES_MAX);
	w->ids = arena_alloc(&r->arena, list->count * sizeof(*w->ids));
	json_for_each (value, list) {
		if (json_i64(value, &w->ids[w->count]) < 0 || w->ids[w->count] < 1)
			return error_set(err, &INVALID_NODES,
				"history_items.nodes[%zu]: must be a node id", w->count);
		for (size_t i = 0; i < w->count; i++) {
			if (w->ids[i] == w->ids[w->count])
				return error_set(err, &INVALID_NODES,
					"history_items.nodes[%zu]: stands there twice", w->count);
		}
		w->count++;
	}
	return 0;
}

static int run_items(struct store_view *v, struct request *r, struct error *err)
{
	const struct items_args *args = r->args;
	struct items_work *w = r->work;
	struct bot b;

	if (store_bot_get(v, args->bot, &r->arena, &b, err) < 0)
		return -1;
	return store_items(v, b.id, w->ids, w->count, &r->arena, &w->nodes, err);
}

/* A prefix of what was asked for, up to about HISTORY_ITEMS_MAX_BYTES. */
static void answer_items(struct request *r)
{
	const struct items_work *w = r->work;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_open_key(&j, "items", '[');
	for (size_t i = 0; i < w->count; i++) {
		const struct store_node *n = &w->nodes[i];
		bool too_large = n->item.len > HISTORY_ITEMS_MAX_BYTES;

		if (i > 0 && !n->item.p)
			break; /* the store stopped reading before it */
		if (i > 0 && !too_large && r->reply.len + n->item.len > HISTORY_ITEMS_MAX_BYTES)
			break;
		json_open(&j, '{');
		json_put_i64(&j, "node", n->id);
		if (too_large)
			json_put_cstr(&j, "error", "item_too_large");
		else
			json_put_raw(&j, "item", n->item);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	request_end(r, &j);
}

static void answer_item(struct request *r)
{
	const struct items_work *w = r->work;

	request_answer(r, w->nodes[0].item);
}

static void op_history_items(struct request *r, const void *raw)
{
	const struct items_args *args = raw;
	struct items_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	if (bot_check_name(args->bot, "bot", &err) < 0 || read_ids(r, args->nodes, w, &err) < 0)
		request_fail(r, &err);
	else
		op_read(r, run_items, answer_items);
}

static void op_item(struct request *r, const void *raw)
{
	const struct items_args *args = raw;
	struct items_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	w->ids = arena_alloc(&r->arena, sizeof(*w->ids));
	w->ids[0] = args->node;
	w->count = 1;
	if (bot_check_name(args->bot, "bot", &err) < 0)
		request_fail(r, &err);
	else
		op_read(r, run_items, answer_item);
}

const struct request_row read_requests[] = {
	{"events",                  events_fields, ARRAY_LEN(events_fields), sizeof(struct events_args), op_events,
         REQUEST_READS, false},
	{"history_nodes", nodes_fields, ARRAY_LEN(nodes_fields), sizeof(struct nodes_args),
         op_history_nodes, REQUEST_READS, false},
	{"history_items",                items_fields, ARRAY_LEN(items_fields), sizeof(struct items_args),
         op_history_items, REQUEST_READS, false},
	{"item",		    item_fields, ARRAY_LEN(item_fields), sizeof(struct items_args), op_item,
         REQUEST_READS, false},
	{.op = NULL          },
};
