/*
 * Conversation items: which encoding is whose, and what all of them share.
 */
#include "agent/core/item_internal.h"

static const struct {
	const char *provider;
	enum item_family family;
} families[] = {
	{"rehearsal",    ITEM_CHAT     },
	{"chat",         ITEM_CHAT     },
	{"responses",    ITEM_RESPONSES},
	{"responses-ws", ITEM_RESPONSES},
	{"anthropic",    ITEM_MESSAGES },
};

enum item_family item_family(struct str provider_family)
{
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		if (str_is(provider_family, families[i].provider))
			return families[i].family;
	}
	return ITEM_CHAT;
}

struct str item_finish(struct arena *a, const struct buf *b)
{
	struct str made = buf_str(b);

	must(!b->full);
	return (struct str){arena_strndup(a, made.p, made.len), made.len};
}

/* Writing */

struct str item_user(struct arena *a, enum item_family f, struct str text,
	const struct item_picture *pictures, size_t picture_count)
{
	_cleanup_(buf) struct buf b = BUF_INIT(ITEM_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_open(&j, '{');
	json_put_cstr(&j, "role", "user");
	if (f == ITEM_CHAT) {
		item_chat_parts(&j, text, pictures, picture_count);
	} else {
		json_open_key(&j, "content", '[');
		if (f == ITEM_RESPONSES)
			item_responses_parts(&j, text, pictures, picture_count);
		else
			item_messages_parts(&j, text, pictures, picture_count);
		json_close(&j, ']');
	}
	json_close(&j, '}');
	return item_finish(a, &b);
}

/* The output of a call: text by itself, or parts where there are pictures. */
static void put_output(struct json_out *j, const char *name, enum item_family f, struct str output,
	const struct item_picture *pictures, size_t count)
{
	if (count == 0) {
		json_put_str(j, name, output);
		return;
	}
	json_open_key(j, name, '[');
	if (f == ITEM_RESPONSES)
		item_responses_parts(j, output, pictures, count);
	else
		item_messages_parts(j, output, pictures, count);
	json_close(j, ']');
}

struct str item_result(struct arena *a, enum item_family f, struct str call_id, struct str output,
	const struct item_picture *pictures, size_t picture_count)
{
	_cleanup_(buf) struct buf b = BUF_INIT(ITEM_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_open(&j, '{');
	switch (f) {
	case ITEM_CHAT:
		json_put_cstr(&j, "role", "tool");
		json_put_str(&j, "tool_call_id", call_id);
		item_chat_parts(&j, output, pictures, picture_count);
		break;
	case ITEM_RESPONSES:
		json_put_cstr(&j, "type", "function_call_output");
		json_put_str(&j, "call_id", call_id);
		put_output(&j, "output", f, output, pictures, picture_count);
		break;
	case ITEM_MESSAGES:
		json_put_cstr(&j, "role", "user");
		json_open_key(&j, "content", '[');
		json_open(&j, '{');
		json_put_cstr(&j, "type", "tool_result");
		json_put_str(&j, "tool_use_id", call_id);
		put_output(&j, "content", f, output, pictures, picture_count);
		json_close(&j, '}');
		json_close(&j, ']');
		break;
	}
	json_close(&j, '}');
	return item_finish(a, &b);
}

/* Reading */

/* The text of a part that is of one of the types; absent otherwise. */
static struct str part_text(const struct json *part, const char *const *types)
{
	struct str type = json_str(json_get(part, "type"));

	for (size_t i = 0; type.p && types[i]; i++) {
		const char *member = strchr(types[i], ':');

		if (str_eq(type, (struct str){types[i], (size_t)(member - types[i])}))
			return json_str(json_get(part, member + 1));
	}
	return (struct str){NULL, 0};
}

struct str item_join(struct arena *a, const struct json *parts, const char *const *types)
{
	_cleanup_(buf) struct buf b = BUF_INIT(ITEM_MAX_BYTES);
	struct str only = {NULL, 0};
	size_t found = 0;

	if (!parts || parts->type != JSON_ARRAY)
		return only;
	json_for_each (part, parts) {
		struct str text = part_text(part, types);

		if (!text.p)
			continue;
		only = text;
		found++;
		(void)buf_put_str(&b, text); /* at most what was parsed */
	}
	return found > 1 ? item_finish(a, &b) : only;
}

size_t item_count_parts(const struct json *parts, const char *type)
{
	size_t n = 0;

	if (!parts || parts->type != JSON_ARRAY)
		return 0;
	json_for_each (part, parts)
		n += str_is(json_str(json_get(part, "type")), type);
	return n;
}

struct str item_content(struct arena *a, const struct json *content, const char *const *types)
{
	if (content && content->type == JSON_ARRAY)
		return item_join(a, content, types);
	return json_str(content);
}

/* By what only one encoding has. A plain user's or assistant's text is chat's. */
static enum item_family shape_of(const struct json *doc)
{
	const struct json *content = json_get(doc, "content");
	struct str first = json_str(json_get(content ? content->child : NULL, "type"));

	if (json_get(doc, "type"))
		return ITEM_RESPONSES;
	if (json_get(doc, "tool_call_id") || json_get(doc, "tool_calls"))
		return ITEM_CHAT;
	if (!content || content->type != JSON_ARRAY || !first.p)
		return ITEM_CHAT;
	if (str_starts(first, STR("input_")) || str_is(first, "output_text") ||
		str_is(first, "refusal"))
		return ITEM_RESPONSES;
	/* "text" begins both a chat message with pictures and one of messages */
	return item_count_parts(content, "image_url") > 0 ? ITEM_CHAT : ITEM_MESSAGES;
}

int item_read_parsed(struct arena *a, const struct json *doc, struct item *ret, struct error *err)
{
	static int (*const readers[])(
		struct arena *, const struct json *, struct item *, struct error *) = {
		[ITEM_CHAT] = item_read_chat,
		[ITEM_RESPONSES] = item_read_responses,
		[ITEM_MESSAGES] = item_read_messages,
	};
	struct item it = {.role = ITEM_OTHER};

	if (doc->type != JSON_OBJECT)
		return error_set(err, &ERROR_INVALID, "item: must be an object");
	it.family = shape_of(doc);
	if (readers[it.family](a, doc, &it, err) < 0)
		return -1;
	*ret = it;
	return 0;
}

int item_read(struct arena *a, struct str json, struct item *ret, struct error *err)
{
	const struct json *doc;

	if (json_parse(a, json, &doc, err) < 0)
		return error_prefix(err, "item");
	return item_read_parsed(a, doc, ret, err);
}

static struct str with_line(struct arena *a, const char *line, struct str text)
{
	size_t line_len = strlen(line);
	char *whole = arena_alloc(a, line_len + text.len + 1);

	memcpy(whole, line, line_len);
	if (text.len > 0)
		memcpy(whole + line_len, text.p, text.len);
	return (struct str){whole, line_len + text.len};
}

struct str item_from_bot(
	struct arena *a, struct str name, int64_t id, int64_t turn, struct str text)
{
	return with_line(a,
		arena_printf(a, "[message from bot " STR_FMT " (id %lld), turn %lld]\n",
			STR_ARG(name), (long long)id, (long long)turn),
		text);
}

struct str item_from_origin(struct arena *a, struct str kind, struct str name, struct str text)
{
	return with_line(a,
		arena_printf(
			a, "[event from " STR_FMT " " STR_FMT "]\n", STR_ARG(kind), STR_ARG(name)),
		text);
}
