/*
 * Repairs of one item: looked for in the parsed item, made in a copy of it.
 */
#include "agent/io/transcript_repair.h"

enum { ITEM_MAX_BYTES = 64 << 20 }; /* ours: nothing the store holds is near it */

static const struct str replacement = {"\xef\xbf\xbd", 3}; /* U+FFFD */

/* A copy that may be changed, deep. */
static struct json *copy(struct arena *a, const struct json *from)
{
	struct json *to = arena_dup(a, from, sizeof(*from));
	const struct json **end = &to->child;

	json_for_each (child, from) {
		struct json *made = copy(a, child); /* at most JSON_DEPTH_MAX */

		made->next = NULL;
		*end = made;
		end = &made->next;
	}
	return to;
}

/* A member of what was copied: it may be changed too. */
static struct json *own(struct json *object, const char *name)
{
	return (struct json *)json_get(object, name);
}

static struct json *first(struct json *parent)
{
	return (struct json *)(parent ? parent->child : NULL);
}

static struct json *after(struct json *node)
{
	return (struct json *)node->next;
}

static void set_text(struct json *value, struct str text)
{
	value->type = JSON_STRING;
	value->text = text;
	value->child = NULL;
	value->count = 0;
}

static bool is_type(const struct json *part, const char *type)
{
	return str_is(json_str(json_get(part, "type")), type);
}

/*
 * U+0000.
 */
static bool has_nul(const struct json *value)
{
	if (value->type == JSON_STRING && memchr(value->text.p, 0, value->text.len))
		return true;
	json_for_each (child, value) {
		if (has_nul(child))
			return true;
	}
	return false;
}

static void drop_nuls(struct arena *a, struct json *value)
{
	if (value->type == JSON_STRING && memchr(value->text.p, 0, value->text.len)) {
		struct buf b = BUF_INIT(ITEM_MAX_BYTES);

		for (size_t i = 0; i < value->text.len; i++)
			(void)(value->text.p[i] ? buf_putc(&b, value->text.p[i])
						: buf_put_str(&b, replacement));
		value->text = (struct str){arena_strndup(a, buf_str(&b).p, b.len), b.len};
		buf_release(&b);
	}
	for (struct json *child = first(value); child; child = after(child))
		drop_nuls(a, child);
}

/*
 * Names of tools.
 */
static bool in_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static bool is_name(struct str s)
{
	if (s.len == 0 || s.len > TRANSCRIPT_NAME_MAX)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!in_name(s.p[i]))
			return false;
	}
	return true;
}

static struct str spell_name(struct arena *a, struct str s)
{
	size_t len = s.len < TRANSCRIPT_NAME_MAX ? s.len : TRANSCRIPT_NAME_MAX;
	char *name = arena_alloc(a, len + 2);

	for (size_t i = 0; i < len; i++)
		name[i] = s.p[i];
	for (size_t i = 0; i < len; i++) {
		if (!in_name(name[i]))
			name[i] = '_';
	}
	if (len == 0)
		name[len++] = '_';
	return (struct str){name, len};
}

static void fix_name(struct arena *a, struct json *name)
{
	if (name && name->type == JSON_STRING && !is_name(name->text))
		name->text = spell_name(a, name->text);
}

static bool names_are_well(const struct item *it)
{
	for (size_t i = 0; i < it->call_count; i++) {
		if (!is_name(it->calls[i].name))
			return false;
	}
	return true;
}

/*
 * chat
 */
static bool is_object(struct str json)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	const struct json *doc;

	return json_parse(&scratch, json, &doc, NULL) == 0 && doc->type == JSON_OBJECT;
}

static const char *find_chat(const struct json *doc, const struct item *it)
{
	(void)doc;
	for (size_t i = 0; i < it->call_count; i++) {
		if (!is_object(it->calls[i].arguments))
			return "arguments that are no JSON object go as {}";
	}
	return NULL;
}

static void fix_chat(struct arena *a, struct json *doc, const struct item *it,
	const struct transcript_options *o)
{
	(void)o;
	for (struct json *call = first(own(doc, "tool_calls")); call; call = after(call)) {
		struct json *function = own(call, "function"), *arguments;

		fix_name(a, own(function, "name"));
		arguments = own(function, "arguments");
		if (arguments && !is_object(json_str(arguments)))
			set_text(arguments, STR("{}"));
	}
	if (it->role == ITEM_RESULT && it->picture_count > 0) {
		char *text = arena_printf(a, STR_FMT "%s[the next message shows it]",
			STR_ARG(it->text), it->text.len ? "\n" : "");

		set_text(own(doc, "content"), str_from(text));
	}
}

/*
 * responses
 */
static const char *find_responses(const struct json *doc, const struct item *it)
{
	(void)doc;
	(void)it;
	return NULL;
}

static void fix_responses(struct arena *a, struct json *doc, const struct item *it,
	const struct transcript_options *o)
{
	(void)o;
	if (it->call_count > 0)
		fix_name(a, own(doc, "name"));
}

/*
 * messages
 */
static bool is_blank(const struct json *part)
{
	return is_type(part, "text") && str_trim(json_str(json_get(part, "text"))).len == 0;
}

static bool is_thinking(const struct json *part)
{
	return is_type(part, "thinking") || is_type(part, "redacted_thinking");
}

/* What of a message cannot go out where it stands; its parts from `part` on. */
static bool is_refused(const struct json *part, bool drop_thinking)
{
	const struct json *content = json_get(part, "content");

	if (is_blank(part))
		return true;
	if (is_type(part, "tool_use")) {
		const struct json *input = json_get(part, "input");

		return !input || input->type != JSON_OBJECT;
	}
	if (is_type(part, "tool_result") && content && content->type == JSON_ARRAY) {
		json_for_each (inner, content) {
			if (is_blank(inner))
				return true;
		}
	}
	return is_thinking(part) && (drop_thinking || !part->next);
}

static const char *find_messages(const struct json *doc, const struct item *it)
{
	const struct json *content = json_get(doc, "content");

	(void)it;
	if (!content || content->type != JSON_ARRAY)
		return NULL; /* a text: put into a block by the caller */
	json_for_each (part, content) {
		if (is_refused(part, false))
			return "an empty text, an input that is no object or thinking at the end "
			       "was mended";
	}
	return NULL;
}

/* Takes the parts out that `is` says yes to. */
static void filter(struct json *list, bool (*is)(const struct json *))
{
	struct json *kept = NULL, *next;

	for (struct json *part = first(list); part; part = next) {
		next = after(part);
		if (!is(part)) {
			kept = part;
			continue;
		}
		list->count--;
		if (kept)
			kept->next = next;
		else
			list->child = next;
	}
}

static void drop_last_thinking(struct json *content)
{
	for (;;) {
		struct json *last = NULL, *before = NULL;

		for (struct json *part = first(content); part; part = after(part)) {
			before = last;
			last = part;
		}
		if (!last || !is_thinking(last))
			return;
		content->count--;
		if (before)
			before->next = NULL;
		else
			content->child = NULL;
	}
}

static void fix_part(struct arena *a, struct json *part)
{
	struct json *input = own(part, "input"), *content = own(part, "content");

	if (is_type(part, "tool_use")) {
		fix_name(a, own(part, "name"));
		if (input && input->type != JSON_OBJECT) {
			input->type = JSON_OBJECT;
			input->child = NULL;
			input->count = 0;
		}
	}
	if (is_type(part, "tool_result") && content && content->type == JSON_ARRAY)
		filter(content, is_blank);
}

static void fix_messages(struct arena *a, struct json *doc, const struct item *it,
	const struct transcript_options *o)
{
	struct json *content = own(doc, "content");

	if (!content || content->type != JSON_ARRAY)
		return;
	filter(content, is_blank);
	if (o->drop_thinking)
		filter(content, is_thinking);
	if (it->role == ITEM_ASSISTANT)
		drop_last_thinking(content);
	for (struct json *part = first(content); part; part = after(part))
		fix_part(a, part);
}

static bool has_thinking(const struct json *doc)
{
	const struct json *content = json_get(doc, "content");

	if (!content || content->type != JSON_ARRAY)
		return false;
	json_for_each (part, content) {
		if (is_thinking(part))
			return true;
	}
	return false;
}

static const struct {
	const char *(*find)(const struct json *doc, const struct item *it);
	void (*fix)(struct arena *a, struct json *doc, const struct item *it,
		const struct transcript_options *o);
} families[] = {
	[ITEM_CHAT] = {find_chat,      fix_chat     },
	[ITEM_RESPONSES] = {find_responses, fix_responses},
	[ITEM_MESSAGES] = {find_messages,  fix_messages },
};

static bool is_empty_message(const struct json *doc)
{
	const struct json *content = json_get(doc, "content");

	return content && content->type == JSON_ARRAY && content->count == 0;
}

bool transcript_moves_pictures(const struct item *it, const struct transcript_options *o)
{
	return o->family == ITEM_CHAT && it->role == ITEM_RESULT && it->picture_count > 0;
}

struct str transcript_repair(struct arena *a, struct str json, const struct json *doc,
	const struct item *it, const struct transcript_options *o, const char **ret_what)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	_cleanup_(buf) struct buf out = BUF_INIT(ITEM_MAX_BYTES);
	struct json_out j = JSON_OUT(&out);
	const char *what = families[o->family].find(doc, it);
	bool nul = str_find(json, STR("\\u0000"), 0) >= 0 && has_nul(doc);
	struct json *mine;

	if (!names_are_well(it))
		what = "a tool's name was spelt as providers take it";
	if (nul)
		what = "U+0000 became U+FFFD";
	if (o->family == ITEM_MESSAGES && o->drop_thinking && has_thinking(doc))
		what = "thinking that the provider refused was left out";
	*ret_what = what;
	if (!what && !transcript_moves_pictures(it, o))
		return json;
	mine = copy(&scratch, doc);
	if (nul)
		drop_nuls(&scratch, mine);
	families[o->family].fix(&scratch, mine, it, o);
	if (o->family == ITEM_MESSAGES && is_empty_message(mine))
		return it->role == ITEM_USER
			       ? item_user(a, o->family, STR("(an empty message)"), NULL, 0)
			       : (struct str){NULL, 0};
	json_put(&j, NULL, mine);
	return (struct str){arena_strndup(a, buf_str(&out).p, out.len), out.len};
}
