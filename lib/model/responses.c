/*
 * responses: OpenAI's Responses API.
 *
 * Output items are told in the order of their output_index. The finished item is kept as it came,
 * and its text must be what was streamed. Items are known by output_index rather than id: there are
 * proxies that give one item several ids.
 */
#include "model/internal.h"

static void responses_release(struct model_decoder *d)
{
	struct responses_state *r = &d->responses;

	for (size_t i = 0; i < r->seen_count; i++)
		free((char *)r->seen[i].id.p);
	free(r->seen);
	*r = (struct responses_state){NULL, 0};
}

static struct seen_item *find_seen(struct model_decoder *d, int64_t index, struct str id)
{
	struct responses_state *r = &d->responses;

	for (size_t i = r->seen_count; i > 0; i--) {
		struct seen_item *s = &r->seen[i - 1];

		if (index >= 0 ? s->index == index : id.len > 0 && str_eq(s->id, id))
			return s;
	}
	return NULL;
}

/* The block that the wire is at in an item: its last one that is not over. */
static struct block *find_block(const struct model_decoder *d, int64_t index)
{
	struct block *found = NULL;

	for (struct block *b = d->head; b; b = b->next) {
		if (b->key == index && !b->over)
			found = b;
	}
	return found;
}

static enum model_block sort_of(struct str type)
{
	if (str_is(type, "message"))
		return MODEL_TEXT;
	if (str_is(type, "reasoning"))
		return MODEL_THINKING;
	return str_is(type, "function_call") ? MODEL_CALL : MODEL_OPAQUE;
}

static int64_t index_of(const struct json *root)
{
	int64_t index;

	return json_i64(json_get(root, "output_index"), &index) == 0 && index >= 0 ? index : -1;
}

/* Behind everything seen. */
static int64_t next_index(const struct model_decoder *d)
{
	int64_t next = 0;

	for (size_t i = 0; i < d->responses.seen_count; i++) {
		if (d->responses.seen[i].index >= next && d->responses.seen[i].index < INT64_MAX)
			next = d->responses.seen[i].index + 1;
	}
	return next;
}

/* Sets id and name of a call; what was set does not change. */
static int name_call(struct block *b, const struct json *item, struct error *err)
{
	const struct str id = json_str(json_get(item, "call_id"));
	const struct str name = json_str(json_get(item, "name"));

	if ((id.len > 0 && b->call_id.p && !str_eq(b->call_id, id)) ||
		(name.len > 0 && b->name.p && !str_eq(b->name, name)))
		return error_set(err, &MODEL_MISMATCH, "a call ended as another one");
	if (id.len > 0 && !b->call_id.p)
		keep_str(&b->call_id, id);
	if (name.len > 0 && !b->name.p)
		keep_str(&b->name, name);
	return 0;
}

static struct block *begin_item(
	struct model_decoder *d, int64_t index, const struct json *item, struct error *err)
{
	struct responses_state *r = &d->responses;
	const enum model_block sort = sort_of(json_str(json_get(item, "type")));
	const struct str id = json_str(json_get(item, "id"));
	struct block *b = block_add(d, sort, index, index, err);
	struct seen_item *s;

	if (!b)
		return NULL;
	r->seen = xrealloc(r->seen, r->seen_count + 1, sizeof(*r->seen));
	s = &r->seen[r->seen_count++];
	*s = (struct seen_item){.index = index, .sort = sort};
	if (id.len > 0)
		keep_str(&s->id, id);
	if (sort == MODEL_CALL && name_call(b, item, err) < 0)
		return NULL;
	/* What a message is shows when its first part comes. */
	if (sort == MODEL_TEXT || (sort == MODEL_CALL && !(b->call_id.p && b->name.p)))
		return b;
	return block_ready(d, b, err) < 0 ? NULL : b;
}

static int item_added(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct json *item = json_get(root, "item");
	int64_t index = index_of(root);

	if (index < 0)
		index = next_index(d);
	if (!item || item->type != JSON_OBJECT)
		return error_set(err, &MODEL_STREAM, "an output item is no object");
	if (find_seen(d, index, (struct str){NULL, 0}))
		return error_set(err, &MODEL_STREAM, "an output item began twice");
	return begin_item(d, index, item, err) ? 0 : -1;
}

/* The block that an event of an item belongs to, or NULL: an item that was not announced, or one
 * that is over. */
static struct block *block_of_event(struct model_decoder *d, const struct json *root)
{
	const int64_t index = index_of(root);
	const struct seen_item *s = find_seen(d, index, json_str(json_get(root, "item_id")));

	return s ? find_block(d, s->index) : NULL;
}

/* A message goes on with words of one sort. Where they turn to the other, the block ends without an
 * item: the item stands at the last block. */
static int turn_message(
	struct model_decoder *d, struct block **b, enum model_block sort, struct error *err)
{
	struct block *before = *b, *after;

	if (before->ready && before->sort == sort)
		return 0;
	if (!before->ready) {
		before->sort = sort;
		return block_ready(d, before, err);
	}
	if (before->aside.len > 0)
		return error_set(err, &MODEL_STREAM, "a message that turns more than once");
	after = block_add(d, sort, before->key, before->order, err);
	if (!after)
		return -1;
	(void)buf_put_str(&after->aside, buf_str(&before->text)); /* fits where it was */
	*b = after;
	if (block_end(d, before, err) < 0)
		return -1;
	return block_ready(d, after, err);
}

/* The first part shows what a message is. */
static int part_added(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct str type = json_str(json_get(json_get(root, "part"), "type"));
	struct block *b = block_of_event(d, root);

	if (!b || b->ready || b->sort != MODEL_TEXT)
		return 0;
	if (str_is(type, "output_text"))
		return turn_message(d, &b, MODEL_TEXT, err);
	return str_is(type, "refusal") ? turn_message(d, &b, MODEL_REFUSAL, err) : 0;
}

static int words_delta(
	struct model_decoder *d, enum model_block sort, const struct json *root, struct error *err)
{
	struct block *b = block_of_event(d, root);

	if (!b || (b->sort != MODEL_TEXT && b->sort != MODEL_REFUSAL))
		return error_set(err, &MODEL_STREAM, "words outside a message");
	if (turn_message(d, &b, sort, err) < 0)
		return -1;
	return block_put(d, b, json_str(json_get(root, "delta")), err);
}

static int text_delta(struct model_decoder *d, const struct json *root, struct error *err)
{
	return words_delta(d, MODEL_TEXT, root, err);
}

static int refusal_delta(struct model_decoder *d, const struct json *root, struct error *err)
{
	return words_delta(d, MODEL_REFUSAL, root, err);
}

/* Parts of a reasoning item are told with a blank line between. */
static int put_thought(
	struct model_decoder *d, struct block *b, int64_t part, struct str text, struct error *err)
{
	if (text.len == 0)
		return 0;
	if (b->part != part && b->text.len > 0 && block_put(d, b, STR("\n\n"), err) < 0)
		return -1;
	b->part = part;
	return block_put(d, b, text, err);
}

/* Summaries and the text itself are counted apart. */
static int64_t part_of(const struct json *root, const char *name, int64_t base)
{
	int64_t index;

	if (json_i64(json_get(root, name), &index) < 0 || index < 0 || index > INT32_MAX)
		index = 0;
	return 2 * index + base;
}

static int thought_delta(
	struct model_decoder *d, const struct json *root, int64_t part, struct error *err)
{
	struct block *b = block_of_event(d, root);

	if (!b || b->sort != MODEL_THINKING)
		return error_set(err, &MODEL_STREAM, "reasoning outside a reasoning item");
	return put_thought(d, b, part, json_str(json_get(root, "delta")), err);
}

static int summary_delta(struct model_decoder *d, const struct json *root, struct error *err)
{
	return thought_delta(d, root, part_of(root, "summary_index", 0), err);
}

static int reasoning_delta(struct model_decoder *d, const struct json *root, struct error *err)
{
	return thought_delta(d, root, part_of(root, "content_index", 1), err);
}

static int arguments_delta(struct model_decoder *d, const struct json *root, struct error *err)
{
	struct block *b = block_of_event(d, root);

	if (!b || b->sort != MODEL_CALL)
		return error_set(err, &MODEL_STREAM, "arguments outside a call");
	return block_put(d, b, json_str(json_get(root, "delta")), err);
}

/* Tells what the whole has beyond what was streamed. */
static int put_rest(struct model_decoder *d, struct block *b, struct str whole, struct error *err)
{
	const struct str had = buf_str(&b->text);

	if (!str_starts(whole, had))
		return error_set(err, &MODEL_MISMATCH, "arguments ended other than they were sent");
	return block_put(d, b, (struct str){whole.p + had.len, whole.len - had.len}, err);
}

static int put_whole_arguments(
	struct model_decoder *d, struct block *b, const struct json *value, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(HELD_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	if (value && value->type == JSON_STRING)
		return value->text.len > 0 ? put_rest(d, b, value->text, err) : 0;
	if (!value || value->type != JSON_OBJECT || b->text.len > 0)
		return 0;
	json_put(&j, NULL, value);
	return block_put(d, b, buf_str(&text), err);
}

static int arguments_done(struct model_decoder *d, const struct json *root, struct error *err)
{
	struct block *b = block_of_event(d, root);

	if (!b || b->sort != MODEL_CALL)
		return 0;
	return put_whole_arguments(d, b, json_get(root, "arguments"), err);
}

/* All of a message's words of one sort, appended. */
static void join_words(const struct json *item, enum model_block sort, struct buf *to)
{
	const struct json *content = json_get(item, "content");
	const char *type = sort == MODEL_TEXT ? "output_text" : "refusal";
	const char *member = sort == MODEL_TEXT ? "text" : "refusal";

	if (!content || content->type != JSON_ARRAY)
		return;
	json_for_each (part, content) {
		if (str_is(json_str(json_get(part, "type")), type))
			(void)buf_put_str(to, json_str(json_get(part, member)));
	}
}

static int check_same(struct str whole, struct str streamed, struct error *err)
{
	return str_eq(whole, streamed)
		       ? 0
		       : error_set(err, &MODEL_MISMATCH,
				 "the text of a finished item is not what was streamed");
}

/* Words of a finished message of one sort: what was streamed, or all of them if none were. */
static int finish_words(struct model_decoder *d, struct block **b, const struct json *item,
	enum model_block sort, struct error *err)
{
	_cleanup_(buf) struct buf whole = BUF_INIT(HELD_MAX_BYTES);
	const bool open = (*b)->ready && (*b)->sort == sort;

	join_words(item, sort, &whole);
	if (open && (*b)->text.len > 0)
		return check_same(buf_str(&whole), buf_str(&(*b)->text), err);
	if (!open && (*b)->aside.len > 0)
		return check_same(buf_str(&whole), buf_str(&(*b)->aside), err);
	if (whole.len == 0)
		return 0;
	if (turn_message(d, b, sort, err) < 0)
		return -1;
	return block_put(d, *b, buf_str(&whole), err);
}

static int finish_message(
	struct model_decoder *d, struct block **b, const struct json *item, struct error *err)
{
	/* The sort that is open first: the other one may yet have to follow it. */
	const enum model_block open = (*b)->ready && (*b)->sort == MODEL_REFUSAL ? MODEL_REFUSAL
										 : MODEL_TEXT;
	const enum model_block other = open == MODEL_TEXT ? MODEL_REFUSAL : MODEL_TEXT;

	if (finish_words(d, b, item, open, err) < 0 || finish_words(d, b, item, other, err) < 0)
		return -1;
	return (*b)->ready ? 0 : turn_message(d, b, MODEL_TEXT, err); /* without any words */
}

/* Of reasoning that was not streamed, what the item says. */
static int finish_thought(
	struct model_decoder *d, struct block *b, const struct json *item, struct error *err)
{
	const struct json *lists[] = {json_get(item, "summary"), json_get(item, "content")};
	int64_t part = 0;

	if (b->text.len > 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (!lists[i] || lists[i]->type != JSON_ARRAY)
			continue;
		json_for_each (piece, lists[i]) {
			if (put_thought(d, b, part++, json_str(json_get(piece, "text")), err) < 0)
				return -1;
		}
	}
	return 0;
}

static int finish_call(
	struct model_decoder *d, struct block *b, const struct json *item, struct error *err)
{
	if (name_call(b, item, err) < 0)
		return -1;
	if (!b->call_id.p || !b->name.p)
		return error_set(err, &MODEL_STREAM, "a call without an id or a name");
	if (put_whole_arguments(d, b, json_get(item, "arguments"), err) < 0)
		return -1;
	return b->ready ? 0 : block_ready(d, b, err);
}

static int finish_block(
	struct model_decoder *d, struct block **b, const struct json *item, struct error *err)
{
	switch ((*b)->sort) {
	case MODEL_TEXT:
	case MODEL_REFUSAL:
		return finish_message(d, b, item, err);
	case MODEL_THINKING:
		return finish_thought(d, *b, item, err);
	case MODEL_CALL:
		return finish_call(d, *b, item, err);
	default:
		return 0;
	}
}

/* The item is whole: its block ends with it. */
static int finish_item(
	struct model_decoder *d, struct block *b, const struct json *item, struct error *err)
{
	const enum model_block sort = sort_of(json_str(json_get(item, "type")));
	struct json_out j;

	if (sort != b->sort && !(sort == MODEL_TEXT && b->sort == MODEL_REFUSAL))
		return error_set(err, &MODEL_MISMATCH, "an item ended as one of another sort");
	if (finish_block(d, &b, item, err) < 0)
		return -1;
	find_seen(d, b->key, (struct str){NULL, 0})->done = true;
	j = (struct json_out)JSON_OUT(&b->item);
	json_put(&j, NULL, item);
	return block_end(d, b, err);
}

static int item_done(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct json *item = json_get(root, "item");
	const int64_t index = index_of(root);
	const struct seen_item *s = find_seen(d, index, json_str(json_get(item, "id")));
	struct block *b;

	if (!item || item->type != JSON_OBJECT)
		return error_set(err, &MODEL_STREAM, "an output item is no object");
	if (s && s->done)
		return error_set(err, &MODEL_STREAM, "an output item ended twice");
	b = s ? find_block(d, s->index)
	      : begin_item(d, index >= 0 ? index : next_index(d), item, err);
	return b ? finish_item(d, b, item, err) : -1;
}

static bool call_was_told(const struct model_decoder *d, struct str call_id)
{
	for (size_t i = 0; i < d->call_id_count; i++) {
		if (str_eq(d->call_ids[i], call_id))
			return true;
	}
	return false;
}

/* Calls are known by their call_id, which is what matters of them. */
static bool call_was_seen(
	struct model_decoder *d, int64_t index, struct str call_id, struct block **ret_open)
{
	struct block *at_index = find_block(d, index);

	for (struct block *b = d->head; b; b = b->next) {
		if (b->sort == MODEL_CALL && str_eq(b->call_id, call_id)) {
			*ret_open = b->over ? NULL : b;
			return true;
		}
	}
	if (call_was_told(d, call_id))
		return true;
	if (!at_index || at_index->sort != MODEL_CALL || at_index->call_id.p)
		return false;
	*ret_open = at_index;
	return true;
}

/* Whether the events have spoken of an item of the last event's list, and its block if that has not
 * ended. */
static bool was_seen(
	struct model_decoder *d, int64_t index, const struct json *item, struct block **ret_open)
{
	const enum model_block sort = sort_of(json_str(json_get(item, "type")));
	const struct seen_item *s = find_seen(d, index, (struct str){NULL, 0});

	*ret_open = NULL;
	if (sort == MODEL_CALL)
		return call_was_seen(d, index, json_str(json_get(item, "call_id")), ret_open);
	if (!s || s->sort != sort)
		s = find_seen(d, -1, json_str(json_get(item, "id")));
	if (s && !s->done)
		*ret_open = find_block(d, s->index);
	return s != NULL;
}

/* Items of the list that were not told yet, in its order. */
static int take_output(struct model_decoder *d, const struct json *output, struct error *err)
{
	int64_t index = 0;

	if (!output || output->type != JSON_ARRAY)
		return 0;
	json_for_each (item, output) {
		struct block *b;

		if (item->type != JSON_OBJECT)
			return error_set(err, &MODEL_STREAM, "an output item is no object");
		if (!was_seen(d, index++, item, &b)) {
			b = begin_item(d, next_index(d), item, err);
			if (!b)
				return -1;
		}
		if (b && finish_item(d, b, item, err) < 0)
			return -1;
	}
	return 0;
}

/* Items that never ended. A reply that was broken off may have one, without an item to keep. */
static int end_unfinished(struct model_decoder *d, bool broken_off, struct error *err)
{
	struct block *b;

	while ((b = d->head)) {
		if (!broken_off)
			return error_set(err, &MODEL_MISMATCH, "an output item never ended");
		if ((b->ready ? block_end(d, b, err) : block_drop(d, b, err)) < 0)
			return -1;
	}
	return 0;
}

static enum model_stop stop_of_incomplete(const struct json *response)
{
	const struct json *details = json_get(response, "incomplete_details");

	return str_is(json_str(json_get(details, "reason")), "content_filter") ? MODEL_STOP_REFUSAL
									       : MODEL_STOP_LENGTH;
}

static int end_response(
	struct model_decoder *d, const struct json *response, bool incomplete, struct error *err)
{
	reply_start(d, json_str(json_get(response, "id")), json_str(json_get(response, "model")));
	usage_responses(d, json_get(response, "usage"));
	if (take_output(d, json_get(response, "output"), err) < 0 ||
		end_unfinished(d, incomplete, err) < 0)
		return -1;
	reply_end(d, incomplete ? stop_of_incomplete(response) : MODEL_STOP_END,
		(struct str){NULL, 0});
	return 0;
}

/* The response object says what became of it, whatever the event is called. */
static int take_end(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct json *response = json_get(root, "response");
	struct str status;

	if (!response) /* a reply that was not streamed */
		response = root;
	status = json_str(json_get(response, "status"));
	if (str_is(status, "failed") || str_is(status, "cancelled")) {
		usage_responses(d, json_get(response, "usage"));
		reply_fault(d, root, 0);
		return 0;
	}
	return end_response(d, response, str_is(status, "incomplete"), err);
}

static int take_incomplete(struct model_decoder *d, const struct json *root, struct error *err)
{
	return end_response(d, json_get(root, "response"), true, err);
}

static int take_fault(struct model_decoder *d, const struct json *root, struct error *err)
{
	(void)err;
	usage_responses(d, json_get(json_get(root, "response"), "usage"));
	reply_fault(d, root, 0);
	return 0;
}

static int take_created(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct json *response = json_get(root, "response");

	(void)err;
	reply_start(d, json_str(json_get(response, "id")), json_str(json_get(response, "model")));
	return 0;
}

static int responses_event(
	struct model_decoder *d, struct str name, const struct json *root, struct error *err)
{
	static const struct {
		const char *name;
		int (*take)(struct model_decoder *d, const struct json *root, struct error *err);
	} rows[] = {
		{"response.output_text.delta",             text_delta     },
		{"response.function_call_arguments.delta", arguments_delta},
		{"response.reasoning_summary_text.delta",  summary_delta  },
		{"response.reasoning_text.delta",          reasoning_delta},
		{"response.refusal.delta",                 refusal_delta  },
		{"response.function_call_arguments.done",  arguments_done },
		{"response.content_part.added",            part_added     },
		{"response.output_item.added",             item_added     },
		{"response.output_item.done",              item_done      },
		{"response.created",                       take_created   },
		{"response.completed",                     take_end       },
		{"response.done",                          take_end       },
		{"response.incomplete",                    take_incomplete},
		{"response.failed",                        take_fault     },
		{"response.cancelled",                     take_fault     },
		{"error",				  take_fault     },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(name, rows[i].name))
			return rows[i].take(d, root, err);
	}
	if (str_is(json_str(json_get(root, "object")), "response"))
		return take_end(d, root, err);
	if (json_get(root, "error") && !json_get(root, "type"))
		return take_fault(d, root, err);
	return 0; /* a sign of life */
}

const struct dialect model_responses = {NULL, responses_release, responses_event, NULL, NULL};
