/* A model's reply with its texts put in, as a stream. */
#include "test/harness/reply.h"

#include <string.h>

enum {
	BYTES_PER_TOKEN = 4,
	DELTA_BYTES = 16, /* about what a stream of a real provider carries in one event */
	DELTAS_MAX = 256, /* longer texts come in longer pieces */
};

/* A character that no script holds, where bytes are to become invalid. */
static const char mark[] = "\xee\xa3\xbf";

static struct str put_in(struct reply *r, const struct script_text *t)
{
	_cleanup_(buf) struct buf text = BUF_INIT(SCRIPT_TEXT_MAX_BYTES);

	if (t->count == 0)
		return (struct str){NULL, 0};
	script_put_text(&text, t, r->ask->user, r->ask->result);
	if (!text.data)
		return STR("");
	return (struct str){arena_strndup(&r->arena, text.data, text.len), text.len};
}

static void put_calls_in(
	struct reply *r, const struct script_round *round, const struct script_fault *fault)
{
	const char *prefix = r->ask->family == MODEL_MESSAGES ? "toolu" : "call";
	bool double_ids = fault && fault->kind == FAULT_DUPLICATE_IDS;

	r->calls = arena_alloc(&r->arena, (round->call_count + 1) * sizeof(*r->calls));
	r->call_count = round->call_count;
	for (size_t i = 0; i < round->call_count; i++) {
		const struct script_call *from = &round->calls[i];
		struct reply_call *to = &r->calls[i];

		to->tool = from->tool;
		to->id = from->id;
		if (!to->id.p)
			to->id = str_from(ask_make_id(&r->arena, prefix, r->ask, i));
		if (double_ids)
			to->id = r->calls[0].id;
		if (fault && fault->kind == FAULT_EMPTY_IDS)
			to->id = STR("");
		to->arguments = from->raw.count ? put_in(r, &from->raw) : from->arguments;
	}
}

void reply_init(struct reply *r, const struct ask *ask, const struct script_round *round,
	const struct script_fault *fault)
{
	*r = (struct reply){.ask = ask, .usage = round->usage};
	if (ask->family == MODEL_RESPONSES)
		r->id = ask_response_id(&r->arena, ask);
	else
		r->id = ask_make_id(
			&r->arena, ask->family == MODEL_CHAT ? "chatcmpl" : "msg", ask, 0);
	if (!fault || fault->kind != FAULT_EMPTY_REPLY) {
		r->think = put_in(r, &round->think);
		r->say = put_in(r, &round->say);
		r->refuse = put_in(r, &round->refuse);
		put_calls_in(r, round, fault);
	}
	if (round->stop >= 0)
		r->stop = (enum model_stop)round->stop;
	else if (r->refuse.p)
		r->stop = MODEL_STOP_REFUSAL;
	else
		r->stop = r->call_count > 0 ? MODEL_STOP_CALLS : MODEL_STOP_END;
}

static int64_t tokens(size_t bytes)
{
	return (int64_t)((bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN);
}

void reply_estimate(struct reply *r, size_t body_bytes)
{
	size_t bytes = r->think.len + r->say.len + r->refuse.len;

	for (size_t i = 0; i < r->call_count; i++)
		bytes += r->calls[i].tool.len + r->calls[i].arguments.len;
	if (r->usage.input < 0)
		r->usage.input = tokens(body_bytes);
	if (r->usage.output < 0)
		r->usage.output = tokens(bytes);
}

void reply_release(struct reply *r)
{
	arena_release(&r->arena);
}

/* Blocks */

size_t reply_blocks(const struct reply *r)
{
	return (r->think.p != NULL) + (r->say.p != NULL) + (r->refuse.p != NULL) + r->call_count;
}

enum model_block reply_block(const struct reply *r, size_t index, struct str *ret_text,
	const struct reply_call **ret_call)
{
	const struct {
		struct str text;
		enum model_block sort;
	} texts[] = {
		{r->think,  MODEL_THINKING},
		{r->say,    MODEL_TEXT    },
		{r->refuse, MODEL_REFUSAL },
	};

	*ret_call = NULL;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (!texts[i].text.p)
			continue;
		if (index-- == 0) {
			*ret_text = texts[i].text;
			return texts[i].sort;
		}
	}
	must(index < r->call_count);
	*ret_call = &r->calls[index];
	*ret_text = r->calls[index].arguments;
	return MODEL_CALL;
}

/* The stream */

struct stream {
	const struct reply *reply;
	const struct script_fault *fault;
	struct model_encoder *encoder;
	struct buf *to;
	struct arena arena;
	size_t call_at; /* where the first call's arguments have begun */
	/* `responses`: how the encoder calls the open item, and how we do, both with their quotes:
	 * ours is another in each reply, as a provider's is. */
	struct str their_id, our_id;
};

static bool has_fault(const struct stream *s, enum script_fault_kind kind)
{
	return s->fault && s->fault->kind == kind;
}

/* Puts our name of the open item in place of the encoder's, in what was written behind `from`. */
static void rename_item(struct stream *s, size_t from)
{
	_cleanup_(buf) struct buf copy = BUF_INIT(s->to->max);
	struct str rest;
	ptrdiff_t at;

	if (!s->their_id.p || str_find(buf_str(s->to), s->their_id, from) < 0)
		return;
	(void)buf_put(&copy, s->to->data + from, s->to->len - from); /* fits */
	s->to->len = from;
	rest = buf_str(&copy);
	while ((at = str_find(rest, s->their_id, 0)) >= 0) {
		(void)buf_put(s->to, rest.p, (size_t)at); /* full shows in the buffer, as below */
		(void)buf_put_str(s->to, s->our_id);
		rest.p += (size_t)at + s->their_id.len;
		rest.len -= (size_t)at + s->their_id.len;
	}
	(void)buf_put_str(s->to, rest);
}

static void tell(struct stream *s, const struct model_event *e)
{
	size_t from = s->to->len;

	model_encode(s->encoder, e, s->to);
	rename_item(s, from);
}

/* Begins a block; of `responses` its id is learnt from the event that announces the item. */
static void tell_block(struct stream *s, const struct model_event *e)
{
	static const char before[] = "\"item\":{\"id\":";
	size_t from = s->to->len, start;
	ptrdiff_t at, end;

	s->their_id = (struct str){NULL, 0};
	tell(s, e);
	at = str_find(buf_str(s->to), STR(before), from);
	if (s->reply->ask->family != MODEL_RESPONSES || at < 0)
		return;
	start = (size_t)at + sizeof(before) - 1;
	end = str_find(buf_str(s->to), STR("\""), start + 1);
	must(end > 0);
	s->their_id.len = (size_t)end + 1 - start;
	s->their_id.p = arena_strndup(&s->arena, s->to->data + start, s->their_id.len);
	s->our_id = str_from(arena_printf(&s->arena, "\"%s\"",
		reply_item_id(&s->arena, s->reply, e->sort, (size_t)e->index)));
	rename_item(s, from);
}

/* Events that no client knows, in the form that the family has. */
static void put_unknown(struct stream *s)
{
	static const char *const events[] = {
		[MODEL_RESPONSES] =
			"event: response.novelty.delta\n"
			"data: "
			"{\"type\":\"response.novelty.delta\",\"delta\":[1,{\"a\":null}]}\n\n",
		[MODEL_CHAT] = ": a comment\n\nevent: novelty\n"
			       "data: {\"object\":\"novelty\",\"choices\":[]}\n\n",
		[MODEL_MESSAGES] = "event: novelty\n"
				   "data: {\"type\":\"novelty\",\"novelty\":{\"a\":[]}}\n\n",
	};

	(void)buf_puts(s->to, events[s->reply->ask->family]);
}

/* Twice the usage that the end will name. */
static void put_higher_usage(struct stream *s)
{
	struct model_usage u = s->reply->usage;
	long long in = 2 * u.input, out = 2 * u.output + 100;

	if (s->reply->ask->family == MODEL_MESSAGES)
		(void)buf_printf(s->to,
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},"
			"\"usage\":{\"input_tokens\":%lld,\"output_tokens\":%lld}}\n\n",
			in, out);
	else if (s->reply->ask->family == MODEL_CHAT)
		(void)buf_printf(s->to,
			"data: {\"id\":\"%s\",\"object\":\"chat.completion.chunk\",\"created\":1,"
			"\"model\":\"" STR_FMT
			"\",\"choices\":[],\"usage\":{\"prompt_tokens\":%lld,"
			"\"completion_tokens\":%lld,\"total_tokens\":%lld}}\n\n",
			s->reply->id, STR_ARG(s->reply->ask->model), in, out, in + out);
	else
		(void)buf_printf(s->to,
			"event: response.in_progress\ndata: {\"type\":\"response.in_progress\","
			"\"response\":{\"id\":\"%s\",\"object\":\"response\",\"status\":"
			"\"in_progress\",\"output\":[],\"usage\":{\"input_tokens\":%lld,"
			"\"output_tokens\":%lld,\"total_tokens\":%lld}}}\n\n",
			s->reply->id, in, out, in + out);
}

/* What a code means: of `messages` the encoder takes only that. */
static enum model_fault meaning_of(struct str code)
{
	static const struct {
		const char *code;
		enum model_fault fault;
	} rows[] = {
		{"rate_limit_exceeded",     MODEL_FAULT_RATE      },
		{"rate_limit_error",        MODEL_FAULT_RATE      },
		{"overloaded_error",        MODEL_FAULT_OVERLOADED},
		{"server_is_overloaded",    MODEL_FAULT_OVERLOADED},
		{"insufficient_quota",      MODEL_FAULT_QUOTA     },
		{"billing_error",           MODEL_FAULT_QUOTA     },
		{"context_length_exceeded", MODEL_FAULT_CONTEXT   },
		{"invalid_request_error",   MODEL_FAULT_REQUEST   },
		{"authentication_error",    MODEL_FAULT_AUTH      },
		{"not_found_error",         MODEL_FAULT_NOT_FOUND },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(code, rows[i].code))
			return rows[i].fault;
	}
	return MODEL_FAULT_OTHER;
}

static void put_fault_event(struct stream *s)
{
	struct str code = s->fault->code.p ? s->fault->code : STR("overloaded_error");
	struct model_event e = {
		.kind = MODEL_EV_FAULT,
		.fault = meaning_of(code),
		.name = code,
		.text = s->fault->message.p ? s->fault->message : STR("Overloaded"),
		.retry_ms = -1,
	};

	tell(s, &e);
}

static void put_deltas(struct stream *s, struct model_event e, struct str text)
{
	size_t most = text.len / DELTAS_MAX > DELTA_BYTES ? text.len / DELTAS_MAX : DELTA_BYTES;
	struct str piece;

	if (most >= text.len && text.len > 1)
		most = (text.len + 1) / 2; /* so that everything has a middle */
	if (most < 4)
		most = 4; /* a character */
	for (bool first = true; text.len > 0; first = false) {
		piece = str_cut(text, most);
		if (piece.len == 0)
			piece = (struct str){text.p, text.len < most ? text.len : most};
		e.text = piece;
		tell(s, &e);
		if (first && e.sort == MODEL_CALL && s->call_at == 0)
			s->call_at = s->to->len;
		text.p += piece.len;
		text.len -= piece.len;
	}
}

static void put_block(struct stream *s, size_t index)
{
	const struct reply *r = s->reply;
	const struct reply_call *call;
	struct model_event e = {.kind = MODEL_EV_BLOCK, .index = (int)index};
	struct str text;

	e.sort = reply_block(r, index, &text, &call);
	if (call) {
		e.name = call->tool;
		e.call_id = call->id;
	}
	tell_block(s, &e);
	e.kind = MODEL_EV_DELTA;
	if (has_fault(s, FAULT_INVALID_UTF8) && e.sort == MODEL_TEXT) {
		e.text = (struct str){mark, sizeof(mark) - 1};
		tell(s, &e);
	}
	put_deltas(s, e, text);
	if (e.sort == MODEL_THINKING && r->ask->family == MODEL_MESSAGES) {
		e.kind = MODEL_EV_SIGNATURE;
		e.text = str_from(ask_make_id(&s->arena, "signed", r->ask, index));
		tell(s, &e);
	}
	e.kind = MODEL_EV_BLOCK_END;
	e.text = text;
	if (r->ask->family == MODEL_RESPONSES)
		e.item = reply_item(&s->arena, r, index);
	tell(s, &e);
	s->their_id = (struct str){NULL, 0};
}

static void put_end(struct stream *s)
{
	const struct ask *ask = s->reply->ask;
	struct model_event e = {.kind = MODEL_EV_USAGE, .usage = s->reply->usage};

	if (ask->family != MODEL_CHAT || ask->wants_usage)
		tell(s, &e);
	e = (struct model_event){.kind = MODEL_EV_STOP, .stop = s->reply->stop};
	tell(s, &e);
	e = (struct model_event){.kind = MODEL_EV_END};
	tell(s, &e);
}

static void put_start(struct stream *s)
{
	const struct reply *r = s->reply;
	struct model_event e = {.kind = MODEL_EV_START, .text = str_from(r->id)};
	struct model_usage u = {r->usage.input, 1, r->usage.cached, r->usage.cache_write,
		r->usage.cache_write_1h, -1};

	e.name = r->ask->model;
	e.usage = u;
	tell(s, &e);
	if (r->ask->family != MODEL_MESSAGES)
		return;
	e = (struct model_event){.kind = MODEL_EV_USAGE, .usage = u};
	tell(s, &e);
}

static void spoil_marks(struct buf *b)
{
	ptrdiff_t at = 0;

	while ((at = str_find(buf_str(b), (struct str){mark, sizeof(mark) - 1}, (size_t)at)) >= 0)
		b->data[at + 1] = '\xff';
}

void reply_stream(
	const struct reply *r, const struct script_fault *fault, struct buf *to, size_t *ret_call)
{
	struct stream s = {.reply = r, .fault = fault, .to = to};
	size_t blocks = reply_blocks(r), start = to->len, end;
	bool failed = has_fault(&s, FAULT_ERROR_EVENT);

	s.encoder = model_encoder_new(r->ask->family);
	put_start(&s);
	if (failed && fault->after == SCRIPT_HEAD)
		blocks = 0;
	for (size_t i = 0; i < blocks && !(failed && i > 0); i++) {
		put_block(&s, i);
		if (i == 0 && has_fault(&s, FAULT_UNKNOWN))
			put_unknown(&s);
		if (i == 0 && has_fault(&s, FAULT_USAGE_BACKWARDS))
			put_higher_usage(&s);
	}
	end = to->len;
	if (failed)
		put_fault_event(&s);
	else
		put_end(&s);
	if (has_fault(&s, FAULT_INVALID_UTF8))
		spoil_marks(to);
	if (has_fault(&s, FAULT_NO_END))
		to->len = end;
	*ret_call = s.call_at ? s.call_at : start + (to->len - start) / 2;
	model_encoder_free(s.encoder);
	arena_release(&s.arena);
}
