/* fetch: TLS: whom it believes, sessions, goodbyes, and what a cut is. */
#include <openssl/ssl.h>

#include "os/os.h"
#include "tls_server.h"
#include "world.h"

enum { BIG_BYTES = 1024 * 1024 };

static struct authority *ours, *others;
static char *dir, *ca_file;

/* A server, and a client that trusts our authority. */
struct tls_world {
	struct world world;
	struct tls_server *server;
	char url[96];
};

static void tls_open(struct tls_world *t, const struct tls_server_options *o)
{
	static const struct server_rules none = {0};

	t->server = tls_server_new(o);
	world_open(&t->world, &none, &(struct fetch_options){.ca_file = ca_file});
}

static void tls_close(struct tls_world *t)
{
	world_close(&t->world);
	tls_server_free(t->server);
}

static const char *url_of(struct tls_world *t, const char *host, const char *path)
{
	(void)snprintf(t->url, sizeof(t->url), "https://%s:%u%s", host, tls_server_port(t->server),
		path); /* fits */
	return t->url;
}

static const struct tls_server_options *plain_options(void)
{
	static struct tls_server_options o;

	o = (struct tls_server_options){
		.certificate = {"DNS:localhost", -1, 10, ours}
        };
	return &o;
}

/* Whom it believes */

static void only_a_right_certificate_is_believed(void **state)
{
	const struct {
		const char *host;
		struct certificate certificate;
		const char *says; /* NULL: believed */
	} rows[] = {
		{"localhost", {"DNS:localhost", -1, 10, ours},               NULL               },
		{"localhost", {"DNS:a.test,DNS:localhost", -1, 10, ours},    NULL               },
		{"127.0.0.1", {"IP:127.0.0.1", -1, 10, ours},                NULL               },
		{"localhost", {"DNS:other.test", -1, 10, ours},              "another name"     },
		{"localhost", {"DNS:local*", -1, 10, ours},                  "another name"     },
		{"localhost", {"DNS:*", -1, 10, ours},                       "another name"     },
		{"localhost", {"IP:127.0.0.1", -1, 10, ours},                "another name"     },
		{"127.0.0.1", {"IP:127.0.0.2", -1, 10, ours},                "another name"     },
		{"127.0.0.1", {"DNS:localhost,DNS:127.0.0.1", -1, 10, ours}, "another name"     },
		{"localhost", {"DNS:localhost", -9, -2, ours},               "has expired"      },
		{"localhost", {"DNS:localhost", 2, 9, ours},                 "is not valid yet" },
		{"localhost", {"DNS:localhost", -1, 10, others},             "unknown authority"},
		{"localhost", {"DNS:localhost", -1, 10, NULL},               "unknown authority"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tls_server_counts counts;
		struct tls_world t;
		struct call c;

		tls_open(&t, &(struct tls_server_options){.certificate = rows[i].certificate});
		call_init(&c, &t.world);
		call_do(&c, &(struct request){.url = url_of(&t, rows[i].host, "/")});
		if (rows[i].says) {
			assert_failed(&c, &FETCH_TLS, rows[i].says);
			assert_non_null(strstr(c.err.text, rows[i].host));
		} else {
			assert_done(&c, 200, "ok");
		}
		tls_server_counts(t.server, &counts);
		assert_int_equal(counts.requests, rows[i].says ? 0 : 1);
		call_release(&c);
		tls_close(&t);
	}
}

static void it_says_whom_it_wants_and_speaks_one_protocol(void **state)
{
	static const struct {
		const char *host, *asked;
	} rows[] = {
		{"localhost", "localhost"},
		{"127.0.0.1", ""         },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tls_server_counts counts;
		struct tls_world t;
		struct call c;

		tls_open(&t, &(struct tls_server_options){
				     .certificate = {"DNS:localhost,IP:127.0.0.1", -1, 10, ours}
                });
		call_init(&c, &t.world);
		call_do(&c, &(struct request){.url = url_of(&t, rows[i].host, "/")});
		assert_done(&c, 200, "ok");
		tls_server_counts(t.server, &counts);
		assert_string_equal(counts.asked, rows[i].asked);
		assert_string_equal(counts.protocol, "http/1.1");
		call_release(&c);
		tls_close(&t);
	}
}

static void old_versions_and_no_tls_at_all_are_refused(void **state)
{
	const struct {
		int min, max;
		bool no_tls;
		const char *says; /* NULL: spoken */
	} rows[] = {
		{TLS1_VERSION,   TLS1_1_VERSION, false, "no TLS 1.2 or later"},
		{TLS1_2_VERSION, TLS1_2_VERSION, false, NULL                 },
		{TLS1_3_VERSION, TLS1_3_VERSION, false, NULL                 },
		{0,              0,              true,  "does not speak TLS" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tls_server_options o = *plain_options();
		struct tls_world t;
		struct call c;

		o.min_version = rows[i].min;
		o.max_version = rows[i].max;
		o.no_tls = rows[i].no_tls;
		tls_open(&t, &o);
		call_init(&c, &t.world);
		call_do(&c, &(struct request){.url = url_of(&t, "localhost", "/")});
		if (rows[i].says)
			assert_failed(&c, &FETCH_TLS, rows[i].says);
		else
			assert_done(&c, 200, "ok");
		call_release(&c);
		tls_close(&t);
	}
}

static void the_authorities_come_from_where_it_is_told(void **state)
{
	static const struct {
		const char *file; /* NULL: by SSL_CERT_FILE */
		const char *says;
	} rows[] = {
		{NULL,              NULL               },
		{"/nonexistent/ca", "'/nonexistent/ca'"},
		{"/dev/null",       "'/dev/null'"      },
	};

	(void)state;
	assert_int_equal(setenv("SSL_CERT_FILE", ca_file, 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tls_server *server = tls_server_new(plain_options());
		_cleanup_(mem) char *url = xasprintf(
			"https://localhost:%u/", tls_server_port(server));
		struct world w;
		struct call c;

		world_open(&w, &(struct server_rules){0},
			&(struct fetch_options){.ca_file = rows[i].file});
		call_init(&c, &w);
		call_do(&c, &(struct request){.url = url});
		if (rows[i].says)
			assert_failed(&c, &FETCH_TLS, rows[i].says);
		else
			assert_done(&c, 200, "ok");
		call_release(&c);
		world_close(&w);
		tls_server_free(server);
	}
	assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

/* Answers */

static void answers_end_with_their_length_or_a_goodbye(void **state)
{
	static const struct {
		const char *path, *says; /* NULL: whole */
	} rows[] = {
		{"/",      NULL },
		{"/bytes", NULL },
		{"/bye",   NULL },
		{"/end",   NULL },
		{"/cut",   "cut"},
		{"/half",  "cut"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tls_world t;
		struct call c;

		tls_open(&t, plain_options());
		call_init(&c, &t.world);
		call_do(&c, &(struct request){.url = url_of(&t, "localhost", rows[i].path)});
		if (rows[i].says)
			assert_failed(&c, &FETCH_BROKEN, rows[i].says);
		else
			assert_done(&c, 200, NULL);
		assert_string_equal(c.body.data, "ok");
		call_release(&c);
		tls_close(&t);
	}
}

static char *pattern(size_t len)
{
	char *p = xmalloc(len);

	for (size_t i = 0; i < len; i++)
		p[i] = (char)(i * 7 + i / 251);
	return p;
}

struct stepper {
	struct call call;
	struct loop_timer *timer;
};

static void step(void *arg)
{
	struct stepper *s = arg;

	if (!s->call.call)
		return;
	fetch_resume(s->call.call);
	loop_timer_set(s->timer, 0);
}

static void a_megabyte_goes_both_ways(void **state)
{
	_cleanup_(mem) char *big = pattern(BIG_BYTES);

	(void)state;
	for (int paused = 0; paused < 2; paused++) {
		struct stepper s;
		struct tls_world t;

		tls_open(&t, plain_options());
		call_init(&s.call, &t.world);
		s.call.pause_at = paused ? AT_BODY : AT_NONE; /* after every part of it */
		s.timer = loop_timer_new(t.world.loop, step, &s);
		if (paused)
			loop_timer_set(s.timer, 0);
		call_do(&s.call, &(struct request){
					 .method = "POST",
					 .url = url_of(&t, "localhost", "/echo"),
					 .body = {{big, 1000}, {big + 1000, BIG_BYTES - 1000}}
                });
		assert_done(&s.call, 200, NULL);
		assert_string_equal(s.call.told, "shbd");
		assert_int_equal(s.call.body.len, BIG_BYTES);
		assert_memory_equal(s.call.body.data, big, BIG_BYTES);
		loop_timer_free(s.timer);
		call_release(&s.call);
		tls_close(&t);
	}
}

static void after_an_upgrade_bytes_go_both_ways(void **state)
{
	struct tls_world t;
	struct call c;

	(void)state;
	tls_open(&t, plain_options());
	call_init(&c, &t.world);
	(void)url_of(&t, "localhost", "/raw");
	call_start(&c, &(struct request){
			       .url = t.url,
			       .upgrade = true,
			       .headers = {{STR("Connection"), STR("Upgrade")},
					   {STR("Upgrade"), STR("echo")}}
        });
	while (c.body.len < 6)
		world_wait(&t.world, 1);
	fetch_write(c.call, STR("one,"));
	fetch_write(c.call, STR("bye"));
	world_run(&t.world);
	assert_done(&c, 101, "first,one,bye");
	call_release(&c);
	tls_close(&t);
}

/* Connections */

static void a_connection_is_used_again(void **state)
{
	struct tls_server_counts counts = {0};
	struct fetch_counts pool;
	struct tls_world t;

	(void)state;
	tls_open(&t, plain_options());
	for (int i = 0; i < 3; i++) {
		struct call c;

		call_init(&c, &t.world);
		call_do(&c,
			&(struct request){.method = "POST", .url = url_of(&t, "localhost", "/")});
		assert_done(&c, 200, "ok");
		call_release(&c);
	}
	fetch_counts(t.world.fetch, &pool);
	assert_int_equal(pool.idle, 1);
	tls_server_counts(t.server, &counts);
	assert_int_equal(counts.connections, 1);
	assert_int_equal(counts.goodbyes, 0);
	fetch_free(mem_take(&t.world.fetch)); /* says goodbye */
	while (counts.goodbyes == 0)
		tls_server_counts(t.server, &counts);
	tls_close(&t);
}

static void one_whose_server_said_goodbye_is_not_used(void **state)
{
	struct tls_server_counts counts;
	struct tls_world t;

	(void)state;
	tls_open(&t, plain_options());
	for (int i = 0; i < 3; i++) {
		struct fetch_counts pool = {.connections = 1};
		struct call c;

		call_init(&c, &t.world);
		call_do(&c, &(struct request){
				    .method = "POST", .url = url_of(&t, "localhost", "/bye")});
		assert_done(&c, 200, "ok");
		call_release(&c);
		while (pool.connections > 0) {
			world_wait(&t.world, 1);
			fetch_counts(t.world.fetch, &pool);
		}
	}
	tls_server_counts(t.server, &counts);
	assert_int_equal(counts.connections, 3);
	tls_close(&t);
}

static void sessions_are_resumed(void **state)
{
	static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		struct tls_server_options o = *plain_options();
		struct tls_server_counts counts;
		struct tls_world t;

		o.min_version = o.max_version = versions[i];
		tls_open(&t, &o);
		for (int k = 0; k < 3; k++) {
			struct call c;

			call_init(&c, &t.world);
			call_do(&c, &(struct request){
					    .fresh = true, .url = url_of(&t, "localhost", "/")});
			assert_done(&c, 200, "ok");
			call_release(&c);
		}
		tls_server_counts(t.server, &counts);
		assert_int_equal(counts.handshakes, 3);
		assert_int_equal(counts.resumed, 2);
		tls_close(&t);
	}
}

/* The other side takes bytes and says nothing. */
static void a_handshake_may_be_too_long_or_given_up(void **state)
{
	static const struct server_rules silent = {.raw_only = true};

	(void)state;
	for (int given_up = 0; given_up < 2; given_up++) {
		_cleanup_(mem) char *url = NULL;
		struct world w;
		struct call c;

		world_open(&w, &silent,
			&(struct fetch_options){
				.ca_file = ca_file, .connect_ms = given_up ? 60000 : 60});
		url = xasprintf("https://127.0.0.1:%u/", w.server.port);
		call_init(&c, &w);
		call_start(&c, &(struct request){.url = url});
		while (w.server.accepted == 0 || server_last_peer(&w.server)->raw.len == 0)
			world_wait(&w, 1);
		if (given_up) {
			fetch_cancel(c.call);
			w.running--;
			assert_string_equal(c.told, "");
		} else {
			world_run(&w);
			assert_failed(&c, &FETCH_TIMEOUT, "no connection within 60 ms");
		}
		call_release(&c);
		world_close(&w);
	}
}

static void a_call_may_be_given_up_in_every_callback(void **state)
{
	static const enum moment moments[] = {AT_SENT, AT_HEAD, AT_BODY, AT_DONE};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(moments); i++) {
		struct tls_world t;
		struct call c;

		tls_open(&t, plain_options());
		call_init(&c, &t.world);
		c.cancel_at = moments[i / 2];
		c.free_too = i % 2 == 1;
		call_do(&c, &(struct request){.url = url_of(&t, "localhost", "/")});
		assert_null(strchr(c.told, 'e'));
		if (c.cancel_at >= AT_BODY)
			assert_string_equal(c.body.data, "ok"); /* lasts until the return */
		call_release(&c);
		tls_close(&t);
	}
}

/* A call started inside another one's body() looks at an unused connection first. */
struct nested {
	struct call inner;
	const char *url;
	bool started;
};

static void start_inner(struct call *c)
{
	struct nested *n = c->of_test;

	if (n->started)
		return;
	n->started = true;
	call_start(&n->inner, &(struct request){.url = n->url});
}

static void a_call_inside_a_body_leaves_it_alone(void **state)
{
	_cleanup_(mem) char *big = pattern(BIG_BYTES);
	struct nested n = {0};
	struct tls_world t;
	struct call warm, outer;

	(void)state;
	tls_open(&t, plain_options());
	call_init(&warm, &t.world);
	call_init(&outer, &t.world);
	call_init(&n.inner, &t.world);
	n.url = url_of(&t, "localhost", "/echo");
	call_start(&warm, &(struct request){.url = n.url}); /* the connection to be looked at */
	outer.in_body = start_inner;
	outer.of_test = &n;
	call_start(&outer,
		&(struct request){.method = "POST", .url = n.url, .body = {{big, BIG_BYTES}}});
	world_run(&t.world);
	assert_done(&outer, 200, NULL);
	assert_memory_equal(outer.body.data, big, BIG_BYTES);
	assert_done(&n.inner, 200, "");
	call_release(&warm);
	call_release(&outer);
	call_release(&n.inner);
	tls_close(&t);
}

static int make_authorities(void **state)
{
	(void)state;
	dir = testing_dir();
	ca_file = xasprintf("%s/ca.pem", dir);
	ours = authority_new("ours");
	others = authority_new("others");
	authority_write(ours, ca_file);
	return 0;
}

static int drop_authorities(void **state)
{
	(void)state;
	authority_free(ours);
	authority_free(others);
	must(os_remove_tree(dir, NULL) == 0);
	free(ca_file);
	free(dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_right_certificate_is_believed),
		cmocka_unit_test(it_says_whom_it_wants_and_speaks_one_protocol),
		cmocka_unit_test(old_versions_and_no_tls_at_all_are_refused),
		cmocka_unit_test(the_authorities_come_from_where_it_is_told),
		cmocka_unit_test(answers_end_with_their_length_or_a_goodbye),
		cmocka_unit_test(a_megabyte_goes_both_ways),
		cmocka_unit_test(after_an_upgrade_bytes_go_both_ways),
		cmocka_unit_test(a_connection_is_used_again),
		cmocka_unit_test(one_whose_server_said_goodbye_is_not_used),
		cmocka_unit_test(sessions_are_resumed),
		cmocka_unit_test(a_handshake_may_be_too_long_or_given_up),
		cmocka_unit_test(a_call_may_be_given_up_in_every_callback),
		cmocka_unit_test(a_call_inside_a_body_leaves_it_alone),
	};

	return cmocka_run_group_tests_name("fetch tls", tests, make_authorities, drop_authorities);
}
