/* json reader: what is accepted and what is refused, with the reason and the place. */
#include "testing.h"
#include "json/json.h"

#define BYTES(literal)                                                                             \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

static void assert_syntax(const char *name, struct str text, const char *wanted)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *root = NULL;
	struct error err = ERROR_INIT;

	if (json_parse(&a, text, &root, &err) != -1)
		fail_msg("%s: was accepted", name);
	if (!error_is(&err, &JSON_SYNTAX))
		fail_msg("%s: is %s: %s", name, error_code(&err), err.text);
	if (!strstr(err.text, wanted))
		fail_msg("%s: '%s' does not say '%s'", name, err.text, wanted);
	assert_null(root);
}

static void refuses_what_is_not_json(void **state)
{
	static const struct {
		const char *name;
		struct str text;
		const char *wanted;
	} rows[] = {
		{"nothing",                       BYTES(""),                                    "ends at byte 0"                         },
		{"blanks only",                   BYTES(" \t\r\n"),                             "ends at byte 4"                         },
		{"a byte order mark",             BYTES("\xef\xbb\xbf{}"),                      "order mark at byte 0"                   },
		{"a form feed",                   BYTES("\f1"),                                 "no value where one belongs"             },
		{"a no-break space",              BYTES("[\xc2\xa0]"),                          "at byte 1"                              },
		{"a comment",                     BYTES("[1/**/]"),                             "at byte 2"                              },
		{"text after the value",          BYTES("{} x"),                                "after the value at byte 3"              },
		{"a second value",                BYTES("1 2"),                                 "after the value at byte 2"              },
		{"a NUL after the value",         BYTES("1\0"),                                 "after the value at byte 1"              },
		{"a NUL before the value",
                 BYTES("\0"
			      "1"),
                 "no value where one belongs"											    },
		{"a NUL between items",           BYTES("[1,\0 2]"),                            "at byte 3"                              },
		{"a closing bracket too many",    BYTES("[]]"),                                 "after the value at byte 2"              },
		{"a bracket left open",           BYTES("["),                                   "ends at byte 1"                         },
		{"a brace left open",             BYTES("{"),                                   "ends at byte 1"                         },
		{"the wrong closing bracket",     BYTES("[1}"),                                 "no ',' or ']'"                          },
		{"the wrong closing brace",       BYTES("{\"a\":1]"),                           "no ',' or '}'"                          },
		{"a trailing comma in a list",    BYTES("[1,]"),                                "at byte 3"                              },
		{"a trailing comma in an object", BYTES("{\"a\":1,}"),                          "no key in quotes"                       },
		{"a leading comma",               BYTES("[,1]"),                                "at byte 1"                              },
		{"two commas",                    BYTES("[1,,2]"),                              "at byte 3"                              },
		{"no comma",                      BYTES("[1 2]"),                               "no ',' or ']'"                          },
		{"no colon",                      BYTES("{\"a\" 1}"),                           "no ':' after a key at byte 5"           },
		{"two colons",                    BYTES("{\"a\"::1}"),                          "at byte 5"                              },
		{"a comma for a colon",           BYTES("{\"a\",1}"),                           "no ':'"                                 },
		{"a key without quotes",          BYTES("{a:1}"),                               "no key in quotes"                       },
		{"a number as key",               BYTES("{1:1}"),                               "no key in quotes"                       },
		{"single quotes",                 BYTES("['a']"),                               "at byte 1"                              },
		{"a key without a value",         BYTES("{\"a\":}"),                            "at byte 5"                              },
		{"a key and the end",             BYTES("{\"a\":"),                             "ends at byte 5"                         },
		{"a duplicate key",               BYTES("{\"a\":1,\"a\":1}"),                   "'a' a second time at byte 7"            },
		{"one key in two spellings",      BYTES("{\"a\":1,\"\\u0061\":2}"),             "'a' a second time"                      },
		{"two empty keys",                BYTES("{\"\":1,\"\":2}"),                     "'' a second time"                       },
		{"a duplicate further down",      BYTES("[{\"x\":{\"k\":1,\"j\":2,\"k\":3}}]"),
                 "'k' a second time at byte 19"											  },
		{"upper case",                    BYTES("TRUE"),                                "no value"                               },
		{"half a word",                   BYTES("tru"),                                 "no value"                               },
		{"a longer word",                 BYTES("nulll"),                               "after the value"                        },
		{"a cut word in a list",          BYTES("[fals]"),                              "at byte 1"                              },
		{"NaN",			   BYTES("NaN"),                                 "no value"                               },
		{"nan",			   BYTES("nan"),                                 "no value"                               },
		{"Infinity",                      BYTES("Infinity"),                            "no value"                               },
		{"negative infinity",             BYTES("-Infinity"),                           "a number without a digit"               },
		{"undefined",                     BYTES("undefined"),                           "no value"                               },
		{"a minus alone",                 BYTES("-"),                                   "ends at byte 1"                         },
		{"a plus",                        BYTES("+1"),                                  "no value"                               },
		{"two minuses",                   BYTES("--1"),                                 "at byte 1"                              },
		{"a leading zero",                BYTES("01"),                                  "a leading zero at byte 0"               },
		{"a negative leading zero",       BYTES("-01"),                                 "a leading zero"                         },
		{"two zeros",                     BYTES("00"),                                  "a leading zero"                         },
		{"a point at the end",            BYTES("1."),                                  "ends at byte 2"                         },
		{"a point and an exponent",       BYTES("1.e1"),                                "at byte 2"                              },
		{"a point first",                 BYTES(".5"),                                  "no value"                               },
		{"a minus and a point",           BYTES("-.5"),                                 "at byte 1"                              },
		{"two points",                    BYTES("1.2.3"),                               "after the value at byte 3"              },
		{"an empty exponent",             BYTES("1e"),                                  "ends at byte 2"                         },
		{"a signed empty exponent",       BYTES("1e+"),                                 "ends at byte 3"                         },
		{"a fraction as exponent",        BYTES("1e1.5"),                               "after the value"                        },
		{"hexadecimal",                   BYTES("0x10"),                                "after the value at byte 1"              },
		{"an underscore",                 BYTES("1_000"),                               "after the value"                        },
		{"full-width digits",             BYTES("\xef\xbc\x91"),                        "no value"                               },
		{"a string left open",            BYTES("\"abc"),                               "ends at byte 4"                         },
		{"a quote alone",                 BYTES("\""),                                  "ends at byte 1"                         },
		{"an escaped closing quote",      BYTES("\"a\\\""),                             "ends at byte 4"                         },
		{"a backslash at the end",        BYTES("\"\\"),                                "closing quote"                          },
		{"a raw newline",                 BYTES("\"a\nb\""),                            "control character in a string at byte 2"},
		{"a raw tab",                     BYTES("\"\t\""),                              "control character"                      },
		{"a raw NUL",                     BYTES("\"\0\""),                              "control character"                      },
		{"a raw 0x1f",                    BYTES("\"\x1f\""),                            "control character"                      },
		{"a raw tab in a key",            BYTES("{\"\t\":1}"),                          "control character"                      },
		{"a C escape",                    BYTES("\"\\x41\""),                           "unknown escape in a string at byte 1"   },
		{"an escaped apostrophe",         BYTES("\"\\'\""),                             "unknown escape"                         },
		{"an escaped newline",            BYTES("\"\\\n\""),                            "unknown escape"                         },
		{"an escaped NUL byte",           BYTES("\"\\\0\""),                            "unknown escape"                         },
		{"a capital U",                   BYTES("\"\\U0041\""),                         "unknown escape"                         },
		{"three digits",                  BYTES("\"\\u004\""),                          "four hexadecimal digits"                },
		{"no digits",                     BYTES("\"\\u\""),                             "four hexadecimal digits"                },
		{"digits cut off",                BYTES("\"\\u00"),                             "four hexadecimal digits"                },
		{"a letter beyond f",             BYTES("\"\\u00g0\""),                         "four hexadecimal digits"                },
		{"a sign among the digits",       BYTES("\"\\u+041\""),                         "four hexadecimal digits"                },
		{"a lone high half",              BYTES("\"\\ud800\""),                         "half of a surrogate pair at byte 1"     },
		{"a high half and a letter",      BYTES("\"\\ud800x\""),                        "half of a surrogate pair"               },
		{"a high half and an escape",     BYTES("\"\\ud800\\n\""),                      "half of a surrogate pair"               },
		{"two high halves",               BYTES("\"\\ud800\\ud800\""),                  "half of a surrogate pair"               },
		{"a high half and a plain one",   BYTES("\"\\ud800\\u0041\""),
                 "half of a surrogate pair"											      },
		{"a high half and bad digits",    BYTES("\"\\ud800\\uzzzz\""),
                 "four hexadecimal digits"											       },
		{"a high half and the end",       BYTES("\"\\ud83d"),                           "half of a surrogate pair"               },
		{"a high half, cut digits",       BYTES("\"\\ud83d\\ude"),                      "four hexadecimal digits"                },
		{"a lone low half",               BYTES("\"\\udc00\""),                         "half of a surrogate pair"               },
		{"halves the wrong way round",    BYTES("\"\\ude00\\ud83d\""),
                 "half of a surrogate pair"											      },
		{"a lone continuation byte",      BYTES("\"\x80\""),                            "not UTF-8 at byte 1"                    },
		{"a cut character",               BYTES("\"\xe2\x82\""),                        "not UTF-8"                              },
		{"a cut character at the end",    BYTES("\"\xf0\x9f"),                          "not UTF-8"                              },
		{"an overlong slash",             BYTES("\"\xc0\xaf\""),                        "not UTF-8"                              },
		{"an overlong NUL",               BYTES("\"\xc0\x80\""),                        "not UTF-8"                              },
		{"an overlong slash in three",    BYTES("\"\xe0\x80\xaf\""),                    "not UTF-8"                              },
		{"an overlong slash in four",     BYTES("\"\xf0\x80\x80\xaf\""),                "not UTF-8"                              },
		{"an encoded surrogate",          BYTES("\"\xed\xa0\x80\""),                    "not UTF-8"                              },
		{"a pair of encoded surrogates",  BYTES("\"\xed\xa0\xbd\xed\xb8\x80\""),
                 "not UTF-8"													     },
		{"beyond U+10FFFF",               BYTES("\"\xf4\x90\x80\x80\""),                "not UTF-8"                              },
		{"a five-byte form",              BYTES("\"\xf8\x88\x80\x80\x80\""),            "not UTF-8"                              },
		{"0xff",			  BYTES("\"\xff\""),                            "not UTF-8"                              },
		{"Latin-1",                       BYTES("\"caf\xe9\""),                         "not UTF-8 at byte 4"                    },
		{"UTF-16, little end first",      BYTES("\xff\xfe[\0]\0"),                      "no value"                               },
		{"UTF-16 without a mark",         BYTES("\0[\0]"),                              "no value"                               },
		{"a bad byte in a key",           BYTES("{\"\xff\":1}"),                        "not UTF-8"                              },
		{"a bad byte after 40 good ones",
                 BYTES("\"0123456789012345678901234567890123456789\xff\""),                     "at byte 41"                             },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_syntax(rows[i].name, rows[i].text, rows[i].wanted);
}

static void accepts_what_is_json(void **state)
{
	static const struct {
		const char *name;
		struct str text;
		const char *compact; /* how it is written back */
	} rows[] = {
		{"null",                        BYTES("null"),                                      "null"                    },
		{"blanks around",               BYTES(" \t\r\n true\n"),                            "true"                    },
		{"false",                       BYTES("false"),                                     "false"                   },
		{"an empty list",               BYTES("[ ]"),                                       "[]"                      },
		{"an empty object",             BYTES("{ }"),                                       "{}"                      },
		{"an empty string",             BYTES("\"\""),                                      "\"\""                    },
		{"an empty key",                BYTES("{\"\":0}"),                                  "{\"\":0}"                },
		{"zero",                        BYTES("0"),					 "0"                       },
		{"minus zero",                  BYTES("-0"),                                        "-0"                      },
		{"minus zero point zero",       BYTES("-0.0"),                                      "-0.0"                    },
		{"a tenth",                     BYTES("0.1"),                                       "0.1"                     },
		{"zeros at the end",            BYTES("1.500"),                                     "1.500"                   },
		{"an exponent",                 BYTES("1E+05"),                                     "1E+05"                   },
		{"an exponent of zero",         BYTES("0e-0"),                                      "0e-0"                    },
		{"2^53 + 1",                    BYTES("9007199254740993"),                          "9007199254740993"        },
		{"2^64",                        BYTES("18446744073709551616"),                      "18446744073709551616"    },
		{"more than a double holds",    BYTES("-1e999999"),                                 "-1e999999"               },
		{"more digits than a double",   BYTES("3.14159265358979323846264338327950288"),
                 "3.14159265358979323846264338327950288"								      },
		{"nested",                      BYTES("[[],{},[{\"a\":[1, 2 ]}],\"x\"]"),
                 "[[],{},[{\"a\":[1,2]}],\"x\"]"									      },
		{"the order of members",        BYTES("{\"b\":1,\"a\":2}"),                         "{\"b\":1,\"a\":2}"       },
		{"the same key further down",   BYTES("{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":2}}"),
                 "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":2}}"                                                                  },
		{"keys of other case",          BYTES("{\"a\":1,\"A\":2}"),                         "{\"a\":1,\"A\":2}"       },
		{"all short escapes",           BYTES("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
                 "\"\\\"\\\\/\\b\\f\\n\\r\\t\""									       },
		{"other control characters",    BYTES("\"\\u0001\\u001F\\u007f\""),
                 "\"\\u0001\\u001f\x7f\""										     },
		{"an escaped letter",           BYTES("\"\\u0041\\u00e9\\u20AC\""),
                 "\"A\xc3\xa9\xe2\x82\xac\""										  },
		{"a surrogate pair",            BYTES("\"\\uD83D\\ude00\""),                        "\"\xf0\x9f\x98\x80\""    },
		{"the first pair",              BYTES("\"\\ud800\\udc00\""),                        "\"\xf0\x90\x80\x80\""    },
		{"the last pair",               BYTES("\"\\udbff\\udfff\""),                        "\"\xf4\x8f\xbf\xbf\""    },
		{"characters of 2, 3, 4 bytes", BYTES("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""),
                 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""								   },
		{"a noncharacter",              BYTES("\"\xef\xbf\xbf\\uffff\""),
                 "\"\xef\xbf\xbf\xef\xbf\xbf\""									       },
		{"next to the surrogates",      BYTES("\"\\ud7ff\\ue000\""),
                 "\"\xed\x9f\xbf\xee\x80\x80\""									       },
		{"a mark inside a string",      BYTES("\"\xef\xbb\xbf\""),                          "\"\xef\xbb\xbf\""        },
		{"a raw DEL",                   BYTES("\"\x7f\""),                                  "\"\x7f\""                },
		{"a NUL",                       BYTES("\"a\\u0000b\""),                             "\"a\\u0000b\""           },
		{"a key with a NUL",            BYTES("{\"a\\u0000\":1,\"a\":2}"),                  "{\"a\\u0000\":1,\"a\":2}"},
		{"line separators",             BYTES("\"\xe2\x80\xa8\""),                          "\"\xe2\x80\xa8\""        },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		_cleanup_(buf) struct buf out = BUF_INIT(4096);
		struct json_out j = JSON_OUT(&out);
		const struct json *root;
		struct error err = ERROR_INIT;

		if (json_parse(&a, rows[i].text, &root, &err) < 0)
			fail_msg("%s: %s", rows[i].name, err.text);
		json_put(&j, NULL, root);
		assert_false(out.full);
		if (strcmp(out.data, rows[i].compact) != 0)
			fail_msg("%s: '%s' is not '%s'", rows[i].name, out.data, rows[i].compact);
	}
}

/* count times `open`, then `close` as often. */
static char *nested(size_t count, const char *open, const char *close)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1024 * 1024);

	for (size_t i = 0; i < count; i++)
		(void)buf_puts(&b, open);
	for (size_t i = 0; i < count; i++)
		(void)buf_puts(&b, close);
	assert_false(b.full);
	return buf_take(&b);
}

static void bounds_the_depth(void **state)
{
	static const struct {
		const char *name, *open, *close;
		size_t count;
		bool accepted;
	} rows[] = {
		{"lists, 64 deep",      "[",       "]", 64,     true },
		{"lists, 65 deep",      "[",       "]", 65,     false},
		{"objects, 65 deep",    "{\"a\":", "}", 65,     false},
		{"100000 lists, open",  "[",       "",  100000, false},
		{"30000 objects, open", "{\"a\":", "",  30000,  false},
		{"many empty lists",    "[],",     "",  1,      false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		_cleanup_(mem) char *text = nested(rows[i].count, rows[i].open, rows[i].close);
		const struct json *root;
		struct error err = ERROR_INIT;
		int rc = json_parse(&a, str_from(text), &root, &err);

		if (rows[i].accepted ? rc != 0 : rc != -1)
			fail_msg("%s: %d %s", rows[i].name, rc, err.text);
		if (rc < 0 && rows[i].count > 64)
			assert_true(error_is(&err, &JSON_LIMIT));
	}
}

static void depth_counts_what_is_open(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(1024 * 1024);
	const struct json *root;
	struct error err = ERROR_INIT;

	(void)state;
	(void)buf_putc(&b, '[');
	for (int i = 0; i < 1000; i++)
		(void)buf_puts(&b, "[[{}]],");
	(void)buf_puts(&b, "0]");
	assert_ok(json_parse(&a, buf_str(&b), &root, &err), &err);
	assert_int_equal(root->count, 1001);
}

static void bounds_the_values(void **state)
{
	_cleanup_(mem) char *text = xmalloc((size_t)JSON_NODES_MAX * 2 + 8);
	size_t len = 0;

	(void)state;
	text[len++] = '[';
	for (int i = 0; i < JSON_NODES_MAX - 1;
		i++) { /* with the list itself, just as many as allowed */
		text[len++] = '0';
		text[len++] = ',';
	}
	for (int extra = 0; extra < 2; extra++) {
		_cleanup_(arena) struct arena a = {NULL};
		const struct json *root;
		struct error err = ERROR_INIT;

		if (extra)
			memcpy(text + len, "0]", 2);
		else
			text[len - 1] = ']';
		if (extra) {
			text[len - 1] = ',';
			assert_fails(json_parse(&a, (struct str){text, len + 2}, &root, &err), &err,
				JSON_LIMIT);
		} else {
			assert_ok(json_parse(&a, (struct str){text, len}, &root, &err), &err);
			assert_int_equal(root->count, JSON_NODES_MAX - 1);
		}
	}
}

static void bounds_the_bytes(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *root;
	struct error err = ERROR_INIT;
	/* Refused by its length alone: the bytes are not looked at. */
	const struct str text = {"1", (size_t)JSON_BYTES_MAX + 1};

	(void)state;
	assert_fails(json_parse(&a, text, &root, &err), &err, JSON_LIMIT);
	assert_int_equal(a.used_bytes, 0);
}

static char *many_keys(int count, int doubled)
{
	_cleanup_(buf) struct buf b = BUF_INIT(16 * 1024 * 1024);

	(void)buf_putc(&b, '{');
	for (int i = 0; i < count; i++)
		(void)buf_printf(&b, "%s\"key number %d\":%d", i ? "," : "", i, i);
	if (doubled >= 0)
		(void)buf_printf(&b, ",\"key number %d\":null", doubled);
	(void)buf_putc(&b, '}');
	assert_false(b.full);
	return buf_take(&b);
}

static void finds_duplicates_in_objects_of_any_size(void **state)
{
	static const int counts[] = {1, 2, 31, 32, 33, 64, 1000, 100000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		const int doubled[] = {-1, 0, counts[i] / 2, counts[i] - 1};

		for (size_t k = 0; k < ARRAY_LEN(doubled); k++) {
			_cleanup_(arena) struct arena a = {NULL};
			_cleanup_(mem) char *text = many_keys(counts[i], doubled[k]);
			const struct json *root;
			struct error err = ERROR_INIT;
			char wanted[96];

			if (doubled[k] < 0) {
				assert_ok(json_parse(&a, str_from(text), &root, &err), &err);
				assert_int_equal(root->count, counts[i]);
				continue;
			}
			assert_fails(
				json_parse(&a, str_from(text), &root, &err), &err, JSON_SYNTAX);
			snprintf(wanted, sizeof(wanted),
				"'key number %d' a second time at byte %zu", doubled[k],
				(size_t)(strrchr(text, 'k') - text) - 1);
			assert_non_null(strstr(err.text, wanted));
		}
	}
}

static void shows_a_long_doubled_key_cut(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	const struct json *root;
	struct error err = ERROR_INIT;

	(void)state;
	for (int i = 0; i < 2; i++) {
		(void)buf_puts(&b, i ? ",\"" : "{\"");
		for (int k = 0; k < 1000; k++)
			(void)buf_puts(&b, "\xe2\x82\xac\\n");
		(void)buf_puts(&b, "\":1");
	}
	(void)buf_putc(&b, '}');
	assert_fails(json_parse(&a, buf_str(&b), &root, &err), &err, JSON_SYNTAX);
	assert_true(utf8_valid(str_from(err.text)));
	assert_true(strlen(err.text) < 128);
	assert_null(strchr(err.text, '\n'));
	assert_non_null(strstr(err.text, "a second time at byte 5006"));
}

static void a_value_outlives_its_text(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	const char literal[] = "{\"name\":\"a\\u0000b\",\"n\":-12,\"list\":[true,null]}";
	_cleanup_(mem) char *text = xstrdup(literal);
	const struct json *root, *list;
	struct error err = ERROR_INIT;
	struct str name;
	int64_t n;

	(void)state;
	assert_ok(json_parse(&a, str_from(text), &root, &err), &err);
	assert_string_equal(text, literal); /* and is left alone */
	memset(text, 'x', strlen(text));
	name = json_str(json_get(root, "name"));
	assert_int_equal(name.len, 3);
	assert_memory_equal(name.p, "a\0b\0", 4); /* the NUL behind it does not count */
	assert_int_equal(json_i64(json_get(root, "n"), &n), 0);
	assert_int_equal(n, -12);
	list = json_get(root, "list");
	assert_int_equal(list->count, 2);
	assert_true(json_is_true(list->child));
	assert_int_equal(list->child->next->type, JSON_NULL);
	assert_null(list->child->next->next);
	assert_null(list->next);
}

static void answers_about_what_is_not_there(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *root;
	struct error err = ERROR_INIT;
	int64_t n = 7;

	(void)state;
	assert_ok(json_parse(&a, STR("[{\"a\":\"\"},\"a\"]"), &root, &err), &err);
	assert_null(json_get(NULL, "a"));
	assert_null(json_get(root, "a"));
	assert_null(json_get(root->child, "b"));
	assert_null(json_get(root->child, ""));
	assert_non_null(json_str(json_get(root->child, "a")).p);
	assert_null(json_str(NULL).p);
	assert_null(json_str(root).p);
	assert_false(json_is_true(NULL));
	assert_int_equal(json_i64(NULL, &n), -1);
	assert_int_equal(json_i64(root->child->next, &n), -1);
	assert_int_equal(n, 7);
}

static void reads_whole_numbers_that_fit(void **state)
{
	static const struct {
		const char *text;
		int rc;
		int64_t value;
	} rows[] = {
		{"0",				0,  0        },
		{"-0",			       0,  0        },
		{"-1",			       0,  -1       },
		{"9223372036854775807",              0,  INT64_MAX},
		{"9223372036854775808",              -1, 0        },
		{"-9223372036854775808",             0,  INT64_MIN},
		{"-9223372036854775809",             -1, 0        },
		{"99999999999999999999999999999999", -1, 0        },
		{"1.0",			      -1, 0        },
		{"1e3",			      -1, 0        },
		{"-0.0",			     -1, 0        },
		{"\"1\"",			    -1, 0        },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		const struct json *root;
		struct error err = ERROR_INIT;
		int64_t value = 42;

		assert_ok(json_parse(&a, str_from(rows[i].text), &root, &err), &err);
		if (json_i64(root, &value) != rows[i].rc)
			fail_msg("%s: not %d", rows[i].text, rows[i].rc);
		assert_int_equal(value, rows[i].rc == 0 ? rows[i].value : 42);
	}
}

static void works_without_a_place_for_the_error(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *root;

	(void)state;
	assert_int_equal(json_parse(&a, STR("[1"), &root, NULL), -1);
	assert_int_equal(json_parse(&a, STR("{\"a\":1,\"a\":1}"), &root, NULL), -1);
	assert_int_equal(json_parse(&a, (struct str){NULL, 0}, &root, NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_is_not_json),
		cmocka_unit_test(accepts_what_is_json),
		cmocka_unit_test(bounds_the_depth),
		cmocka_unit_test(depth_counts_what_is_open),
		cmocka_unit_test(bounds_the_values),
		cmocka_unit_test(bounds_the_bytes),
		cmocka_unit_test(finds_duplicates_in_objects_of_any_size),
		cmocka_unit_test(shows_a_long_doubled_key_cut),
		cmocka_unit_test(a_value_outlives_its_text),
		cmocka_unit_test(answers_about_what_is_not_there),
		cmocka_unit_test(reads_whole_numbers_that_fit),
		cmocka_unit_test(works_without_a_place_for_the_error),
	};

	return cmocka_run_group_tests_name("json parse", tests, NULL, NULL);
}
