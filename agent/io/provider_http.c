/*
 * The families over HTTP: `responses`, `anthropic`, `chat`.
 */
#include "agent/io/provider_http.h"

static size_t responses_headers(const struct provider_request *r, struct http_header *to)
{
	if (!r || !r->cache_key.p)
		return 0;
	to[0] = (struct http_header){STR("session-id"), r->cache_key};
	return 1;
}

static size_t socket_headers(const struct provider_request *r, struct http_header *to)
{
	size_t count = responses_headers(r, to);

	to[count++] = (struct http_header){
		STR("openai-beta"), STR("responses_websockets=2026-02-06")};
	return count;
}

static size_t anthropic_headers(const struct provider_request *r, struct http_header *to)
{
	(void)r;
	to[0] = (struct http_header){STR("anthropic-version"), STR("2023-06-01")};
	return 1;
}

static size_t no_headers(const struct provider_request *r, struct http_header *to)
{
	(void)r;
	(void)to;
	return 0;
}

static const struct http_family responses = {
	.items = ITEM_RESPONSES,
	.model = MODEL_RESPONSES,
	.path = "/responses",
	.headers = responses_headers,
	.list_query = "",
};
static const struct http_family responses_ws = {
	.items = ITEM_RESPONSES,
	.model = MODEL_RESPONSES,
	.path = "/responses",
	.headers = socket_headers,
	.list_query = "",
	.socket = true,
};
static const struct http_family anthropic = {
	.items = ITEM_MESSAGES,
	.model = MODEL_MESSAGES,
	.path = "/messages",
	.headers = anthropic_headers,
	.list_query = "?limit=1000",
};
static const struct http_family chat = {
	.items = ITEM_CHAT,
	.model = MODEL_CHAT,
	.path = "/chat/completions",
	.headers = no_headers,
	.list_query = "",
};

static int open_as(const struct http_family *f, const struct provider_setup *s, void **ret_state,
	struct error *err)
{
	struct http_provider *p;

	if (!s->net || !s->net->fetch)
		return error_set(err, &PROVIDER_UNAVAILABLE, "nothing is asked over HTTP here");
	p = xcalloc(1, sizeof(*p));
	/* A WebSocket begins as a request over HTTP, and the listing is one. */
	p->base = str_starts(s->url, STR("ws"))
			  ? xasprintf("http" STR_FMT, (int)(s->url.len - 2), s->url.p + 2)
			  : xstrndup(s->url.p, s->url.len);
	if (url_parse(str_from(p->base), &p->url, err) < 0) {
		free(p->base);
		free(p);
		return -1;
	}
	p->loop = s->loop;
	p->net = s->net;
	p->family = f;
	p->auth = s->auth;
	p->key = s->key;
	p->pace = pace_new();
	p->turn_states = p->auth == &auth_chatgpt ? turn_states_new() : NULL;
	if (f->socket)
		p->lines = ws_lines_new(&(struct ws_lines_options){.loop = s->loop,
			.fetch = s->net->fetch,
			.idle_ms = s->net->socket_idle_ms,
			.life_ms = s->net->socket_life_ms});
	list_init(&p->calls);
	*ret_state = p;
	return 0;
}

static int responses_open(const struct provider_setup *s, void **ret_state, struct error *err)
{
	return open_as(&responses, s, ret_state, err);
}

static int responses_ws_open(const struct provider_setup *s, void **ret_state, struct error *err)
{
	return open_as(&responses_ws, s, ret_state, err);
}

static int anthropic_open(const struct provider_setup *s, void **ret_state, struct error *err)
{
	return open_as(&anthropic, s, ret_state, err);
}

static int chat_open(const struct provider_setup *s, void **ret_state, struct error *err)
{
	return open_as(&chat, s, ret_state, err);
}

static void http_close(void *state)
{
	struct http_provider *p = state;

	http_calls_end(p);
	must(list_empty(&p->calls));
	ws_lines_free(p->lines);
	pace_free(p->pace);
	turn_states_free(p->turn_states);
	free(p->base);
	free(p);
}

static void http_stats(void *state, struct json_out *j)
{
	const struct http_provider *p = state;
	struct pace_state s;

	json_open_key(j, "pools", '[');
	for (size_t i = 0; pace_state(p->pace, i, loop_now_ms(p->loop), &s); i++) {
		json_open(j, '{');
		json_put_str(j, "model", s.model);
		json_put_i64(j, "calls", s.under_way);
		json_put_i64(j, "in_line", s.line);
		json_put_i64(j, "closed_ms", s.closed_ms);
		json_close(j, '}');
	}
	json_close(j, ']');
	if (p->lines) {
		struct ws_lines_counts c;

		ws_lines_counts(p->lines, &c);
		json_open_key(j, "connections", '{');
		json_put_u64(j, "open", c.open);
		json_put_u64(j, "idle", c.idle);
		json_close(j, '}');
	}
}

struct auth_request http_auth_request(
	const char *method, const struct url *url, const struct str *body, size_t body_count)
{
	return (struct auth_request){
		.method = method,
		.url = url,
		.content_type = body_count > 0 ? STR("application/json") : (struct str){NULL, 0},
		.body = body,
		.body_count = body_count
        };
}

int http_headers_make(struct http_provider *p, const struct auth_grant *g,
	const struct auth_request *what, const struct provider_request *r, struct http_headers *ret,
	struct error *err)
{
	const struct auth_grant key = {.key = p->key};
	struct str state = turn_state_get(p->turn_states, r);

	*ret = (struct http_headers){.count = 0};
	if (p->auth->sign(g ? g : &key, what, &ret->auth, err) < 0) {
		auth_headers_release(&ret->auth);
		return -1;
	}
	if (what->content_type.p)
		ret->items[ret->count++] = (struct http_header){
			STR("content-type"), what->content_type};
	/* over WebSocket there is a listing alone that is a plain request: it has no `r` */
	if (!p->family->socket || !r)
		ret->items[ret->count++] = (struct http_header){STR("accept"),
			what->body_count > 0 ? STR("text/event-stream") : STR("application/json")};
	ret->count += p->family->headers(r, &ret->items[ret->count]);
	if (state.p)
		ret->items[ret->count++] = (struct http_header){STR(TURN_STATE_HEADER), state};
	for (size_t i = 0; i < ret->auth.count; i++)
		ret->items[ret->count++] = ret->auth.items[i];
	return 0;
}

int http_url(const struct http_provider *p, const char *path, struct buf *text, struct url *ret,
	struct error *err)
{
	(void)buf_puts(text, p->base);
	(void)buf_puts(text, path);
	if (text->full)
		return error_set(err, &PROVIDER_INVALID_SPEC, "its URL is too long");
	return url_parse(buf_str(text), ret, err);
}

#define OVER_HTTP(name_, transport_, open_)                                                        \
	{                                                                                          \
		.name = (name_), .transport = (transport_), .over_http = true, .open = (open_),    \
		.close = http_close, .start = http_start, .cancel = http_cancel,                   \
		.list = http_list, .list_cancel = http_list_cancel, .stats = http_stats            \
	}
const struct provider_family provider_responses = OVER_HTTP("responses", "http", responses_open);
const struct provider_family provider_responses_ws = OVER_HTTP(
	"responses-ws", "websocket", responses_ws_open);
const struct provider_family provider_anthropic = OVER_HTTP("anthropic", "http", anthropic_open);
const struct provider_family provider_chat = OVER_HTTP("chat", "http", chat_open);
