/* fetch: one call: what goes out, every form of answer, answers that are none. */
#include "world.h"

enum { BIG_BYTES = 1024 * 1024 };

/* What the server says to every request, and whether it then closes. */
struct script {
	const char *says;
	bool slowly, closes, resets;
};

static void say_script(struct peer *p, const struct http_head *h)
{
	const struct script *s = p->server->of_test;

	(void)h;
	if (s->slowly)
		peer_say_slowly(p, s->says, s->closes);
	else
		peer_say(p, s->says);
	if (s->resets)
		peer_reset(p);
	else if (s->closes && !s->slowly)
		peer_close(p);
}

static const struct server_rules scripted = {.request = say_script};

static void do_script(struct world *w, struct call *c, const struct script *s, const char *method)
{
	world_open(w, &scripted, NULL);
	w->server.of_test = (void *)s;
	call_init(c, w);
	call_do(c, &(struct request){.method = method});
}

static void done_with(struct world *w, struct call *c)
{
	call_release(c);
	world_close(w);
}

/* Requests */

static void a_request_is_what_was_given_and_no_more(void **state)
{
	const struct script ok = {.says = "HTTP/1.1 204 No Content\r\n\r\n"};
	static const struct {
		struct request request;
		const char *sent; /* with the port as % */
	} rows[] = {
		{{.path = "/a/b?c=d%20e"},
                 "GET /a/b?c=d%20e HTTP/1.1\r\nHost: 127.0.0.1:%\r\n\r\n"                                                         },
		{{.method = "HEAD"},						"HEAD / HTTP/1.1\r\nHost: 127.0.0.1:%\r\n\r\n"},
		{{.method = "POST"},
                 "POST / HTTP/1.1\r\nHost: 127.0.0.1:%\r\nContent-Length: 0\r\n\r\n"                                              },
		{{.method = "DELETE"},
                 "DELETE / HTTP/1.1\r\nHost: 127.0.0.1:%\r\nContent-Length: 0\r\n\r\n"                                            },
		{{.method = "PUT",
			 .headers = {{STR("X-One"), STR("1")}, {STR("x-two"), STR("")}},
			 .body = {STR("ab"), STR(""), STR("cd")}},
                 "PUT / HTTP/1.1\r\nHost: 127.0.0.1:%\r\nX-One: 1\r\nx-two: \r\n"
			"Content-Length: 4\r\n\r\nabcd"									   },
		{{.body = {STR("q")}},
                 "GET / HTTP/1.1\r\nHost: 127.0.0.1:%\r\nContent-Length: 1\r\n\r\nq"                                              },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *percent = strstr(rows[i].sent, ":%") + 1;
		_cleanup_(mem) char *sent = NULL;
		struct world w;
		struct call c;

		world_open(&w, &scripted, NULL);
		w.server.of_test = (void *)&ok;
		sent = xasprintf("%.*s%u%s", (int)(percent - rows[i].sent), rows[i].sent,
			w.server.port, percent + 1);
		call_init(&c, &w);
		call_do(&c, &rows[i].request);
		assert_done(&c, 204, "");
		assert_string_equal(c.told, "shd");
		assert_string_equal(buf_str(&server_last_peer(&w.server)->raw).p, sent);
		done_with(&w, &c);
	}
}

static void a_request_that_cannot_be_is_refused(void **state)
{
	static const struct fetch_callbacks none = {0};
	static const struct {
		const char *method, *url;
		struct http_header header;
		const struct error_kind *kind;
	} rows[] = {
		{"GET",              "http://127.0.0.1/", {STR("Host"), STR("other")},                &ERROR_INVALID },
		{"PUT",              "http://127.0.0.1/", {STR("content-length"), STR("7")},          &ERROR_INVALID },
		{"PUT",              "http://127.0.0.1/", {STR("Transfer-Encoding"), STR("chunked")},
                 &ERROR_INVALID										      },
		{"GET",              "http://127.0.0.1/", {STR("X Y"), STR("1")},                     &HTTP_INVALID  },
		{"GET",              "http://127.0.0.1/", {STR("X"), STR("1\r\nY: 2")},               &HTTP_INVALID  },
		{"GET",              "http://127.0.0.1/", {STR("X\0Y"), STR("1")},                    &HTTP_INVALID  },
		{"GET /",            "http://127.0.0.1/", {STR("X"), STR("1")},                       &HTTP_INVALID  },
		{"CONNECT",          "http://127.0.0.1/", {STR("X"), STR("1")},                       &ERROR_INVALID },
		{"ABCDEFGHIJKLMNOP", "http://127.0.0.1/", {STR("X"), STR("1")},                       &ERROR_TOO_LONG},
		{"GET",              "ws://127.0.0.1/",   {STR("X"), STR("1")},                       &ERROR_INVALID },
	};
	struct world w;

	(void)state;
	world_open(&w, &scripted, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct fetch_call *call = NULL;
		struct fetch_request r = {
			.method = rows[i].method, .headers = &rows[i].header, .header_count = 1};
		struct url url;

		assert_ok(url_parse(str_from(rows[i].url), &url, &err), &err);
		r.url = &url;
		assert_fails(
			fetch_start(w.fetch, &r, &none, NULL, &call, &err), &err, *rows[i].kind);
		assert_null(call);
	}
	world_close(&w);
}

static void a_head_over_the_limit_is_refused(void **state)
{
	static const struct fetch_callbacks none = {0};
	_cleanup_(mem) char *long_value = xcalloc(HTTP_HEAD_MAX_BYTES, 1);
	struct http_header header = {
		STR("X"), {long_value, HTTP_HEAD_MAX_BYTES}
        };
	struct fetch_request r = {.method = "GET", .headers = &header, .header_count = 1};
	struct fetch_call *call = NULL;
	struct error err = ERROR_INIT;
	struct url url;
	struct world w;

	(void)state;
	memset(long_value, 'v', HTTP_HEAD_MAX_BYTES);
	world_open(&w, &scripted, NULL);
	assert_ok(url_parse(STR("http://127.0.0.1/"), &url, &err), &err);
	r.url = &url;
	assert_fails(fetch_start(w.fetch, &r, &none, NULL, &call, &err), &err, HTTP_LIMIT);
	world_close(&w);
}

/* Answers */

static void every_form_of_answer_is_read_whole_and_in_bytes(void **state)
{
	static const struct {
		const char *method, *says;
		bool closes;
		int status;
		const char *body;
	} rows[] = {
		{"GET",  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",      false, 200, "hello"},
		{"GET",  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",           false, 200, ""     },
		{"GET",
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",                    false, 200, "hello"},
		{"GET",  "HTTP/1.1 200 OK\r\n\r\nhello",                           true,  200, "hello"},
		{"GET",  "HTTP/1.1 200 OK\r\n\r\n",                                true,  200, ""     },
		{"GET",  "HTTP/1.0 200 OK\r\n\r\nhello",                           true,  200, "hello"},
		{"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",           false, 200, ""     },
		{"GET",  "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false, 304, ""     },
		{"GET",
                 "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",          false, 200, "hi"   },
		{"GET",  "HTTP/1.1 503 Not Now\r\nContent-Length: 2\r\n\r\nno",    false, 503, "no"   },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		size_t row = i / 2;
		struct script s = {
			.says = rows[row].says, .slowly = i % 2 == 1, .closes = rows[row].closes};
		struct world w;
		struct call c;

		do_script(&w, &c, &s, rows[row].method);
		assert_done(&c, rows[row].status, rows[row].body);
		assert_string_equal(c.told, rows[row].body[0] ? "shbd" : "shd");
		done_with(&w, &c);
	}
}

static void an_answer_that_is_none_is_an_error(void **state)
{
	static const struct {
		struct script script;
		const struct error_kind *kind;
		const char *says, *told;
	} rows[] = {
		{{"SSH-2.0-OpenSSH\r\n"},							   &FETCH_ANSWER, "not HTTP",         "se"  },
		{{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"},
                 &FETCH_ANSWER,										    "not HTTP",         "se"  },
		{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n"},                  &FETCH_ANSWER,
                 "not HTTP",													   "she" },
		{{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"},
                 &FETCH_ANSWER,										    "nobody asked",     "se"  },
		{{"", .closes = true},							      &FETCH_BROKEN, "before an answer", "se"  },
		{{"HTTP/1.1 200", .closes = true},                                                  &FETCH_BROKEN, "cut",              "se"  },
		{{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", .closes = true},
                 &FETCH_BROKEN,										    "cut",              "shbe"},
		{{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
			 .closes = true},
                 &FETCH_BROKEN,										    "cut",              "shbe"},
		{{"", .resets = true},							      &FETCH_BROKEN, "Connection reset", "se"  },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		struct call c;

		do_script(&w, &c, &rows[i].script, "GET");
		assert_failed(&c, rows[i].kind, rows[i].says);
		assert_string_equal(c.told, rows[i].told);
		done_with(&w, &c);
	}
}

static void error_texts_hold_no_query(void **state)
{
	const struct script s = {.closes = true, .says = ""};
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &scripted, NULL);
	w.server.of_test = (void *)&s;
	call_init(&c, &w);
	call_do(&c, &(struct request){.path = "/path?key=hidden",
			    .headers = {{STR("Authorization"), STR("Bearer hidden")}}});
	assert_failed(&c, &FETCH_BROKEN, "'127.0.0.1' port");
	assert_null(strstr(c.err.text, "hidden"));
	done_with(&w, &c);
}

/* Large bodies */

static void echo(struct peer *p, const struct http_head *h)
{
	_cleanup_(mem) char *head = xasprintf(
		"HTTP/1.1 200 OK\r\nX-Test: %.20s\r\nContent-Length: %zu\r\n\r\n", "echo",
		p->body.len);

	(void)h;
	peer_say(p, head);
	loop_stream_write(p->stream, p->body.data, p->body.len);
}

static const struct server_rules echoing = {.request = echo};

static char *pattern(size_t len)
{
	char *p = xmalloc(len);

	for (size_t i = 0; i < len; i++)
		p[i] = (char)(i * 7 + i / 251);
	return p;
}

static void a_megabyte_goes_both_ways(void **state)
{
	_cleanup_(mem) char *big = pattern(BIG_BYTES);
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &echoing, NULL);
	for (size_t first = 0; first <= BIG_BYTES; first += BIG_BYTES / 4 - 1) {
		call_init(&c, &w);
		call_do(&c, &(struct request){
				    .method = "POST",
				    .body = {{big, first}, {big + first, BIG_BYTES - first}}
                });
		assert_done(&c, 200, NULL);
		assert_string_equal(c.told, "shbd");
		assert_string_equal(c.header, "echo");
		assert_int_equal(c.body.len, BIG_BYTES);
		assert_memory_equal(c.body.data, big, BIG_BYTES);
		call_release(&c);
	}
	assert_int_equal(w.server.accepted, 1);
	world_close(&w);
}

static void answer_too_large(struct peer *p, const struct http_head *h)
{
	(void)h;
	peer_say(p, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
}

static void an_answer_before_the_whole_request_is_delivered(void **state)
{
	static const struct server_rules early = {.request = answer_too_large, .at_head = true};
	size_t len = 32 * BIG_BYTES; /* more than the kernel holds for a peer that does not read */
	_cleanup_(mem) char *big = pattern(len);
	struct fetch_counts counts;
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &early, NULL);
	call_init(&c, &w);
	call_do(&c, &(struct request){.method = "POST", .body = {{big, len}}});
	assert_done(&c, 413, "big");
	assert_string_equal(c.told, "hbd"); /* never sent whole */
	fetch_counts(w.fetch, &counts);
	assert_int_equal(counts.connections, 0);
	done_with(&w, &c);
}

/* Upgrades */

static void switch_to_echo(struct peer *p, const struct http_head *h)
{
	(void)h;
	peer_say(p, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n"
		    "\r\nfirst,");
	peer_go_raw(p);
}

static void echo_raw(struct peer *p, struct str bytes)
{
	loop_stream_write(p->stream, bytes.p, bytes.len);
	if (str_ends(bytes, STR("bye")))
		peer_close(p);
}

static const struct server_rules switching = {.request = switch_to_echo, .raw = echo_raw};
static const struct request upgrade = {
	.headers = {{STR("Connection"), STR("Upgrade")}, {STR("Upgrade"), STR("echo")}},
	.upgrade = true,
};

static void after_an_upgrade_bytes_go_both_ways(void **state)
{
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &switching, NULL);
	call_init(&c, &w);
	call_start(&c, &upgrade);
	while (c.body.len == 0)
		world_wait(&w, 1);
	assert_string_equal(c.body.data, "first,");
	fetch_write(c.call, STR("HTTP/1.1 200 OK\r\n\r\n")); /* no HTTP any more */
	while (c.body.len < 25)
		world_wait(&w, 1);
	fetch_write(c.call, STR("bye"));
	assert_int_equal(fetch_write_queued(c.call), 0);
	world_run(&w);
	assert_done(&c, 101, "first,HTTP/1.1 200 OK\r\n\r\nbye");
	done_with(&w, &c);
}

static void an_upgrade_may_be_refused(void **state)
{
	const struct script s = {.says = "HTTP/1.1 400 Bad\r\nContent-Length: 2\r\n\r\nno"};
	struct world w;
	struct call c;

	(void)state;
	world_open(&w, &scripted, NULL);
	w.server.of_test = (void *)&s;
	call_init(&c, &w);
	call_do(&c, &upgrade);
	assert_done(&c, 400, "no");
	done_with(&w, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_what_was_given_and_no_more),
		cmocka_unit_test(a_request_that_cannot_be_is_refused),
		cmocka_unit_test(a_head_over_the_limit_is_refused),
		cmocka_unit_test(every_form_of_answer_is_read_whole_and_in_bytes),
		cmocka_unit_test(an_answer_that_is_none_is_an_error),
		cmocka_unit_test(error_texts_hold_no_query),
		cmocka_unit_test(a_megabyte_goes_both_ways),
		cmocka_unit_test(an_answer_before_the_whole_request_is_delivered),
		cmocka_unit_test(after_an_upgrade_bytes_go_both_ways),
		cmocka_unit_test(an_upgrade_may_be_refused),
	};

	return cmocka_run_group_tests_name("fetch call", tests, NULL, NULL);
}
