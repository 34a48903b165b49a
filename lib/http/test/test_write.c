/* write: messages as they are written, what is refused, and that the reader reads them back. */
#include "transcript.h"

static void a_request(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1000);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(http_put_request(&b, "POST", STR("/a?b"), &err), &err);
	assert_ok(http_put_header(&b, "Host", STR("h"), &err), &err);
	assert_ok(http_put_header(&b, "X-Empty", STR(""), &err), &err);
	http_put_length(&b, 3);
	http_put_end(&b);
	(void)buf_puts(&b, "abc");
	assert_string_equal(b.data, "POST /a?b HTTP/1.1\r\nHost: h\r\nX-Empty: \r\n"
				    "Content-Length: 3\r\n\r\nabc");
	transcript_check("read back", HTTP_REQUESTS, NULL, buf_str(&b),
		"[POST /a?b 1.1 length 3 keep; Host=h; X-Empty=; Content-Length=3](abc).");
}

static void a_chunked_response(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1000);
	struct error err = ERROR_INIT;

	(void)state;
	http_put_response(&b, 200);
	assert_ok(http_put_header(&b, "Transfer-Encoding", STR("chunked"), &err), &err);
	http_put_end(&b);
	http_put_chunk(&b, STR("0123456789abcdef0"));
	http_put_chunk(&b, STR("")); /* would be the last */
	http_put_chunk(&b, STR("x"));
	http_put_last_chunk(&b);
	assert_string_equal(b.data, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
				    "11\r\n0123456789abcdef0\r\n1\r\nx\r\n0\r\n\r\n");
	transcript_check(
		"read back", HTTP_RESPONSES, NULL, buf_str(&b), "~chunked](0123456789abcdef0x).");
}

static void refused_requests(void **state)
{
	static const struct {
		const char *name, *method;
		struct str target;
	} rows[] = {
		{"no method",             "",        STR("/")                 },
		{"a blank in the method", "GET /a",  STR("/")                 },
		{"a line in the method",  "GET\r\n", STR("/")                 },
		{"no target",             "GET",     STR("")                  },
		{"a blank in the target", "GET",     STR("/a b")              },
		{"a line in the target",  "GET",     STR("/ HTTP/1.1\r\nX: y")},
		{"a NUL in the target",   "GET",     STR("/\0")               },
		{"a target past ASCII",   "GET",     STR("/\xc3\xa9")         },
		{"a fragment",            "GET",     STR("/#a")               },
		{"a relative target",     "GET",     STR("a")                 },
		{"* of another method",   "GET",     STR("*")                 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(1000);
		struct error err = ERROR_INIT;

		(void)buf_puts(&b, "kept");
		if (http_put_request(&b, rows[i].method, rows[i].target, &err) != -1 ||
			!error_is(&err, &HTTP_INVALID))
			fail_msg("%s", rows[i].name);
		assert_string_equal(b.data, "kept");
	}
}

static void refused_headers(void **state)
{
	static const struct {
		const char *name, *header;
		struct str value;
	} rows[] = {
		{"no name",             "",         STR("a")        },
		{"a colon in the name", "A:",       STR("a")        },
		{"a blank in the name", "A B",      STR("a")        },
		{"a line in the name",  "A\r\nB",   STR("a")        },
		{"a name past ASCII",   "\xc3\xa9", STR("a")        },
		{"a line in the value", "A",        STR("a\r\nB: c")},
		{"a bare LF",           "A",        STR("a\nB: c")  },
		{"a bare CR",           "A",        STR("a\rB: c")  },
		{"a NUL",               "A",        STR("a\0b")     },
		{"an escape",           "A",        STR("\x1b[2J")  },
		{"a delete",            "A",        STR("\x7f")     },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(1000);
		struct error err = ERROR_INIT;

		(void)buf_puts(&b, "kept");
		if (http_put_header(&b, rows[i].header, rows[i].value, &err) != -1 ||
			!error_is(&err, &HTTP_INVALID))
			fail_msg("%s", rows[i].name);
		assert_string_equal(b.data, "kept");
	}
}

static void nothing_is_half_written(void **state)
{
	static char target[HTTP_START_LINE_MAX_BYTES];
	const size_t most = HTTP_START_LINE_MAX_BYTES - strlen("GET  HTTP/1.1");
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t max = 0; max < strlen("GET / HTTP/1.1\r\n"); max++) {
		_cleanup_(buf) struct buf b = BUF_INIT(max);

		assert_fails(http_put_request(&b, "GET", STR("/"), &err), &err, HTTP_LIMIT);
		assert_int_equal(b.len, 0);
	}
	for (size_t max = 0; max < strlen("A: b\r\n"); max++) {
		_cleanup_(buf) struct buf b = BUF_INIT(max);

		assert_fails(http_put_header(&b, "A", STR("b"), &err), &err, HTTP_LIMIT);
		assert_int_equal(b.len, 0);
	}
	memset(target, '/', sizeof(target));
	for (size_t over = 0; over < 2; over++) {
		_cleanup_(buf) struct buf b = BUF_INIT(100000);
		const int rc = http_put_request(&b, "GET", (struct str){target, most + over}, &err);

		assert_int_equal(rc, over ? -1 : 0);
		assert_int_equal(b.len, over ? 0 : HTTP_START_LINE_MAX_BYTES + 2);
	}
	assert_true(error_is(&err, &HTTP_LIMIT));
}

static void reasons(void **state)
{
	(void)state;
	assert_string_equal(http_reason(200), "OK");
	assert_string_equal(http_reason(429), "Too Many Requests");
	assert_string_equal(http_reason(299), "Unknown");
	for (int status = 100; status <= 599; status++) {
		_cleanup_(buf) struct buf b = BUF_INIT(1000);
		_cleanup_(buf) struct buf wanted = BUF_INIT(1000);

		http_put_response(&b, status);
		http_put_length(&b, 0);
		http_put_end(&b);
		(void)buf_printf(&wanted, "~[%d %s 1.1 ", status, http_reason(status));
		if (status >= 200) /* the others are read over */
			transcript_check(
				"a status", HTTP_RESPONSES, NULL, buf_str(&b), wanted.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request),
		cmocka_unit_test(a_chunked_response),
		cmocka_unit_test(refused_requests),
		cmocka_unit_test(refused_headers),
		cmocka_unit_test(nothing_is_half_written),
		cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests_name("http.write", tests, NULL, NULL);
}
