/*
 * Turns whose model is asked over HTTP and goes wrong: retries, fallbacks, what failed calls cost,
 * and a stop while one waits. A daemon in this process, its provider on loopback.
 */
#include "../serving.h"
#include "test/harness/harness.h"

enum { SEEN_MAX_BYTES = 1 << 20 };

struct web {
	struct served s;
	struct harness *h;
	struct secret_store *keys;
	struct buf seen; /* lines of a turn */
};

static void add(struct web *w, const char *name, const char *url)
{
	_cleanup_(mem) char *spec = xasprintf("%s=chat,%s", name, url);
	struct error err = ERROR_INIT;

	assert_ok(providers_add(w->s.d.providers, str_from(spec), &err), &err);
}

/* The URL of a provider that is there no more. */
static void add_gone(struct web *w)
{
	struct harness *h = NULL;
	_cleanup_(mem) char *url = NULL;
	struct error err = ERROR_INIT;

	assert_ok(harness_start(&(struct harness_start){.script = NULL}, &h, &err), &err);
	url = xstrdup(harness_url(h));
	harness_stop(h);
	add(w, "gone", url);
}

static struct web *web_open(const char *script)
{
	struct web *w = xcalloc(1, sizeof(*w));
	struct fetch_options o;
	struct error err = ERROR_INIT;

	assert_ok(harness_start(&(struct harness_start){.script = script}, &w->h, &err), &err);
	served_open(&w->s, "{\"rehearsal\":1,\"repeat\":true}\n{\"say\":\"ok\"}\n");
	o = (struct fetch_options){.loop = w->s.d.loop};
	assert_ok(fetch_new(&o, &w->s.d.fetch, &err), &err);
	w->keys = secret_store_new();
	w->s.d.net = (struct provider_net){.fetch = w->s.d.fetch, .keys = w->keys};
	providers_connect(w->s.d.providers, &w->s.d.net);
	add(w, "web", harness_url(w->h));
	add_gone(w);
	w->seen = (struct buf)BUF_INIT(SEEN_MAX_BYTES);
	return w;
}

static void web_close(struct web *w)
{
	served_close(&w->s);
	harness_stop(w->h);
	secret_store_free(w->keys);
	buf_release(&w->seen);
	free(w);
}
MEM_CLEANUP(web, struct web *, web_close)

/* Lines up to the one that holds this text. */
static void see_until(struct web *w, const char *text)
{
	for (;;) {
		_cleanup_(mem) char *line = served_line(&w->s);

		must(buf_puts(&w->seen, line) == 0 && buf_putc(&w->seen, '\n') == 0);
		if (strstr(line, text))
			return;
	}
}

static size_t times(const struct web *w, const char *text)
{
	size_t n = 0;

	for (const char *at = w->seen.data; (at = strstr(at, text)); at++)
		n++;
	return n;
}

static void create(struct web *w, const char *model)
{
	_cleanup_(mem) char *line = xasprintf(
		"{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"model\":\"%s\",\"instructions\":\"i\","
		"\"tools\":[]}\n",
		model);

	served_ask(&w->s, line);
}

static void submit(struct web *w)
{
	served_send(&w->s, "{\"id\":2,\"op\":\"follow\",\"bot\":\"b\"}\n");
	see_until(w, "follow_live");
	served_send(&w->s, "{\"id\":3,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r\","
			   "\"prompt\":\"hi\"}\n");
}

static void begin(struct web *w)
{
	create(w, "web/m");
	submit(w);
}

static void turns(struct web *w)
{
	served_send(&w->s, "{\"id\":9,\"op\":\"turns\",\"bot\":\"b\"}\n");
	see_until(w, "\"id\":9");
}

static void assert_times(const struct web *w, const char *text, size_t count)
{
	if (times(w, text) != count)
		fail_msg("%zu times %s in:\n%s", times(w, text), text, w->seen.data);
}

static void a_failed_call_is_made_again_and_counted(void **state)
{
	_cleanup_(web) struct web *w = web_open(
		"{\"default\":[{\"fault\":500,\"times\":2,\"say\":\"at last\"}]}");
	struct error err = ERROR_INIT;

	(void)state;
	begin(w);
	see_until(w, "turn_finished");
	turns(w);
	assert_times(w, "\"event\":\"retry\"", 2);
	assert_times(w, "\"error\":\"provider_http_500\"", 2);
	assert_times(w, "\"event\":\"usage\"", 1);
	assert_times(w, "\"models\":[\"web/m\"]", 1);
	assert_times(w, "\"retries\":2", 1);
	assert_times(w, "\"model_rounds\":1", 1);
	assert_ok(harness_read(w->h, &err), &err);
	assert_int_equal(harness_count(w->h), 3);
}

static void what_is_refused_is_not_made_again(void **state)
{
	_cleanup_(web) struct web *w = web_open("{\"default\":[{\"fault\":400}]}");
	struct error err = ERROR_INIT;

	(void)state;
	begin(w);
	see_until(w, "turn_finished");
	assert_times(w, "\"event\":\"retry\"", 0);
	assert_times(w, "\"error\":\"provider_http_400\"", 1);
	assert_ok(harness_read(w->h, &err), &err);
	assert_int_equal(harness_count(w->h), 1);
}

/* It failed, and the tokens it reported are on the account; it was a round. */
static void a_failed_call_costs_what_it_says(void **state)
{
	_cleanup_(web) struct web *w = web_open(
		"{\"default\":[{\"say\":\"cut\",\"stop\":\"length\",\"usage\":{\"input\":70,"
		"\"output\":5}}]}");

	(void)state;
	begin(w);
	see_until(w, "turn_finished");
	turns(w);
	assert_times(w, "\"error\":\"provider_incomplete\"", 2); /* the event, the turn */
	assert_times(w, "\"event\":\"usage\"", 1);
	assert_times(w, "\"input_tokens\":70", 2); /* the event, the turn */
	assert_times(w, "\"model_rounds\":1", 1);
}

static void a_stop_ends_the_wait_between_two_tries(void **state)
{
	_cleanup_(web) struct web *w = web_open(
		"{\"default\":[{\"fault\":503,\"headers\":{\"Retry-After\":\"60\"}}]}");
	int64_t began = clock_mono_ms(clock_system());

	(void)state;
	begin(w);
	see_until(w, "\"event\":\"retry\"");
	assert_times(w, "\"delay_ms\":60000", 1);
	served_send(&w->s, "{\"id\":4,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":1}\n");
	see_until(w, "turn_finished");
	assert_times(w, "\"status\":\"interrupted\"", 1);
	assert_true(clock_mono_ms(clock_system()) - began < 30000);
}

static int run_fallbacks(struct store_tx *tx, void *arg, struct error *err)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct str models[] = {STR("nowhere/x"), STR("web/other")};
	struct bot b;

	(void)arg;
	if (store_bot_get(store_tx_view(tx), STR("b"), &a, &b, err) < 0)
		return -1;
	b.set.fallbacks = (struct str_list){models, ARRAY_LEN(models)};
	return store_bot_configure(tx, &b, err);
}

/* The first refuses for good, the second is no provider of this daemon. */
static void another_model_is_asked_where_the_first_cannot_be(void **state)
{
	_cleanup_(web) struct web *w = web_open(
		"{\"default\":[{\"fault\":{\"kind\":\"status\",\"status\":403},\"times\":1,\"say\":"
		"\"the second\"}]}");

	(void)state;
	create(w, "web/m");
	store_write(w->s.d.store, run_fallbacks, NULL, NULL);
	submit(w);
	see_until(w, "turn_finished");
	assert_times(w, "\"event\":\"model_fallback\"", 2);
	assert_times(w, "\"from\":\"web/m\",\"to\":\"nowhere/x\"", 1);
	assert_times(w, "\"to\":\"web/other\",\"error\":\"provider_unavailable\"", 1);
	assert_times(w, "\"models\":[\"web/other\"]", 1);
	assert_times(w, "\"status\":\"completed\"", 1);
}

/*
 * The prompt cache (agent spec 8.5).
 */
#define HELD                                                                                       \
	"{\"default\":[{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":\"read x < "     \
	"gate\"}}],\"usage\":{\"input\":70,\"cached\":60}},{\"say\":\"end\"}]}"

/* A bot whose cache is unread after a second, and whose tool runs until it is let go. */
static void begin_held(struct web *w, const char *more)
{
	_cleanup_(mem) char *spec = xasprintf("claude=anthropic,%s", harness_url(w->h));
	_cleanup_(mem) char *gate = xasprintf("%s/gate", w->s.dir);
	_cleanup_(mem) char *line = xasprintf(
		"{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"instructions\":\"i\",\"keep_warm\":1,"
		"\"tools\":[\"shell\"],\"workspace\":\"%s\",%s}\n",
		w->s.dir, more);
	struct error err = ERROR_INIT;

	assert_ok(providers_add(w->s.d.providers, str_from(spec), &err), &err);
	assert_int_equal(mkfifo(gate, 0600), 0);
	served_ask(&w->s, line);
	submit(w);
	see_until(w, "\"event\":\"tool_started\"");
}

static void let_go(struct web *w)
{
	_cleanup_(mem) char *gate = xasprintf("%s/gate", w->s.dir);
	_cleanup_(fd) int fd = open(gate, O_WRONLY | O_CLOEXEC); /* the command reads already */

	assert_int_equal(write(fd, "x\n", 2), 2);
	see_until(w, "turn_finished");
}

static const struct json *body_of(struct web *w, size_t row)
{
	return json_get(harness_row(w->h, row), "body");
}

static void assert_same(const struct json *a, const struct json *b, const char *member)
{
	_cleanup_(buf) struct buf x = BUF_INIT(SEEN_MAX_BYTES), y = BUF_INIT(SEEN_MAX_BYTES);

	assert_true(json_get(a, member) && json_get(b, member));
	json_put(&(struct json_out)JSON_OUT(&x), NULL, json_get(a, member));
	json_put(&(struct json_out)JSON_OUT(&y), NULL, json_get(b, member));
	assert_true(str_eq(buf_str(&x), buf_str(&y)));
}

static void an_unread_cache_is_read_while_a_tool_runs(void **state)
{
	static const char *const prefix[] = {"model", "system", "tools", "messages"};
	_cleanup_(web) struct web *w = web_open(HELD);
	struct error err = ERROR_INIT;
	int64_t max_tokens = -1;

	(void)state;
	begin_held(w, "\"model\":\"claude/claude-sonnet-4-5\"");
	see_until(w, "\"purpose\":\"keep_warm\"");
	let_go(w);
	turns(w);
	assert_times(w, "\"model_rounds\":2", 1); /* a call that keeps warm is no round */
	assert_times(w, "keep_warm_failed", 0);
	assert_ok(harness_read(w->h, &err), &err);
	assert_true(harness_count(w->h) >= 3);
	for (size_t i = 0; i < ARRAY_LEN(prefix); i++)
		assert_same(body_of(w, 0), body_of(w, 1), prefix[i]);
	assert_true(json_is_true(json_get(body_of(w, 0), "stream")));
	assert_false(json_is_true(json_get(body_of(w, 1), "stream")));
	assert_int_equal(json_i64(json_get(body_of(w, 1), "max_tokens"), &max_tokens), 0);
	assert_int_equal(max_tokens, 0);
}

static void models_of_all_providers_are_told(void **state)
{
	_cleanup_(web) struct web *w = web_open("{\"models\":[\"big\"]}");
	struct error err = ERROR_INIT;

	(void)state;
	for (int i = 0; i < 2; i++) {
		served_send(&w->s, "{\"id\":5,\"op\":\"models\"}\n");
		see_until(w, "\"id\":5");
	}
	assert_times(w, "\"web\":{\"models\":[\"big\"],\"fetched_ms\":", 2);
	assert_times(w, "\"gone\":{\"error\":\"provider_connection_failed\"", 2);
	assert_times(w, "\"drill\":{\"models\":[]", 2);
	assert_ok(harness_read(w->h, &err), &err);
	assert_int_equal(harness_count(w->h), 1); /* the second answer was kept */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_call_is_made_again_and_counted),
		cmocka_unit_test(what_is_refused_is_not_made_again),
		cmocka_unit_test(a_failed_call_costs_what_it_says),
		cmocka_unit_test(a_stop_ends_the_wait_between_two_tries),
		cmocka_unit_test(another_model_is_asked_where_the_first_cannot_be),
		cmocka_unit_test(an_unread_cache_is_read_while_a_tool_runs),
		cmocka_unit_test(models_of_all_providers_are_told),
	};

	return cmocka_run_group_tests_name("serve_http", tests, NULL, NULL);
}
