/* resolve: the examples of RFC 3986 5.4, redirects as servers send them, and what is refused. */
#include "testing.h"
#include "url/url.h"

static struct url base_of(const char *text)
{
	struct error err = ERROR_INIT;
	struct url u;

	assert_ok(url_parse(str_from(text), &u, &err), &err);
	return u;
}

static void the_examples_of_rfc_3986(void **state)
{
	static const char *const rows[][2] = {
  /* 5.4.1 */
		{"g:h",           "g:h"                  },
                {"g",             "http://a/b/c/g"       },
                {"./g",           "http://a/b/c/g"       },
		{"g/",            "http://a/b/c/g/"      },
                {"/g",            "http://a/g"           },
                {"//g",           "http://g"             },
		{"?y",            "http://a/b/c/d;p?y"   },
                {"g?y",           "http://a/b/c/g?y"     },
		{"#s",            "http://a/b/c/d;p?q#s" },
                {"g#s",           "http://a/b/c/g#s"     },
		{"g?y#s",         "http://a/b/c/g?y#s"   },
                {";x",            "http://a/b/c/;x"      },
		{"g;x",           "http://a/b/c/g;x"     },
                {"g;x?y#s",       "http://a/b/c/g;x?y#s" },
		{"",              "http://a/b/c/d;p?q"   },
                {".",             "http://a/b/c/"        },
                {"./",            "http://a/b/c/"        },
		{"..",            "http://a/b/"          },
                {"../",           "http://a/b/"          },
                {"../g",          "http://a/b/g"         },
		{"../..",         "http://a/"            },
                {"../../",        "http://a/"            },
                {"../../g",       "http://a/g"           },
 /* 5.4.2 */
		{"../../../g",    "http://a/g"           },
                {"../../../../g", "http://a/g"           },
		{"/./g",          "http://a/g"           },
                {"/../g",         "http://a/g"           },
                {"g.",            "http://a/b/c/g."      },
		{".g",            "http://a/b/c/.g"      },
                {"g..",           "http://a/b/c/g.."     },
                {"..g",           "http://a/b/c/..g"     },
		{"./../g",        "http://a/b/g"         },
                {"./g/.",         "http://a/b/c/g/"      },
		{"g/./h",         "http://a/b/c/g/h"     },
                {"g/../h",        "http://a/b/c/h"       },
		{"g;x=1/./y",     "http://a/b/c/g;x=1/y" },
                {"g;x=1/../y",    "http://a/b/c/y"       },
		{"g?y/./x",       "http://a/b/c/g?y/./x" },
                {"g?y/../x",      "http://a/b/c/g?y/../x"},
		{"g#s/./x",       "http://a/b/c/g#s/./x" },
                {"g#s/../x",      "http://a/b/c/g#s/../x"},
		{"http:g",        "http:g"               }, /* strict */
	};
	const struct url base = base_of("http://a/b/c/d;p?q");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(100);
		struct error err = ERROR_INIT;

		if (url_resolve(&base, str_from(rows[i][0]), &got, &err) < 0)
			fail_msg("'%s': %s", rows[i][0], err.text);
		if (!str_is(buf_str(&got), rows[i][1]))
			fail_msg("'%s': '%s', not '%s'", rows[i][0], buf_str(&got).p, rows[i][1]);
	}
}

static void beside_other_bases(void **state)
{
	static const char *const rows[][3] = {
		{"https://h:8443",    "a",               "https://h:8443/a"   },
		{"https://h",         "?a",              "https://h/?a"       },
		{"https://h?b",       "",                "https://h/?b"       },
		{"https://h/?b",      "#",               "https://h/?b#"      },
		{"https://h/?b",      "?",               "https://h/?"        },
		{"https://h/a/b",     "//i/../c",        "https://i/c"        },
		{"https://h/a/b",     "//u@i/",          "https://u@i/"       },
		{"https://[::1]:1/a", "b:c",             "b:c"                },
		{"https://[::1]:1/a", "./b:c",           "https://[::1]:1/b:c"},
		{"https://h/a//b",    "..",              "https://h/a/"       },
		{"https://h/a//b",    "../..",           "https://h/"         },
		{"https://h/a/",      "/.//b",           "https://h//b"       },
		{"https://h/a/..",    "b",               "https://h/a/b"      },
		{"https://h/x",       "HTTP://I/./a/..", "HTTP://I/"          },
		{"https://h/x",       "mailto:a@b",      "mailto:a@b"         },
		{"https://h/x",       "s:a/../b",        "s:/b"               },
		{"https://h/x",       "s:../a",          "s:a"                },
		{"https://h/x",       "s:./../a",        "s:a"                },
		{"https://h/x",       "s:..",            "s:"                 },
		{"https://h/x",       "..",              "https://h/"         },
		{"https://h/x",       "%2e%2e/y",        "https://h/%2e%2e/y" },
		{"wss://h/x?y",       "z",               "wss://h/z"          },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(100);
		const struct url base = base_of(rows[i][0]);
		struct error err = ERROR_INIT;

		if (url_resolve(&base, str_from(rows[i][1]), &got, &err) < 0)
			fail_msg("'%s': %s", rows[i][1], err.text);
		if (!str_is(buf_str(&got), rows[i][2]))
			fail_msg("'%s': '%s', not '%s'", rows[i][1], buf_str(&got).p, rows[i][2]);
	}
}

static void refusals_change_nothing(void **state)
{
	static const struct {
		const char *name, *reference;
	} rows[] = {
		{"a blank",                       "a b"				     },
		{"a line feed",                   "a\nb"                                    },
		{"a control in the host",         "//h\x01/"                                },
		{"a backslash",                   "\\\\evil.example\\"                      },
		{"a slash and a backslash",       "/\\evil.example"                         },
		{"a backslash in the host",       "//good\\@evil/"                          },
		{"a byte past ASCII",             "caf\xc3\xa9"                             },
		{"a byte past ASCII in the host", "//caf\xc3\xa9"                           },
		{"a cut escape",                  "a%4"                                     },
		{"a colon in the first segment",  "1:a"                                     },
		{"a colon in front",              ":a"                                      },
		{"two fragments",                 "#a#b"                                    },
		{"a path that would be a host",   "http:/.//evil.example/"                  },
		{"another such path",             "http:a/..//evil.example/"                },
		{"more than the buffer takes",    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
	};
	const struct url base = base_of("http://h/x");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(40);
		struct error err = ERROR_INIT;

		(void)buf_puts(&got, "kept");
		if (url_resolve(&base, str_from(rows[i].reference), &got, &err) != -1)
			fail_msg("%s: '%s'", rows[i].name, got.data);
		if (!error_is(&err, &URL_INVALID))
			fail_msg("%s: %s", rows[i].name, error_code(&err));
		assert_string_equal(got.data, "kept");
	}
}

static void a_long_reference_is_refused(void **state)
{
	static char text[URL_MAX_BYTES + 1];
	_cleanup_(buf) struct buf got = BUF_INIT(1000000);
	const struct url base = base_of("http://h/x/");
	struct error err = ERROR_INIT;

	(void)state;
	memset(text, '/', sizeof(text));
	assert_fails(url_resolve(&base, (struct str){text, sizeof(text)}, &got, &err), &err,
		URL_INVALID);
	memset(text, 'a', sizeof(text));
	assert_ok(url_resolve(&base, (struct str){text, URL_MAX_BYTES}, &got, &err), &err);
	assert_int_equal(got.len, URL_MAX_BYTES + strlen("http://h/x/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_rfc_3986),
		cmocka_unit_test(beside_other_bases),
		cmocka_unit_test(refusals_change_nothing),
		cmocka_unit_test(a_long_reference_is_refused),
	};

	return cmocka_run_group_tests_name("url.resolve", tests, NULL, NULL);
}
