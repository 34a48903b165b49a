/*
 * Provider family `rehearsal`: replies from a script, streamed as a model's would be (DESIGN 6).
 *
 * The script is read once, when the daemon starts. A call works the reply out at once and tells it
 * on the loop: after the line's delay the text, in one piece or several, each in a round of its
 * own, then the end. Usage is an estimate: a token for every four bytes, both ways.
 */
#include "agent/io/provider.h"

#include "agent/core/limits.h"
#include "agent/core/rehearsal.h"
#include "os/os.h"

enum { BYTES_PER_TOKEN = 4 }; /* ours: the usual rule of thumb */

/* A code that a script lets calls fail with. Errors keep pointers to kinds, so they live with the
 * state. */
struct code {
	struct error_kind kind;
	struct code *next;
};

struct state {
	struct loop *loop;
	struct rehearsal *script;
	struct arena arena;
	struct code *codes;
};

struct call {
	struct state *state;
	struct loop_timer *timer;
	int64_t input_tokens;
	const struct provider_callbacks *cb;
	void *arg;
	struct arena arena;
	struct rehearsal_reply reply;
	size_t told_bytes;
};

static int rehearsal_open(const struct provider_setup *setup, void **ret_state, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(REHEARSAL_FILE_MAX_BYTES);
	_cleanup_(mem) char *path = NULL;
	struct rehearsal *script;
	struct state *s;

	if (setup->url.len == 0)
		return error_set(err, &PROVIDER_INVALID_SPEC,
			"a rehearsal needs its script: "
			"NAME=rehearsal,FILE");
	path = xstrndup(setup->url.p, setup->url.len);
	if (os_read_file(path, &text, err) < 0)
		return -1;
	if (rehearsal_parse(buf_str(&text), &script, err) < 0)
		return error_prefix(err, "%s", path);
	s = xcalloc(1, sizeof(*s));
	s->loop = setup->loop;
	s->script = script;
	*ret_state = s;
	return 0;
}

static void rehearsal_close(void *state)
{
	struct state *s = state;

	rehearsal_free(s->script);
	arena_release(&s->arena);
	free(s);
}

/* The kind with this code: the suite's own where there is one, since callers may compare. */
static const struct error_kind *kind_of(struct state *s, struct str code)
{
	struct code *c;

	if (str_is(code, PROVIDER_STREAM_FAILED.code))
		return &PROVIDER_STREAM_FAILED;
	if (str_is(code, PROVIDER_REFUSED.code))
		return &PROVIDER_REFUSED;
	for (c = s->codes; c; c = c->next) {
		if (str_is(code, c->kind.code))
			return &c->kind;
	}
	c = arena_alloc(&s->arena, sizeof(*c));
	c->kind.code = arena_strndup(&s->arena, code.p, code.len);
	c->kind.class = ERROR_CLASS_UNAVAILABLE;
	c->next = s->codes;
	s->codes = c;
	return &c->kind;
}

static void call_free(void *arg)
{
	struct call *c = arg;

	arena_release(&c->arena);
	free(c);
}

/* No callback comes after this. What the call points to stays until the round is over, since the
 * step that ended it may still be on the stack. */
static void end(struct call *c)
{
	loop_timer_free(mem_take(&c->timer));
	loop_defer(c->state->loop, call_free, c);
}

static void fail(struct call *c, const struct error *e)
{
	struct provider_failure f = {.err = *e, .retry = PROVIDER_RETRY_NEVER, .delay_ms = -1};

	end(c);
	c->cb->failed(c->arg, &f);
}

static int64_t tokens(size_t bytes)
{
	return (int64_t)((bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN);
}

static int64_t input_tokens(const struct provider_request *r)
{
	size_t bytes = r->instructions.len + r->summary.len + r->note.len + r->omitted.len;

	for (size_t i = 0; i < r->tool_count; i++)
		bytes += strlen(r->tools[i].name) + strlen(r->tools[i].description) +
			 strlen(r->tools[i].parameters);
	for (size_t i = 0; i < r->item_count; i++)
		bytes += r->items[i].len;
	return tokens(bytes);
}

static void finish(struct call *c)
{
	const struct rehearsal_reply *r = &c->reply;
	struct str item = item_assistant(&c->arena, r->say, r->calls, r->call_count);
	struct provider_reply reply = {
		.items = &item,
		.item_count = 1,
		.calls = r->calls,
		.call_items = arena_alloc(
			&c->arena, (r->call_count + 1) * sizeof(size_t)), /* all 0 */
		.call_count = r->call_count,
		.text = r->say,
		.usage = {.input_tokens = c->input_tokens,
			  .output_tokens = tokens(item.len),
			  .cache_write_tokens = -1,
			  .cache_write_1h_tokens = -1},
		.sent_ms = clock_real_ms(clock_system()),
	};
	struct error e = ERROR_INIT;

	if (item.len > PROVIDER_OUTPUT_MAX_BYTES) {
		(void)error_set(&e, &PROVIDER_STREAM_FAILED,
			"the reply of line %d is over %d bytes", r->line,
			PROVIDER_OUTPUT_MAX_BYTES);
		fail(c, &e);
		return;
	}
	end(c);
	c->cb->done(c->arg, &reply);
}

/* The next piece of the text: whole characters, at least one. */
static struct str next_piece(const struct call *c)
{
	struct str rest = {c->reply.say.p + c->told_bytes, c->reply.say.len - c->told_bytes};
	size_t max = c->reply.chunk_bytes > 0 ? (size_t)c->reply.chunk_bytes : rest.len;
	struct str piece = str_cut(rest, max);
	uint32_t point;

	if (piece.len == 0 && rest.len > 0)
		piece.len = utf8_decode(rest.p, rest.len, &point);
	return piece;
}

/* The timer: the reply's next event. */
static void step(void *arg)
{
	struct call *c = arg;
	struct error e = ERROR_INIT;

	if (c->reply.error.p) {
		(void)error_set(
			&e, kind_of(c->state, c->reply.error), STR_FMT, STR_ARG(c->reply.detail));
		fail(c, &e);
	} else if (c->told_bytes < c->reply.say.len) {
		struct str piece = next_piece(c);

		c->told_bytes += piece.len;
		loop_timer_set(c->timer, 0);
		c->cb->text(c->arg, piece); /* may cancel */
	} else if (c->reply.cut) {
		(void)error_set(
			&e, &PROVIDER_STREAM_FAILED, "the stream ended in the middle of a reply");
		fail(c, &e);
	} else {
		finish(c);
	}
}

static int rehearsal_start(void *state, const struct provider_request *r,
	const struct provider_callbacks *cb, void *arg, void **ret_call, struct error *err)
{
	struct state *s = state;
	struct call *c = xcalloc(1, sizeof(*c));
	/* What was left out or summarised was said all the same: the script goes on behind it. */
	const struct str *said = r->whole ? r->whole : r->items;
	size_t count = r->whole ? r->whole_count : r->item_count;

	if (rehearsal_next(s->script, &c->arena, said, count, &c->reply, err) < 0) {
		call_free(c);
		return -1;
	}
	c->state = s;
	c->input_tokens = input_tokens(r);
	c->cb = cb;
	c->arg = arg;
	c->timer = loop_timer_new(s->loop, step, c);
	loop_timer_set(c->timer, c->reply.delay_ms);
	*ret_call = c;
	return 0;
}

static void rehearsal_cancel(void *call)
{
	end(call);
}

const struct provider_family provider_rehearsal = {
	.name = "rehearsal",
	.transport = "script",
	.open = rehearsal_open,
	.close = rehearsal_close,
	.start = rehearsal_start,
	.cancel = rehearsal_cancel,
	.copies = true,
	.by_place = true,
};
