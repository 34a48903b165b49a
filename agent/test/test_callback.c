/*
 * The callback's listener: what it takes, what it refuses, who cannot hold it up. Clients are plain
 * sockets on the same loop.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "agent/io/callback.h"
#include "clock/clock.h"
#include "os/os.h"
#include "testing.h"

#define STATE "st-0123456789"
enum { PATIENCE_MS = 20000, IMPATIENT_MS = 200, CLIENTS_MAX = 40 };

struct client {
	struct world *w;
	struct loop_stream *stream;
	struct buf got;
	bool over;
};
struct world {
	struct loop *loop;
	struct callback *callback;
	struct client clients[CLIENTS_MAX];
	size_t count;
	int arrived, told;
	char *code, *error, *description;
	struct loop_timer *tick;
	bool (*until)(struct world *w);
	int64_t started_ms;
};

static void on_arrived(void *arg, const struct callback_answer *a)
{
	struct world *w = arg;

	w->arrived++;
	w->code = a->code.p ? xstrndup(a->code.p, a->code.len) : NULL;
	w->error = a->error.p ? xstrndup(a->error.p, a->error.len) : NULL;
	w->description = a->description.p ? xstrndup(a->description.p, a->description.len) : NULL;
}

static void on_told(void *arg)
{
	struct world *w = arg;

	w->told++;
}

static int setup_with(void **state, int64_t request_ms)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->loop = loop_new();
	must(callback_open(&(struct callback_options){.loop = w->loop,
				   .state = STATE,
				   .request_ms = request_ms,
				   .arrived = on_arrived,
				   .arg = w},
		     &w->callback, NULL) == 0);
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, 0);
}

static int setup_impatient(void **state)
{
	return setup_with(state, IMPATIENT_MS);
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < w->count; i++) {
		loop_stream_close(w->clients[i].stream);
		buf_release(&w->clients[i].got);
	}
	callback_close(w->callback);
	loop_timer_free(w->tick);
	loop_free(w->loop);
	free(w->code);
	free(w->error);
	free(w->description);
	free(w);
	return 0;
}

static void on_data(void *arg, const char *p, size_t len)
{
	struct client *c = arg;

	assert_int_equal(buf_put(&c->got, p, len), 0);
}

static void on_ended(void *arg, const struct error *err)
{
	struct client *c = arg;

	(void)err; /* a reset is an end too */
	c->over = true;
}

static int dial(struct world *w, const char *address, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)w;
	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
	if (connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	os_close(fd);
	return -1;
}

static struct client *client_new(struct world *w)
{
	static const struct loop_stream_callbacks callbacks = {on_data, on_ended, NULL};
	struct client *c = &w->clients[w->count++];
	int fd = dial(w, "127.0.0.1", callback_port(w->callback));

	must(w->count <= CLIENTS_MAX);
	assert_true(fd >= 0);
	c->w = w;
	c->got = (struct buf)BUF_INIT(65536);
	c->stream = loop_stream_new(w->loop, fd, -1, &callbacks, c);
	return c;
}

static void say(struct client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct client *c, const char *format, ...)
{
	_cleanup_(mem) char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	loop_stream_write(c->stream, text, strlen(text));
}

/* A GET of the target, as a browser that was sent here does it. */
static struct client *get(struct world *w, const char *target)
{
	struct client *c = client_new(w);

	say(c, "GET %s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", target,
		(int)callback_port(w->callback));
	return c;
}

static void on_tick(void *arg)
{
	struct world *w = arg;

	if (w->until(w)) {
		loop_stop(w->loop);
		return;
	}
	if (clock_mono_ms(clock_system()) - w->started_ms > PATIENCE_MS)
		fail_msg("it did not happen");
	loop_timer_set(w->tick, 2);
}

static void run_until(struct world *w, bool (*until)(struct world *w))
{
	if (!w->tick)
		w->tick = loop_timer_new(w->loop, on_tick, w);
	w->until = until;
	w->started_ms = clock_mono_ms(clock_system());
	loop_timer_set(w->tick, 0);
	loop_run(w->loop);
}

static bool all_over(struct world *w)
{
	for (size_t i = 0; i < w->count; i++) {
		if (!w->clients[i].over)
			return false;
	}
	return true;
}

static bool first_over(struct world *w)
{
	return w->clients[0].over;
}

static bool has_arrived(struct world *w)
{
	return w->arrived > 0;
}

static bool was_told(struct world *w)
{
	return w->told > 0;
}

static void assert_status(const struct client *c, const char *status)
{
	_cleanup_(mem) char *want = xasprintf("HTTP/1.1 %s ", status);

	if (!str_starts(buf_str(&c->got), str_from(want)))
		fail_msg("not %s but: %.200s", status, c->got.data ? c->got.data : "nothing");
}

static void a_code_arrives_and_the_browser_is_told(void **state)
{
	struct world *w = *state;
	struct client *c = get(w, "/auth/callback?code=a%2Bb%20c&scope=x&state=" STATE);

	run_until(w, has_arrived);
	assert_string_equal(w->code, "a+b c");
	assert_null(w->error);
	assert_false(c->over); /* not before it is known */
	assert_int_equal(c->got.len, 0);
	callback_finish(w->callback, true, on_told);
	run_until(w, all_over);
	assert_status(c, "200");
	assert_true(str_find(buf_str(&c->got), STR("You are signed in"), 0) > 0);
	assert_true(str_find(buf_str(&c->got), STR("a+b"), 0) < 0);
	run_until(w, was_told);
	assert_int_equal(w->told, 1);
}

static void an_error_arrives(void **state)
{
	struct world *w = *state;
	struct client *c = get(
		w, "/auth/callback?error=access_denied&error_description=No+%3Cb%3E&state=" STATE);

	run_until(w, has_arrived);
	assert_null(w->code);
	assert_string_equal(w->error, "access_denied");
	assert_string_equal(w->description, "No <b>");
	callback_finish(w->callback, false, on_told);
	run_until(w, all_over);
	assert_status(c, "200");
	assert_true(str_find(buf_str(&c->got), STR("failed"), 0) > 0);
	assert_true(str_find(buf_str(&c->got), STR("<b>"), 0) < 0);
}

/* Everything that is not the callback is refused, and the callback still comes. */
static void everything_else_is_refused_and_ends_nothing(void **state)
{
	static const struct {
		const char *request, *status; /* %d: the port */
	} rows[] = {
		{"GET / HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",                                     "404"},
		{"GET /auth/callback HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",                        "404"},
		{"GET /auth/callback?state=" STATE " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
                 "404"										    },
		{"GET /auth/callback?code=c HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",                 "404"},
		{"GET /auth/callback?code=c&state=wrong HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
                 "404"										    },
		{"GET /auth/callback?code=c&state=" STATE
		 "0 HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",			"404"},
		{"GET /auth/callback?code=c&state= HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",          "404"},
		{"GET /auth/callback?code=c&state=" STATE "&state=" STATE
		 " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",			 "404"},
		{"GET /auth/callback?code=&state=" STATE " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
                 "404"										    },
		{"GET /auth/callback?code=c&error=e&state=" STATE
		 " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",			 "404"},
		{"GET /auth/callback/?code=c&state=" STATE
		 " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",			 "404"},
		{"GET /auth/../auth/callback?code=c&state=" STATE
		 " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",			 "404"},
		{"GET /AUTH/callback?code=c&state=" STATE " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
                 "404"										    },
		{"POST /auth/callback?code=c&state=" STATE
		 " HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 0\r\n\r\n",    "404"},
		{"HEAD /auth/callback?code=c&state=" STATE
		 " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",			 "404"},
		{"OPTIONS /auth/callback?code=c&state=" STATE
		 " HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",			 "404"},
		{"GET /auth/callback?code=c&state=" STATE
		 " HTTP/1.1\r\nHost: rebound.example:%d\r\n\r\n",                   "404"},
		{"GET /auth/callback?code=c&state=" STATE
		 " HTTP/1.1\r\nHost: localhost.example:%d\r\n\r\n",                 "404"},
		{"GET /auth/callback?code=c&state=" STATE
		 " HTTP/1.1\r\nHost: localhost\r\nX: %d\r\n\r\n",                   "404"},
		{"GET /auth/callback?code=c&state=" STATE " HTTP/1.1\r\nHost: 127.0.0.2:%d\r\n\r\n",
                 "404"										    },
		{"GET /auth/callback?code=c&state=" STATE " HTTP/1.1\r\nHost: [::1]:%d\r\n\r\n",
                 "404"										    },
		{"GET /auth/callback?code=c&state=" STATE " HTTP/1.1\r\nX: %d\r\n\r\n",              "400"},
		{"\x16\x03\x01\x02 a client that speaks TLS %d\r\n\r\n",                             "400"},
		{"%d\r\n\r\n\r\n",								   "400"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct client *c = client_new(w);
		_cleanup_(mem) char *text = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		text = xasprintf(rows[i].request, (int)callback_port(w->callback));
#pragma GCC diagnostic pop
		loop_stream_write(c->stream, text, strlen(text));
		run_until(w, all_over);
		if (w->arrived)
			fail_msg("taken: %s", rows[i].request);
		assert_status(c, rows[i].status);
	}
	(void)get(w, "/auth/callback?code=good&state=" STATE);
	run_until(w, has_arrived);
	assert_string_equal(w->code, "good");
}

static void its_other_name_will_do(void **state)
{
	struct world *w = *state;
	struct client *c = client_new(w);

	say(c, "GET /auth/callback?code=c&state=" STATE " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
		(int)callback_port(w->callback));
	run_until(w, has_arrived);
}

static void only_the_first_of_two_counts(void **state)
{
	struct world *w = *state;
	struct client *second = client_new(w); /* connected while it still listens */

	(void)get(w, "/auth/callback?code=first&state=" STATE);
	run_until(w, has_arrived);
	say(second,
		"GET /auth/callback?code=second&state=" STATE
		" HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
		(int)callback_port(w->callback));
	run_until(w, first_over);
	assert_status(second, "404");
	assert_int_equal(w->arrived, 1);
	assert_string_equal(w->code, "first");
	assert_int_equal(dial(w, "127.0.0.1", callback_port(w->callback)), -1);
	assert_int_equal(errno, ECONNREFUSED);
}

/* A second request on the connection that waits for its answer is not heard. */
static void a_connection_has_one_request(void **state)
{
	struct world *w = *state;
	struct client *c = client_new(w);

	say(c,
		"GET /auth/callback?code=first&state=" STATE
		" HTTP/1.1\r\nHost: localhost:%1$d\r\n\r\n"
		"GET /auth/callback?code=second&state=" STATE
		" HTTP/1.1\r\nHost: localhost:%1$d\r\n\r\n",
		(int)callback_port(w->callback));
	run_until(w, has_arrived);
	callback_finish(w->callback, true, on_told);
	run_until(w, all_over);
	assert_int_equal(w->arrived, 1);
	assert_string_equal(w->code, "first");
}

/* A browser that is gone when it is told. */
static void the_browser_leaves(void **state)
{
	struct world *w = *state;
	struct client *c = get(w, "/auth/callback?code=c&state=" STATE);

	run_until(w, has_arrived);
	loop_stream_close(mem_take(&c->stream));
	callback_finish(w->callback, true, on_told);
	run_until(w, was_told);
	assert_int_equal(w->told, 1);
}

/* More connections that say nothing than it has room for: the oldest goes, the next is heard. */
static void silent_connections_hold_nobody_up(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 20; i++)
		(void)client_new(w);
	run_until(w, first_over);
	(void)get(w, "/auth/callback?code=c&state=" STATE);
	run_until(w, has_arrived);
}

/* Its time is for the whole request, however it drips. */
static void a_slow_client_is_let_go(void **state)
{
	struct world *w = *state;
	struct client *c = client_new(w);
	int64_t began = clock_mono_ms(clock_system());

	say(c, "GET /auth/callback?code=c");
	run_until(w, first_over);
	assert_true(clock_mono_ms(clock_system()) - began >= IMPATIENT_MS - 1);
	assert_int_equal(c->got.len, 0);
	assert_int_equal(w->arrived, 0);
}

static void a_head_without_end_is_cut(void **state)
{
	struct world *w = *state;
	struct client *c = client_new(w);
	_cleanup_(mem) char *line = xmalloc(60001);

	memset(line, 'a', 60000);
	line[60000] = '\0';
	say(c, "GET / HTTP/1.1\r\nHost: localhost\r\n");
	for (int i = 0; i < 2; i++)
		say(c, "X-%d: %s\r\n", i, line);
	run_until(w, all_over);
	assert_status(c, "400");
}

/* AG-024 */
static void other_addresses_of_this_machine_are_not_listened_on(void **state)
{
	struct world *w = *state;

	assert_int_equal(dial(w, "127.0.0.2", callback_port(w->callback)), -1);
	assert_int_equal(errno, ECONNREFUSED);
}

static void a_port_in_use_is_an_error(void **state)
{
	struct world *w = *state;
	struct callback *second = NULL;
	struct error err = ERROR_INIT;

	assert_fails(callback_open(&(struct callback_options){.loop = w->loop,
					   .port = callback_port(w->callback),
					   .state = STATE,
					   .arrived = on_arrived,
					   .arg = w},
			     &second, &err),
		&err, ERROR_SYS);
	assert_int_equal(err.sys, EADDRINUSE);
}

#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_code_arrives_and_the_browser_is_told),
		IN_WORLD(an_error_arrives),
		IN_WORLD(everything_else_is_refused_and_ends_nothing),
		IN_WORLD(its_other_name_will_do),
		IN_WORLD(only_the_first_of_two_counts),
		IN_WORLD(a_connection_has_one_request),
		IN_WORLD(the_browser_leaves),
		IN_WORLD(silent_connections_hold_nobody_up),
		cmocka_unit_test_setup_teardown(a_slow_client_is_let_go, setup_impatient, teardown),
		IN_WORLD(a_head_without_end_is_cut),
		IN_WORLD(other_addresses_of_this_machine_are_not_listened_on),
		IN_WORLD(a_port_in_use_is_an_error),
	};

	return cmocka_run_group_tests_name("callback", tests, NULL, NULL);
}
