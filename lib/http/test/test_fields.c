/* fields: finding headers, lists of tokens, media types. */
#include "http/http.h"
#include "testing.h"

static void headers_by_name(void **state)
{
	struct http_header headers[] = {
		{STR("Accept"), STR("a")},
		{STR("X"),      STR("") },
		{STR("accept"), STR("b")},
	};
	const struct http_head h = {.headers = headers, .header_count = ARRAY_LEN(headers)};

	(void)state;
	assert_true(str_is(http_header_get(&h, "ACCEPT"), "a"));
	assert_non_null(http_header_get(&h, "x").p); /* empty, not absent */
	assert_int_equal(http_header_get(&h, "x").len, 0);
	assert_null(http_header_get(&h, "Accep").p);
	assert_null(http_header_get(&h, "Accept2").p);
	assert_int_equal(http_header_count(&h, "Accept"), 2);
	assert_int_equal(http_header_count(&h, "Y"), 0);
	assert_true(http_header_has(&h, "Accept", "B")); /* also in the second */
	assert_false(http_header_has(&h, "Accept", "c"));
	assert_false(http_header_has(&h, "X", "a"));
}

static void tokens_in_lists(void **state)
{
	static const struct {
		struct str value;
		bool has;
	} rows[] = {
		{STR("close"),                true },
		{STR("CLOSE"),                true },
		{STR("a, close"),             true },
		{STR("a,\tclose ,b"),         true },
		{STR(",,close,"),             true },
		{STR("closed"),               false},
		{STR("a close"),              false},
		{STR("close;q=1"),            false},
		{STR(""),                     false},
		{STR("\"close\""),            false},
		{STR("a=\"b, close, c\""),    false},
		{STR("a=\"\\\", close, c\""), false},
		{STR("a=\"b, c\", close"),    true },
		{STR("a=\"open, close"),      false},
		{STR("a=\"open\\"),           false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_header one = {STR("Connection"), rows[i].value};
		const struct http_head h = {.headers = &one, .header_count = 1};

		if (http_header_has(&h, "connection", "close") != rows[i].has)
			fail_msg(STR_FMT, STR_ARG(rows[i].value));
	}
}

static void media_types(void **state)
{
	static const struct {
		const char *text, *wanted; /* NULL: absent */
	} rows[] = {
		{"text/event-stream",						"text/event-stream"       },
		{"Text/Event-Stream; charset=UTF-8",                                 "text/event-stream"       },
		{" application/json ;x",					     "application/json"        },
		{"application/problem+json",                                         "application/problem+json"},
		{"a/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                 "a/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"                             },
		{"a/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL                      },
		{"",								 NULL                      },
		{NULL,							       NULL                      },
		{";a/b",							     NULL                      },
		{"text",							     NULL                      },
		{"text/",							    NULL                      },
		{"/html",							    NULL                      },
		{"a/b/c",							    NULL                      },
		{"text /html",						       NULL                      },
		{"text/html, text/plain",					    NULL                      },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char out[64];
		const struct str got = http_media_type(str_from(rows[i].text), out);

		if (!got.p != !rows[i].wanted || !str_eq(got, str_from(rows[i].wanted)))
			fail_msg("'%s': '" STR_FMT "'", rows[i].text, STR_ARG(got));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_by_name),
		cmocka_unit_test(tokens_in_lists),
		cmocka_unit_test(media_types),
	};

	return cmocka_run_group_tests_name("http.fields", tests, NULL, NULL);
}
