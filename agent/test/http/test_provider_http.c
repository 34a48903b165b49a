/*
 * The families over HTTP against a provider on loopback, plain and over TLS: replies, calls, and
 * every way a provider goes wrong, with what the turn is told of it.
 */
#include "agent/io/provider.h"
#include "agent/io/provider_http.h"

#include "os/os.h"
#include "secret/secret.h"
#include "test/harness/harness.h"
#include "testing.h"

enum { PATIENCE_MS = 20000, STALL_MS = 400 };

static const char *const families[] = {"responses", "anthropic", "chat"};
static const enum item_family encodings[] = {ITEM_RESPONSES, ITEM_MESSAGES, ITEM_CHAT};

struct world {
	struct harness *h;
	struct loop *loop;
	struct fetch *fetch;
	struct secret_store *keys;
	struct provider_net net;
	struct providers *providers;
};

/* What one call said. */
struct heard {
	struct loop *loop;
	struct arena a;
	struct buf text, thinking;
	bool done, paced, late;
	struct str items[16];
	size_t item_count;
	struct item_call calls[8];
	size_t call_count;
	struct provider_usage usage;
	char code[64];
	struct provider_failure failure;
	int64_t paced_until_ms;
	int repaired;
	struct arena sent; /* the request's items, until the call needs them no more */
	int taken;
};

static struct world *world_new(const char *script, const char *tls_names)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct fetch_options o;
	struct error err = ERROR_INIT;

	assert_ok(harness_start(&(struct harness_start){.script = script, .tls_names = tls_names},
			  &w->h, &err),
		&err);
	w->loop = loop_new();
	o = (struct fetch_options){.loop = w->loop, .ca_file = harness_authority(w->h)};
	assert_ok(fetch_new(&o, &w->fetch, &err), &err);
	must(setenv("TEST_PROVIDER_KEY", "sk-test-0123456789", 1) == 0);
	w->keys = secret_store_new();
	w->net = (struct provider_net){.fetch = w->fetch, .keys = w->keys, .stall_ms = STALL_MS};
	w->providers = providers_new(w->loop);
	providers_connect(w->providers, &w->net);
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		_cleanup_(mem) char *spec = xasprintf(
			"%s=%s,%s,TEST_PROVIDER_KEY", families[i], families[i], harness_url(w->h));

		assert_ok(providers_add(w->providers, str_from(spec), &err), &err);
	}
	return w;
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

static struct str keep(struct heard *h, struct str s)
{
	return (struct str){arena_strndup(&h->a, s.p ? s.p : "", s.len), s.len};
}

static void on_text(void *arg, struct str delta)
{
	struct heard *h = arg;

	must(buf_put_str(&h->text, delta) == 0);
}

static void on_thinking(void *arg, struct str delta)
{
	struct heard *h = arg;

	must(buf_put_str(&h->thinking, delta) == 0);
}

static void on_repaired(void *arg, const char *what)
{
	struct heard *h = arg;

	(void)what;
	h->repaired++;
}

static void on_done(void *arg, const struct provider_reply *r)
{
	struct heard *h = arg;

	h->done = true;
	h->usage = r->usage;
	must(r->item_count <= ARRAY_LEN(h->items) && r->call_count <= ARRAY_LEN(h->calls));
	for (size_t i = 0; i < r->item_count; i++)
		h->items[h->item_count++] = keep(h, r->items[i]);
	for (size_t i = 0; i < r->call_count; i++)
		h->calls[h->call_count++] = (struct item_call){keep(h, r->calls[i].call_id),
			keep(h, r->calls[i].name), keep(h, r->calls[i].arguments)};
	assert_true(str_eq(r->text, buf_str(&h->text)));
	assert_true(r->sent_ms > 0);
	loop_stop(h->loop);
}

static void on_failed(void *arg, const struct provider_failure *f)
{
	struct heard *h = arg;

	h->failure = *f;
	(void)snprintf(h->code, sizeof(h->code), "%s", error_code(&f->err));
	loop_stop(h->loop);
}

static void on_paced(void *arg, int64_t until_mono_ms)
{
	struct heard *h = arg;

	h->paced = true;
	h->paced_until_ms = until_mono_ms;
	loop_stop(h->loop);
}

static void on_late(void *arg)
{
	struct heard *h = arg;

	h->late = true;
	loop_stop(h->loop);
}

/* From here on the sanitizer would see the items being looked at. */
static void on_taken(void *arg)
{
	struct heard *h = arg;

	assert_int_equal(h->taken++, 0);
	assert_false(h->done);
	arena_release(&h->sent);
}

static const struct provider_callbacks callbacks = {
	on_text, on_thinking, on_repaired, on_done, on_failed, on_paced, on_taken};

static struct heard *ask(struct world *w, size_t family, const struct str *items, size_t count)
{
	struct heard *h = xcalloc(1, sizeof(*h));
	struct str *sent = arena_alloc(&h->sent, (count + 1) * sizeof(*sent));
	const struct provider_request r = {.model = STR("m1"),
		.instructions = STR("Be good."),
		.items = sent,
		.item_count = count,
		.cache_key = STR("k-1")};
	struct loop_timer *limit;
	struct provider_call *call;
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < count; i++)
		sent[i] = (struct str){
			arena_strndup(&h->sent, items[i].p, items[i].len), items[i].len};
	h->loop = w->loop;
	h->text = (struct buf)BUF_INIT(4 << 20);
	h->thinking = (struct buf)BUF_INIT(1 << 20);
	assert_ok(provider_call_start(
			  providers_at(w->providers, family), &r, &callbacks, h, &call, &err),
		&err);
	limit = loop_timer_new(w->loop, on_late, h);
	loop_timer_set(limit, PATIENCE_MS);
	loop_run(w->loop);
	loop_timer_free(limit);
	assert_false(h->late);
	if (h->done)
		assert_int_equal(h->taken, 1);
	return h;
}

static struct heard *say(struct world *w, size_t family, const char *prompt)
{
	struct arena a = {NULL};
	struct str item = item_user(&a, encodings[family], str_from(prompt), NULL, 0);
	struct heard *h = ask(w, family, &item, 1);

	arena_release(&a);
	return h;
}

static void heard_free(struct heard *h)
{
	buf_release(&h->text);
	buf_release(&h->thinking);
	arena_release(&h->a);
	arena_release(&h->sent);
	free(h);
}
MEM_CLEANUP(heard, struct heard *, heard_free)

static size_t rows(struct world *w)
{
	struct error err = ERROR_INIT;

	assert_ok(harness_read(w->h, &err), &err);
	return harness_count(w->h);
}

static void check_request(struct world *w, size_t family)
{
	static const char *const paths[] = {
		"/v1/responses", "/v1/messages", "/v1/chat/completions"};
	const struct json *row;

	must(rows(w) > 0);
	row = harness_row(w->h, 0);
	assert_true(str_is(json_str(json_get(row, "path")), paths[family]));
	if (family == 1) {
		assert_true(str_is(harness_header(row, "x-api-key"), "sk-test-0123456789"));
		assert_true(str_is(harness_header(row, "anthropic-version"), "2023-06-01"));
		assert_null(harness_header(row, "authorization").p);
	} else {
		assert_true(
			str_is(harness_header(row, "authorization"), "Bearer sk-test-0123456789"));
		assert_null(harness_header(row, "x-api-key").p);
	}
	assert_true(str_is(harness_header(row, "session-id"), "k-1") == (family == 0));
	assert_null(harness_header(row, "user-agent").p);
}

static const char talk[] =
	"{\"default\":[{\"think\":\"hm\",\"say\":\"Gr\\u00fc\\u00dfe\",\"usage\":{\"input\":40,"
	"\"output\":7,\"cached\":30},\"chunk_bytes\":3}],"
	"\"tool\":[{\"say\":\"look\",\"calls\":[{\"tool\":\"echo\",\"raw\":\"{ \\\"n\\\" : 1.0 "
	"}\"},"
	"{\"tool\":\"echo\",\"arguments\":{\"n\":2}}]},{\"say\":[\"It said: "
	"\",{\"from\":\"result\"}]}]}";

static void talks(const char *tls_names)
{
	for (size_t f = 0; f < ARRAY_LEN(families); f++) {
		_cleanup_(world) struct world *w = world_new(talk, tls_names);
		_cleanup_(heard) struct heard *h = say(w, f, "hello");

		assert_string_equal(h->code, "");
		assert_true(h->done);
		assert_true(str_is(buf_str(&h->text), "Gr\xc3\xbc\xc3\x9f"
						      "e"));
		assert_true(str_is(buf_str(&h->thinking), "hm"));
		assert_int_equal(h->usage.input_tokens, 40);
		assert_int_equal(h->usage.output_tokens, 7);
		assert_int_equal(h->usage.cached_input_tokens, 30);
		assert_int_equal(h->repaired, 0);
		check_request(w, f);
	}
}

static void text_streams_in_each_family(void **state)
{
	(void)state;
	talks(NULL);
}

static void text_streams_over_tls(void **state)
{
	(void)state;
	talks("127.0.0.1");
}

/* Two calls of one reply, their arguments byte for byte; what the reply left is sent back with the
 * results, over the same connection. */
static void calls_and_results_go_back_and_forth(void **state)
{
	(void)state;
	for (size_t f = 0; f < ARRAY_LEN(families); f++) {
		_cleanup_(world) struct world *w = world_new(talk, NULL);
		_cleanup_(heard) struct heard *h = say(w, f, "#tool go"), *next = NULL;
		_cleanup_(arena) struct arena a = {NULL};
		struct str items[16];
		size_t n = 0;
		int64_t connection = 0;

		assert_string_equal(h->code, "");
		assert_int_equal(h->call_count, 2);
		assert_true(str_is(h->calls[0].arguments, "{ \"n\" : 1.0 }"));
		assert_true(str_is(h->calls[1].name, "echo"));
		assert_false(str_eq(h->calls[0].call_id, h->calls[1].call_id));
		items[n++] = item_user(&a, encodings[f], STR("#tool go"), NULL, 0);
		for (size_t i = 0; i < h->item_count; i++)
			items[n++] = h->items[i];
		items[n++] = item_result(
			&a, encodings[f], h->calls[0].call_id, STR("one"), NULL, 0);
		items[n++] = item_result(
			&a, encodings[f], h->calls[1].call_id, STR("two"), NULL, 0);
		next = ask(w, f, items, n);
		assert_string_equal(next->code, "");
		assert_true(str_is(buf_str(&next->text), "It said: two"));
		assert_int_equal(next->call_count, 0);
		assert_int_equal(rows(w), 2);
		assert_int_equal(
			json_i64(json_get(harness_row(w->h, 1), "connection"), &connection), 0);
		assert_int_equal(connection, 1);
	}
}

static const struct fault {
	const char *round; /* of the script */
	const char *code;
	enum provider_retry retry;
	int64_t least_ms, most_ms; /* of the delay; -1: none is named */
	bool has_usage;
	const char *words; /* in the detail */
} faults[] = {
	{"{\"fault\":400}",								  "provider_http_400",          PROVIDER_RETRY_NEVER,   -1,   -1,   false, NULL              },
	{"{\"fault\":{\"kind\":\"status\",\"status\":401,\"message\":\"who are you\"}}",
         "provider_http_401",											      PROVIDER_RETRY_NEVER,   -1,   -1,   false, "who are you"     },
	{"{\"fault\":404}",								  "provider_http_404",          PROVIDER_RETRY_NEVER,   -1,   -1,   false, NULL              },
	{"{\"fault\":{\"kind\":\"status\",\"status\":500,\"html\":true}}",                   "provider_http_500",
         PROVIDER_RETRY_BACKOFF,														   -1,   -1,   false, NULL              },
	{"{\"fault\":503,\"headers\":{\"Retry-After\":\"3\"}}",                              "provider_http_503",
         PROVIDER_RETRY_BACKOFF,														   3000, 3000, false, NULL              },
	{"{\"fault\":429,\"headers\":{\"Retry-After\":\"2\"}}",                              "provider_http_429",
         PROVIDER_RETRY_PACE,														      1900, 2000, false, NULL              },
	{"{\"fault\":{\"kind\":\"status\",\"status\":529}}",                                 "provider_http_529",
         PROVIDER_RETRY_PACE,														      900,  1000, false, NULL              },
	{"{\"fault\":{\"kind\":\"redirect\",\"location\":\"/elsewhere\"}}",                  "provider_http_302",
         PROVIDER_RETRY_NEVER,														     -1,   -1,   false, NULL              },
	{"{\"fault\":\"html\"}",							     "provider_expected_sse",      PROVIDER_RETRY_NEVER,   -1,   -1,   false,
         "text/html"																				    },
	{"{\"fault\":\"json\",\"say\":\"x\"}",					       "provider_expected_sse",      PROVIDER_RETRY_NEVER,   -1,
         -1,																		   false, "application/json"},
	{"{\"fault\":\"empty_body\"}",						       "provider_stream_failed",     PROVIDER_RETRY_BACKOFF, -1,   -1,
         false,																		       NULL              },
	{"{\"fault\":\"garbage\"}",							  "provider_connection_failed", PROVIDER_RETRY_BACKOFF, -1,   -1,
         false,																		       NULL              },
	{"{\"fault\":{\"kind\":\"reset\",\"after\":\"head\"},\"say\":\"x\"}",
         "provider_connection_failed",										     PROVIDER_RETRY_BACKOFF, -1,   -1,   false, NULL              },
	{"{\"fault\":\"cut\",\"say\":\"one two three\"}",                                    "provider_stream_failed",
         PROVIDER_RETRY_BACKOFF,														   -1,   -1,   false, NULL              },
	{"{\"fault\":\"truncate\",\"say\":\"one two three\"}",                               "provider_stream_failed",
         PROVIDER_RETRY_BACKOFF,														   -1,   -1,   false, NULL              },
	{"{\"fault\":\"no_end\",\"say\":\"one two three\"}",                                 "provider_stream_failed",
         PROVIDER_RETRY_BACKOFF,														   -1,   -1,   false, NULL              },
	{"{\"fault\":\"silence\",\"say\":\"one two three\"}",                                "provider_stream_stalled",
         PROVIDER_RETRY_BACKOFF,														   -1,   -1,   false, NULL              },
	{"{\"fault\":{\"kind\":\"silence\",\"after\":\"head\"},\"say\":\"x\"}",
         "provider_stream_stalled",											PROVIDER_RETRY_BACKOFF, -1,   -1,   false, NULL              },
	{"{\"fault\":{\"kind\":\"endless\",\"as\":\"deltas\"}}",                             "provider_response_limit",
         PROVIDER_RETRY_NEVER,														     -1,   -1,   false, NULL              },
	{"{\"fault\":{\"kind\":\"endless\",\"as\":\"line\"}}",                               "provider_response_limit",
         PROVIDER_RETRY_NEVER,														     -1,   -1,   false, NULL              },
	{"{\"fault\":{\"kind\":\"endless\",\"as\":\"comments\"},\"chunk_bytes\":64,"
	 "\"chunk_delay_ms\":20}",						  "provider_stream_stalled",    PROVIDER_RETRY_BACKOFF, -1,   -1,   false, NULL              },
	{"{\"fault\":{\"kind\":\"error_event\",\"code\":\"insufficient_quota\",\"message\":\"pay\"}"
	 ","
	 "\"say\":\"one two\"}",						    "provider_quota_exhausted",   PROVIDER_RETRY_NEVER,   -1,   -1,   false, "pay"             },
	{"{\"fault\":{\"kind\":\"status\",\"status\":429,\"code\":\"insufficient_quota\"}}",
         "provider_quota_exhausted",										       PROVIDER_RETRY_NEVER,   -1,   -1,   false, NULL              },
	{"{\"fault\":\"duplicate_ids\",\"calls\":[{\"tool\":\"a\",\"arguments\":{}},{\"tool\":"
	 "\"a\","
	 "\"arguments\":{}}]}",						     "provider_stream_failed",     PROVIDER_RETRY_BACKOFF, -1,   -1,   false, NULL              },
	{"{\"fault\":\"invalid_utf8\",\"say\":\"one two three\"}",                           "provider_stream_failed",
         PROVIDER_RETRY_BACKOFF,														   -1,   -1,   false, NULL              },
	{"{\"say\":\"cut o\",\"stop\":\"length\"}",                                          "provider_incomplete",        PROVIDER_RETRY_NEVER,   -1,
         -1,																		   true,  "output limit"    },
	{"{\"refuse\":\"no\",\"stop\":\"refusal\"}",                                         "provider_refusal",           PROVIDER_RETRY_NEVER,   -1,
         -1,																		   true,  NULL              },
};

static void check_fault(size_t f, const struct fault *row)
{
	_cleanup_(mem) char *script = xasprintf("{\"default\":[%s]}", row->round);
	_cleanup_(world) struct world *w = world_new(script, NULL);
	_cleanup_(heard) struct heard *h = say(w, f, "hello");

	if (strcmp(h->code, row->code) != 0 || h->failure.retry != row->retry ||
		h->failure.delay_ms < row->least_ms || h->failure.delay_ms > row->most_ms ||
		(row->has_usage && !h->failure.has_usage))
		fail_msg("%s, %s: '%s' retry %d delay %lld usage %d: %s", families[f], row->round,
			h->code, (int)h->failure.retry, (long long)h->failure.delay_ms,
			h->failure.has_usage, h->failure.err.text);
	if (row->words && !strstr(h->failure.err.text, row->words))
		fail_msg("%s, %s: says '%s'", families[f], row->round, h->failure.err.text);
	/* one request, whatever happened: nothing is followed, nothing sent again from here */
	for (size_t i = 1; i < rows(w); i++)
		assert_null(json_get(harness_row(w->h, i), "method"));
}

static void every_fault_has_its_name(void **state)
{
	(void)state;
	for (size_t f = 0; f < ARRAY_LEN(families); f++) {
		for (size_t i = 0; i < ARRAY_LEN(faults); i++)
			check_fault(f, &faults[i]);
	}
}

static void what_no_one_knows_is_passed_over(void **state)
{
	(void)state;
	for (size_t f = 0; f < ARRAY_LEN(families); f++) {
		_cleanup_(world) struct world *w = world_new(
			"{\"default\":[{\"fault\":\"unknown\",\"say\":\"well\"}],"
			"\"none\":[{\"fault\":\"empty_reply\"}]}",
			NULL);
		_cleanup_(heard) struct heard *h = say(w, f, "hello");
		_cleanup_(heard) struct heard *none = say(w, f, "#none x");

		assert_string_equal(h->code, "");
		assert_true(str_is(buf_str(&h->text), "well"));
		assert_string_equal(none->code, ""); /* it says nothing, and that is kept */
		assert_int_equal(none->item_count, 1);
	}
}

/* The provider asked to wait: the next call is held, and nothing is sent. */
static void a_closed_pool_sends_nothing(void **state)
{
	_cleanup_(world) struct world *w = world_new(
		"{\"default\":[{\"fault\":429,\"headers\":{\"Retry-After\":\"5\"}}]}", NULL);
	_cleanup_(heard) struct heard *first = say(w, 0, "a"), *second = say(w, 0, "b");

	(void)state;
	assert_string_equal(first->code, "provider_http_429");
	assert_true(second->paced);
	assert_true(second->paced_until_ms > loop_now_ms(w->loop) + 4000);
	assert_int_equal(rows(w), 1);
}

/* A certificate that its authority did not sign is no provider's. */
static void a_stranger_gets_nothing(void **state)
{
	_cleanup_(world) struct world *w = world_new(talk, "elsewhere.example");
	_cleanup_(heard) struct heard *h = say(w, 0, "hello");

	(void)state;
	assert_string_equal(h->code, "provider_connection_failed");
	assert_int_equal(h->failure.retry, PROVIDER_RETRY_NEVER);
	for (size_t i = 0; i < rows(w); i++)
		assert_null(json_get(harness_row(w->h, i), "method"));
}

static void nobody_there_is_told_and_tried_again(void **state)
{
	_cleanup_(world) struct world *w = world_new(talk, NULL);
	_cleanup_(heard) struct heard *h = NULL;

	(void)state;
	harness_stop(mem_take(&w->h));
	h = say(w, 2, "hello");
	assert_string_equal(h->code, "provider_connection_failed");
	assert_int_equal(h->failure.retry, PROVIDER_RETRY_BACKOFF);
}

/* What the model thought cannot be used any more: the call is made once more without it, and the
 * error of a second refusal names the item. */
static void thinking_that_is_refused_goes(void **state)
{
	_cleanup_(world) struct world *w = world_new(
		"{\"default\":[{},{\"expect\":{\"lacks\":\"old thinking\"},\"say\":\"well\"}]}",
		NULL);
	struct str items[] = {
		STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}"),
		STR("{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":"
		    "\"old thinking\",\"signature\":\"bad\"},{\"type\":\"text\",\"text\":\"a\"}]}"),
		STR("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"y\"}]}"),
	};
	_cleanup_(heard) struct heard *h = NULL;

	(void)state;
	h = ask(w, 1, items, ARRAY_LEN(items));
	if (strcmp(h->code, "") != 0)
		fail_msg("%s: %s", h->code, h->failure.err.text);
	assert_true(str_is(buf_str(&h->text), "well"));
	assert_int_equal(rows(w), 2);
	assert_int_equal(h->repaired, 1);
}

struct listed {
	struct loop *loop;
	size_t count;
	char first[64], code[64];
};

static void on_listed(void *arg, const struct provider_listing *l, const struct error *err)
{
	struct listed *to = arg;

	if (err) {
		(void)snprintf(to->code, sizeof(to->code), "%s", error_code(err));
	} else {
		to->count = l->count;
		(void)snprintf(to->first, sizeof(to->first), STR_FMT, STR_ARG(l->models[0]));
	}
	loop_stop(to->loop);
}

static void models_are_listed(void **state)
{
	(void)state;
	for (size_t f = 0; f < ARRAY_LEN(families); f++) {
		_cleanup_(world) struct world *w = world_new(
			"{\"models\":[\"big\",\"small/er\"]}", NULL);
		struct listed l = {.loop = w->loop};
		struct provider_list_call *call;
		struct error err = ERROR_INIT;

		assert_ok(provider_list(providers_at(w->providers, f), on_listed, &l, &call, &err),
			&err);
		loop_run(w->loop);
		assert_string_equal(l.code, "");
		assert_int_equal(l.count, 2);
		assert_string_equal(l.first, "big");
		/* and one that is not waited for */
		assert_ok(provider_list(providers_at(w->providers, f), on_listed, &l, &call, &err),
			&err);
		provider_list_cancel(call);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_streams_in_each_family),
		cmocka_unit_test(text_streams_over_tls),
		cmocka_unit_test(calls_and_results_go_back_and_forth),
		cmocka_unit_test(every_fault_has_its_name),
		cmocka_unit_test(what_no_one_knows_is_passed_over),
		cmocka_unit_test(a_closed_pool_sends_nothing),
		cmocka_unit_test(a_stranger_gets_nothing),
		cmocka_unit_test(nobody_there_is_told_and_tried_again),
		cmocka_unit_test(thinking_that_is_refused_goes),
		cmocka_unit_test(models_are_listed),
	};

	return cmocka_run_group_tests_name("provider_http", tests, NULL, NULL);
}
