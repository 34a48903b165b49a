/* fetch: proxies: which calls go through one, what it is told, and tunnels. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "fetch/internal.h"
#include "os/os.h"
#include "tls_server.h"
#include "world.h"

/* Which */

static void proxies_are_read_from_urls(void **state)
{
	static const struct {
		const char *url, *host; /* host NULL: refused */
		uint16_t port;
		const char *authorization;
	} rows[] = {
		{NULL,			     "",         0,    NULL                },
		{"",			       "",         0,    NULL                },
		{"http://hop.test:3128",           "hop.test", 3128, NULL                },
		{"HTTP://Hop.test/",               "hop.test", 80,   NULL                },
		{"http://[::1]:8080",              "::1",      8080, NULL                },
		{"http://user:pass@hop.test",      "hop.test", 80,   "Basic dXNlcjpwYXNz"},
		{"http://user@hop.test",           "hop.test", 80,   "Basic dXNlcg=="    },
		{"http://u%40x:p%3ab@hop.test:81", "hop.test", 81,   "Basic dUB4OnA6Yg=="},
		{"http://a@b@hop.test",            "hop.test", 80,   "Basic YUBi"        },
		{"https://hop.test",               NULL,       0,    NULL                },
		{"socks5://hop.test",              NULL,       0,    NULL                },
		{"hop.test:3128",                  NULL,       0,    NULL                },
		{"http://",                        NULL,       0,    NULL                },
		{"http://hop.test/path",           NULL,       0,    NULL                },
		{"http://hop.test?q",              NULL,       0,    NULL                },
		{"http://hop.test:0",              NULL,       0,    NULL                },
		{"http://us%zz@hop.test",          NULL,       0,    NULL                },
		{"http://us%4@hop.test",           NULL,       0,    NULL                },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fetch_proxy p;
		struct error err = ERROR_INIT;
		int rc = proxy_init(&p, rows[i].url, "HTTP_PROXY", &err);

		if ((rc == 0) != (rows[i].host != NULL))
			fail_msg("'%s': %s", rows[i].url, err.text);
		if (rc == 0) {
			assert_string_equal(p.at.host, rows[i].host);
			assert_int_equal(p.at.port, rows[i].port);
			assert_int_equal(!p.authorization, !rows[i].authorization);
			if (p.authorization)
				assert_string_equal(p.authorization, rows[i].authorization);
		} else {
			assert_true(error_is(&err, &URL_INVALID));
			assert_non_null(strstr(err.text, "HTTP_PROXY"));
			assert_null(strstr(err.text, "us%"));
		}
		proxy_release(&p);
	}
}

static void a_bad_proxy_is_an_error_at_the_start(void **state)
{
	struct loop *l = loop_new();
	struct fetch *f = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	assert_fails(
		fetch_new(&(struct fetch_options){.loop = l, .https_proxy = "ftp://x"}, &f, &err),
		&err, URL_INVALID);
	assert_non_null(strstr(err.text, "HTTPS_PROXY"));
	loop_free(l);
}

static void some_hosts_are_reached_without(void **state)
{
	static const struct {
		const char *no_proxy, *url;
		bool bypassed;
	} rows[] = {
		{NULL,            "http://a.test/",        false},
		{"",              "http://a.test/",        false},
		{"*",             "http://a.test/",        true },
		{"a.test",        "http://a.test/",        true },
		{"A.Test",        "http://a.test/",        true },
		{"a.test",        "http://b.a.test/",      true },
		{".a.test",       "http://b.a.test/",      true },
		{".a.test",       "http://a.test/",        true },
		{"a.test",        "http://ba.test/",       false},
		{"a.test",        "http://a.test.evil/",   false},
		{"x, a.test ,y",  "http://a.test/",        true },
		{"a.test:80",     "http://a.test/",        true },
		{"a.test:81",     "http://a.test/",        false},
		{"10.0.0.1",      "http://10.0.0.1/",      true },
		{"0.0.1",         "http://10.0.0.1/",      false},
		{"[2001:db8::1]", "http://[2001:db8::1]/", true },
		{"2001:db8::1",   "http://[2001:db8::1]/", true },
		{",,%zz,a b",     "http://a.test/",        false},
		{NULL,            "http://localhost/",     true },
		{NULL,            "http://127.9.9.9/",     true },
		{NULL,            "http://[::1]/",         true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct url url;

		assert_ok(url_parse(str_from(rows[i].url), &url, &err), &err);
		if (proxy_is_bypassed(rows[i].no_proxy, &url) != rows[i].bypassed)
			fail_msg("'%s' for %s", rows[i].no_proxy, rows[i].url);
	}
}

/* In the clear */

static void say_ok(struct peer *p, const struct http_head *h)
{
	(void)h;
	peer_say(p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
}

/* The world's server is the proxy; its port is known only once it is there. */
static void proxied_open(
	struct world *w, const struct server_rules *rules, const char *login, const char *ca_file)
{
	_cleanup_(mem) char *url = NULL;
	struct fetch_options o = {.ca_file = ca_file};
	struct error err = ERROR_INIT;

	world_open(w, rules, NULL);
	fetch_free(w->fetch);
	url = xasprintf("http://%s127.0.0.1:%u", login, w->server.port);
	o.loop = w->loop;
	o.http_proxy = o.https_proxy = url;
	o.no_proxy = "direct.test";
	assert_ok(fetch_new(&o, &w->fetch, &err), &err);
}

static void http_goes_to_the_proxy_whole(void **state)
{
	struct world w;
	struct call c;

	(void)state;
	proxied_open(&w, &(struct server_rules){.request = say_ok}, "me:secret@", NULL);
	call_init(&c, &w);
	call_do(&c, &(struct request){
			    .url = "http://far.test:81/a?b", .headers = {{STR("X"), STR("1")}}});
	assert_done(&c, 200, "ok");
	assert_string_equal(buf_str(&server_last_peer(&w.server)->raw).p,
		"GET http://far.test:81/a?b HTTP/1.1\r\nHost: far.test:81\r\n"
		"Proxy-Authorization: Basic bWU6c2VjcmV0\r\nX: 1\r\n\r\n");
	call_release(&c);
	world_close(&w);
}

static void what_goes_direct_hears_nothing_of_the_login(void **state)
{
	struct server direct;
	_cleanup_(mem) char *url = NULL;
	struct world w;
	struct call c;

	(void)state;
	proxied_open(&w, &(struct server_rules){.request = say_ok}, "me:secret@", NULL);
	server_open(&direct, w.loop, &(struct server_rules){.request = say_ok});
	url = xasprintf("http://127.0.0.1:%u/", direct.port);
	call_init(&c, &w);
	call_do(&c, &(struct request){.url = url});
	assert_done(&c, 200, "ok");
	assert_int_equal(w.server.accepted, 0);
	assert_null(strstr(server_last_peer(&direct)->raw.data, "Proxy"));
	call_release(&c);
	server_close(&direct);
	world_close(&w);
}

/* Tunnels */

static void refuse(struct peer *p, const struct http_head *h)
{
	(void)h;
	peer_say(p, p->server->of_test);
	peer_close(p);
}

static void a_proxy_that_gives_no_tunnel_is_said(void **state)
{
	static const struct {
		const char *answer, *says;
	} rows[] = {
		{"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "407"             },
		{"HTTP/1.1 502 Bad Gateway\r\n\r\n",                                        "502"             },
		{"HTTP/1.1 301 Elsewhere\r\nLocation: /\r\n\r\n",                           "301"             },
		{"SSH-2.0\r\n",							     "proxy"           },
		{"HTTP/1.1 200",							    "closed"          },
		{"HTTP/1.1 200 OK\r\n\r\nhello",                                            "bytes of its own"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		struct call c;

		proxied_open(&w, &(struct server_rules){.request = refuse}, "me:secret@", NULL);
		w.server.of_test = (void *)rows[i].answer;
		call_init(&c, &w);
		call_do(&c, &(struct request){.url = "https://far.test/a",
				    .headers = {{STR("Authorization"), STR("key")}}});
		assert_failed(&c, &FETCH_CONNECT, rows[i].says);
		assert_non_null(strstr(c.err.text, "proxy '127.0.0.1'"));
		assert_null(strstr(c.err.text, "secret"));
		assert_string_equal(buf_str(&server_last_peer(&w.server)->raw).p,
			"CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n"
			"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n");
		call_release(&c);
		world_close(&w);
	}
}

/* What the proxy connects to whatever name it is asked for, and the way back. */
struct relay {
	uint16_t port;
	struct loop_stream *far;
	struct peer *near;
};

static void relay_back(void *arg, const char *p, size_t len)
{
	struct relay *r = arg;

	if (r->near->stream)
		loop_stream_write(r->near->stream, p, len);
}

static void relay_ended(void *arg, const struct error *err)
{
	struct relay *r = arg;

	(void)err;
	if (r->near->stream)
		peer_close(r->near);
}

static void open_tunnel(struct peer *p, const struct http_head *h)
{
	static const struct loop_stream_callbacks callbacks = {relay_back, relay_ended, NULL};
	struct relay *r = p->server->of_test;
	struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons(r->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(str_is(h->method, "CONNECT"));
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	loop_stream_close(r->far);
	r->near = p;
	r->far = loop_stream_new(p->server->loop, fd, -1, &callbacks, r);
	peer_say(p, "HTTP/1.1 200 Go on\r\nX: 1\r\n\r\n");
	peer_go_raw(p);
}

static void relay_there(struct peer *p, struct str bytes)
{
	struct relay *r = p->server->of_test;

	loop_stream_write(r->far, bytes.p, bytes.len);
}

static const struct server_rules tunnelling = {.request = open_tunnel, .raw = relay_there};

static void https_goes_through_a_tunnel_and_names_are_exact(void **state)
{
	static const struct {
		const char *host, *names, *says;
	} rows[] = {
		{"far.test",      "DNS:far.test",           NULL          },
		{"FAR.test",      "DNS:far.test",           NULL          },
		{"a.far.test",    "DNS:*.far.test",         NULL          },
		{"far.test",      "DNS:*.far.test",         "another name"},
		{"a.b.far.test",  "DNS:*.far.test",         "another name"},
		{"far.zone.test", "DNS:f*.zone.test",       "another name"},
		{"far.test",      "DNS:far.test.evil.test", "another name"},
		{"far.test.",     "DNS:other.test",         "another name"},
		{"10.1.2.3",      "IP:10.1.2.3",            NULL          },
		{"10.1.2.3",      "IP:10.1.2.4",            "another name"},
		{"[2001:db8::1]", "IP:2001:db8::1",         NULL          },
	};
	_cleanup_(mem) char *dir = testing_dir();
	_cleanup_(mem) char *ca_file = xasprintf("%s/ca.pem", dir);
	struct authority *a = authority_new("ours");

	(void)state;
	authority_write(a, ca_file);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tls_server *far = tls_server_new(&(struct tls_server_options){
			.certificate = {rows[i].names, -1, 10, a}
                });
		struct relay relay = {.port = tls_server_port(far)};
		_cleanup_(mem) char *url = xasprintf("https://%s/", rows[i].host);
		struct tls_server_counts counts;
		struct world w;

		proxied_open(&w, &tunnelling, "", ca_file);
		w.server.of_test = &relay;
		for (int k = 0; k < 2; k++) { /* the second over the same tunnel */
			struct call c;

			call_init(&c, &w);
			call_do(&c, &(struct request){.url = url});
			if (rows[i].says)
				assert_failed(&c, &FETCH_TLS, rows[i].says);
			else
				assert_done(&c, 200, "ok");
			call_release(&c);
		}
		tls_server_counts(far, &counts);
		assert_int_equal(counts.requests, rows[i].says ? 0 : 2);
		assert_int_equal(w.server.accepted, rows[i].says ? 2 : 1);
		loop_stream_close(relay.far);
		world_close(&w);
		tls_server_free(far);
	}
	authority_free(a);
	must(os_remove_tree(dir, NULL) == 0);
}

static void say_nothing(struct peer *p, const struct http_head *h)
{
	(void)p;
	(void)h;
}

static void a_tunnel_may_be_too_long_or_given_up(void **state)
{
	(void)state;
	for (int given_up = 0; given_up < 2; given_up++) {
		struct world w;
		struct call c;

		proxied_open(&w, &(struct server_rules){.request = say_nothing}, "", NULL);
		call_init(&c, &w);
		call_start(&c, &(struct request){.url = "https://far.test/", .total_ms = 60});
		while (given_up && w.server.requests == 0)
			world_wait(&w, 1);
		if (given_up) {
			fetch_cancel(c.call);
			w.running--;
			assert_string_equal(c.told, "");
		} else {
			world_run(&w);
			assert_failed(&c, &FETCH_TIMEOUT, "not done within 60 ms");
		}
		call_release(&c);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proxies_are_read_from_urls),
		cmocka_unit_test(a_bad_proxy_is_an_error_at_the_start),
		cmocka_unit_test(some_hosts_are_reached_without),
		cmocka_unit_test(http_goes_to_the_proxy_whole),
		cmocka_unit_test(what_goes_direct_hears_nothing_of_the_login),
		cmocka_unit_test(a_proxy_that_gives_no_tunnel_is_said),
		cmocka_unit_test(https_goes_through_a_tunnel_and_names_are_exact),
		cmocka_unit_test(a_tunnel_may_be_too_long_or_given_up),
	};

	return cmocka_run_group_tests_name("fetch proxy", tests, NULL, NULL);
}
