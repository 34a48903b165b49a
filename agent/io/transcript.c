/*
 * The items of a request: read one by one, repaired, and put in the order that providers ask for.
 *
 * A round is what the model said in one go, all its items, and what follows until it speaks again.
 */
#include "agent/io/transcript.h"

#include "agent/io/transcript_repair.h"

enum {
	WHAT_MAX = 200,                         /* ours: a line of a log */
	PICTURES_MAX_BYTES = 256 * 1024 * 1024, /* ours: several times what a context can hold */
};

struct entry {
	struct transcript_entry out;
	const struct str *calls; /* ids of the calls it holds */
	size_t call_count;
	struct str call_id;   /* of a result */
	struct str pictures;  /* of a result, where they go by themselves: its parts, in JSON */
	size_t picture_bytes; /* what the provider will count of them, about */
	bool placed;
};

struct maker {
	struct arena *a;
	const struct transcript_options *o;
	struct entry *in;
	size_t in_count;
	struct transcript_entry *out;
	size_t out_count, out_room;
};

static void tell(const struct maker *m, ptrdiff_t index, const char *what)
{
	char text[WHAT_MAX];
	struct buf b = BUF_INIT(sizeof(text) - 1);

	(void)buf_printf(&b, "item %td: %s", index, what); /* ours, and short */
	m->o->repaired(m->o->arg, buf_str(&b).p);
	buf_release(&b);
}

static struct str keep(struct arena *a, struct str s)
{
	return s.p ? (struct str){arena_strndup(a, s.p, s.len), s.len} : s;
}

/* Between the brackets of a message's content; the shape is the one core/item.h writes. */
static struct str inside(struct arena *a, struct str json, const struct json *doc)
{
	static const struct str heads[] = {
		{"{\"role\":\"user\",\"content\":[",      26},
		{"{\"role\":\"assistant\",\"content\":[", 31},
	};
	_cleanup_(buf) struct buf b = BUF_INIT(json.len * 6 + 64);
	struct json_out j = JSON_OUT(&b);
	const struct json *content = json_get(doc, "content");

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		if (str_starts(json, heads[i]) && str_ends(json, STR("]}")))
			return (struct str){json.p + heads[i].len, json.len - heads[i].len - 2};
	}
	if (content && content->type == JSON_STRING) {
		json_open(&j, '{');
		json_put_cstr(&j, "type", "text");
		json_put_str(&j, "text", content->text);
		json_close(&j, '}');
		return keep(a, buf_str(&b));
	}
	if (!content || content->type != JSON_ARRAY)
		return (struct str){NULL, 0};
	json_put(&j, NULL, content);
	return keep(a, (struct str){buf_str(&b).p + 1, b.len - 2});
}

enum { PICTURE_BYTES = 6000 }; /* ours: about what 1,500 tokens of text have */

static size_t text_bytes(struct str json, const struct item *it)
{
	return it->picture_count == 0 ? json.len : it->text.len + it->picture_count * PICTURE_BYTES;
}

static struct str keep_pictures(struct arena *a, const struct json *doc, size_t room)
{
	_cleanup_(buf) struct buf b = BUF_INIT(room);
	const struct json *content = json_get(doc, "content");

	json_for_each (part, content) {
		struct json_out j = JSON_OUT(&b);

		if (!str_is(json_str(json_get(part, "type")), "image_url"))
			continue;
		if (b.len > 0)
			(void)buf_putc(&b, ',');
		json_put(&j, NULL, part);
	}
	return keep(a, buf_str(&b));
}

static void keep_calls(struct arena *a, const struct item *it, struct entry *e)
{
	struct str *ids = arena_alloc(a, (it->call_count + 1) * sizeof(*ids));

	for (size_t i = 0; i < it->call_count; i++)
		ids[i] = keep(a, it->calls[i].call_id);
	e->calls = ids;
	e->call_count = it->call_count;
	e->call_id = keep(a, it->call_id);
}

/* Reads and repairs one item; false when nothing of it goes out. */
static bool take(struct maker *m, struct str json, ptrdiff_t index, struct entry *e)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	const struct json *doc;
	const char *what;
	struct item it;
	struct str out;

	if (json_parse(&scratch, json, &doc, NULL) < 0 ||
		item_read_parsed(&scratch, doc, &it, NULL) < 0) {
		tell(m, index, "cannot be read and was left out");
		return false;
	}
	out = transcript_repair(m->a, json, doc, &it, m->o, &what);
	if (what)
		tell(m, index, out.p ? what : "nothing was left of it");
	if (!out.p || (m->o->drop_thinking && it.role == ITEM_REASONING))
		return false;
	if (m->o->family == ITEM_MESSAGES) {
		if (out.p != json.p && json_parse(&scratch, out, &doc, NULL) < 0)
			return false; /* cannot be: it was written here */
		out = inside(m->a, out, doc);
		if (!out.p)
			return false;
	}
	*e = (struct entry){
		.out = {it.role, out, index, text_bytes(json, &it)}
        };
	keep_calls(m->a, &it, e);
	if (transcript_moves_pictures(&it, m->o)) {
		e->pictures = keep_pictures(m->a, doc, json.len * 2);
		e->out.text_bytes = it.text.len;
		e->picture_bytes = it.picture_count * PICTURE_BYTES;
	}
	return true;
}

static void emit(struct maker *m, const struct transcript_entry *e)
{
	if (m->out_count == m->out_room) {
		size_t room = m->out_room * 2 + 16;
		struct transcript_entry *more = arena_alloc(m->a, room * sizeof(*more));

		if (m->out_count > 0)
			memcpy(more, m->out, m->out_count * sizeof(*more));
		m->out = more;
		m->out_room = room;
	}
	m->out[m->out_count++] = *e;
}

static bool is_models(const struct entry *e)
{
	return e->out.role == ITEM_ASSISTANT || e->out.role == ITEM_REASONING ||
	       e->out.role == ITEM_OTHER;
}

static struct entry *find_result(struct maker *m, size_t from, size_t end, struct str id)
{
	for (size_t i = from; i < end; i++) {
		struct entry *e = &m->in[i];

		if (e->out.role == ITEM_RESULT && !e->placed && str_eq(e->call_id, id))
			return e;
	}
	return NULL;
}

/* A call that was never answered, as far as this request shows. */
static void emit_missing(struct maker *m, ptrdiff_t index, struct str id)
{
	struct transcript_entry made = {.role = ITEM_RESULT, .index = TRANSCRIPT_MADE};
	struct str item = item_result(m->a, m->o->family, id,
		STR("{\"error\":\"no result of this call is kept\"}"), NULL, 0);

	tell(m, index, "a call without its result was given one");
	made.json = m->o->family == ITEM_MESSAGES ? inside(m->a, item, NULL) : item;
	made.text_bytes = item.len;
	emit(m, &made);
}

static void emit_results(struct maker *m, size_t call, size_t from, size_t end)
{
	const struct entry *e = &m->in[call];

	for (size_t i = 0; i < e->call_count; i++) {
		struct entry *result = find_result(m, from, end, e->calls[i]);

		if (!result) {
			emit_missing(m, e->out.index, e->calls[i]);
			continue;
		}
		result->placed = true;
		emit(m, &result->out);
	}
}

/* What the round's results show, in one message. */
static void emit_pictures(struct maker *m, size_t from, size_t end)
{
	static const char head[] = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
				   "\"[shown by the results above]\"}";
	struct transcript_entry made = {.role = ITEM_USER, .index = TRANSCRIPT_MADE};
	_cleanup_(buf) struct buf b = BUF_INIT(PICTURES_MAX_BYTES);

	for (size_t i = from; i < end; i++) {
		const struct entry *e = &m->in[i];

		if (!e->placed || !e->pictures.p)
			continue;
		if (b.len == 0)
			(void)buf_puts(&b, head);
		(void)buf_putc(&b, ',');
		(void)buf_put_str(&b, e->pictures);
		made.text_bytes += e->picture_bytes;
	}
	if (b.len == 0)
		return;
	(void)buf_puts(&b, "]}");
	made.json = keep(m->a, buf_str(&b));
	emit(m, &made);
}

/* What the model said, from `start` up to `end`; reasoning that leads to nothing is refused. */
static void emit_said(struct maker *m, size_t start, size_t end)
{
	size_t last = end;

	while (m->o->family == ITEM_RESPONSES && last > start &&
		m->in[last - 1].out.role == ITEM_REASONING)
		last--;
	for (size_t i = start; i < last; i++)
		emit(m, &m->in[i].out);
	for (size_t i = last; i < end; i++)
		tell(m, m->in[i].out.index, "reasoning that nothing follows was left out");
}

/* One round from `start`; returns where the next begins. */
static size_t emit_round(struct maker *m, size_t start)
{
	size_t said = start, end;

	while (said < m->in_count && is_models(&m->in[said]))
		said++;
	for (end = said; end < m->in_count && !is_models(&m->in[end]); end++)
		;
	emit_said(m, start, said);
	for (size_t i = start; i < said; i++)
		emit_results(m, i, said, end);
	emit_pictures(m, said, end);
	for (size_t i = said; i < end; i++) {
		if (m->in[i].out.role != ITEM_RESULT)
			emit(m, &m->in[i].out);
		else if (!m->in[i].placed)
			tell(m, m->in[i].out.index, "a result without its call was left out");
	}
	return end;
}

void transcript_make(struct arena *a, const struct str *items, size_t count,
	const struct transcript_options *o, struct transcript *ret)
{
	struct maker m = {.a = a, .o = o};
	size_t at = 0;

	m.in = xcalloc(count + 1, sizeof(*m.in));
	for (size_t i = 0; i < count; i++)
		m.in_count += take(&m, items[i], (ptrdiff_t)i, &m.in[m.in_count]);
	while (at < m.in_count)
		at = emit_round(&m, at);
	free(m.in);
	*ret = (struct transcript){m.out, m.out_count};
}
