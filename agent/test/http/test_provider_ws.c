/*
 * The family responses-ws against a provider on loopback: what is sent whole and what as news, one
 * connection for each bot, and every way a WebSocket goes wrong, with what the turn is told of it.
 */
#include "agent/io/provider.h"
#include "agent/io/provider_http.h"
#include "secret/secret.h"
#include "test/harness/harness.h"
#include "testing.h"

enum { PATIENCE_MS = 20000, STALL_MS = 400, ITEMS_MAX = 16 };

struct world {
	struct harness *h;
	struct loop *loop;
	struct fetch *fetch;
	struct secret_store *keys;
	struct provider_net net;
	struct providers *providers;
};

/* A conversation as a bot has it, and what its last call said. */
struct talk {
	struct world *w;
	int64_t bot;
	struct arena a;
	struct str items[ITEMS_MAX];
	size_t count;
	const char *instructions;
	struct str note;
	struct buf text;
	bool done, paced, late;
	struct item_call call; /* the last of the reply */
	struct provider_usage usage;
	char code[64], detail[ERROR_TEXT_MAX];
	enum provider_retry retry;
};

static struct world *world_with(
	const char *script, const char *tls_names, int64_t idle_ms, int64_t life_ms)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct error err = ERROR_INIT;

	assert_ok(harness_start(&(struct harness_start){.script = script, .tls_names = tls_names},
			  &w->h, &err),
		&err);
	w->loop = loop_new();
	const struct fetch_options o = {.loop = w->loop, .ca_file = harness_authority(w->h)};
	assert_ok(fetch_new(&o, &w->fetch, &err), &err);
	must(setenv("TEST_PROVIDER_KEY", "sk-test-0123456789", 1) == 0);
	w->keys = secret_store_new();
	w->net = (struct provider_net){.fetch = w->fetch,
		.keys = w->keys,
		.stall_ms = PATIENCE_MS,
		.socket_idle_ms = idle_ms,
		.socket_life_ms = life_ms};
	w->providers = providers_new(w->loop);
	providers_connect(w->providers, &w->net);
	/* ws:// and wss:// mean what http:// and https:// do */
	_cleanup_(mem) char *spec = xasprintf(
		"p=responses-ws,ws%s,TEST_PROVIDER_KEY", harness_url(w->h) + strlen("http"));
	assert_ok(providers_add(w->providers, str_from(spec), &err), &err);
	return w;
}

static struct world *world_new(const char *script, const char *tls_names)
{
	return world_with(script, tls_names, 0, 0);
}

static void world_free(struct world *w)
{
	providers_free(w->providers);
	fetch_free(w->fetch);
	loop_run(w->loop);
	loop_free(w->loop);
	secret_store_free(w->keys);
	harness_stop(w->h);
	free(w);
}
MEM_CLEANUP(world, struct world *, world_free)

static struct str keep(struct talk *t, struct str s)
{
	return (struct str){arena_strndup(&t->a, s.p ? s.p : "", s.len), s.len};
}

static void on_text(void *arg, struct str delta)
{
	struct talk *t = arg;

	must(buf_put_str(&t->text, delta) == 0);
}

static void on_thinking(void *arg, struct str delta)
{
	(void)arg;
	(void)delta;
}

static void on_repaired(void *arg, const char *what)
{
	(void)arg;
	fail_msg("repaired: %s", what);
}

/* The reply becomes a part of the conversation, as the store would have it. */
static void on_done(void *arg, const struct provider_reply *r)
{
	struct talk *t = arg;

	t->done = true;
	t->usage = r->usage;
	must(t->count + r->item_count <= ITEMS_MAX);
	for (size_t i = 0; i < r->item_count; i++)
		t->items[t->count++] = keep(t, r->items[i]);
	if (r->call_count > 0)
		t->call.call_id = keep(t, r->calls[r->call_count - 1].call_id);
	assert_true(str_eq(r->text, buf_str(&t->text)));
	assert_true(r->sent_ms > 0);
	loop_stop(t->w->loop);
}

static void on_failed(void *arg, const struct provider_failure *f)
{
	struct talk *t = arg;

	(void)snprintf(t->code, sizeof(t->code), "%s", error_code(&f->err));
	(void)snprintf(t->detail, sizeof(t->detail), "%s", f->err.text);
	t->retry = f->retry;
	loop_stop(t->w->loop);
}

static void on_paced(void *arg, int64_t until_mono_ms)
{
	struct talk *t = arg;

	(void)until_mono_ms;
	t->paced = true;
	loop_stop(t->w->loop);
}

static void on_late(void *arg)
{
	struct talk *t = arg;

	t->late = true;
	loop_stop(t->w->loop);
}

static struct talk *talk_new(struct world *w, int64_t bot)
{
	struct talk *t = xcalloc(1, sizeof(*t));

	t->w = w;
	t->bot = bot;
	t->instructions = "Be good.";
	t->text = (struct buf)BUF_INIT(8 << 20);
	return t;
}

static void talk_free(struct talk *t)
{
	buf_release(&t->text);
	arena_release(&t->a);
	free(t);
}
MEM_CLEANUP(talk, struct talk *, talk_free)

static struct provider_call *begin(struct talk *t, struct provider_request *r)
{
	static const struct provider_callbacks callbacks = {
		on_text, on_thinking, on_repaired, on_done, on_failed, on_paced};
	struct provider_call *call;
	struct error err = ERROR_INIT;

	buf_clear(&t->text);
	t->done = t->paced = t->late = false;
	t->code[0] = t->detail[0] = '\0';
	*r = (struct provider_request){.model = STR("m1"),
		.instructions = str_from(t->instructions),
		.note = t->note,
		.items = t->items,
		.item_count = t->count,
		.cache_key = STR("k-1"),
		.bot = t->bot,
		.turn = 1};
	assert_ok(provider_call_start(
			  providers_at(t->w->providers, 0), r, &callbacks, t, &call, &err),
		&err);
	return call;
}

static void ask(struct talk *t)
{
	struct provider_request r;
	struct loop_timer *limit = loop_timer_new(t->w->loop, on_late, t);

	(void)begin(t, &r);
	loop_timer_set(limit, PATIENCE_MS);
	loop_run(t->w->loop);
	loop_timer_free(limit);
	assert_false(t->late);
}

static void say(struct talk *t, const char *prompt)
{
	must(t->count < ITEMS_MAX);
	t->items[t->count++] = item_user(&t->a, ITEM_RESPONSES, str_from(prompt), NULL, 0);
	ask(t);
}

static void answer_call(struct talk *t, const char *output)
{
	must(t->count < ITEMS_MAX);
	t->items[t->count++] = item_result(
		&t->a, ITEM_RESPONSES, t->call.call_id, str_from(output), NULL, 0);
	ask(t);
}

/*
 * The record: handshakes and messages.
 */
static size_t rows(struct world *w)
{
	struct error err = ERROR_INIT;

	assert_ok(harness_read(w->h, &err), &err);
	return harness_count(w->h);
}

static bool is_handshake(const struct json *row)
{
	return str_is(json_str(json_get(row, "method")), "GET");
}

static size_t handshakes(struct world *w)
{
	size_t count = 0;

	for (size_t i = 0, n = rows(w); i < n; i++)
		count += is_handshake(harness_row(w->h, i));
	return count;
}

/* The body of the nth message, from 0; NULL: there is none. */
static const struct json *message(struct world *w, size_t nth)
{
	for (size_t i = 0, n = rows(w); i < n; i++) {
		const struct json *row = harness_row(w->h, i);

		if (json_is_true(json_get(row, "socket")) && nth-- == 0)
			return json_get(row, "body");
	}
	return NULL;
}

static void assert_whole(struct world *w, size_t nth, uint32_t items)
{
	const struct json *m = message(w, nth);

	assert_non_null(m);
	assert_null(json_get(m, "previous_response_id"));
	assert_int_equal(json_get(m, "input")->count, items);
}

static void assert_news(struct world *w, size_t nth, uint32_t items)
{
	const struct json *m = message(w, nth);

	assert_non_null(m);
	assert_true(json_str(json_get(m, "previous_response_id")).len > 0);
	assert_int_equal(json_get(m, "input")->count, items);
}

static const char tool_script[] =
	"{\"default\":[{\"think\":\"hm\",\"say\":\"look\",\"calls\":[{\"tool\":\"echo\","
	"\"arguments\":"
	"{\"n\":1}}]},{\"say\":[\"It said: \",{\"from\":\"result\"}]},{\"say\":\"Bye.\"}]";

static char *script_with(const char *more)
{
	return xasprintf("%s%s}", tool_script, more);
}

static void a_conversation_sends_what_is_new(void **state)
{
	static const char *const tls[] = {NULL, "127.0.0.1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tls); i++) {
		_cleanup_(mem) char *script = script_with("");
		_cleanup_(world) struct world *w = world_new(script, tls[i]);
		_cleanup_(talk) struct talk *t = talk_new(w, 7);
		const struct json *first, *row;

		say(t, "Hello");
		assert_true(t->done && str_is(buf_str(&t->text), "look"));
		answer_call(t, "forty-two");
		assert_true(t->done && str_is(buf_str(&t->text), "It said: forty-two"));
		assert_true(t->usage.input_tokens > 0);
		say(t, "Thanks");
		assert_true(t->done);
		assert_int_equal(handshakes(w), 1);
		assert_whole(w, 0, 1);
		assert_news(w, 1, 1);
		assert_news(w, 2, 1);
		first = message(w, 0);
		assert_true(str_is(json_str(json_get(first, "type")), "response.create"));
		assert_true(str_is(json_str(json_get(first, "model")), "m1"));
		assert_null(json_get(first, "stream"));
		assert_int_equal(json_get(first, "store")->type, JSON_FALSE);
		row = harness_row(w->h, 0);
		assert_true(str_is(json_str(json_get(row, "path")), "/v1/responses"));
		assert_true(
			str_is(harness_header(row, "authorization"), "Bearer sk-test-0123456789"));
		assert_true(str_is(
			harness_header(row, "openai-beta"), "responses_websockets=2026-02-06"));
		assert_true(str_is(harness_header(row, "session-id"), "k-1"));
		assert_true(str_is(harness_header(row, "sec-websocket-version"), "13"));
		assert_null(harness_header(row, "sec-websocket-extensions").p);
		assert_int_equal(harness_header(row, "sec-websocket-key").len, 24);
	}
}

/* Anything else than more items behind the known ones is sent whole. */
static void what_changed_is_sent_whole(void **state)
{
	_cleanup_(world) struct world *w = world_new("{}", NULL);
	_cleanup_(talk) struct talk *t = talk_new(w, 7);

	(void)state;
	say(t, "one");
	say(t, "two");
	assert_news(w, 1, 1);
	t->instructions = "Be better.";
	say(t, "three");
	assert_whole(w, 2, 5);
	say(t, "four");
	assert_news(w, 3, 1);
	t->note = STR("mind the gap");
	say(t, "five");
	assert_whole(w, 4, 10);
	say(t, "six");
	assert_news(w, 5, 1);
	t->items[0] = item_user(&t->a, ITEM_RESPONSES, STR("another"), NULL, 0);
	say(t, "seven");
	assert_whole(w, 6, 14);
	t->count -= 1; /* its reply is forgotten, as after a fork */
	say(t, "eight");
	assert_whole(w, 7, 15);
	assert_int_equal(handshakes(w), 1);
}

static void each_bot_has_a_connection(void **state)
{
	_cleanup_(world) struct world *w = world_new("{}", NULL);
	_cleanup_(talk) struct talk *a = talk_new(w, 1);
	_cleanup_(talk) struct talk *b = talk_new(w, 2);

	(void)state;
	say(a, "one");
	say(b, "one");
	say(a, "two");
	say(b, "two");
	assert_int_equal(handshakes(w), 2);
	assert_news(w, 2, 1);
	assert_news(w, 3, 1);
}

static void a_forgotten_response_is_sent_whole_on_the_same_call(void **state)
{
	_cleanup_(mem) char *script = script_with(",\"socket\":{\"forgets\":true}");
	_cleanup_(world) struct world *w = world_new(script, NULL);
	_cleanup_(talk) struct talk *t = talk_new(w, 7);

	(void)state;
	say(t, "Hello");
	answer_call(t, "forty-two");
	assert_true(t->done && str_is(buf_str(&t->text), "It said: forty-two"));
	assert_int_equal(handshakes(w), 1);
	assert_news(w, 1, 1);
	assert_null(json_get(message(w, 2), "previous_response_id"));
	assert_true(json_get(message(w, 2), "input")->count >= 4);
	assert_null(message(w, 3));
}

/* The server closes after each response: the next call finds that out and goes out on another. */
static void a_closed_connection_is_replaced(void **state)
{
	_cleanup_(world) struct world *w = world_new("{\"socket\":{\"responses\":1}}", NULL);
	_cleanup_(talk) struct talk *t = talk_new(w, 7);

	(void)state;
	for (int i = 0; i < 3; i++) {
		say(t, "again");
		assert_true(t->done);
	}
	assert_int_equal(handshakes(w), 3);
	assert_whole(w, 2, 5);
}

static void pings_and_fragments_change_nothing(void **state)
{
	_cleanup_(world) struct world *w = world_new(
		"{\"default\":[{\"say\":{\"repeat\":[\"Gr\xc3\xbc\xc3\x9f"
		"e \",2000]},\"chunk_bytes\":7}],"
		"\"socket\":{\"pings\":true}}",
		NULL);
	_cleanup_(talk) struct talk *t = talk_new(w, 7);

	(void)state;
	say(t, "Hello");
	assert_true(t->done);
	assert_int_equal(t->text.len, 2000 * strlen("Gr\xc3\xbc\xc3\x9f"
						    "e "));
	for (size_t i = 0; i < rows(w); i++)
		assert_null(json_get(harness_row(w->h, i), "bad"));
}

static void what_goes_wrong_is_told(void **state)
{
	static const struct {
		const char *name, *script, *code, *words;
		enum provider_retry retry;
	} table[] = {
		{"a bad accept",                "{\"socket\":{\"bad_accept\":true}}",                     "provider_connection_failed",
                 "Sec-WebSocket-Accept",															       PROVIDER_RETRY_BACKOFF},
		{"an extension nobody offered", "{\"socket\":{\"extension\":true}}",
                 "provider_connection_failed",											  "extension",                   PROVIDER_RETRY_BACKOFF},
		{"no WebSocket there",          "{\"socket\":{\"status\":404}}",                          "provider_http_404",          "",
                 PROVIDER_RETRY_NEVER																			},
		{"busy at the door",            "{\"socket\":{\"status\":503}}",                          "provider_http_503",          "",
                 PROVIDER_RETRY_BACKOFF																		      },
		{"another status than 101",     "{\"socket\":{\"status\":200}}",
                 "provider_connection_failed",											  "200",                         PROVIDER_RETRY_NEVER  },
		{"cut in mid reply",
                 "{\"default\":[{\"say\":\"one two three\",\"fault\":\"cut\"}]}",			 "provider_stream_failed",     "",                            PROVIDER_RETRY_BACKOFF},
		{"reset in mid reply",
                 "{\"default\":[{\"say\":\"one two three\",\"fault\":\"reset\"}]}",                       "provider_stream_failed",     "",                            PROVIDER_RETRY_BACKOFF},
		{"closed in mid reply",
                 "{\"default\":[{\"say\":\"one two three\",\"fault\":\"truncate\"}]}",                    "provider_stream_failed",     "closed the connection: 1001",
                 PROVIDER_RETRY_BACKOFF																		      },
		{"silence in mid reply",
                 "{\"default\":[{\"say\":\"one two\",\"fault\":\"silence\"}]}",			   "provider_stream_stalled",    "",                            PROVIDER_RETRY_BACKOFF},
		{"silence from the start",
                 "{\"default\":[{\"fault\":{\"kind\":\"silence\",\"after\":\"head\"}}]}",                 "provider_stream_stalled",    "",                            PROVIDER_RETRY_BACKOFF},
		{"garbage",                     "{\"default\":[{\"fault\":\"garbage\"}]}",                "provider_connection_failed",
                 "no frames",																	  PROVIDER_RETRY_BACKOFF},
		{"a text that is not UTF-8",
                 "{\"default\":[{\"say\":\"hi\",\"fault\":\"invalid_utf8\"}]}",			   "provider_stream_failed",     "not UTF-8",                   PROVIDER_RETRY_BACKOFF},
		{"too fast",                    "{\"default\":[{\"fault\":429}]}",                        "provider_http_429",          "",
                 PROVIDER_RETRY_PACE																			 },
		{"the server's fault",          "{\"default\":[{\"fault\":500}]}",                        "provider_http_500",          "",
                 PROVIDER_RETRY_BACKOFF																		      },
		{"what was asked is wrong",     "{\"default\":[{\"fault\":400}]}",                        "provider_http_400",
                 "",																		   PROVIDER_RETRY_NEVER  },
		{"an error inside the reply",
                 "{\"default\":[{\"say\":\"one\",\"fault\":{\"kind\":\"error_event\","
			"\"code\":\"rate_limit_exceeded\"}}]}",					   "provider_rate_limited",      "",                            PROVIDER_RETRY_PACE   },
		{"no WebSocket any more",
                 "{\"default\":[{\"fault\":{\"kind\":\"status\",\"status\":400,\"code\":"
			"\"websocket_connection_limit_reached\"}}]}",				     "provider_connection_failed", "too old",                     PROVIDER_RETRY_BACKOFF},
		{"a message without end",       "{\"default\":[{\"say\":{\"repeat\":[\"x\",3000000]}}]}",
                 "provider_response_limit",											     "more than",                   PROVIDER_RETRY_NEVER  },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		_cleanup_(world) struct world *w = world_new(table[i].script, NULL);
		_cleanup_(talk) struct talk *t = talk_new(w, 7);

		print_message("%s\n", table[i].name);
		if (strncmp(table[i].name, "silence", strlen("silence")) == 0)
			w->net.stall_ms = STALL_MS;
		say(t, "Hello");
		assert_false(t->done);
		if (strcmp(t->code, table[i].code) != 0 || !strstr(t->detail, table[i].words))
			fail_msg("%s: %s", t->code, t->detail);
		assert_int_equal(t->retry, table[i].retry);
	}
}

/* The loop is over when nothing is left on it: the connection was closed by its own timer. */
static void an_idle_connection_is_closed(void **state)
{
	_cleanup_(world) struct world *w = world_with("{}", NULL, 50, 0);
	_cleanup_(talk) struct talk *t = talk_new(w, 7);

	(void)state;
	say(t, "one");
	loop_run(w->loop);
	say(t, "two");
	assert_true(t->done);
	assert_int_equal(handshakes(w), 2);
	assert_whole(w, 1, 3);
}

static void an_old_connection_begins_no_response(void **state)
{
	_cleanup_(world) struct world *w = world_with(
		"{\"default\":[{\"say\":\"a\",\"delay_ms\":100},{\"say\":\"b\"}]}", NULL, 0, 50);
	_cleanup_(talk) struct talk *t = talk_new(w, 7);

	(void)state;
	say(t, "one"); /* takes longer than the connection may live */
	assert_true(t->done);
	say(t, "two");
	assert_true(t->done);
	assert_int_equal(handshakes(w), 2);
	assert_whole(w, 1, 3);
}

/* What a call leaves behind when it is cancelled: a closed connection, and a clean next call. */
static void a_cancelled_reply_ends_its_connection(void **state)
{
	_cleanup_(world) struct world *w = world_new(
		"{\"default\":[{\"say\":\"slow and slower\",\"chunk_delay_ms\":100}]}", NULL);
	_cleanup_(talk) struct talk *t = talk_new(w, 7);
	struct provider_request r;
	struct provider_call *call;
	struct loop_timer *stop = loop_timer_new(w->loop, on_late, t);
	struct error err = ERROR_INIT;

	(void)state;
	t->items[t->count++] = item_user(&t->a, ITEM_RESPONSES, STR("Hello"), NULL, 0);
	call = begin(t, &r);
	loop_timer_set(stop, 150);
	loop_run(w->loop);
	loop_timer_free(stop);
	assert_true(t->late && !t->done);
	provider_call_cancel(call);
	ask(t);
	assert_true(t->done);
	assert_ok(harness_wait(w->h, 4, PATIENCE_MS, &err), &err); /* the fourth: it left */
	assert_int_equal(handshakes(w), 2);
	assert_whole(w, 1, 1);
}

static size_t listed;

static void on_listing(void *arg, const struct provider_listing *l, const struct error *err)
{
	assert_null(err);
	listed = l->count;
	loop_stop(arg);
}

static void the_models_are_listed_over_http(void **state)
{
	_cleanup_(world) struct world *w = world_new("{\"models\":[\"a\",\"b\",\"c\"]}", NULL);
	struct provider_list_call *call;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(provider_list(providers_at(w->providers, 0), on_listing, w->loop, &call, &err),
		&err);
	loop_run(w->loop);
	assert_int_equal(listed, 3);
}

static void specs_of_the_family(void **state)
{
	static const struct {
		const char *spec, *url;
		const struct error_kind *kind;
	} table[] = {
		{"openai=responses-ws",        "https://api.openai.com/v1", NULL                  },
		{"a=responses-ws,wss://h/v1",  "wss://h/v1",                NULL                  },
		{"b=responses-ws,http://h/v1", "http://h/v1",               NULL                  },
		{"c=responses,ws://h/v1",      NULL,                        &PROVIDER_INVALID_SPEC},
		{"d=anthropic,wss://h/v1",     NULL,                        &PROVIDER_INVALID_SPEC},
		{"e=responses-ws",             "https://api.openai.com/v1", NULL                  },
	};
	_cleanup_(world) struct world *w = world_new("{}", NULL);
	struct error err = ERROR_INIT;

	(void)state;
	must(setenv("OPENAI_API_KEY", "sk-test-0123456789", 1) == 0);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		size_t count = providers_count(w->providers);

		print_message("%s\n", table[i].spec);
		if (table[i].kind == &PROVIDER_INVALID_SPEC) {
			assert_fails(providers_add(w->providers, str_from(table[i].spec), &err),
				&err, PROVIDER_INVALID_SPEC);
			continue;
		}
		assert_ok(providers_add(w->providers, str_from(table[i].spec), &err), &err);
		const struct provider *p = providers_at(w->providers, count);
		if (table[i].url)
			assert_true(str_is(provider_url(p), table[i].url));
		assert_string_equal(provider_family(p)->name, "responses-ws");
		assert_string_equal(provider_family(p)->transport, "websocket");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_conversation_sends_what_is_new),
		cmocka_unit_test(what_changed_is_sent_whole),
		cmocka_unit_test(each_bot_has_a_connection),
		cmocka_unit_test(a_forgotten_response_is_sent_whole_on_the_same_call),
		cmocka_unit_test(a_closed_connection_is_replaced),
		cmocka_unit_test(pings_and_fragments_change_nothing),
		cmocka_unit_test(what_goes_wrong_is_told),
		cmocka_unit_test(an_idle_connection_is_closed),
		cmocka_unit_test(an_old_connection_begins_no_response),
		cmocka_unit_test(a_cancelled_reply_ends_its_connection),
		cmocka_unit_test(the_models_are_listed_over_http),
		cmocka_unit_test(specs_of_the_family),
	};

	return cmocka_run_group_tests_name("agent.provider_ws", tests, NULL, NULL);
}
