/* parse: URLs into their parts and back, what is refused, and which two go to one place. */
#include "testing.h"
#include "url/url.h"

static struct url parsed(const char *text)
{
	struct error err = ERROR_INIT;
	struct url u;

	if (url_parse(str_from(text), &u, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	return u;
}

static void assert_str(const char *what, struct str got, const char *wanted)
{
	if (!str_is(got, wanted))
		fail_msg("%s: '" STR_FMT "', not '%s'", what, STR_ARG(got), wanted);
}

static void parts_and_prints(void **state)
{
	static const struct {
		const char *text, *target, *host, *whole;
		enum url_scheme scheme;
		uint16_t port;
		bool secure;
	} rows[] = {
		{"http://h",             "/",            "h",             "http://h/",             URL_HTTP,  80,   false},
		{"HTTPS://H",            "/",            "h",             "https://h/",            URL_HTTPS, 443,  true },
		{"ws://h/s",             "/s",           "h",             "ws://h/s",              URL_WS,    80,   false},
		{"wSs://h/s",            "/s",           "h",             "wss://h/s",             URL_WSS,   443,  true },
		{"http://h:80/",         "/",            "h",             "http://h:80/",          URL_HTTP,  80,   false},
		{"http://h:443/",        "/",            "h:443",         "http://h:443/",         URL_HTTP,  443,  false},
		{"https://h:443",        "/",            "h",             "https://h:443/",        URL_HTTPS, 443,  true },
		{"https://h:8443/a",     "/a",           "h:8443",        "https://h:8443/a",      URL_HTTPS, 8443, true },
		{"http://h.",            "/",            "h.",            "http://h./",            URL_HTTP,  80,   false},
		{"http://h?q",           "/?q",          "h",             "http://h/?q",           URL_HTTP,  80,   false},
		{"http://h/?",           "/?",           "h",             "http://h/?",            URL_HTTP,  80,   false},
		{"http://h#f",           "/",            "h",             "http://h/",             URL_HTTP,  80,   false},
		{"http://h/a?b#c?d/e",   "/a?b",         "h",             "http://h/a?b",          URL_HTTP,  80,   false},
		{"http://h/a/../b/./",   "/a/../b/./",   "h",             "http://h/a/../b/./",    URL_HTTP,  80,
                 false												   },
		{"http://h//a//",        "//a//",        "h",             "http://h//a//",         URL_HTTP,  80,   false},
		{"http://h/%41%7e",      "/%41%7e",      "h",             "http://h/%41%7e",       URL_HTTP,  80,   false},
		{"http://h/u@x:1",       "/u@x:1",       "h",             "http://h/u@x:1",        URL_HTTP,  80,   false},
		{"http://h/?a=b?c/d:@",  "/?a=b?c/d:@",  "h",             "http://h/?a=b?c/d:@",   URL_HTTP,  80,
                 false												   },
		{"http://h/?f[a]={1|2}", "/?f[a]={1|2}", "h",             "http://h/?f[a]={1|2}",  URL_HTTP,  80,
                 false												   },
		{"http://[2001:DB8::1]", "/",            "[2001:db8::1]", "http://[2001:db8::1]/", URL_HTTP,
                 80,												false},
		{"http://[::1]:8080/x",  "/x",           "[::1]:8080",    "http://[::1]:8080/x",   URL_HTTP,  8080,
                 false												   },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf target = BUF_INIT(100), host = BUF_INIT(100),
					  whole = BUF_INIT(100);
		const struct url u = parsed(rows[i].text);

		url_put_target(&target, &u);
		url_put_host(&host, &u);
		url_put(&whole, &u);
		assert_str(rows[i].text, buf_str(&target), rows[i].target);
		assert_str(rows[i].text, buf_str(&host), rows[i].host);
		assert_str(rows[i].text, buf_str(&whole), rows[i].whole);
		assert_int_equal(u.scheme, rows[i].scheme);
		assert_int_equal(url_port(&u), rows[i].port);
		assert_int_equal(url_is_secure(&u), rows[i].secure);
	}
}

static void an_absent_query_is_not_an_empty_one(void **state)
{
	(void)state;
	assert_null(parsed("http://h/").query.p);
	assert_null(parsed("http://h/#?").query.p);
	assert_non_null(parsed("http://h/?").query.p);
	assert_int_equal(parsed("http://h/?").query.len, 0);
}

static void refusals(void **state)
{
	static const struct {
		const char *name, *text;
		const struct error_kind *kind;
	} rows[] = {
		{"nothing",                      "",                         &URL_INVALID},
		{"a name",                       "example.org",              &URL_INVALID},
		{"no scheme",                    "//h/",                     &URL_INVALID},
		{"an empty scheme",              "://h/",                    &URL_INVALID},
		{"a scheme of digits",           "1http://h/",               &URL_INVALID},
		{"a blank before the scheme",    " http://h/",               &URL_INVALID},
		{"a control in the scheme",      "ht\ntp://h/",              &URL_INVALID},
		{"a file",                       "file:///etc/passwd",       &URL_SCHEME },
		{"data",			 "data:text/html,<b>",       &URL_SCHEME },
		{"a script",                     "javascript:alert(1)",      &URL_SCHEME },
		{"ftp",			  "ftp://h/",                 &URL_SCHEME },
		{"a host that looks a scheme",   "localhost:8080/",          &URL_SCHEME },
		{"a longer scheme",              "httpx://h/",               &URL_SCHEME },
		{"a shorter scheme",             "htt://h/",                 &URL_SCHEME },
		{"no slashes",                   "http:h",                   &URL_INVALID},
		{"one slash",                    "http:/h",                  &URL_INVALID},
		{"backslashes for slashes",      "http:\\\\h\\",             &URL_INVALID},
		{"no host",                      "http://",                  &URL_INVALID},
		{"no host before the path",      "http:///a",                &URL_INVALID},
		{"no host before the query",     "http://?a",                &URL_INVALID},
		{"no host before the fragment",  "http://#a",                &URL_INVALID},
		{"a user",                       "http://u@h/",              &URL_INVALID},
		{"a key as the user",            "https://sk-x:@h/",         &URL_INVALID},
		{"a host as the user",           "http://good.example@h/",   &URL_INVALID},
		{"a user behind a backslash",    "http://h\\@good.example/", &URL_INVALID},
		{"a host behind '#@'",           "http://h#@good.example\\", &URL_INVALID},
		{"two ports",                    "http://h:80:81/",          &URL_INVALID},
		{"an empty port",                "http://h:/",               &URL_INVALID},
		{"a number for a host",          "http://2130706433/",       &URL_INVALID},
		{"an escape in the host",        "http://%6c/",              &URL_INVALID},
		{"an escaped slash in the host", "http://h%2f.example/",     &URL_INVALID},
		{"a host past ASCII",            "http://b\xc3\xbc.de/",     &URL_INVALID},
		{"a path past ASCII",            "http://h/b\xc3\xbc",       &URL_INVALID},
		{"a blank in the path",          "http://h/a b",             &URL_INVALID},
		{"a blank at the end",           "http://h/ ",               &URL_INVALID},
		{"a CRLF in the path",           "http://h/a\r\nX: y",       &URL_INVALID},
		{"a tab in the query",           "http://h/?a\tb",           &URL_INVALID},
		{"a delete in the query",        "http://h/?\x7f",           &URL_INVALID},
		{"a control in the fragment",    "http://h/#\x1b[2J",        &URL_INVALID},
		{"a backslash in the path",      "http://h/a\\..\\b",        &URL_INVALID},
		{"angle brackets",               "http://h/<a>",             &URL_INVALID},
		{"a quote",                      "http://h/\"",              &URL_INVALID},
		{"two fragments",                "http://h/#a#b",            &URL_INVALID},
		{"a cut escape in the path",     "http://h/%4",              &URL_INVALID},
		{"a percent sign at the end",    "http://h/%",               &URL_INVALID},
		{"a wrong escape in the query",  "http://h/?%zz",            &URL_INVALID},
		{"a wrong escape in a fragment", "http://h/#%g0",            &URL_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct url u = {.scheme = URL_WSS};
		struct error err = ERROR_INIT;

		if (url_parse(str_from(rows[i].text), &u, &err) != -1)
			fail_msg("%s: '%s' was taken", rows[i].name, rows[i].text);
		if (!error_is(&err, rows[i].kind))
			fail_msg("%s: %s: %s", rows[i].name, error_code(&err), err.text);
		assert_int_equal(u.scheme, URL_WSS);
	}
}

static void an_error_does_not_repeat_the_url(void **state)
{
	struct error err = ERROR_INIT;
	struct url u;

	(void)state;
	assert_fails(url_parse(STR("https://sk-hidden@h/"), &u, &err), &err, URL_INVALID);
	assert_null(strstr(err.text, "hidden"));
	assert_fails(url_parse(STR("sk-hidden:x@h/"), &u, &err), &err, URL_SCHEME);
	assert_null(strstr(err.text, "hidden"));
	assert_fails(url_parse(STR("https://h/?k=hidden%"), &u, &err), &err, URL_INVALID);
	assert_null(strstr(err.text, "hidden"));
}

static void a_nul_is_of_no_url(void **state)
{
	struct error err = ERROR_INIT;
	struct url u;

	(void)state;
	assert_fails(url_parse(STR("http://h\0.example/"), &u, &err), &err, URL_INVALID);
	assert_fails(url_parse(STR("http://h/\0"), &u, &err), &err, URL_INVALID);
	assert_fails(url_parse(STR("http\0://h/"), &u, &err), &err, URL_INVALID);
}

static void as_long_as_a_request_line_may_be(void **state)
{
	char text[URL_MAX_BYTES + 1];
	struct error err = ERROR_INIT;
	struct url u;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "http://h/", 9);
	assert_ok(url_parse((struct str){text, URL_MAX_BYTES}, &u, &err), &err);
	assert_fails(url_parse((struct str){text, sizeof(text)}, &u, &err), &err, URL_INVALID);
	text[8] = '?'; /* with the "/" that is put before it, one byte more */
	assert_ok(url_parse((struct str){text, URL_MAX_BYTES - 1}, &u, &err), &err);
	assert_fails(url_parse((struct str){text, URL_MAX_BYTES}, &u, &err), &err, URL_INVALID);
}

static void one_place(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{"http://h/a",    "http://H/b?c",     true },
		{"http://h/",     "http://h:80/",     true },
		{"https://h/",    "https://h:443/",   true },
		{"http://h/",     "ws://h/",          true },
		{"wss://h/",      "https://h:443/",   true },
		{"http://h/",     "https://h/",       false},
		{"http://h:443/", "https://h/",       false},
		{"http://h:443/", "https://h:443/",   false},
		{"http://h/",     "http://h:81/",     false},
		{"http://h/",     "http://h./",       false},
		{"http://h/",     "http://hh/",       false},
		{"http://[::1]/", "http://[::1]:80/", true },
		{"http://[::1]/", "http://[0::1]/",   false},
		{"http://[::a]/", "http://[::A]/",    true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct url a = parsed(rows[i].a), b = parsed(rows[i].b);

		if (url_same_origin(&a, &b) != rows[i].same ||
			url_same_origin(&b, &a) != rows[i].same)
			fail_msg("'%s' and '%s'", rows[i].a, rows[i].b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_and_prints),
		cmocka_unit_test(an_absent_query_is_not_an_empty_one),
		cmocka_unit_test(refusals),
		cmocka_unit_test(an_error_does_not_repeat_the_url),
		cmocka_unit_test(a_nul_is_of_no_url),
		cmocka_unit_test(as_long_as_a_request_line_may_be),
		cmocka_unit_test(one_place),
	};

	return cmocka_run_group_tests_name("url.parse", tests, NULL, NULL);
}
