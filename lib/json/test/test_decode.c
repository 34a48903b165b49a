/* json decoder: every sort of field, every bound, every way of being wrong. */
#include "testing.h"
#include "json/json.h"

enum mode { MODE_ASK, MODE_AUTO, MODE_DENY };
static const char *const mode_names[] = {"ask", "auto", "deny", NULL};

struct limits {
	int64_t turns;
	struct str unit;
};

struct inner {
	bool on;
};

struct outer {
	struct inner inner;
	int64_t n;
};

struct request {
	struct str name, prompt, cwd;
	int64_t keep_turns, offset;
	bool network;
	int mode;
	struct str_list tags;
	const struct json *data;
	struct limits limits;
	struct outer outer;
};

static const struct json_field limits_fields[] = {
	JSON_I64(struct limits, turns, .required = true, .min = 1, .max = 10),
	JSON_STR(struct limits, unit, .nullable = true),
};

static const struct json_field inner_fields[] = {
	JSON_BOOL(struct inner, on, .required = true),
};

static const struct json_field outer_fields[] = {
	JSON_OBJ(struct outer, inner, inner_fields, .required = true),
	JSON_I64(struct outer, n),
};

static const struct json_field request_fields[] = {
	JSON_STR(struct request, name, .required = true, .min = 1, .max = 8),
	JSON_STR(struct request, prompt, .nullable = true),
	JSON_STR(struct request, cwd, .cstr = true),
	JSON_I64(struct request, keep_turns, .max = 100000),
	JSON_I64(struct request, offset, .min = INT64_MIN),
	JSON_BOOL(struct request, network),
	JSON_ENUM(struct request, mode, mode_names),
	JSON_STRS(struct request, tags, .min = 1, .max = 3, .item_max = 4, .cstr = true),
	JSON_NODE(struct request, data),
	JSON_OBJ(struct request, limits, limits_fields, .nullable = true),
	JSON_OBJ(struct request, outer, outer_fields),
};

static const char *const skipped[] = {"id", "op", NULL};

static int decode(struct arena *a, const char *text, const char *where, struct request *r,
	uint64_t *seen, struct error *err)
{
	const struct json_table table = {request_fields, ARRAY_LEN(request_fields), where, skipped};
	const struct json *root;

	assert_ok(json_parse(a, str_from(text), &root, err), err);
	return json_decode(a, root, &table, r, seen, err);
}

static void fills_every_sort_of_field(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct request r = {.mode = MODE_ASK};
	struct error err = ERROR_INIT;
	uint64_t seen = 0;

	(void)state;
	assert_ok(decode(&a,
			  "{\"id\":{\"any\":[1]},\"op\":null,\"name\":\"bot\",\"prompt\":"
			  "\"a\\u0000b\",\"cwd\":\"/x\","
			  "\"keep_turns\":100000,\"offset\":-9223372036854775808,\"network\":true,"
			  "\"mode\":\"deny\","
			  "\"tags\":[\"a\",\"\",\"long\"],\"data\":[0.10],\"limits\":{\"turns\":10,"
			  "\"unit\":null},"
			  "\"outer\":{\"n\":9223372036854775807,\"inner\":{\"on\":true}}}",
			  "create", &r, &seen, &err),
		&err);
	assert_true(str_is(r.name, "bot"));
	assert_true(str_eq(r.prompt, STR("a\0b")));
	assert_string_equal(r.cwd.p, "/x");
	assert_int_equal(r.keep_turns, 100000);
	assert_true(r.offset == INT64_MIN);
	assert_true(r.network);
	assert_int_equal(r.mode, MODE_DENY);
	assert_int_equal(r.tags.count, 3);
	assert_true(str_is(r.tags.items[0], "a"));
	assert_true(str_is(r.tags.items[1], ""));
	assert_true(str_is(r.tags.items[2], "long"));
	assert_true(str_is(r.data->child->text, "0.10"));
	assert_int_equal(r.limits.turns, 10);
	assert_null(r.limits.unit.p);
	assert_true(r.outer.inner.on);
	assert_true(r.outer.n == INT64_MAX);
	assert_int_equal(seen, (1 << ARRAY_LEN(request_fields)) - 1);
}

static void leaves_what_is_absent_as_it_was(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct request r = {
		.keep_turns = 7, .mode = MODE_AUTO, .network = true, .limits = {.turns = 3}};
	struct error err = ERROR_INIT;
	uint64_t seen = 0;

	(void)state;
	assert_ok(decode(&a, "{\"limits\":null,\"prompt\":null,\"name\":\"x\"}", NULL, &r, &seen,
			  &err),
		&err);
	assert_int_equal(r.keep_turns, 7);
	assert_int_equal(r.mode, MODE_AUTO);
	assert_true(r.network);
	assert_int_equal(r.limits.turns, 3);
	assert_null(r.prompt.p);
	assert_int_equal(seen, 1 | 1 << 1 | 1 << 9); /* null counts as seen */
}

static void refuses_with_the_path_and_the_bound(void **state)
{
	static const struct {
		const char *name, *text, *wanted;
	} rows[] = {
		{"a list for the whole",        "[]",						     "create: must be an object, not a list"                                },
		{"a string for the whole",      "\"x\"",                                                  "create: must be an object, not a string"                              },
		{"null for the whole",          "null",						   "create: must be an object, not null"                                  },
		{"nothing of what is required", "{}",                                                     "create.name: is missing"                                              },
		{"an unknown member",           "{\"name\":\"x\",\"nam\":1}",
                 "create.nam: there is no such field"															    },
		{"a longer name",               "{\"names\":1}",                                          "create.names: there is no such field"                                 },
		{"an empty name",               "{\"\":1}",					       "create.: there is no such field"                                      },
		{"a name with a NUL",           "{\"name\\u0000\":\"x\"}",                                "there is no such field"                                               },
		{"a name of other case",        "{\"Name\":\"x\"}",                                       "create.Name: there is no such field"                                  },
		{"null",                        "{\"name\":null}",                                        "create.name: must not be null"                                        },
		{"null in any value",           "{\"data\":null}",                                        "create.data: must not be null"                                        },
		{"a number for a string",       "{\"name\":1}",
                 "create.name: must be a string, not a number"														   },
		{"a list for a string",         "{\"name\":[\"x\"]}",
                 "create.name: must be a string, not a list"														     },
		{"a string too long",           "{\"name\":\"123456789\"}",
                 "create.name: 9 bytes are over 8"															       },
		{"characters are bytes",        "{\"name\":\"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\"}",
                 "create.name: 9 bytes are over 8"															       },
		{"a string too short",          "{\"name\":\"\"}",                                        "create.name: 0 bytes are under 1"                                     },
		{"a NUL in a C string",         "{\"cwd\":\"/a\\u0000b\"}",
                 "create.cwd: must not hold a NUL"															       },
		{"a number too large",          "{\"keep_turns\":200001}",
                 "create.keep_turns: 200001 is over 100000"														      },
		{"a number too small",          "{\"keep_turns\":-1}",                                    "create.keep_turns: -1 is under 0"                                     },
		{"a fraction",                  "{\"keep_turns\":1.0}",
                 "create.keep_turns: 1.0 is not a whole number"														  },
		{"an exponent",                 "{\"keep_turns\":1e3}",
                 "create.keep_turns: 1e3 is not a whole number"														  },
		{"a number in quotes",          "{\"keep_turns\":\"1\"}",
                 "create.keep_turns: must be a whole number, not a string"												       },
		{"true for a number",           "{\"keep_turns\":true}",
                 "create.keep_turns: must be a whole number, not a boolean"												      },
		{"2^63, bounded",               "{\"keep_turns\":9223372036854775808}",
                 "create.keep_turns: 9223372036854775808 is over 100000"													 },
		{"2^63, not bounded",           "{\"offset\":9223372036854775808}",
                 "9223372036854775808 is over 9223372036854775807"													       },
		{"-2^63 - 1",                   "{\"offset\":-9223372036854775809}",
                 "create.offset: -9223372036854775809 is under -9223372036854775808"											     },
		{"a long number",
                 "{\"offset\":1000000000000000000000000000000000000000000000000000}",                     "create.offset: 10000000000000000000000000000000 is over"              },
		{"a long fraction",
                 "{\"offset\":1.000000000000000000000000000000000000000000000000000}",                    "create.offset: 1.000000000000000000000000000000 is not a whole number"},
		{"a number for a boolean",      "{\"network\":1}",
                 "create.network: must be true or false, not a number"													   },
		{"a word for a boolean",        "{\"network\":\"true\"}",
                 "create.network: must be true or false, not a string"													   },
		{"an unknown choice",           "{\"mode\":\"sk-secret\"}",
                 "create.mode: must be one of ask, auto, deny"														   },
		{"a choice with a NUL",         "{\"mode\":\"ask\\u0000\"}",
                 "create.mode: must be one of ask, auto, deny"														   },
		{"a number for a choice",       "{\"mode\":0}",
                 "create.mode: must be a string, not a number"														   },
		{"a string for a list",         "{\"tags\":\"a\"}",
                 "create.tags: must be a list of strings, not a string"													  },
		{"an object for a list",        "{\"tags\":{}}",
                 "create.tags: must be a list of strings, not an object"													 },
		{"a list too long",             "{\"tags\":[\"a\",\"b\",\"c\",\"d\"]}",
                 "create.tags: 4 items are over 3"															       },
		{"a list too short",            "{\"tags\":[]}",                                          "create.tags: 0 items are under 1"                                     },
		{"an item too long",            "{\"tags\":[\"a\",\"12345\"]}",
                 "create.tags[1]: 5 bytes are over 4"															    },
		{"a number as item",            "{\"tags\":[\"a\",\"b\",3]}",
                 "create.tags[2]: must be a string, not a number"														},
		{"null as item",                "{\"tags\":[null]}",                                      "create.tags[0]: must be a string, not null"                           },
		{"a NUL in an item",            "{\"tags\":[\"\\u0000\"]}",
                 "create.tags[0]: must not hold a NUL"															   },
		{"a list for an object",        "{\"limits\":[]}",
                 "create.limits: must be an object, not a list"														  },
		{"required further down",       "{\"limits\":{}}",                                        "create.limits.turns: is missing"                                      },
		{"a bound further down",        "{\"limits\":{\"turns\":0}}",
                 "create.limits.turns: 0 is under 1"															     },
		{"unknown further down",        "{\"limits\":{\"turns\":1,\"id\":1}}",
                 "create.limits.id: there is no such field"														      },
		{"two levels down",             "{\"outer\":{\"inner\":{\"on\":0}}}",
                 "create.outer.inner.on: must be true or false, not a number"												    },
		{"after two levels down",       "{\"outer\":{\"inner\":{\"on\":true},\"n\":-1}}",
                 "create.outer.n: -1 is under 0"																 },
		{"after it all",                "{\"outer\":{\"inner\":{\"on\":true}},\"tags\":[\"a\"]}",
                 "create.name: is missing"																       },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		struct request r = {.mode = MODE_ASK};
		struct error err = ERROR_INIT;
		uint64_t seen = 99;

		if (decode(&a, rows[i].text, "create", &r, &seen, &err) != -1)
			fail_msg("%s: was accepted", rows[i].name);
		if (!error_is(&err, &JSON_FIELD) || !strstr(err.text, rows[i].wanted))
			fail_msg("%s: '%s' is not '%s'", rows[i].name, err.text, rows[i].wanted);
		assert_null(strstr(err.text, "sk-secret"));
		assert_int_equal(seen, 99); /* only on success */
	}
}

static void paths_without_a_start(void **state)
{
	static const char *const starts[] = {NULL, ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		struct request r = {.mode = MODE_ASK};
		struct error err = ERROR_INIT;

		assert_fails(decode(&a, "{\"keep_turns\":-5}", starts[i], &r, NULL, &err), &err,
			JSON_FIELD);
		assert_string_equal(err.text, "keep_turns: -5 is under 0");
		assert_fails(decode(&a, "{\"limits\":{\"x\":1}}", starts[i], &r, NULL, &err), &err,
			JSON_FIELD);
		assert_string_equal(err.text, "limits.x: there is no such field");
		assert_fails(decode(&a, "[]", starts[i], &r, NULL, &err), &err, JSON_FIELD);
		assert_string_equal(err.text, "must be an object, not a list");
	}
}

static void shows_strange_names_harmlessly(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	struct request r = {.mode = MODE_ASK};
	struct error err = ERROR_INIT;
	char where[400];

	(void)state;
	memset(where, 'w', sizeof(where) - 1);
	where[sizeof(where) - 1] = '\0';
	(void)buf_puts(&b, "{\"%s%n\\u001b[31m");
	for (int i = 0; i < 1000; i++)
		(void)buf_puts(&b, "\xf0\x9f\x98\x80");
	(void)buf_puts(&b, "\":1}");
	assert_fails(decode(&a, b.data, where, &r, NULL, &err), &err, JSON_FIELD);
	assert_true(utf8_valid(str_from(err.text)));
	assert_null(strchr(err.text, '\x1b'));
	assert_non_null(strstr(err.text, ".%s%n"));
	assert_non_null(strstr(err.text, ": there is no such field"));
}

static void lists_without_bounds(void **state)
{
	static const struct json_field fields[] = {JSON_STRS(struct request, tags)};
	static const struct json_table table = {fields, 1, "x", NULL};
	_cleanup_(arena) struct arena a = {NULL};
	struct request r = {.mode = MODE_ASK};
	const struct json *root;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(json_parse(&a, STR("{\"tags\":[]}"), &root, &err), &err);
	assert_ok(json_decode(&a, root, &table, &r, NULL, &err), &err);
	assert_int_equal(r.tags.count, 0);
	assert_ok(json_parse(&a, STR("{\"tags\":[\"a\\u0000\",\"b\",\"c\",\"d\",\"e\"]}"), &root,
			  &err),
		&err);
	assert_ok(json_decode(&a, root, &table, &r, NULL, &err), &err);
	assert_int_equal(r.tags.count, 5);
	assert_true(str_eq(r.tags.items[0], STR("a\0")));
	assert_true(str_is(r.tags.items[4], "e"));
}

static void an_absent_object_is_missing(void **state)
{
	struct json_table table = {request_fields, ARRAY_LEN(request_fields), "call.args", NULL};
	_cleanup_(arena) struct arena a = {NULL};
	struct request r = {.mode = MODE_ASK};
	struct error err = ERROR_INIT;

	(void)state;
	assert_fails(json_decode(&a, NULL, &table, &r, NULL, &err), &err, JSON_FIELD);
	assert_string_equal(err.text, "call.args: is missing");
	table.where = NULL;
	assert_int_equal(json_decode(&a, NULL, &table, &r, NULL, NULL), -1);
}

/* Sixty-four fields, the most there can be: the last one's bit is the highest. */
static void sixty_four_fields(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	static char names[64][4];
	struct json_field fields[64] = {{NULL}};
	const struct json_table table = {fields, ARRAY_LEN(fields), "x", NULL};
	bool values[64] = {false};
	const struct json *root;
	struct error err = ERROR_INIT;
	uint64_t seen;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		snprintf(names[i], sizeof(names[i]), "f%zu", i);
		fields[i] = (struct json_field){
			.name = names[i], .sort = JSON_FIELD_BOOL, .offset = i * sizeof(bool)};
	}
	assert_ok(json_parse(&a, STR("{\"f63\":true,\"f0\":true}"), &root, &err), &err);
	assert_ok(json_decode(&a, root, &table, values, &seen, &err), &err);
	assert_true(values[63] && values[0] && !values[1]);
	assert_true(seen == (UINT64_C(1) << 63 | 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_every_sort_of_field),
		cmocka_unit_test(leaves_what_is_absent_as_it_was),
		cmocka_unit_test(refuses_with_the_path_and_the_bound),
		cmocka_unit_test(paths_without_a_start),
		cmocka_unit_test(shows_strange_names_harmlessly),
		cmocka_unit_test(lists_without_bounds),
		cmocka_unit_test(an_absent_object_is_missing),
		cmocka_unit_test(sixty_four_fields),
	};

	return cmocka_run_group_tests_name("json decode", tests, NULL, NULL);
}
