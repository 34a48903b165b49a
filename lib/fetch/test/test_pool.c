/* fetch: connections kept, reused, dropped, and waited for in line. */
#include <sys/socket.h>

#include "world.h"

enum { MANY = 5000 };

static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static void say_ok(struct peer *p, const struct http_head *h)
{
	(void)h;
	peer_say(p, p->server->of_test ? p->server->of_test : ok);
}

static const struct server_rules saying_ok = {.request = say_ok};

static void do_twice(struct world *w, const struct request *r)
{
	for (int i = 0; i < 2; i++) {
		struct call c;

		call_init(&c, w);
		call_do(&c, r);
		assert_done(&c, 200, NULL);
		call_release(&c);
	}
}

static void a_connection_is_used_again_only_when_it_may(void **state)
{
	static const struct {
		const char *name, *says;
		struct request request;
		int connections;
	} rows[] = {
		{"as usual",             ok,							 {0},					      1},
		{"after a chunked body",
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",                   {0},                                              1},
		{"the server closes",
                 "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",                {0},
                 2																      },
		{"HTTP/1.0",             "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",             {0},                                              2},
		{"bytes after the end",  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200",
                 {0},																  2},
		{"fresh",                ok,							 {.fresh = true},                                  2},
		{"the request closes",   ok,							 {.headers = {{STR("connection"), STR("Close")}}}, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;

		world_open(&w, &saying_ok, NULL);
		w.server.of_test = (void *)rows[i].says;
		do_twice(&w, &rows[i].request);
		if (w.server.accepted != rows[i].connections)
			fail_msg("%s: %d connections", rows[i].name, w.server.accepted);
		world_close(&w);
	}
}

static void another_origin_has_its_own(void **state)
{
	struct world w;
	struct server other;
	struct call c;
	_cleanup_(mem) char *url = NULL;

	(void)state;
	world_open(&w, &saying_ok, NULL);
	server_open(&other, w.loop, &saying_ok);
	url = xasprintf("http://127.0.0.1:%u/", other.port);
	do_twice(&w, &(struct request){0});
	call_init(&c, &w);
	call_do(&c, &(struct request){.url = url});
	assert_done(&c, 200, "ok");
	assert_int_equal(w.server.accepted, 1);
	assert_int_equal(other.accepted, 1);
	call_release(&c);
	server_close(&other);
	world_close(&w);
}

/* Ends while unused */

static void one_that_its_server_closed_is_not_used(void **state)
{
	struct fetch_counts counts = {0};
	struct world w;

	(void)state;
	world_open(&w, &saying_ok, NULL);
	do_twice(&w, &(struct request){0});
	fetch_counts(w.fetch, &counts);
	assert_int_equal(counts.idle, 1);
	peer_close(server_last_peer(&w.server));
	while (counts.connections > 0) {
		world_wait(&w, 1);
		fetch_counts(w.fetch, &counts);
	}
	assert_int_equal(counts.idle, 0);
	do_twice(&w, &(struct request){.method = "POST"});
	assert_int_equal(w.server.accepted, 2);
	world_close(&w);
}

/* The end is in the kernel, and nobody has read it yet. */
static void one_that_just_ended_is_seen_in_time(void **state)
{
	struct world w;
	struct peer *p;

	(void)state;
	world_open(&w, &saying_ok, NULL);
	do_twice(&w, &(struct request){0});
	p = server_last_peer(&w.server);
	assert_int_equal(shutdown(p->fd, SHUT_RDWR), 0);
	do_twice(&w, &(struct request){.method = "POST"});
	assert_int_equal(w.server.accepted, 2);
	world_close(&w);
}

static void close_the_second(struct peer *p, const struct http_head *h)
{
	(void)h;
	if (p->server->requests == 2)
		peer_close(p);
	else
		peer_say(p, ok);
}

/* The server closed it as the request was on its way: only what is safe is sent again. */
static void what_is_safe_is_sent_again_over_a_new_connection(void **state)
{
	static const struct server_rules rules = {.request = close_the_second};
	static const struct {
		const char *method;
		bool again;
	} rows[] = {
		{"GET",  true },
		{"HEAD", true },
		{"POST", false},
		{"PUT",  false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		struct call c;

		world_open(&w, &rules, NULL);
		call_init(&c, &w);
		call_do(&c, &(struct request){0});
		call_release(&c);
		call_init(&c, &w);
		call_do(&c, &(struct request){.method = rows[i].method});
		if (rows[i].again) {
			assert_done(&c, 200, NULL);
			assert_int_equal(strspn(c.told, "s"), 1); /* told once */
		} else {
			assert_failed(&c, &FETCH_BROKEN, "before an answer");
		}
		assert_int_equal(w.server.requests, rows[i].again ? 3 : 2);
		call_release(&c);
		world_close(&w);
	}
}

static void bytes_nobody_asked_for_end_it(void **state)
{
	struct fetch_counts counts = {.connections = 1};
	struct world w;

	(void)state;
	world_open(&w, &saying_ok, NULL);
	do_twice(&w, &(struct request){0});
	peer_say(server_last_peer(&w.server), ok);
	do_twice(&w, &(struct request){0});
	assert_int_equal(w.server.accepted, 2);
	fetch_counts(w.fetch, &counts);
	assert_int_equal(counts.connections, 1);
	world_close(&w);
}

static void an_unused_one_is_closed_after_a_while(void **state)
{
	struct fetch_counts counts = {.connections = 1};
	struct world w;

	(void)state;
	world_open(&w, &saying_ok, &(struct fetch_options){.idle_keep_ms = 20});
	do_twice(&w, &(struct request){0});
	fetch_counts(w.fetch, &counts);
	assert_int_equal(counts.idle, 1);
	while (w.server.ended == 0)
		world_wait(&w, 5);
	fetch_counts(w.fetch, &counts);
	assert_int_equal(counts.connections, 0);
	do_twice(&w, &(struct request){0});
	assert_int_equal(w.server.accepted, 2);
	world_close(&w);
}

/* One after the other, each started in the end of the one before */

static void start_next(struct call *c)
{
	int *left = c->of_test;

	assert_done(c, 200, "ok");
	if (--*left == 0)
		return;
	buf_clear(&c->body);
	c->told[0] = '\0';
	memset(c->told, 0, sizeof(c->told));
	call_start(c, &(struct request){0});
}

static void thousands_one_by_one_need_one_connection(void **state)
{
	int left = MANY, descriptors;
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &saying_ok, NULL);
	do_twice(&w, &(struct request){0});
	descriptors = open_descriptors();
	call_init(&c, &w);
	c.then = start_next;
	c.of_test = &left;
	call_do(&c, &(struct request){0});
	assert_int_equal(left, 0);
	assert_int_equal(w.server.accepted, 1);
	assert_int_equal(w.server.requests, MANY + 2);
	assert_int_equal(open_descriptors(), descriptors);
	call_release(&c);
	world_close(&w);
}

/* The line */

enum { CALLS = 6, PER_ORIGIN = 2 };

struct order {
	struct call calls[CALLS];
	char seen[CALLS + 1]; /* the last letter of each request's path, as it came */
};

static void note_request(struct peer *p, const struct http_head *h)
{
	struct order *o = p->server->of_test;

	o->seen[p->server->requests - 1] = h->target.p[h->target.len - 1];
}

static void answer_one(struct server *s)
{
	list_for_each (p, &s->peers, struct peer, node)
		if (p->stream && p->answered < p->requests) {
			p->answered++;
			peer_say(p, ok);
			return;
		}
	fail_msg("nobody waits for an answer");
}

static void calls_wait_in_line_for_a_connection(void **state)
{
	static const struct server_rules rules = {.request = note_request};
	struct fetch_counts counts;
	struct order o = {0};
	struct world w;

	(void)state;
	world_open(&w, &rules, &(struct fetch_options){.per_origin_max = PER_ORIGIN});
	w.server.of_test = &o;
	for (int i = 0; i < CALLS; i++) {
		char path[] = {'/', (char)('a' + i), '\0'};

		call_init(&o.calls[i], &w);
		/* One that insists on a new connection keeps its place. */
		call_start(&o.calls[i], &(struct request){.path = path, .fresh = i == 3});
	}
	fetch_counts(w.fetch, &counts);
	assert_int_equal(counts.connections, PER_ORIGIN);
	assert_int_equal(counts.waiting, CALLS - PER_ORIGIN);
	fetch_cancel(o.calls[4].call); /* leaves the line */
	w.running--;
	for (int served = 0; served < CALLS - 1; served++) {
		while (w.server.requests == served)
			world_wait(&w, 1);
		answer_one(&w.server);
	}
	world_run(&w);
	fetch_counts(w.fetch, &counts);
	assert_int_equal(counts.waiting, 0);
	assert_int_equal(counts.idle, counts.connections);
	assert_true(counts.connections <= PER_ORIGIN);
	for (int i = 0; i < CALLS; i++) {
		if (i != 4)
			assert_done(&o.calls[i], 200, "ok");
		call_release(&o.calls[i]);
	}
	/* The first two race each other, the rest comes in the order it was asked. */
	assert_int_equal(strspn(o.seen, "ab"), 2);
	assert_string_equal(o.seen + 2, "cdf");
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_is_used_again_only_when_it_may),
		cmocka_unit_test(another_origin_has_its_own),
		cmocka_unit_test(one_that_its_server_closed_is_not_used),
		cmocka_unit_test(one_that_just_ended_is_seen_in_time),
		cmocka_unit_test(what_is_safe_is_sent_again_over_a_new_connection),
		cmocka_unit_test(bytes_nobody_asked_for_end_it),
		cmocka_unit_test(an_unused_one_is_closed_after_a_while),
		cmocka_unit_test(thousands_one_by_one_need_one_connection),
		cmocka_unit_test(calls_wait_in_line_for_a_connection),
	};

	return cmocka_run_group_tests_name("fetch pool", tests, NULL, NULL);
}
