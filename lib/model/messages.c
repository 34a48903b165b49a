/*
 * messages: Anthropic's Messages API.
 *
 * A content block is kept as it began and put together at its end from what its deltas brought, so
 * that members this code does not know are kept too.
 */
#include "model/internal.h"

enum {
	INPUT_DEPTH_MAX = JSON_DEPTH_MAX - 16, /* ours: room for what an item is kept in */
};

static void messages_init(struct model_decoder *d)
{
	d->messages.stop_text.max = HELD_MAX_BYTES;
	d->messages.input = d->messages.read = d->messages.written = -1;
}

static void messages_release(struct model_decoder *d)
{
	buf_release(&d->messages.stop_text);
}

static struct block *block_of_event(const struct model_decoder *d, const struct json *root)
{
	int64_t index;

	if (json_i64(json_get(root, "index"), &index) < 0)
		return NULL;
	for (struct block *b = d->head; b; b = b->next) {
		if (b->key == index && !b->over)
			return b;
	}
	return NULL;
}

static int take_start(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct json *message = json_get(root, "message");

	(void)err;
	reply_start(d, json_str(json_get(message, "id")), json_str(json_get(message, "model")));
	usage_messages(d, json_get(message, "usage"));
	reply_usage(d);
	return 0;
}

static enum model_block sort_of(struct str type)
{
	if (str_is(type, "text"))
		return MODEL_TEXT;
	if (str_is(type, "thinking"))
		return MODEL_THINKING;
	return str_is(type, "tool_use") ? MODEL_CALL : MODEL_OPAQUE;
}

static int begin_block(
	struct model_decoder *d, int64_t index, const struct json *content, struct error *err)
{
	const enum model_block sort = sort_of(json_str(json_get(content, "type")));
	const char *words = sort == MODEL_THINKING ? "thinking" : "text";
	struct block *b;
	struct json_out j;

	if (!content || content->type != JSON_OBJECT)
		return error_set(err, &MODEL_STREAM, "a content block is no object");
	b = block_add(d, sort, index, d->next_order++, err);
	if (!b)
		return -1;
	j = (struct json_out)JSON_OUT(&b->item);
	json_put(&j, NULL, content);
	if (sort == MODEL_CALL) {
		const struct str id = json_str(json_get(content, "id"));
		const struct str name = json_str(json_get(content, "name"));

		if (id.len == 0 || name.len == 0)
			return error_set(err, &MODEL_STREAM, "a call without an id or a name");
		keep_str(&b->call_id, id);
		keep_str(&b->name, name);
	}
	(void)buf_put_str(&b->signature, json_str(json_get(content, "signature"))); /* fits */
	if (block_ready(d, b, err) < 0)
		return -1;
	if (sort != MODEL_TEXT && sort != MODEL_THINKING)
		return 0;
	return block_put(d, b, json_str(json_get(content, words)), err);
}

static int take_block_start(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct json *content = json_get(root, "content_block");
	int64_t index;

	if (json_i64(json_get(root, "index"), &index) < 0)
		return error_set(err, &MODEL_STREAM, "a content block without an index");
	if (block_of_event(d, root))
		return error_set(err, &MODEL_STREAM, "a content block began twice");
	return begin_block(d, index, content, err);
}

static int put_words(struct model_decoder *d, struct block *b, enum model_block sort,
	struct str text, struct error *err)
{
	if (b->sort != sort)
		return error_set(err, &MODEL_STREAM, "a delta in a block of another sort");
	return block_put(d, b, text, err);
}

/* Of a server's own call the arguments are a part of its item alone. */
static int put_json(struct model_decoder *d, struct block *b, struct str text, struct error *err)
{
	if (b->sort == MODEL_CALL)
		return block_put(d, b, text, err);
	if (b->sort != MODEL_OPAQUE)
		return error_set(err, &MODEL_STREAM, "arguments outside a call");
	(void)buf_put_str(&b->aside, text); /* block_end looks at `full`; absent is nothing */
	return 0;
}

static int put_citation(struct block *b, const struct json *citation)
{
	struct json_out j = JSON_OUT(&b->aside);

	if (!citation || b->sort != MODEL_TEXT)
		return 0;
	if (b->aside.len > 0)
		(void)buf_putc(&b->aside, ','); /* block_end looks at `full` */
	json_put(&j, NULL, citation);
	return 0;
}

static int take_delta(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct json *delta = json_get(root, "delta");
	const struct str type = json_str(json_get(delta, "type"));
	struct block *b = block_of_event(d, root);

	if (!b)
		return error_set(err, &MODEL_STREAM, "a delta outside a content block");
	if (str_is(type, "text_delta"))
		return put_words(d, b, MODEL_TEXT, json_str(json_get(delta, "text")), err);
	if (str_is(type, "thinking_delta"))
		return put_words(d, b, MODEL_THINKING, json_str(json_get(delta, "thinking")), err);
	if (str_is(type, "input_json_delta"))
		return put_json(d, b, json_str(json_get(delta, "partial_json")), err);
	if (str_is(type, "signature_delta"))
		(void)buf_put_str(&b->signature, json_str(json_get(delta, "signature")));
	if (str_is(type, "citations_delta"))
		return put_citation(b, json_get(delta, "citation"));
	return 0; /* a sign of life */
}

static unsigned depth_of(const struct json *value)
{
	unsigned deepest = 0;

	json_for_each (item, value) {
		const unsigned depth = depth_of(item); /* at most JSON_DEPTH_MAX */

		if (depth > deepest)
			deepest = depth;
	}
	return deepest + 1;
}

/* A call's arguments as a member: an object or nothing, since a text that was cut is no JSON, and
 * what is too deep could not be read again inside an item. */
static void put_input(struct json_out *j, struct arena *a, struct str text)
{
	const struct json *input;

	if (json_parse(a, text, &input, NULL) == 0 && input->type == JSON_OBJECT &&
		depth_of(input) <= INPUT_DEPTH_MAX)
		put_raw_line(j, "input", text);
	else
		json_put_raw(j, "input", STR("{}"));
}

static void put_citations(struct json_out *j, const struct json *began, struct str more)
{
	json_open_key(j, "citations", '[');
	if (began && began->type == JSON_ARRAY) {
		json_for_each (citation, began)
			json_put(j, NULL, citation);
	}
	if (more.len > 0)
		json_put_raw(j, NULL, more);
	json_close(j, ']');
}

/* Whether deltas brought this member. */
static bool is_rebuilt(const struct block *b, struct str key)
{
	switch (b->sort) {
	case MODEL_TEXT:
		return str_is(key, "text") || (str_is(key, "citations") && b->aside.len > 0);
	case MODEL_THINKING:
		return str_is(key, "thinking") ||
		       (str_is(key, "signature") && b->signature.len > 0);
	case MODEL_CALL:
		return str_is(key, "input");
	default:
		return str_is(key, "input") && b->aside.len > 0;
	}
}

static void put_rebuilt(
	struct json_out *j, struct arena *a, const struct block *b, const struct json *began)
{
	switch (b->sort) {
	case MODEL_TEXT:
		json_put_str(j, "text", buf_str(&b->text));
		if (b->aside.len > 0)
			put_citations(j, json_get(began, "citations"), buf_str(&b->aside));
		break;
	case MODEL_THINKING:
		json_put_str(j, "thinking", buf_str(&b->text));
		if (b->signature.len > 0)
			json_put_str(j, "signature", buf_str(&b->signature));
		break;
	case MODEL_CALL:
		put_input(j, a, buf_str(&b->text));
		break;
	default:
		if (b->aside.len > 0)
			put_input(j, a, buf_str(&b->aside));
		break;
	}
}

/* The block's item, from what it began with and what came since. */
static void rebuild(struct arena *a, struct block *b, const struct json *began)
{
	struct buf item = BUF_INIT(HELD_MAX_BYTES);
	struct json_out j = JSON_OUT(&item);

	json_open(&j, '{');
	json_for_each (member, began) {
		if (!is_rebuilt(b, member->key))
			json_put_member(&j, member->key, member);
	}
	put_rebuilt(&j, a, b, began);
	json_close(&j, '}');
	buf_release(&b->item);
	b->item = item;
}

/* Arguments that came whole with the block's beginning. */
static int put_early_input(
	struct model_decoder *d, struct block *b, const struct json *input, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(HELD_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	if (b->sort != MODEL_CALL || b->text.len > 0)
		return 0;
	if (!input || input->type != JSON_OBJECT || !input->child)
		return block_put(d, b, STR("{}"), err);
	json_put(&j, NULL, input);
	return block_put(d, b, buf_str(&text), err);
}

static int finish_block(struct model_decoder *d, struct block *b, struct error *err)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *began;

	if (b->item.full || json_parse(&a, buf_str(&b->item), &began, NULL) < 0)
		return error_set(err, &MODEL_LIMIT, "a content block is too deep or too long");
	if (put_early_input(d, b, json_get(began, "input"), err) < 0)
		return -1;
	rebuild(&a, b, began);
	return block_end(d, b, err);
}

static int take_block_stop(struct model_decoder *d, const struct json *root, struct error *err)
{
	struct block *b = block_of_event(d, root);

	if (!b)
		return error_set(err, &MODEL_STREAM, "a content block ended that had not begun");
	return finish_block(d, b, err);
}

static enum model_stop stop_of_reason(struct str reason)
{
	static const struct {
		const char *reason;
		enum model_stop stop;
	} rows[] = {
		{"tool_use",                      MODEL_STOP_CALLS   },
		{"max_tokens",                    MODEL_STOP_LENGTH  },
		{"stop_sequence",                 MODEL_STOP_SEQUENCE},
		{"refusal",                       MODEL_STOP_REFUSAL },
		{"pause_turn",                    MODEL_STOP_PAUSE   },
		{"model_context_window_exceeded", MODEL_STOP_CONTEXT },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(reason, rows[i].reason))
			return rows[i].stop;
	}
	return MODEL_STOP_END;
}

/* Of a message, or of the delta at its end. */
static void take_stop(struct model_decoder *d, const struct json *said)
{
	const struct str reason = json_str(json_get(said, "stop_reason"));
	struct messages_state *m = &d->messages;

	if (reason.len == 0)
		return;
	m->stopped = true;
	m->stop = stop_of_reason(reason);
	buf_clear(&m->stop_text);
	(void)buf_put_str(&m->stop_text, json_str(json_get(said, "stop_sequence"))); /* fits */
}

static int take_message_delta(struct model_decoder *d, const struct json *root, struct error *err)
{
	(void)err;
	take_stop(d, json_get(root, "delta"));
	usage_messages(d, json_get(root, "usage"));
	return 0;
}

static int take_message_stop(struct model_decoder *d, const struct json *root, struct error *err)
{
	(void)root;
	if (!d->messages.stopped)
		return error_set(err, &MODEL_STREAM, "a message without a reason to stop");
	while (d->head) {
		if (finish_block(d, d->head, err) < 0)
			return -1;
	}
	reply_end(d, d->messages.stop, buf_str(&d->messages.stop_text));
	return 0;
}

/* A reply that was not streamed. */
static int take_whole(struct model_decoder *d, const struct json *root, struct error *err)
{
	const struct json *content = json_get(root, "content");

	reply_start(d, json_str(json_get(root, "id")), json_str(json_get(root, "model")));
	usage_messages(d, json_get(root, "usage"));
	take_stop(d, root);
	if (content && content->type == JSON_ARRAY) {
		json_for_each (block, content) {
			if (begin_block(d, 0, block, err) < 0 ||
				finish_block(d, block_last(d), err) < 0)
				return -1;
		}
	}
	return take_message_stop(d, root, err);
}

static int take_fault(struct model_decoder *d, const struct json *root, struct error *err)
{
	(void)err;
	reply_fault(d, root, 0);
	return 0;
}

static int messages_event(
	struct model_decoder *d, struct str name, const struct json *root, struct error *err)
{
	static const struct {
		const char *name;
		int (*take)(struct model_decoder *d, const struct json *root, struct error *err);
	} rows[] = {
		{"content_block_delta", take_delta        },
		{"content_block_start", take_block_start  },
		{"content_block_stop",  take_block_stop   },
		{"message_start",       take_start        },
		{"message_delta",       take_message_delta},
		{"message_stop",        take_message_stop },
		{"message",             take_whole        },
		{"error",               take_fault        },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(name, rows[i].name))
			return rows[i].take(d, root, err);
	}
	if (json_get(root, "error") && !json_get(root, "type"))
		return take_fault(d, root, err);
	return 0; /* ping, and what is not known */
}

const struct dialect model_messages = {messages_init, messages_release, messages_event, NULL, NULL};
