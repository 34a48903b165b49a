/* query: escapes written, and one value found and decoded. */
#include "testing.h"
#include "url/url.h"

static void escapes(void **state)
{
	static const struct {
		struct str text;
		const char *keep, *wanted;
	} rows[] = {
		{STR("azAZ09-._~"),      NULL, "azAZ09-._~"           },
		{STR("a b&c=d+e/f"),     NULL, "a%20b%26c%3Dd%2Be%2Ff"},
		{STR("a b/c:"),          "/:", "a%20b/c:"             },
		{STR("\0\x7f\xc3\xa9%"), "",   "%00%7F%C3%A9%25"      },
		{STR("\0"),              "/",  "%00"                  },
		{STR(""),                NULL, ""                     },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(100);

		url_put_escaped(&got, rows[i].text, rows[i].keep);
		assert_string_equal(buf_str(&got).p, rows[i].wanted);
	}
}

static void values(void **state)
{
	static const struct {
		const char *query, *name;
		int rc;
		const char *value;
	} rows[] = {
		{"code=abc&state=x",         "code",    1,  "abc"     },
		{"code=abc&state=x",         "state",   1,  "x"       },
		{"code=abc&state=x",         "stat",    0,  ""        },
		{"code=abc",                 "codes",   0,  ""        },
		{"a=1+2%2B3%3d",             "a",       1,  "1 2+3="  },
		{"a=b=c",                    "a",       1,  "b=c"     },
		{"a",			"a",       1,  ""        },
		{"a=",		       "a",       1,  ""        },
		{"&&a=1&",                   "a",       1,  "1"       },
		{"%61=1",                    "a",       1,  "1"       },
		{"a%00=1",                   "a",       0,  ""        },
		{"my+name=1",                "my name", 1,  "1"       },
		{"A=1",                      "a",       0,  ""        },
		{"",			 "a",       0,  ""        },
		{"=1",		       "",        1,  "1"       },
		{"a=1&a=2",                  "a",       -1, "twice"   },
		{"a=1&%61=1",                "a",       -1, "twice"   },
		{"a=1&a",                    "a",       -1, "twice"   },
		{"a=1&a=2&b=3",              "b",       1,  "3"       },
		{"a=%4",                     "a",       -1, "escape"  },
		{"a=%",                      "a",       -1, "escape"  },
		{"a=%zz",                    "a",       -1, "escape"  },
		{"a=1&b=%zz",                "a",       -1, "escape"  },
		{"a=0123456789012345678901", "a",       -1, "20 bytes"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(20);
		struct error err = ERROR_INIT;
		const int rc = url_query_get(str_from(rows[i].query), rows[i].name, &got, &err);

		if (rc != rows[i].rc)
			fail_msg("'%s' of '%s': %d %s", rows[i].name, rows[i].query, rc, err.text);
		if (rc < 0) {
			assert_true(error_is(&err, &URL_INVALID));
			assert_non_null(strstr(err.text, rows[i].value));
			assert_int_equal(got.len, 0);
		} else if (!str_is(buf_str(&got), rows[i].value)) {
			fail_msg("'%s' of '%s': '%s'", rows[i].name, rows[i].query, got.data);
		}
	}
}

static void no_query_has_no_values(void **state)
{
	_cleanup_(buf) struct buf got = BUF_INIT(20);

	(void)state;
	assert_int_equal(url_query_get((struct str){NULL, 0}, "a", &got, NULL), 0);
}

static void what_is_escaped_is_read_back(void **state)
{
	_cleanup_(buf) struct buf query = BUF_INIT(1000), got = BUF_INIT(1000);
	char all[256];

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	(void)buf_puts(&query, "a=");
	url_put_escaped(&query, (struct str){all, sizeof(all)}, NULL);
	assert_int_equal(url_query_get(buf_str(&query), "a", &got, NULL), 1);
	assert_int_equal(got.len, sizeof(all));
	assert_memory_equal(got.data, all, sizeof(all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes),
		cmocka_unit_test(values),
		cmocka_unit_test(no_query_has_no_values),
		cmocka_unit_test(what_is_escaped_is_read_back),
	};

	return cmocka_run_group_tests_name("url.query", tests, NULL, NULL);
}
