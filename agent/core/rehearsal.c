/*
 * Rehearsal scripts: read whole, then asked for the reply to a conversation.
 */
#include "agent/core/rehearsal.h"

#include <stdio.h>

#include "agent/core/limits.h"
#include "json/json.h"

enum {
	CHUNK_MAX_BYTES = 65536, /* rehearsal(5) */
	CODE_MAX_BYTES = 64,     /* ours: an error code is a name */
	WHERE_MAX_BYTES = 32,    /* "line 100000" and room */
};

const struct error_kind REHEARSAL_INVALID = {"rehearsal_invalid", ERROR_CLASS_USAGE};

/* Conditions on what was said before; absent ones hold. */
struct when {
	struct str result_has, result_lacks, prompt_has;
	int64_t exit_code;
	bool has_exit_code;
};

struct reply {
	struct str say, error, detail;
	const struct item_call *calls; /* call_id absent: it depends on the conversation */
	const struct drill_expect *expects;
	size_t call_count;
	int64_t delay_ms, chunk_bytes;
	struct when when;
	bool conditional, cut;
	int line;
};

struct rehearsal {
	struct arena arena;
	struct str name, about, prompt;
	struct drill_terms terms;
	bool repeat;
	struct reply *replies;
	size_t count, cap;
};

/* The members of a line, as the table decodes them. */
struct error_fields {
	struct str code, detail;
};

struct when_fields {
	struct str result_has, result_lacks, prompt_has;
	int64_t exit_code;
};

struct line_fields {
	struct str say, note;
	int64_t delay_ms, chunk_bytes;
	bool cut;
	struct error_fields error;
	const struct json *calls, *when;
};

struct header_fields {
	int64_t rehearsal;
	struct str name, about, prompt;
	bool repeat;
	struct drill_members drill;
};

struct call_fields {
	struct str tool, arguments_text;
	const struct json *arguments, *expect;
};

static const struct json_field error_fields[] = {
	JSON_STR(struct error_fields, code, .required = true, .min = 1, .max = CODE_MAX_BYTES),
	JSON_STR(struct error_fields, detail, .max = ERROR_TEXT_MAX),
};

enum { WHEN_EXIT_CODE = 3 }; /* its row */
static const struct json_field when_fields[] = {
	JSON_STR(struct when_fields, result_has, .min = 1),
	JSON_STR(struct when_fields, result_lacks, .min = 1),
	JSON_STR(struct when_fields, prompt_has, .min = 1),
	JSON_I64(struct when_fields, exit_code, .min = 0, .max = 255),
};

static const struct json_field line_fields[] = {
	JSON_STR(struct line_fields, say, .max = PROVIDER_OUTPUT_MAX_BYTES),
	JSON_STR(struct line_fields, note),
	JSON_I64(struct line_fields, delay_ms, .min = 0, .max = REHEARSAL_DELAY_MAX_MS),
	JSON_I64(struct line_fields, chunk_bytes, .min = 1, .max = CHUNK_MAX_BYTES),
	JSON_BOOL(struct line_fields, cut),
	JSON_OBJ(struct line_fields, error, error_fields),
	JSON_NODE(struct line_fields, calls),
	JSON_NODE(struct line_fields, when),
};

/* A member of struct drill_members. */
#define DRILL_MEMBER(m, sort_, ...)                                                                \
	{                                                                                          \
		.name = #m, .sort = (sort_), .offset = offsetof(struct header_fields, drill.m),    \
		__VA_ARGS__                                                                        \
	}

static const struct json_field header_fields[] = {
	JSON_I64(struct header_fields, rehearsal, .required = true, .min = 1, .max = 1),
	JSON_STR(struct header_fields, name, .max = BOT_NAME_MAX_BYTES),
	JSON_STR(struct header_fields, about, .max = ERROR_TEXT_MAX),
	JSON_STR(struct header_fields, prompt, .min = 1, .max = PROMPT_MAX_BYTES),
	JSON_BOOL(struct header_fields, repeat),
	DRILL_MEMBER(must, JSON_FIELD_STR, .max = ERROR_TEXT_MAX),
	DRILL_MEMBER(rough, JSON_FIELD_BOOL),
	DRILL_MEMBER(files, JSON_FIELD_NODE),
	DRILL_MEMBER(unharmed, JSON_FIELD_NODE),
	DRILL_MEMBER(absent, JSON_FIELD_NODE),
	DRILL_MEMBER(bot, JSON_FIELD_NODE),
};

static const struct json_field call_fields[] = {
	JSON_STR(struct call_fields, tool, .required = true, .min = 1, .max = BOT_NAME_MAX_BYTES),
	JSON_STR(struct call_fields, arguments_text, .max = PROVIDER_OUTPUT_MAX_BYTES),
	JSON_NODE(struct call_fields, arguments),
	JSON_NODE(struct call_fields, expect),
};

/*
 * Reading a script.
 */

static int invalid(struct error *err)
{
	if (err)
		err->kind = &REHEARSAL_INVALID;
	return -1;
}

/* The arguments as a model would have written them. */
static int read_arguments(struct arena *a, const struct call_fields *f, const char *where,
	struct str *ret, struct error *err)
{
	_cleanup_(buf) struct buf b = BUF_INIT(REHEARSAL_FILE_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	if (f->arguments && f->arguments_text.p)
		return error_set(err, &REHEARSAL_INVALID,
			"%s.calls: arguments and arguments_text exclude "
			"each other",
			where);
	if (f->arguments_text.p) {
		*ret = f->arguments_text;
		return 0;
	}
	if (!f->arguments) {
		*ret = STR("{}");
		return 0;
	}
	json_put(&j, NULL, f->arguments);
	if (b.full || b.len > PROVIDER_OUTPUT_MAX_BYTES)
		return error_set(err, &REHEARSAL_INVALID, "%s.calls: arguments are over %d bytes",
			where, PROVIDER_OUTPUT_MAX_BYTES);
	*ret = (struct str){arena_strndup(a, b.data, b.len), b.len};
	return 0;
}

static int read_calls(struct arena *a, const struct json *list, const char *where, struct reply *r,
	struct error *err)
{
	struct json_table table = {call_fields, ARRAY_LEN(call_fields), NULL, NULL};
	struct drill_expect *expects;
	struct item_call *calls;
	size_t n = 0;

	if (!list)
		return 0;
	if (list->type != JSON_ARRAY || list->count == 0 || list->count > CALLS_MAX)
		return error_set(err, &REHEARSAL_INVALID,
			"%s.calls: must be an array of 1 to %d calls", where, CALLS_MAX);
	calls = arena_alloc(a, list->count * sizeof(*calls));
	expects = arena_alloc(a, list->count * sizeof(*expects));
	json_for_each (value, list) {
		struct call_fields f = {.arguments = NULL};
		struct item_call *c = &calls[n++];

		if (value->type != JSON_OBJECT)
			return error_set(err, &REHEARSAL_INVALID,
				"%s.calls: a call must be an object", where);
		table.where = arena_printf(a, "%s.calls[%zu]", where, n - 1);
		if (json_decode(a, value, &table, &f, NULL, err) < 0)
			return invalid(err);
		c->name = f.tool;
		if (read_arguments(a, &f, where, &c->arguments, err) < 0)
			return -1;
		if (drill_read_expect(a, f.expect, arena_printf(a, "%s.expect", table.where),
			    &expects[n - 1], err) < 0)
			return invalid(err);
	}
	r->calls = calls;
	r->expects = expects;
	r->call_count = n;
	return 0;
}

static int read_when(struct arena *a, const struct json *value, const char *where, struct reply *r,
	struct error *err)
{
	struct json_table table = {when_fields, ARRAY_LEN(when_fields), NULL, NULL};
	struct when_fields f = {.exit_code = 0};
	uint64_t seen = 0;

	if (!value)
		return 0;
	if (value->type != JSON_OBJECT)
		return error_set(err, &REHEARSAL_INVALID, "%s.when: must be an object", where);
	table.where = arena_printf(a, "%s.when", where);
	if (json_decode(a, value, &table, &f, &seen, err) < 0)
		return invalid(err);
	if (!seen)
		return error_set(err, &REHEARSAL_INVALID, "%s.when: has no condition", where);
	r->conditional = true;
	r->when = (struct when){
		.result_has = f.result_has,
		.result_lacks = f.result_lacks,
		.prompt_has = f.prompt_has,
		.exit_code = f.exit_code,
		.has_exit_code = (seen >> WHEN_EXIT_CODE) & 1,
	};
	return 0;
}

/* What a table cannot say. */
static int check_reply(const struct reply *r, const char *where, struct error *err)
{
	if (!r->say.p && r->call_count == 0 && !r->cut && !r->error.p)
		return error_set(
			err, &REHEARSAL_INVALID, "%s: has none of say, calls, cut, error", where);
	if (r->error.p && (r->say.p || r->cut))
		return error_set(
			err, &REHEARSAL_INVALID, "%s.error: goes with neither say nor cut", where);
	if (r->call_count > 0 && (r->error.p || r->cut))
		return error_set(
			err, &REHEARSAL_INVALID, "%s.calls: a reply that fails makes none", where);
	if (r->chunk_bytes > 0 && r->say.len == 0)
		return error_set(err, &REHEARSAL_INVALID,
			"%s.chunk_bytes: there is no text to cut up", where);
	return 0;
}

static int read_reply(
	struct arena *a, const struct json *doc, int line, struct reply *ret, struct error *err)
{
	char where[WHERE_MAX_BYTES];
	const struct json_table table = {line_fields, ARRAY_LEN(line_fields), where, NULL};
	struct line_fields f = {.delay_ms = 0};
	struct reply r;

	(void)snprintf(where, sizeof(where), "line %d", line); /* fits: line is bounded */
	if (json_decode(a, doc, &table, &f, NULL, err) < 0)
		return invalid(err);
	r = (struct reply){
		.say = f.say,
		.error = f.error.code,
		.detail = f.error.detail,
		.delay_ms = f.delay_ms,
		.chunk_bytes = f.chunk_bytes,
		.cut = f.cut,
		.line = line,
	};
	if (read_calls(a, f.calls, where, &r, err) < 0 ||
		read_when(a, f.when, where, &r, err) < 0 || check_reply(&r, where, err) < 0)
		return -1;
	*ret = r;
	return 0;
}

static int read_header(struct rehearsal *r, const struct json *doc, int line, struct error *err)
{
	char where[WHERE_MAX_BYTES];
	const struct json_table table = {header_fields, ARRAY_LEN(header_fields), where, NULL};
	struct header_fields f = {.repeat = false};

	(void)snprintf(where, sizeof(where), "line %d", line); /* fits: line is bounded */
	if (json_decode(&r->arena, doc, &table, &f, NULL, err) < 0 ||
		drill_read_terms(&r->arena, &f.drill, where, &r->terms, err) < 0)
		return invalid(err);
	r->name = f.name;
	r->about = f.about;
	r->prompt = f.prompt;
	r->repeat = f.repeat;
	return 0;
}

static void add_reply(struct rehearsal *r, const struct reply *reply)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 16;
		r->replies = xrealloc(r->replies, r->cap, sizeof(*r->replies));
	}
	r->replies[r->count++] = *reply;
}

/* `first`: nothing but blank lines and comments stood before. */
static int read_line(struct rehearsal *r, struct str text, int line, bool first, struct error *err)
{
	const struct json *doc;
	struct reply reply;

	if (json_parse(&r->arena, text, &doc, err) < 0) {
		(void)error_prefix(err, "line %d", line);
		return invalid(err);
	}
	if (doc->type != JSON_OBJECT)
		return error_set(err, &REHEARSAL_INVALID, "line %d: must be an object", line);
	if (json_get(doc, "rehearsal")) {
		if (!first)
			return error_set(err, &REHEARSAL_INVALID,
				"line %d.rehearsal: the header may only come first", line);
		return read_header(r, doc, line, err);
	}
	if (r->count == REHEARSAL_LINES_MAX)
		return error_set(err, &REHEARSAL_INVALID, "line %d: more than %d replies", line,
			REHEARSAL_LINES_MAX);
	if (read_reply(&r->arena, doc, line, &reply, err) < 0)
		return -1;
	add_reply(r, &reply);
	return 0;
}

static int read_lines(struct rehearsal *r, struct str text, struct error *err)
{
	struct str line;
	bool first = true;
	int number = 0;

	while (str_next(&text, '\n', &line)) {
		number++;
		line = str_trim(line);
		if (line.len == 0 || line.p[0] == '#')
			continue;
		if (read_line(r, line, number, first, err) < 0)
			return -1;
		first = false;
	}
	if (r->count == 0)
		return error_set(err, &REHEARSAL_INVALID, "the script has no replies");
	return 0;
}

MEM_CLEANUP(rehearsal, struct rehearsal *, rehearsal_free)

int rehearsal_parse(struct str text, struct rehearsal **ret, struct error *err)
{
	_cleanup_(rehearsal) struct rehearsal *r = NULL;

	if (text.len > REHEARSAL_FILE_MAX_BYTES)
		return error_set(err, &REHEARSAL_INVALID, "the script is over %d bytes",
			REHEARSAL_FILE_MAX_BYTES);
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = (struct str){
			text.p + 3, text.len - 3}; /* editors write it; JSON forbids it */
	r = xcalloc(1, sizeof(*r));
	if (read_lines(r, text, err) < 0)
		return -1;
	*ret = mem_take(&r);
	return 0;
}

void rehearsal_free(struct rehearsal *r)
{
	if (!r)
		return;
	arena_release(&r->arena);
	free(r->replies);
	free(r);
}

struct str rehearsal_name(const struct rehearsal *r)
{
	return r->name;
}

struct str rehearsal_about(const struct rehearsal *r)
{
	return r->about;
}

struct str rehearsal_prompt(const struct rehearsal *r)
{
	return r->prompt;
}

const struct drill_terms *rehearsal_terms(const struct rehearsal *r)
{
	return &r->terms;
}

/*
 * Finding the place in it.
 */

/* A stored item whose text is read when a condition asks for it, once. */
struct said {
	struct str item; /* absent: none yet */
	struct str text;
	bool read;
};

/* Where a conversation stands. */
struct walk {
	const struct rehearsal *script;
	struct arena *arena;
	struct said user, result; /* the last ones */
	size_t position;          /* the next line; script->count: past the last */
	int64_t replies;          /* assistant items so far */
	bool owed;                /* the last item waits for a reply */
};

enum { NOWHERE = -1 };

static struct str text_of(struct walk *w, struct said *said)
{
	struct item it;

	if (said->item.p && !said->read) {
		if (item_read(w->arena, said->item, &it, NULL) == 0)
			said->text = it.text;
		said->read = true;
	}
	return said->text;
}

/* The exit status that a shell's result names. */
static bool exit_code_is(const struct walk *w, struct str result, int64_t wanted)
{
	const struct json *doc;
	int64_t code;

	if (json_parse(w->arena, result, &doc, NULL) < 0)
		return false;
	return json_i64(json_get(doc, "exit_code"), &code) == 0 && code == wanted;
}

static bool holds(struct walk *w, const struct when *when)
{
	if (when->prompt_has.p) {
		struct str prompt = text_of(w, &w->user);

		if (!prompt.p || str_find(prompt, when->prompt_has, 0) < 0)
			return false;
	}
	if (when->result_has.p || when->result_lacks.p || when->has_exit_code) {
		struct str result = text_of(w, &w->result);

		if (!result.p)
			return false; /* a condition on what is not there does not hold */
		if (when->result_has.p && str_find(result, when->result_has, 0) < 0)
			return false;
		if (when->result_lacks.p && str_find(result, when->result_lacks, 0) >= 0)
			return false;
		if (when->has_exit_code && !exit_code_is(w, result, when->exit_code))
			return false;
	}
	return true;
}

/* The first line at or after the position whose condition holds, at most once around, or NOWHERE.
 */
static ptrdiff_t choose(struct walk *w)
{
	const struct rehearsal *s = w->script;
	size_t steps = s->repeat ? s->count : s->count - w->position;

	for (size_t i = 0; i < steps; i++) {
		size_t at = (w->position + i) % s->count;

		if (!s->replies[at].conditional || holds(w, &s->replies[at].when))
			return (ptrdiff_t)at;
	}
	return NOWHERE;
}

/* Past the line that was chosen here. */
static void consume(struct walk *w, ptrdiff_t chosen)
{
	w->position = chosen == NOWHERE ? w->script->count : (size_t)chosen + 1;
	if (w->script->repeat && w->position == w->script->count)
		w->position = 0;
}

/* A new message while a reply was owed: where the line was a fault, that fault has happened. */
static void pass_fault(struct walk *w)
{
	ptrdiff_t chosen = choose(w);
	const struct reply *r = chosen == NOWHERE ? NULL : &w->script->replies[chosen];

	if (r && (r->cut || r->error.p))
		consume(w, chosen);
}

/* The daemon writes items in one way, so that the first bytes tell; anything else is read in full.
 */
static int role_of(struct arena *a, struct str item, enum item_role *ret, struct error *err)
{
	struct item it;

	if (str_starts(item, STR("{\"role\":\"user\","))) {
		*ret = ITEM_USER;
	} else if (str_starts(item, STR("{\"role\":\"assistant\","))) {
		*ret = ITEM_ASSISTANT;
	} else if (str_starts(item, STR("{\"role\":\"tool\","))) {
		*ret = ITEM_RESULT;
	} else {
		if (item_read(a, item, &it, err) < 0)
			return -1;
		*ret = it.role;
	}
	return 0;
}

static int step(struct walk *w, struct str item, struct error *err)
{
	enum item_role role;

	if (role_of(w->arena, item, &role, err) < 0)
		return -1;
	switch (role) {
	case ITEM_USER:
		if (w->owed)
			pass_fault(w);
		w->user = (struct said){.item = item};
		break;
	case ITEM_ASSISTANT:
		consume(w, choose(w));
		w->replies++;
		break;
	case ITEM_RESULT:
		w->result = (struct said){.item = item};
		break;
	case ITEM_REASONING:
	case ITEM_OTHER: /* of other families: no script wrote it */
		return 0;
	}
	w->owed = role != ITEM_ASSISTANT;
	return 0;
}

/* The script's calls with ids of this conversation. */
static struct item_call *name_calls(const struct walk *w, const struct reply *r)
{
	struct item_call *calls = arena_alloc(w->arena, (r->call_count + 1) * sizeof(*calls));

	for (size_t i = 0; i < r->call_count; i++) {
		calls[i] = r->calls[i];
		calls[i].call_id = str_from(
			arena_printf(w->arena, "r%lld-%zu", (long long)w->replies + 1, i + 1));
	}
	return calls;
}

int rehearsal_next(const struct rehearsal *r, struct arena *a, const struct str *items,
	size_t count, struct rehearsal_reply *ret, struct error *err)
{
	struct walk w = {.script = r, .arena = a};
	const struct reply *reply;
	ptrdiff_t chosen;

	for (size_t i = 0; i < count; i++) {
		if (step(&w, items[i], err) < 0)
			return -1;
	}
	chosen = choose(&w);
	if (chosen == NOWHERE) {
		*ret = (struct rehearsal_reply){
			.say = STR("(the rehearsal has no more lines)"), .ended = true};
		return 0;
	}
	reply = &r->replies[chosen];
	*ret = (struct rehearsal_reply){
		.say = reply->say.p ? reply->say : STR(""),
		.calls = name_calls(&w, reply),
		.expects = reply->expects,
		.call_count = reply->call_count,
		.delay_ms = reply->delay_ms,
		.chunk_bytes = reply->chunk_bytes,
		.cut = reply->cut,
		.error = reply->error,
		.detail = reply->detail,
		.line = reply->line,
	};
	return 0;
}
