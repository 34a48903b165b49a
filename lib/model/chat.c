/*
 * chat: chat completions. There is no wire of that name but many: what is read here is what their
 * servers send, in all the spellings met.
 *
 * Calls have no end of their own on this wire, and arguments of several may come in turns: the
 * first call is told as it comes, the others when the reply is over.
 */
#include "model/internal.h"

enum {
	NO_INDEX = -1, /* keys of calls without one, and of the old function_call */
	OLD_CALL = -2,
	MADE_ID_LETTERS = 24,
};

static void chat_init(struct model_decoder *d)
{
	d->chat.stop_text.max = d->chat.details.max = HELD_MAX_BYTES;
}

static void chat_release(struct model_decoder *d)
{
	buf_release(&d->chat.stop_text);
	buf_release(&d->chat.details);
}

/* Ends the block of words that is being written, if there is one. */
static int end_prose(struct model_decoder *d, struct error *err)
{
	struct block *last = block_last(d);

	return last && last->sort != MODEL_CALL ? block_end(d, last, err) : 0;
}

static struct block *add_block(
	struct model_decoder *d, enum model_block sort, int64_t key, struct error *err)
{
	if (end_prose(d, err) < 0)
		return NULL;
	return block_add(d, sort, key, d->next_order++, err);
}

/* What came as reasoning_details since the last time is a block of its own. */
static int tell_details(struct model_decoder *d, struct error *err)
{
	struct buf *details = &d->chat.details;
	struct block *b;

	if (details->full)
		return error_set(err, &MODEL_LIMIT, "reasoning details are longer than %d bytes",
			HELD_MAX_BYTES);
	if (details->len == 0)
		return 0;
	b = add_block(d, MODEL_OPAQUE, 0, err);
	if (!b || buf_putc(details, ']') < 0 || block_put(d, b, buf_str(details), err) < 0)
		return -1;
	buf_release(details);
	if (block_ready(d, b, err) < 0)
		return -1;
	return end_prose(d, err);
}

static int put_prose(
	struct model_decoder *d, enum model_block sort, struct str text, struct error *err)
{
	struct block *b = block_last(d);

	if (text.len == 0)
		return 0;
	if (!b || b->sort != sort) {
		if (sort != MODEL_THINKING && tell_details(d, err) < 0)
			return -1;
		b = add_block(d, sort, 0, err);
		if (!b || block_ready(d, b, err) < 0)
			return -1;
	}
	return block_put(d, b, text, err);
}

/* Text, or parts of text: thinking may stand among them, and hold parts itself. */
static int put_content(
	struct model_decoder *d, enum model_block sort, const struct json *value, struct error *err)
{
	if (value && value->type == JSON_STRING)
		return put_prose(d, sort, value->text, err);
	if (!value || value->type != JSON_ARRAY)
		return 0;
	json_for_each (part, value) {
		const struct json *inner = json_get(part, "thinking");

		if (put_prose(d, sort, json_str(json_get(part, "text")), err) < 0 ||
			put_prose(d, MODEL_THINKING, json_str(inner), err) < 0)
			return -1;
		if (!inner || inner->type != JSON_ARRAY)
			continue;
		json_for_each (piece, inner) {
			if (put_prose(d, MODEL_THINKING, json_str(json_get(piece, "text")), err) <
				0)
				return -1;
		}
	}
	return 0;
}

static void keep_details(struct model_decoder *d, const struct json *details)
{
	struct buf *to = &d->chat.details;

	if (!details || details->type != JSON_ARRAY)
		return;
	json_for_each (detail, details) {
		struct json_out j = JSON_OUT(to);

		(void)buf_putc(to, to->len > 0 ? ',' : '['); /* tell_details looks at `full` */
		json_put(&j, NULL, detail);
	}
}

/* The newest call that an entry goes on with, or NULL: it begins one. */
static struct block *find_call(
	const struct model_decoder *d, int64_t key, struct str id, struct str name)
{
	struct block *found = NULL;

	for (struct block *b = d->head; b; b = b->next) {
		if (b->sort != MODEL_CALL || (key != NO_INDEX && b->key != key))
			continue;
		if (key == NO_INDEX && id.len > 0 && !str_eq(b->call_id, id))
			continue;
		found = b;
	}
	if (!found)
		return NULL;
	if (key != NO_INDEX)
		return id.len > 0 && found->call_id.p && !str_eq(found->call_id, id) ? NULL : found;
	return id.len == 0 && name.len > 0 && found->name.p ? NULL : found;
}

/* Arguments are text; some send the object itself. */
static int put_arguments(
	struct model_decoder *d, struct block *b, const struct json *value, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(HELD_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	if (value && value->type == JSON_STRING)
		return block_put(d, b, value->text, err);
	if (!value || (value->type != JSON_OBJECT && value->type != JSON_ARRAY))
		return 0;
	json_put(&j, NULL, value);
	if (text.full)
		return error_set(
			err, &MODEL_LIMIT, "arguments are longer than %d bytes", HELD_MAX_BYTES);
	return block_put(d, b, buf_str(&text), err);
}

/* A proof that must come back with the call (Gemini's thought signature). */
static void keep_extra(struct block *b, const struct json *extra)
{
	struct json_out j = JSON_OUT(&b->signature);

	if (!extra || extra->type != JSON_OBJECT)
		return;
	buf_clear(&b->signature);
	json_put(&j, NULL, extra);
}

static int take_call(
	struct model_decoder *d, int64_t key, const struct json *entry, struct error *err)
{
	const struct json *function = key == OLD_CALL ? entry : json_get(entry, "function");
	const struct str id = json_str(json_get(entry, "id"));
	const struct str name = json_str(json_get(function, "name"));
	struct block *b = find_call(d, key, id, name);

	if (!b) {
		if (tell_details(d, err) < 0)
			return -1;
		b = add_block(d, MODEL_CALL, key, err);
		if (!b)
			return -1;
	}
	if (id.len > 0 && !b->call_id.p)
		keep_str(&b->call_id, id);
	if (name.len > 0 && !b->name.p)
		keep_str(&b->name, name);
	keep_extra(b, json_get(entry, "extra_content"));
	if (put_arguments(d, b, json_get(function, "arguments"), err) < 0)
		return -1;
	return b->call_id.p && b->name.p && !b->ready ? block_ready(d, b, err) : 0;
}

static int take_calls(struct model_decoder *d, const struct json *calls, struct error *err)
{
	if (!calls || calls->type != JSON_ARRAY)
		return 0;
	json_for_each (entry, calls) {
		int64_t index;

		if (entry->type != JSON_OBJECT)
			continue;
		if (json_i64(json_get(entry, "index"), &index) < 0 || index < 0)
			index = NO_INDEX;
		if (take_call(d, index, entry, err) < 0)
			return -1;
	}
	return 0;
}

static int take_delta(struct model_decoder *d, const struct json *delta, struct error *err)
{
	const struct json *thought = json_get(delta, "reasoning_content");
	const struct json *old = json_get(delta, "function_call");

	if (!thought || thought->type == JSON_NULL)
		thought = json_get(delta, "reasoning");
	if (put_content(d, MODEL_THINKING, thought, err) < 0)
		return -1;
	keep_details(d, json_get(delta, "reasoning_details"));
	if (put_content(d, MODEL_TEXT, json_get(delta, "content"), err) < 0 ||
		put_content(d, MODEL_REFUSAL, json_get(delta, "refusal"), err) < 0 ||
		take_calls(d, json_get(delta, "tool_calls"), err) < 0)
		return -1;
	return old && old->type == JSON_OBJECT ? take_call(d, OLD_CALL, old, err) : 0;
}

/* finish_reason in its spellings; one that is not known is an end all the same. */
static enum model_stop stop_of_reason(struct str reason)
{
	static const struct {
		const char *reason;
		enum model_stop stop;
	} rows[] = {
		{"tool_calls",                    MODEL_STOP_CALLS   },
		{"function_call",                 MODEL_STOP_CALLS   },
		{"tool_use",                      MODEL_STOP_CALLS   },
		{"length",                        MODEL_STOP_LENGTH  },
		{"max_tokens",                    MODEL_STOP_LENGTH  },
		{"model_length",                  MODEL_STOP_LENGTH  },
		{"content_filter",                MODEL_STOP_REFUSAL },
		{"refusal",                       MODEL_STOP_REFUSAL },
		{"safety",                        MODEL_STOP_REFUSAL },
		{"sensitive",                     MODEL_STOP_REFUSAL },
		{"stop_sequence",                 MODEL_STOP_SEQUENCE},
		{"model_context_window_exceeded", MODEL_STOP_CONTEXT },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(reason, rows[i].reason))
			return rows[i].stop;
	}
	return MODEL_STOP_END;
}

/* Reasons that say the reply failed. */
static bool tell_failure(struct model_decoder *d, struct str reason)
{
	if (str_is(reason, "insufficient_system_resource"))
		reply_fault_named(d, MODEL_FAULT_OVERLOADED, reason, STR(""));
	else if (str_is(reason, "error") || str_is(reason, "network_error") ||
		 str_is(reason, "abort"))
		reply_fault_named(d, MODEL_FAULT_OTHER, reason, STR(""));
	return d->over;
}

static int take_choice(struct model_decoder *d, const struct json *choice, struct error *err)
{
	const struct json *delta = json_get(choice, "delta");
	const struct str reason = json_str(json_get(choice, "finish_reason"));
	const struct str matched = json_str(json_get(choice, "stop_reason"));

	if (!delta) /* a reply that was not streamed after all */
		delta = json_get(choice, "message");
	if (take_delta(d, delta, err) < 0)
		return -1;
	usage_chat(d, json_get(choice, "usage"));
	if (reason.len == 0 || tell_failure(d, reason))
		return 0;
	d->chat.finished = true;
	d->chat.stop = stop_of_reason(reason);
	if (d->chat.stop == MODEL_STOP_END && matched.len > 0 && str_is(reason, "stop")) {
		d->chat.stop = MODEL_STOP_SEQUENCE;
		buf_clear(&d->chat.stop_text);
		(void)buf_put_str(&d->chat.stop_text, matched); /* of one event: fits */
	}
	return 0;
}

/* The first choice is the reply. */
static const struct json *first_choice(const struct json *root)
{
	const struct json *choices = json_get(root, "choices");
	int64_t index;

	if (!choices || choices->type != JSON_ARRAY)
		return NULL;
	json_for_each (choice, choices) {
		if (json_i64(json_get(choice, "index"), &index) < 0 || index == 0)
			return choice;
	}
	return NULL;
}

static bool is_fault(struct str name, const struct json *root)
{
	const struct json *error = json_get(root, "error");

	if (error && (error->type == JSON_OBJECT || error->type == JSON_STRING))
		return true;
	return str_is(name, "error") || str_is(json_str(json_get(root, "object")), "error");
}

static int chat_event(
	struct model_decoder *d, struct str name, const struct json *root, struct error *err)
{
	const struct json *choice = first_choice(root);
	const struct str id = json_str(json_get(root, "id"));

	usage_chat(d, json_get(root, "usage"));
	usage_chat(d, json_get(json_get(root, "x_groq"), "usage"));
	if (is_fault(name, root)) {
		reply_fault(d, root, 0);
		return 0;
	}
	if (id.len > 0)
		reply_start(d, id, json_str(json_get(root, "model")));
	return choice ? take_choice(d, choice, err) : 0;
}

/* An id for a call that was given none: the same one whenever the same reply is read. */
static void make_id(const struct model_decoder *d, struct block *b)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	char id[5 + MADE_ID_LETTERS] = "call_";
	uint64_t state = d->id_seed ^ (uint64_t)b->order << 32;

	for (size_t i = 5; i < sizeof(id); i++) {
		uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */

		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		id[i] = letters[(z ^ z >> 31) % (sizeof(letters) - 1)];
	}
	keep_str(&b->call_id, (struct str){id, sizeof(id)});
}

/* Calls go out in their order once nothing more can come for any of them. */
static int end_blocks(struct model_decoder *d, struct error *err)
{
	if (tell_details(d, err) < 0 || end_prose(d, err) < 0)
		return -1;
	for (struct block *b = d->head; b; b = b->next) {
		if (b->sort != MODEL_CALL)
			continue;
		if (!b->name.p)
			return error_set(err, &MODEL_STREAM, "a call without a name");
		if (!b->call_id.p)
			make_id(d, b);
		b->ready = true;
	}
	while (d->head) {
		if (block_end(d, d->head, err) < 0)
			return -1;
	}
	return 0;
}

static int chat_done(struct model_decoder *d, struct error *err)
{
	if (end_blocks(d, err) < 0)
		return -1;
	reply_end(d, d->chat.stop, buf_str(&d->chat.stop_text));
	return 0;
}

/* Some leave [DONE] out; a reply without a reason to be over is one that was cut. */
static int chat_end(struct model_decoder *d, struct error *err)
{
	return d->chat.finished ? chat_done(d, err) : -1;
}

const struct dialect model_chat = {chat_init, chat_release, chat_event, chat_done, chat_end};
