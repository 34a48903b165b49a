/* toml: values, lines, faults and bounds. */
#include "testing.h"
#include "toml/toml.h"

static const struct json *parsed(struct arena *a, const char *text)
{
	struct error err = ERROR_INIT;
	const struct json *doc;

	assert_ok(toml_parse(a, str_from(text), &doc, &err), &err);
	return doc;
}

static void a_document_becomes_json(void **state)
{
	static const struct {
		const char *toml, *json;
	} rows[] = {
		{"",								    "{}"				       },
		{"# nothing\n",							 "{}"				       },
		{"b = true\na = false\n",					       "{\"a\":false,\"b\":true}"                 },
		{"i = -12\nu = 1_000\nx = 0xff\n",                                      "{\"i\":-12,\"u\":1000,\"x\":255}"         },
		{"f = 1.5\ng = 1e3\n",						  "{\"f\":1.5,\"g\":1000}"                   },
		{"f = [inf, -inf, nan]\n",					      "{\"f\":[\"inf\",\"-inf\",\"nan\"]}"       },
		{"s = \"a\\tb\\u00e9\"\nl = 'a\\tb'\n",
                 "{\"l\":\"a\\\\tb\",\"s\":\"a\\tb\xc3\xa9\"}"								     },
		{"m = \"\"\"\none\"\" two\"\"\"\"\"\n",                                 "{\"m\":\"one\\\"\\\" two\\\"\\\"\"}"      },
		{"a = [1, [2, 3], []]\n",					       "{\"a\":[1,[2,3],[]]}"                     },
		{"[t]\nx = 1\n[t.u]\ny.z = 2\n",                                        "{\"t\":{\"u\":{\"y\":{\"z\":2}},\"x\":1}}"},
		{"t = {x = 1, 'y.z' = 2}\n",                                            "{\"t\":{\"x\":1,\"y.z\":2}}"              },
		{"[[t]]\nx = 1\n[[t]]\nx = 2\n",                                        "{\"t\":[{\"x\":1},{\"x\":2}]}"            },
		{"d = 1979-05-27\nt = 07:32:00\no = 1979-05-27T07:32:00Z\n",
                 "{\"d\":\"1979-05-27\",\"o\":\"1979-05-27T07:32:00Z\",\"t\":\"07:32:00\"}"                                        },
		{"\xef\xbb\xbfs = \"\"\"a\\\n \xc3\xa9\xef\xbb\xb6\"\"\" # \xc3\xa9\n",
                 "{\"s\":\"a\xc3\xa9\xef\xbb\xb6\"}"									       },
		{"n = \"a\\u0000b\"\n",						 "{\"n\":\"a\\u0000b\"}"                    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {.blocks = NULL};
		_cleanup_(buf) struct buf out = BUF_INIT(4096);
		struct json_out j = JSON_OUT(&out);

		json_put(&j, NULL, parsed(&a, rows[i].toml));
		if (!str_is(buf_str(&out), rows[i].json))
			fail_msg("'%s': %s", rows[i].toml, out.data);
	}
}

static void a_value_knows_its_line(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const struct json *doc = parsed(&a, "a = 1\n\n[t]\nx = [\n 1,\n 2]\n");
	const struct json *x = json_get(json_get(doc, "t"), "x");

	(void)state;
	assert_int_equal(toml_line(json_get(doc, "a")), 1);
	assert_int_equal(toml_line(json_get(doc, "t")), 3);
	assert_int_equal(toml_line(x), 4);
	assert_int_equal(toml_line(x->child->next), 6);
}

static void what_is_no_toml_names_its_line(void **state)
{
	static const struct {
		const char *text, *place;
	} rows[] = {
		{"a = \n",                     "line 1,"},
		{"a = 1\nb\n",                 "line 2,"},
		{"a = 1\n\na = 2\n",           "line 3,"},
		{"[t]\n[t]\n",                 "line 2,"},
		{"a = \"x\n",                  "line 1,"},
		{"\n\xc3\xa9 = 1\n",           "line 2,"},
		{"a = 1\xc3\xa9\n",            "line 1,"},
		{"a = \"\xff\"\n",             "line 1,"},
		{"a = 1 b = 2\n",              "line 1,"},
		{"a = {x = 1,\n",              "line 1,"},
		{"a = 99999999999999999999\n", "line 1,"},
		{"a = 2021-13-01\n",           "line 1,"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {.blocks = NULL};
		struct error err = ERROR_INIT;
		const struct json *doc;

		assert_int_equal(toml_parse(&a, str_from(rows[i].text), &doc, &err), -1);
		if (!error_is(&err, &TOML_SYNTAX) || !strstr(err.text, rows[i].place))
			fail_msg("'%s': %s", rows[i].text, err.text);
	}
}

/* A text of `count` times `part` between two others; the caller frees. */
static char *repeated(const char *before, const char *part, size_t count, const char *behind)
{
	struct buf text = BUF_INIT(4 * TOML_BYTES_MAX);

	assert_int_equal(buf_puts(&text, before), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(buf_puts(&text, part), 0);
	assert_int_equal(buf_puts(&text, behind), 0);
	return buf_take(&text);
}

static void what_is_too_much_is_refused(void **state)
{
	static const struct {
		const char *before, *part, *behind;
		size_t fits, over;
	} rows[] = {
		{"a",					    ".a",       " = 1\n",  TOML_DEPTH_MAX - 2, 100000        },
		{"a",					    " . \"=\"", " = 1\n",  TOML_DEPTH_MAX - 2, 40000         },
		{"[a",					   ".a",       "]\n",     TOML_DEPTH_MAX - 2, 100000        },
		{"[[a",					  ".a",       "]]\n",    TOML_DEPTH_MAX - 3, 100000        },
		{"x = {a",				       ".a",       " = 1}\n", TOML_DEPTH_MAX - 3, 100000        },
		{"x = '''\n'''\ny = \"\"\"\\\"\"\"\"\"\"\nx2.a", ".a",       " = 1\n",  TOML_DEPTH_MAX - 3,
                 100000												   },
		{"x = ",					 "[",        "",        0,                  100000        },
		{"x = ",					 "{a=",      "",        0,                  80000         },
		{"# ",					   ".",        "\n",      TOML_BYTES_MAX - 3, TOML_BYTES_MAX},
		{"x = '",					".",        "'\n",     TOML_BYTES_MAX - 7, TOML_BYTES_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {.blocks = NULL};
		_cleanup_(mem) char *fits = repeated(
			rows[i].before, rows[i].part, rows[i].fits, rows[i].behind);
		_cleanup_(mem) char *over = repeated(
			rows[i].before, rows[i].part, rows[i].over, rows[i].behind);
		struct error err = ERROR_INIT;
		const struct json *doc;

		if (rows[i].fits > 0)
			assert_ok(toml_parse(&a, str_from(fits), &doc, &err), &err);
		assert_int_equal(toml_parse(&a, str_from(over), &doc, &err), -1);
		if (rows[i].fits > 0)
			assert_ptr_equal(err.kind, &TOML_LIMIT);
	}
}

static void the_depth_of_all_together_counts(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(mem) char *header = repeated("[a", ".a", 20, "]\n");
	_cleanup_(mem) char *text = repeated(header, "b.", 20, "c = 1\n");
	struct error err = ERROR_INIT;
	const struct json *doc;

	(void)state;
	assert_int_equal(toml_parse(&a, str_from(text), &doc, &err), -1);
	assert_ptr_equal(err.kind, &TOML_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_becomes_json),
		cmocka_unit_test(a_value_knows_its_line),
		cmocka_unit_test(what_is_no_toml_names_its_line),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(the_depth_of_all_together_counts),
	};

	return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
