/* json: the wire form of rules, read and written, and what is refused. */
#include "rule/rule.h"
#include "testing.h"

enum { OUT_MAX_BYTES = 1 << 20 };

static int read_json(const char *text, struct rules **ret, struct error *err)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *value;

	assert_ok(json_parse(&a, str_from(text), &value, err), err);
	return rules_from_json(value, ret, err);
}

static void what_is_read_is_written(void **state)
{
	static const char *const rows[] = {
		"[]",
		"[{\"pattern\":[\"a\"],\"decision\":\"allow\"}]",
		"[{\"pattern\":[\"a\",[\"b\",\"c\"]],\"decision\":\"prompt\",\"justification\":"
		"\"x\"},"
		"{\"pattern\":[[\"d\",\"e\"]],\"decision\":\"forbidden\"}]",
		"{\"unreadable\":\"a.rules:1: x\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(rules) struct rules *r = NULL;
		_cleanup_(buf) struct buf b = BUF_INIT(OUT_MAX_BYTES);
		struct json_out j = JSON_OUT(&b);
		struct error err = ERROR_INIT;

		assert_ok(read_json(rows[i], &r, &err), &err);
		rules_put_json(r, &j, NULL);
		assert_string_equal(b.data, rows[i]);
	}
}

static void as_a_member(void **state)
{
	_cleanup_(rules) struct rules *list = rules_new();
	_cleanup_(rules) struct rules *none = rules_new_unreadable(STR(""));
	_cleanup_(buf) struct buf b = BUF_INIT(OUT_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	(void)state;
	json_open(&j, '{');
	rules_put_json(list, &j, "rules");
	rules_put_json(none, &j, "others");
	json_close(&j, '}');
	assert_string_equal(
		b.data, "{\"rules\":[],\"others\":{\"unreadable\":\"no reason was given\"}}");
}

static void the_reason_is_one_line_of_bounded_length(void **state)
{
	_cleanup_(mem) char *text = xmalloc(5000);
	_cleanup_(rules) struct rules *r = NULL, *wild = NULL;

	(void)state;
	memset(text, 'a', 5000);
	r = rules_new_unreadable((struct str){text, 5000});
	assert_int_equal(rules_unreadable(r).len, 1024);
	memset(text, '\n', 5000);
	wild = rules_new_unreadable((struct str){text, 5000});
	assert_int_equal(rules_unreadable(wild).len, 1024);
	assert_null(memchr(rules_unreadable(wild).p, '\n', 1024));
}

static void what_is_refused(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"null",								     "rules: neither a list"        },
		{"\"x\"",								    "rules: neither a list"        },
		{"true",								     "rules: neither a list"        },
		{"{}",								       "rules: an object other than"  },
		{"{\"unreadable\":1}",						       "rules: an object other than"  },
		{"{\"unreadable\":\"x\",\"rules\":[]}",                                      "rules: an object other than"  },
		{"[1]",								      "rules[0]: "                   },
		{"[{\"decision\":\"allow\"}]",					       "rules[0]: pattern"            },
		{"[{\"pattern\":[\"a\"]}]",						  "rules[0]: decision"           },
		{"[{\"pattern\":\"a\",\"decision\":\"allow\"}]",                             "rules[0]: pattern: not a list"},
		{"[{\"pattern\":[],\"decision\":\"allow\"}]",                                "rules[0]: pattern: not a list"},
		{"[{\"pattern\":{},\"decision\":\"allow\"}]",                                "rules[0]: pattern: not a list"},
		{"[{\"pattern\":[1],\"decision\":\"allow\"}]",                               "pattern[0]: not a word"       },
		{"[{\"pattern\":[\"a\",[]],\"decision\":\"allow\"}]",                        "pattern[1]: an empty list"    },
		{"[{\"pattern\":[\"a\",[1]],\"decision\":\"allow\"}]",                       "pattern[1]: not a word"       },
		{"[{\"pattern\":[[[\"a\"]]],\"decision\":\"allow\"}]",                       "pattern[0]: not a word"       },
		{"[{\"pattern\":[\"\"],\"decision\":\"allow\"}]",                            "pattern[0]: a word is empty"  },
		{"[{\"pattern\":[\"a\\u0000\"],\"decision\":\"allow\"}]",                    "control character"            },
		{"[{\"pattern\":[\"a\"],\"decision\":\"none\"}]",                            "rules[0]: decision"           },
		{"[{\"pattern\":[\"a\"],\"decision\":\"deny\"}]",                            "allow, prompt, forbidden"     },
		{"[{\"pattern\":[\"a\"],\"decision\":\"allow\",\"x\":1}]",                   "rules[0]: x"                  },
		{"[{\"pattern\":[\"a\"],\"decision\":\"allow\",\"match\":[]}]",              "rules[0]: match"              },
		{"[{\"pattern\":[\"a\"],\"decision\":\"allow\",\"justification\":1}]",
                 "rules[0]: justification"										  },
		{"[{\"pattern\":[\"a\"],\"decision\":\"allow\",\"justification\":\"\\n\"}]",
                 "control character"											},
		{"[{\"pattern\":[\"a\"],\"decision\":\"allow\"},{\"pattern\":[2],\"decision\":"
		 "\"allow\"}]",					     "rules[1]: pattern[0]"         },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rules *r = NULL;
		struct error err = ERROR_INIT;

		if (read_json(rows[i].text, &r, &err) == 0)
			fail_msg("'%s' was read", rows[i].text);
		assert_null(r);
		if (!error_is(&err, &RULES_INVALID) || !strstr(err.text, rows[i].wanted))
			fail_msg("'%s': %s: '%s', not '%s'", rows[i].text, error_code(&err),
				err.text, rows[i].wanted);
	}
}

static void limits(void **state)
{
	static const struct {
		const char *before, *item, *behind;
		size_t most;
		const struct error_kind *kind;
	} rows[] = {
		{"[{\"decision\":\"allow\",\"pattern\":[\"a\"",                       ",\"a\"", "]}]",
                 RULE_PATTERN_MAX - 1,											&RULES_LIMIT  },
		{"[{\"decision\":\"allow\",\"pattern\":[[\"a\"",                      ",\"a\"", "]]}]",
                 RULE_ALTERNATIVES_MAX - 1,										   &RULES_LIMIT  },
		{"[{\"pattern\":[\"a\"],\"decision\":\"allow\"}",
                 ",{\"pattern\":[\"a\"],\"decision\":\"allow\"}",                               "]",     RULES_MAX - 1,
                 &RULES_LIMIT													       },
		{"[{\"decision\":\"allow\",\"pattern\":[\"",                          "a",      "\"]}]", RULE_WORD_MAX_BYTES,
                 &RULES_INVALID													     },
		{"[{\"decision\":\"allow\",\"pattern\":[\"a\"],\"justification\":\"", "a",      "\"}]",
                 RULE_JUSTIFICATION_MAX_BYTES,										&RULES_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t more = 0; more < 2; more++) {
			_cleanup_(rules) struct rules *r = NULL;
			_cleanup_(buf) struct buf text = BUF_INIT(1 << 22);
			struct error err = ERROR_INIT;
			int rc;

			(void)buf_puts(&text, rows[i].before);
			for (size_t k = 0; k < rows[i].most + more; k++)
				(void)buf_puts(&text, rows[i].item);
			assert_int_equal(buf_puts(&text, rows[i].behind), 0);
			rc = read_json(text.data, &r, &err);
			if (more ? rc == 0 || !error_is(&err, rows[i].kind) : rc < 0)
				fail_msg("%zu of '%s': %d %s", rows[i].most + more, rows[i].item,
					rc, err.text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_is_written),
		cmocka_unit_test(as_a_member),
		cmocka_unit_test(the_reason_is_one_line_of_bounded_length),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests_name("rule json", tests, NULL, NULL);
}
