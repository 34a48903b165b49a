/* fetch: time limits, back-pressure, and being given up at every moment. */
#include "clock/clock.h"
#include "os/os.h"
#include "world.h"

static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

enum { LIMIT_MS = 60 };

/* Limits */

static void say_nothing(struct peer *p, const struct http_head *h)
{
	(void)p;
	(void)h;
}

static void say_half(struct peer *p, const struct http_head *h)
{
	(void)h;
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
}

static void trickle(void *arg)
{
	struct peer *p = arg;

	peer_say(p, ".");
	loop_timer_set(p->timer, LIMIT_MS / 6);
}

static void say_on_and_on(struct peer *p, const struct http_head *h)
{
	(void)h;
	peer_say(p, "HTTP/1.1 200 OK\r\n\r\n.");
	p->timer = loop_timer_new(p->server->loop, trickle, p);
	loop_timer_set(p->timer, 1);
}

static void each_limit_ends_the_call_and_says_which(void **state)
{
	static const struct {
		void (*request)(struct peer *p, const struct http_head *h);
		struct request r;
		const char *says, *told;
	} rows[] = {
		{say_nothing,   {.head_ms = LIMIT_MS},                                    "no answer within 60 ms", "se"  },
		{say_nothing,   {.total_ms = LIMIT_MS},                                   "not done within 60 ms",  "se"  },
		{say_half,      {.idle_ms = LIMIT_MS},                                    "body for 60 ms",         "shbe"},
		{say_half,      {.total_ms = LIMIT_MS},                                   "not done within 60 ms",  "shbe"},
		{say_on_and_on, {.total_ms = LIMIT_MS},                                   "not done within 60 ms",  "shbe"},
		{say_on_and_on, {.head_ms = 5000, .idle_ms = 5000, .total_ms = LIMIT_MS},
                 "not done within 60 ms",									   "shbe"},
	};
	const struct clock *clock = clock_system();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t start_ms = clock_mono_ms(clock);
		struct fetch_counts counts;
		struct world w;
		struct call c;

		world_open(&w, &(struct server_rules){.request = rows[i].request}, NULL);
		call_init(&c, &w);
		call_do(&c, &rows[i].r);
		assert_failed(&c, &FETCH_TIMEOUT, rows[i].says);
		assert_string_equal(c.told, rows[i].told);
		assert_true(clock_mono_ms(clock) - start_ms >= LIMIT_MS);
		fetch_counts(w.fetch, &counts);
		assert_int_equal(counts.connections, 0);
		call_release(&c);
		world_close(&w);
	}
}

/* Bytes keep coming, each within the limit, for several times as long. */
static void the_idle_limit_starts_again_with_every_read(void **state)
{
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &(struct server_rules){.request = say_on_and_on}, NULL);
	call_init(&c, &w);
	call_start(&c, &(struct request){.idle_ms = LIMIT_MS * 4});
	while (c.body.len < 6 * 6 && c.call)
		world_wait(&w, 5);
	assert_non_null(c.call);
	fetch_cancel(c.call);
	call_release(&c);
	world_close(&w);
}

static void a_silent_address_is_given_up(void **state)
{
	_cleanup_(mem) char *url = NULL;
	struct world w;
	struct call c;
	int fds[8];

	(void)state;
	url = xasprintf("http://127.0.0.1:%u/", silent_port(fds));
	world_open(&w, &(struct server_rules){0}, &(struct fetch_options){.connect_ms = LIMIT_MS});
	call_init(&c, &w);
	call_do(&c, &(struct request){.url = url, .head_ms = 1});
	assert_failed(&c, &FETCH_TIMEOUT, "no connection within 60 ms");
	call_release(&c);
	world_close(&w);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		os_close(fds[i]);
}

static void waiting_in_line_counts_for_the_whole(void **state)
{
	struct world w;
	struct call first, second;

	(void)state;
	world_open(&w, &(struct server_rules){.request = say_nothing},
		&(struct fetch_options){.per_origin_max = 1, .connect_ms = LIMIT_MS / 2});
	call_init(&first, &w);
	call_init(&second, &w);
	call_start(&first, &(struct request){.total_ms = 2 * LIMIT_MS});
	call_start(&second, &(struct request){.total_ms = LIMIT_MS});
	world_run(&w);
	assert_failed(&second, &FETCH_TIMEOUT, "not done within 60 ms");
	assert_string_equal(second.told, "e");
	assert_failed(&first, &FETCH_TIMEOUT, "not done within 120 ms");
	call_release(&first);
	call_release(&second);
	world_close(&w);
}

/* No connection */

static void a_refused_connection_is_said(void **state)
{
	_cleanup_(mem) char *url = NULL;
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &(struct server_rules){0}, NULL);
	url = xasprintf("http://127.0.0.1:%u/", w.server.port);
	server_close(&w.server);
	call_init(&c, &w);
	call_do(&c, &(struct request){.url = url});
	assert_failed(&c, &FETCH_CONNECT, "Connection refused");
	call_release(&c);
	world_close(&w);
}

static void a_name_without_an_address_is_said(void **state)
{
	struct error err = ERROR_INIT;
	struct world w;
	struct call c;
	struct url url;

	(void)state;
	world_open(&w, &(struct server_rules){0}, NULL);
	assert_ok(url_parse(STR("http://x/"), &url, &err), &err);
	memset(url.at.host, 'a', 70); /* a label this long is asked of no server */
	url.at.host[70] = '\0';
	call_init(&c, &w);
	call_do(&c, &(struct request){.parsed = &url});
	assert_failed(&c, &FETCH_RESOLVE, url.at.host);
	call_release(&c);
	world_close(&w);
}

/* Back-pressure */

enum { FLOOD_BYTES = 24 * 1024 * 1024 };

static void flood(struct peer *p, const struct http_head *h)
{
	_cleanup_(mem) char *bytes = xmalloc(FLOOD_BYTES);
	_cleanup_(mem) char *head = xasprintf(
		"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", FLOOD_BYTES);

	(void)h;
	for (size_t i = 0; i < FLOOD_BYTES; i++)
		bytes[i] = (char)(i * 5 + i / 65521);
	peer_say(p, head);
	loop_stream_write(p->stream, bytes, FLOOD_BYTES);
}

static void assert_flood(const struct call *c)
{
	assert_int_equal(c->body.len, FLOOD_BYTES);
	for (size_t i = 0; i < FLOOD_BYTES; i++)
		if (c->body.data[i] != (char)(i * 5 + i / 65521))
			fail_msg("byte %zu is wrong", i);
}

static void a_paused_call_pushes_back(void **state)
{
	static const enum moment moments[] = {AT_SENT, AT_HEAD, AT_BODY};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
		struct world w;
		struct call c;
		size_t had, queued;

		world_open(&w, &(struct server_rules){.request = flood}, NULL);
		call_init(&c, &w);
		c.pause_at = moments[i];
		call_start(&c, &(struct request){.idle_ms = LIMIT_MS});
		while (c.status == 0)
			world_wait(&w, 1);
		had = c.body.len;
		assert_true(had < 128 * 1024);
		world_wait(&w, 2 * LIMIT_MS); /* the idle limit rests */
		assert_int_equal(c.body.len, had);
		queued = loop_stream_queued(server_last_peer(&w.server)->stream);
		assert_true(queued > FLOOD_BYTES / 2); /* the rest is what the kernel holds */
		c.pause_at = AT_NONE;
		fetch_resume(c.call);
		assert_int_equal(c.body.len, had); /* never inside */
		world_run(&w);
		assert_done(&c, 200, NULL);
		assert_flood(&c);
		call_release(&c);
		world_close(&w);
	}
}

struct stepper {
	struct call call;
	struct loop_timer *timer;
	int steps;
};

static void step(void *arg)
{
	struct stepper *s = arg;

	if (!s->call.call)
		return;
	s->steps++;
	fetch_resume(s->call.call);
	loop_timer_set(s->timer, 0);
}

/* Every part is followed by a pause: what one read brought comes out in steps. */
static void every_part_may_be_paused_after(void **state)
{
	const struct server_rules rules = {.request = say_nothing};
	struct stepper s = {0};
	struct world w;

	(void)state;
	world_open(&w, &rules, NULL);
	call_init(&s.call, &w);
	s.call.pause_at = AT_BODY;
	call_start(&s.call, &(struct request){0});
	while (w.server.requests == 0)
		world_wait(&w, 1);
	peer_say(server_last_peer(&w.server),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		"1\r\na\r\n1\r\nb\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n");
	s.timer = loop_timer_new(w.loop, step, &s);
	loop_timer_set(s.timer, 0);
	world_run(&w);
	assert_done(&s.call, 200, "abcde");
	assert_true(s.steps >= 4);
	loop_timer_free(s.timer);
	call_release(&s.call);
	world_close(&w);
}

/* Giving up */

static void say_ok(struct peer *p, const struct http_head *h)
{
	(void)h;
	peer_say(p, ok);
}

static void a_call_may_be_given_up_in_every_callback(void **state)
{
	static const enum moment moments[] = {AT_SENT, AT_HEAD, AT_BODY, AT_DONE};
	static const char *const told[] = {"s", "sh", "shb", "shbd"};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(moments); i++) {
		struct world w;
		struct call c;

		world_open(&w, &(struct server_rules){.request = say_ok}, NULL);
		call_init(&c, &w);
		c.cancel_at = moments[i / 2];
		c.free_too = i % 2 == 1;
		call_do(&c, &(struct request){0});
		assert_string_equal(c.told, told[i / 2]);
		if (c.cancel_at >= AT_HEAD)
			assert_int_equal(c.status, 200);
		if (c.cancel_at >= AT_BODY)
			assert_string_equal(c.body.data, "ok"); /* lasts until the return */
		world_wait(&w, 1);
		assert_string_equal(c.told, told[i / 2]);
		call_release(&c);
		world_close(&w);
	}
}

static bool has_started(const struct call *c)
{
	(void)c;
	return true;
}

static bool has_reached_server(const struct call *c)
{
	return c->world->server.accepted > 0;
}

static bool has_been_read(const struct call *c)
{
	return c->world->server.requests > 0;
}

static bool has_head(const struct call *c)
{
	return c->status != 0;
}

static bool has_body(const struct call *c)
{
	return c->body.len > 0;
}

static void a_call_may_be_given_up_in_every_phase(void **state)
{
	static bool (*const phases[])(const struct call *c) = {
		has_started, has_reached_server, has_been_read, has_head, has_body};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(phases); i++) {
		struct fetch_counts counts;
		struct world w;
		struct call c;

		world_open(&w, &(struct server_rules){.request = say_half}, NULL);
		call_init(&c, &w);
		call_start(&c, &(struct request){.total_ms = 60000, .idle_ms = 60000});
		while (!phases[i / 2](&c))
			world_wait(&w, 0);
		if (i % 2 == 1)
			fetch_pause(c.call);
		fetch_cancel(c.call);
		w.running--;
		fetch_counts(w.fetch, &counts);
		assert_int_equal(counts.connections, 0);
		world_wait(&w, 1);
		assert_null(strchr(c.told, 'e'));
		call_release(&c);
		world_close(&w);
	}
	fetch_cancel(NULL);
}

static void a_name_being_looked_up_may_be_given_up(void **state)
{
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &(struct server_rules){0}, NULL);
	call_init(&c, &w);
	call_start(&c, &(struct request){.url = "http://localhost:1/"});
	fetch_cancel(c.call);
	assert_string_equal(c.told, "");
	call_release(&c);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_limit_ends_the_call_and_says_which),
		cmocka_unit_test(the_idle_limit_starts_again_with_every_read),
		cmocka_unit_test(a_silent_address_is_given_up),
		cmocka_unit_test(waiting_in_line_counts_for_the_whole),
		cmocka_unit_test(a_refused_connection_is_said),
		cmocka_unit_test(a_name_without_an_address_is_said),
		cmocka_unit_test(a_paused_call_pushes_back),
		cmocka_unit_test(every_part_may_be_paused_after),
		cmocka_unit_test(a_call_may_be_given_up_in_every_callback),
		cmocka_unit_test(a_call_may_be_given_up_in_every_phase),
		cmocka_unit_test(a_name_being_looked_up_may_be_given_up),
	};

	return cmocka_run_group_tests_name("fetch limits", tests, NULL, NULL);
}
