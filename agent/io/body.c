/* What the bodies of all families share: pieces, and which item stands where. */
#include "agent/io/body.h"

enum {
	TEXT_MAX_BYTES = 32 << 20, /* ours: instructions, tools and pinned texts are far below */
	SPLICES_FIRST = 64,
};

void body_splice(struct body *b, struct str piece)
{
	json_put_raw(&b->json, NULL, STR("")); /* the comma before it */
	if (b->splice_count == b->splice_room) {
		b->splice_room = b->splice_room ? b->splice_room * 2 : SPLICES_FIRST;
		b->splices = xrealloc(b->splices, b->splice_room, sizeof(*b->splices));
	}
	b->splices[b->splice_count++] = (struct body_splice){b->text.len, piece};
}

void body_item(struct body *b, const struct transcript_entry *e, bool opens)
{
	b->messages += opens;
	b->origins[b->origin_count++] = (struct body_origin){b->messages - 1, e->index};
	b->text_bytes += e->text_bytes;
	body_splice(b, e->json);
}

void body_schema(struct body *b, const char *name, const char *schema)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	const struct json *doc;

	if (json_parse(&scratch, str_from(schema), &doc, NULL) == 0 && doc->type == JSON_OBJECT)
		json_put_raw(&b->json, name, str_from(schema));
	else
		json_put_raw(&b->json, name, STR("{\"type\":\"object\",\"properties\":{}}"));
}

static void add_piece(struct body *b, struct str piece)
{
	if (piece.len > 0)
		b->pieces[b->piece_count++] = piece;
	b->bytes += piece.len;
}

static void cut_up(struct body *b)
{
	size_t from = 0;

	must(!b->text.full);
	b->pieces = xcalloc(2 * b->splice_count + 1, sizeof(*b->pieces));
	for (size_t i = 0; i < b->splice_count; i++) {
		const struct body_splice *s = &b->splices[i];

		add_piece(b, (struct str){b->text.data + from, s->at - from});
		add_piece(b, s->piece);
		from = s->at;
	}
	add_piece(b, (struct str){b->text.data + from, b->text.len - from});
}

void body_init(struct body *b, enum item_family f, const struct provider_request *r,
	const struct body_options *o)
{
	static void (*const families[])(struct body *, const struct provider_request *,
		const struct transcript *, const struct body_options *) = {
		[ITEM_CHAT] = body_chat,
		[ITEM_RESPONSES] = body_responses,
		[ITEM_MESSAGES] = body_messages,
	};
	const struct transcript_options how = {.family = f,
		.drop_thinking = o->drop_thinking,
		.repaired = o->repaired,
		.arg = o->arg};
	struct transcript t;

	*b = (struct body){.text = BUF_INIT(TEXT_MAX_BYTES)};
	b->json = (struct json_out)JSON_OUT(&b->text);
	b->output_cap = r->max_output_tokens;
	transcript_make(&b->arena, r->items, r->item_count, &how, &t);
	b->origins = arena_alloc(&b->arena, (t.count + 1) * sizeof(*b->origins));
	families[f](b, r, &t, o);
	b->text_bytes += b->text.len;
	cut_up(b);
}

void body_sent(struct body *b)
{
	buf_release(&b->text);
	free(mem_take(&b->splices));
	free(mem_take(&b->pieces));
	b->piece_count = 0;
}

void body_release(struct body *b)
{
	body_sent(b);
	arena_release(&b->arena);
	*b = (struct body){.bytes = 0};
}

/* The number behind `name` and one of ".[", or -1. */
static int64_t number_behind(struct str words, struct str name)
{
	ptrdiff_t at = str_find(words, name, 0);
	size_t i, digits = 0;
	int64_t value = 0;

	if (at < 0)
		return -1;
	i = (size_t)at + name.len;
	if (i >= words.len || (words.p[i] != '.' && words.p[i] != '['))
		return -1;
	for (i++; i < words.len && words.p[i] >= '0' && words.p[i] <= '9' && digits < 9; i++) {
		value = value * 10 + (words.p[i] - '0');
		digits++;
	}
	return digits > 0 ? value : -1;
}

ptrdiff_t body_blamed(const struct body *b, struct str words)
{
	int64_t n = number_behind(words, STR("messages"));

	if (n < 0)
		n = number_behind(words, STR("input"));
	for (size_t i = 0; n >= 0 && i < b->origin_count; i++) {
		if (b->origins[i].message == (size_t)n)
			return b->origins[i].item;
	}
	return -1;
}
