/* One WebSocket connection for each bot. */
#include "agent/io/ws_lines.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "clock/clock.h"
#include "mem/mem.h"
#include "model/model.h"

enum {
	IDLE_MS = 60 * 1000,      /* agent spec 8.2 */
	LIFE_MS = 55 * 60 * 1000, /* agent spec 8.2 */
	ID_MAX_BYTES = 256,       /* ours: of a response */
	MESSAGE_MAX_BYTES = MODEL_FRAME_MAX_BYTES,
	REQUEST_MAX_BYTES = 256 << 20, /* ours: a context with pictures is far below */
	SHA256_BYTES = 32,
};

/* What the server knows: the settings it was given, and all items up to the end of its reply. */
struct known {
	EVP_MD_CTX *items; /* of those sent; the reply's come when it is whole */
	unsigned char settings[SHA256_BYTES], sum[SHA256_BYTES];
	size_t count;
	char response_id[ID_MAX_BYTES + 1]; /* empty: nothing can be built on */
};

struct line {
	struct list node;
	struct ws_lines *lines;
	struct ws *ws;
	int64_t bot;
	int64_t opened_ms;
	bool open, spoke;         /* spoke: a message came, ever */
	struct loop_timer *timer; /* of idleness */
	struct ws_turn *turn;     /* NULL: idle */
	struct known known;
};

struct ws_lines {
	struct loop *loop;
	struct fetch *fetch;
	int64_t idle_ms, life_ms;
	struct list list;
};

struct ws_turn {
	struct ws_lines *lines;
	struct line *line;
	const struct ws_turn_callbacks *cb;
	void *arg;
	const struct body *body; /* NULL: taken */
	bool reused;             /* the connection was there before, and has said nothing yet */
	bool partial;
	/* For another connection, should the kept one be dead. */
	char *url_text;
	struct url url;
	struct http_header *headers;
	size_t header_count;
	struct arena arena; /* of these */
};

static int64_t now_ms(void)
{
	return clock_mono_ms(clock_system());
}

/*
 * What is known, by hash.
 */
static void add_item(EVP_MD_CTX *c, struct str item)
{
	const uint64_t len = item.len; /* so that two items are never one */

	must(EVP_DigestUpdate(c, &len, sizeof(len)) == 1);
	must(EVP_DigestUpdate(c, item.p, item.len) == 1);
}

static EVP_MD_CTX *digest_new(void)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();

	must(c && EVP_DigestInit_ex(c, EVP_sha256(), NULL) == 1);
	return c;
}

static void digest_end(EVP_MD_CTX *c, unsigned char out[SHA256_BYTES])
{
	must(EVP_DigestFinal_ex(c, out, NULL) == 1);
	EVP_MD_CTX_free(c);
}

static struct str settings_of(const struct body *b)
{
	return (struct str){b->text.data, b->input_key_at};
}

/* What stands before the items, without the comma behind it; empty when nothing does. */
static struct str pinned_of(const struct body *b)
{
	size_t until = b->splice_count > 0 ? b->splices[0].at : b->text.len - 2; /* "]}" */
	struct str s = {b->text.data + b->input_at, until - b->input_at};

	if (s.len > 0 && s.p[s.len - 1] == ',')
		s.len--;
	return s;
}

static size_t item_count(const struct body *b)
{
	return b->splice_count + (pinned_of(b).len > 0);
}

static struct str item_at(const struct body *b, size_t i)
{
	struct str pinned = pinned_of(b);

	if (pinned.len > 0)
		return i == 0 ? pinned : b->splices[i - 1].piece;
	return b->splices[i].piece;
}

static void known_clear(struct known *k)
{
	EVP_MD_CTX_free(k->items);
	*k = (struct known){.items = NULL};
}

static void known_sent(struct known *k, const struct body *b)
{
	struct str settings = settings_of(b);

	known_clear(k);
	must(EVP_Digest(settings.p, settings.len, k->settings, NULL, EVP_sha256(), NULL) == 1);
	k->items = digest_new();
	k->count = item_count(b);
	for (size_t i = 0; i < k->count; i++)
		add_item(k->items, item_at(b, i));
}

/* Whether the request goes on from what is known: the same settings, the same items and more. */
static bool goes_on(const struct known *k, const struct body *b)
{
	unsigned char sum[SHA256_BYTES];
	struct str settings = settings_of(b);
	EVP_MD_CTX *c;

	if (!k->response_id[0] || item_count(b) <= k->count)
		return false;
	must(EVP_Digest(settings.p, settings.len, sum, NULL, EVP_sha256(), NULL) == 1);
	if (memcmp(sum, k->settings, sizeof(sum)) != 0)
		return false;
	c = digest_new();
	for (size_t i = 0; i < k->count; i++)
		add_item(c, item_at(b, i));
	digest_end(c, sum);
	return memcmp(sum, k->sum, sizeof(sum)) == 0;
}

/*
 * The message.
 */
static void put_request(struct buf *to, const struct body *b, const struct known *from)
{
	size_t first = from ? from->count : 0, count = item_count(b);

	(void)buf_put_str(to, settings_of(b));
	if (from) {
		struct json_out j = JSON_OUT(to);

		(void)buf_puts(to, ",\"previous_response_id\":");
		json_put_str(&j, NULL, str_from(from->response_id));
	}
	(void)buf_puts(to, ",\"input\":[");
	for (size_t i = first; i < count; i++) {
		(void)buf_puts(to, i > first ? "," : "");
		(void)buf_put_str(to, item_at(b, i));
	}
	(void)buf_puts(to, "]}");
}

static void send_request(struct ws_turn *t, bool whole)
{
	_cleanup_(buf) struct buf text = BUF_INIT(REQUEST_MAX_BYTES);
	struct line *n = t->line;

	t->partial = !whole && goes_on(&n->known, t->body);
	put_request(&text, t->body, t->partial ? &n->known : NULL);
	known_sent(&n->known, t->body);
	if (text.full) {
		struct error err = ERROR_INIT;
		const struct ws_turn_callbacks *cb = t->cb;
		void *arg = t->arg;

		(void)error_set(
			&err, &WS_LIMIT, "a request of over %d MiB", REQUEST_MAX_BYTES >> 20);
		ws_turn_cancel(t);
		cb->over(arg, &err);
		return;
	}
	ws_send(n->ws, buf_str(&text));
}

/*
 * Connections.
 */
/* Allowed in its own callbacks: its memory goes after the round. */
static void line_end(struct line *n)
{
	n->turn = NULL;
	ws_close(mem_take(&n->ws));
	loop_timer_free(mem_take(&n->timer));
	list_remove(&n->node);
	known_clear(&n->known);
	loop_defer(n->lines->loop, free, n);
}

static void on_idle(void *arg)
{
	struct line *n = arg;

	if (!n->turn)
		line_end(n);
	else if (n->open && n->turn->reused && n->turn->body)
		send_request(n->turn, false); /* its turn has just begun */
}

/* A header may hold a key. */
static void turn_end(struct ws_turn *t)
{
	for (size_t i = 0; i < t->header_count; i++)
		explicit_bzero((char *)t->headers[i].value.p, t->headers[i].value.len);
	arena_release(&t->arena);
	free(t->url_text);
	free(t);
}

static int connect_line(struct ws_turn *t, const struct ws_turn_request *r, struct error *err);

static void on_open(void *arg, const struct http_head *h)
{
	struct line *n = arg;
	struct ws_turn *t = n->turn;

	n->open = true;
	n->opened_ms = now_ms();
	t->cb->opened(t->arg, h);
	if (n->turn == t) /* or it was cancelled */
		send_request(t, true);
}

static void on_refused(void *arg, const struct http_head *h)
{
	struct line *n = arg;

	n->turn->cb->refused(n->turn->arg, h);
}

static void on_body(void *arg, struct str bytes)
{
	struct line *n = arg;

	if (n->turn)
		n->turn->cb->body(n->turn->arg, bytes);
}

static void on_message(void *arg, struct str text)
{
	struct line *n = arg;

	n->spoke = true;
	if (!n->turn) {
		line_end(n); /* nobody asked: what comes next cannot be told apart */
		return;
	}
	n->turn->reused = false;
	n->turn->cb->message(n->turn->arg, text);
}

/* A kept connection that died before it said a word of this response: on another one. */
static bool try_again(struct ws_turn *t, int64_t bot)
{
	const struct ws_turn_request r = {
		.bot = bot, .url = &t->url, .headers = t->headers, .header_count = t->header_count};

	if (!t->reused || !t->body)
		return false;
	t->reused = false;
	return connect_line(t, &r, NULL) == 0;
}

static void on_over(void *arg, const struct error *err)
{
	struct line *n = arg;
	struct ws_turn *t = mem_take(&n->turn);
	const int64_t bot = n->bot;
	struct error why = ERROR_INIT;

	if (err)
		why = *err;
	n->ws = NULL; /* it frees itself */
	line_end(n);
	if (!t || try_again(t, bot))
		return;
	const struct ws_turn_callbacks *cb = t->cb;
	void *turn_arg = t->arg;
	turn_end(t);
	cb->over(turn_arg, err ? &why : NULL);
}

static const struct ws_callbacks line_callbacks = {
	on_open, on_refused, on_body, on_message, on_over};

static int connect_line(struct ws_turn *t, const struct ws_turn_request *r, struct error *err)
{
	const struct ws_options o = {.loop = t->lines->loop,
		.fetch = t->lines->fetch,
		.url = r->url,
		.headers = r->headers,
		.header_count = r->header_count,
		.message_max_bytes = MESSAGE_MAX_BYTES};
	struct line *n = xcalloc(1, sizeof(*n));

	if (ws_open(&o, &line_callbacks, n, &n->ws, err) < 0) {
		free(n);
		return -1;
	}
	n->lines = t->lines;
	n->bot = r->bot;
	n->turn = t;
	n->timer = loop_timer_new(t->lines->loop, on_idle, n);
	list_add_tail(&t->lines->list, &n->node);
	t->line = n;
	return 0;
}

/* The bot's, when it is open, idle and not too old for another response. */
static struct line *find_line(struct ws_lines *l, int64_t bot)
{
	list_for_each (n, &l->list, struct line, node) {
		if (n->bot == bot && n->open && !n->turn && now_ms() - n->opened_ms < l->life_ms)
			return n;
	}
	return NULL;
}

/*
 * Turns.
 */
static struct str keep(struct arena *a, struct str s)
{
	return (struct str){arena_strndup(a, s.p ? s.p : "", s.len), s.len};
}

static int keep_request(struct ws_turn *t, const struct ws_turn_request *r, struct error *err)
{
	_cleanup_(buf) struct buf text = BUF_INIT(URL_MAX_BYTES);

	url_put(&text, r->url);
	t->url_text = buf_take(&text);
	t->headers = arena_alloc(&t->arena, (r->header_count + 1) * sizeof(*t->headers));
	t->header_count = r->header_count;
	for (size_t i = 0; i < r->header_count; i++)
		t->headers[i] = (struct http_header){
			keep(&t->arena, r->headers[i].name), keep(&t->arena, r->headers[i].value)};
	return url_parse(str_from(t->url_text), &t->url, err);
}

int ws_turn_start(struct ws_lines *l, const struct ws_turn_request *r,
	const struct ws_turn_callbacks *cb, void *arg, struct ws_turn **ret, struct error *err)
{
	struct ws_turn *t = xcalloc(1, sizeof(*t));
	struct line *n = find_line(l, r->bot);

	t->lines = l;
	t->cb = cb;
	t->arg = arg;
	t->body = r->body;
	if ((n ? keep_request(t, r, err) : connect_line(t, r, err)) < 0) {
		turn_end(t);
		return -1;
	}
	if (n) {
		t->line = n;
		t->reused = true;
		n->turn = t;
		loop_timer_set(n->timer, 0); /* from the loop: nothing is told inside */
	}
	*ret = t;
	return 0;
}

void ws_turn_taken(struct ws_turn *t)
{
	t->body = NULL;
}

bool ws_turn_is_partial(const struct ws_turn *t)
{
	return t->partial;
}

void ws_turn_again(struct ws_turn *t)
{
	must(t->body);
	send_request(t, true);
}

void ws_turn_whole(struct ws_turn *t, struct str response_id, const struct str *items, size_t count)
{
	struct line *n = t->line;
	struct known *k = &n->known;
	const struct ws_lines *l = t->lines;
	int64_t left = l->life_ms - (now_ms() - n->opened_ms);

	n->turn = NULL;
	turn_end(t);
	for (size_t i = 0; i < count; i++)
		add_item(k->items, items[i]);
	k->count += count;
	digest_end(mem_take(&k->items), k->sum);
	if (response_id.len > 0 && response_id.len <= ID_MAX_BYTES &&
		!memchr(response_id.p, 0, response_id.len)) {
		memcpy(k->response_id, response_id.p, response_id.len);
		k->response_id[response_id.len] = '\0';
	}
	if (left < 0)
		left = 0;
	loop_timer_set(n->timer, left < l->idle_ms ? left : l->idle_ms);
}

void ws_turn_cancel(struct ws_turn *t)
{
	struct line *n;

	if (!t)
		return;
	n = t->line;
	n->turn = NULL;
	turn_end(t);
	line_end(n);
}

/*
 * All of a provider's.
 */
struct ws_lines *ws_lines_new(const struct ws_lines_options *o)
{
	struct ws_lines *l = xcalloc(1, sizeof(*l));

	l->loop = o->loop;
	l->fetch = o->fetch;
	l->idle_ms = o->idle_ms > 0 ? o->idle_ms : IDLE_MS;
	l->life_ms = o->life_ms > 0 ? o->life_ms : LIFE_MS;
	list_init(&l->list);
	return l;
}

void ws_lines_free(struct ws_lines *l)
{
	if (!l)
		return;
	list_for_each_safe (n, &l->list, struct line, node) {
		must(!n->turn);
		line_end(n);
	}
	free(l);
}

void ws_lines_counts(const struct ws_lines *l, struct ws_lines_counts *ret)
{
	*ret = (struct ws_lines_counts){0, 0};
	list_for_each (n, &l->list, struct line, node) {
		ret->open += n->open;
		ret->idle += n->open && !n->turn;
	}
}
