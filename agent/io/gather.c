/* Gathering a reply. */
#include "agent/io/gather.h"

#include "agent/core/limits.h"

const struct error_kind PROVIDER_INCOMPLETE = {"provider_incomplete", ERROR_CLASS_UNAVAILABLE};
const struct error_kind PROVIDER_RESPONSE_LIMIT = {"provider_response_limit", ERROR_CLASS_LIMIT};

enum {
	KEPT_MAX_BYTES = PROVIDER_OUTPUT_MAX_BYTES +
			 1024,     /* what is over the limit is seen first */
	REFUSAL_SHOWN_BYTES = 300, /* ours */
};

void gather_init(struct gather *g, enum model_family f)
{
	*g = (struct gather){
		.family = f,
		.text = BUF_INIT(KEPT_MAX_BYTES),
		.blocks = BUF_INIT(KEPT_MAX_BYTES),
		.usage = {-1, -1, -1, -1, -1, -1}
        };
	g->items = arena_alloc(&g->arena, CALLS_MAX * sizeof(*g->items));
	g->calls = arena_alloc(&g->arena, CALLS_MAX * sizeof(*g->calls));
	g->call_items = arena_alloc(&g->arena, CALLS_MAX * sizeof(*g->call_items));
}

void gather_release(struct gather *g)
{
	buf_release(&g->text);
	buf_release(&g->blocks);
	arena_release(&g->arena);
}

static struct str keep(struct gather *g, struct str s)
{
	return (struct str){arena_strndup(&g->arena, s.p ? s.p : "", s.len), s.len};
}

static int count_bytes(struct gather *g, size_t bytes, struct error *err)
{
	g->bytes += bytes;
	if (g->bytes + g->open_bytes <= PROVIDER_OUTPUT_MAX_BYTES)
		return 0;
	return error_set(err, &PROVIDER_RESPONSE_LIMIT, "the reply has more than %d bytes",
		PROVIDER_OUTPUT_MAX_BYTES);
}

static int add_item(struct gather *g, struct str item, struct error *err)
{
	if (g->item_count == CALLS_MAX)
		return error_set(err, &PROVIDER_RESPONSE_LIMIT, "the reply has more than %d items",
			CALLS_MAX);
	g->items[g->item_count++] = keep(g, item);
	return 0;
}

static int add_call(struct gather *g, const struct model_event *e, struct error *err)
{
	if (g->call_count == CALLS_MAX)
		return error_set(err, &PROVIDER_RESPONSE_LIMIT, "the reply has more than %d calls",
			CALLS_MAX);
	g->call_items[g->call_count] = g->family == MODEL_RESPONSES ? g->item_count : 0;
	g->calls[g->call_count++] = (struct item_call){
		keep(g, e->call_id), keep(g, e->name), keep(g, e->text)};
	return 0;
}

static void add_block(struct gather *g, struct str item)
{
	if (g->blocks.len > 0)
		(void)buf_putc(&g->blocks, ',');
	(void)buf_put_str(&g->blocks, item); /* within the limit: just counted */
}

static int end_block(struct gather *g, const struct model_event *e, struct error *err)
{
	g->open_bytes = 0;
	if (count_bytes(g, e->item.p ? e->item.len : e->text.len + e->call_id.len + e->name.len,
		    err) < 0)
		return -1;
	if (e->sort == MODEL_CALL && add_call(g, e, err) < 0)
		return -1;
	if (e->sort == MODEL_TEXT || e->sort == MODEL_REFUSAL)
		(void)buf_put_str(&g->text, e->text); /* as above */
	g->refused = g->refused || e->sort == MODEL_REFUSAL;
	if (!e->item.p)
		return 0;
	if (g->family == MODEL_RESPONSES)
		return add_item(g, e->item, err);
	if (g->family == MODEL_MESSAGES)
		add_block(g, e->item);
	return 0;
}

int gather_take(struct gather *g, const struct model_event *e, struct error *err)
{
	switch (e->kind) {
	case MODEL_EV_DELTA:
		g->open_bytes += e->text.len;
		return count_bytes(g, 0, err);
	case MODEL_EV_BLOCK_END:
		return end_block(g, e, err);
	case MODEL_EV_USAGE:
		g->usage = e->usage;
		g->has_usage = true;
		return 0;
	case MODEL_EV_STOP:
		g->stop = e->stop;
		return 0;
	default:
		return 0;
	}
}

static int64_t known(int64_t tokens)
{
	return tokens < 0 ? 0 : tokens;
}

struct provider_usage gather_usage(const struct gather *g)
{
	return (struct provider_usage){
		.input_tokens = known(g->usage.input),
		.output_tokens = known(g->usage.output),
		.cached_input_tokens = known(g->usage.cached),
		.cache_write_tokens = g->usage.cache_write,
		.cache_write_1h_tokens = g->usage.cache_write_1h,
	};
}

static int check_stop(const struct gather *g, struct error *err)
{
	struct str said = str_cut(buf_str(&g->text), REFUSAL_SHOWN_BYTES);

	switch (g->stop) {
	case MODEL_STOP_LENGTH:
		return error_set(err, &PROVIDER_INCOMPLETE,
			"the reply was cut off at the output limit, after %lld tokens",
			(long long)known(g->usage.output));
	case MODEL_STOP_CONTEXT:
		return error_set(err, &PROVIDER_INCOMPLETE,
			"the conversation fills the model's context window");
	case MODEL_STOP_PAUSE:
		return error_set(err, &PROVIDER_INCOMPLETE, "the model paused its turn");
	case MODEL_STOP_REFUSAL:
		return error_set(
			err, &PROVIDER_REFUSED, "the model refused: " STR_FMT, STR_ARG(said));
	default:
		return 0;
	}
}

/* A reply of nothing is kept as one that says nothing, so that the conversation has its place. */
static int make_items(struct gather *g, struct error *err)
{
	static const char nothing[] = "{\"type\":\"message\",\"role\":\"assistant\",\"content\":["
				      "{\"type\":\"output_text\",\"text\":\"\"}]}";
	_cleanup_(buf) struct buf b = BUF_INIT(KEPT_MAX_BYTES + 1024);

	if (g->family == MODEL_RESPONSES)
		return g->item_count > 0 ? 0 : add_item(g, str_from(nothing), err);
	if (g->family == MODEL_CHAT) {
		g->items[g->item_count++] = item_assistant(
			&g->arena, buf_str(&g->text), g->calls, g->call_count);
		return 0;
	}
	if (g->blocks.len == 0)
		add_block(g, STR("{\"type\":\"text\",\"text\":\"\"}"));
	(void)buf_printf(&b, "{\"role\":\"assistant\",\"content\":[");
	(void)buf_put_str(&b, buf_str(&g->blocks));
	(void)buf_printf(&b, "]}");
	return add_item(g, buf_str(&b), err);
}

int gather_finish(struct gather *g, struct provider_reply *ret, struct error *err)
{
	if (check_stop(g, err) < 0)
		return -1;
	if (g->refused && g->call_count == 0)
		return error_set(err, &PROVIDER_REFUSED, "the model refused: " STR_FMT,
			STR_ARG(str_cut(buf_str(&g->text), REFUSAL_SHOWN_BYTES)));
	if (make_items(g, err) < 0)
		return -1;
	*ret = (struct provider_reply){
		.items = g->items,
		.item_count = g->item_count,
		.calls = g->calls,
		.call_items = g->call_items,
		.call_count = g->call_count,
		.text = buf_str(&g->text),
		.usage = gather_usage(g),
	};
	return 0;
}
