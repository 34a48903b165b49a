/* file: the language of `.rules` files: what is read, and where what is wrong stands. */
#include "rule/rule.h"
#include "testing.h"

enum { OUT_MAX_BYTES = 1 << 20 };

static void files(void **state)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{"",								    "[]"											 },
		{"\n\n# nothing\n",						     "[]"											 },
		{"  # indented\n\t\n",						  "[]"											 },
		{"prefix_rule(pattern=[\"git\"])",
                 "[{\"pattern\":[\"git\"],\"decision\":\"allow\"}]"														  },
		{"prefix_rule(pattern=['git',],)\n",
                 "[{\"pattern\":[\"git\"],\"decision\":\"allow\"}]"														  },
		{"prefix_rule ( decision = 'prompt' , pattern = [ 'a' , [ 'b' , \"c\" , ] , ] , ) "
		 "# x\n",					      "[{\"pattern\":[\"a\",[\"b\",\"c\"]],\"decision\":\"prompt\"}]"                              },
		{"prefix_rule(\n  # y\n  pattern = [\n    \"a\", # z\n    \"b\",\n  ],\n  decision "
		 "= "
		 "\"forbidden\",\n)\n",				"[{\"pattern\":[\"a\",\"b\"],\"decision\":\"forbidden\"}]"                                   },
		{"prefix_rule(pattern=['a'], justification='it\\'s \"so\"')\r\n"
		 "prefix_rule(pattern=['b'], justification=\"\")\r\n", "[{\"pattern\":[\"a\"],\"decision\":\"allow\",\"justification\":\"it's "
			"\\\"so\\\"\"},"
			"{\"pattern\":[\"b\"],\"decision\":\"allow\",\"justification\":\"\"}]"},
		{"prefix_rule(pattern=[['a']], match=['a', 'a b', ['a','c d']], not_match=['b', "
		 "['aa'], "
		 "\"'a b'x\" ])",				      NULL											 },
		{"prefix_rule(pattern=['a'], match=[], not_match=[])",
                 "[{\"pattern\":[\"a\"],\"decision\":\"allow\"}]"														    },
		{"prefix_rule(pattern=['a', ['b', 'c']], match=['a b', 'a \"c\" d'], "
		 "not_match=['a', 'a d', "
		 "'ab'])",					     "[{\"pattern\":[\"a\",[\"b\",\"c\"]],\"decision\":\"allow\"}]"                               },
		{"host_executable(name='git', paths=['/usr/bin/git'])\nhost_executable(name='x', "
		 "paths=[])\n",					"[]"											 },
		{"prefix_rule(pattern=['\xc3\xa9 \\\\'])",
                 "[{\"pattern\":[\"\xc3\xa9 \\\\\"],\"decision\":\"allow\"}]"													},
		{"prefix_rule(pattern=['#', \"a'b\"])",
                 "[{\"pattern\":[\"#\",\"a'b\"],\"decision\":\"allow\"}]"													    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(rules) struct rules *r = rules_new();
		_cleanup_(buf) struct buf b = BUF_INIT(OUT_MAX_BYTES);
		struct json_out j = JSON_OUT(&b);
		struct error err = ERROR_INIT;
		const int rc = rules_read_text(r, "x.rules", str_from(rows[i].text), &err);

		if (!rows[i].json) {
			assert_int_equal(rc, -1);
			assert_true(error_is(&err, &RULES_UNREADABLE));
			continue;
		}
		if (rc < 0)
			fail_msg("'%s': %s", rows[i].text, err.text);
		rules_put_json(r, &j, NULL);
		assert_string_equal(b.data, rows[i].json);
	}
}

static const struct {
	const char *text, *wanted;
} wrong[] = {
	{"\nrule(pattern=['a'])",                                 "x.rules:2: 'rule' is neither prefix_rule nor"                      },
	{"load('x')",					     "x.rules:1: 'load' is neither"                                      },
	{"x = 1",						 "x.rules:1: 'x' is neither"                                         },
	{"'a'",						   "x.rules:1: a string where a call is expected"                      },
	{"(",						     "x.rules:1: '(' where a call is expected"                           },
	{" prefix_rule(pattern=['a'])",                           "x.rules:1: blanks before a call"                                   },
	{"prefix_rule",					   "x.rules:1: the file ends where '(' is expected"                    },
	{"prefix_rule\n(pattern=['a'])",                          "where '(' is expected"                                             },
	{"prefix_rule(",					  "x.rules:1: the file ends where the name of an argument is expected"},
	{"prefix_rule(\n\n",				      "x.rules:3: the file ends"                                          },
	{"prefix_rule()",					 "x.rules:1: prefix_rule without pattern"                            },
	{"prefix_rule(['a'])",				    "x.rules:1: '[' where the name of an argument is expected"          },
	{"prefix_rule(pattern)",				  "x.rules:1: ')' where '=' is expected"                              },
	{"prefix_rule(pattern=)",                                 "x.rules:1: ')' where a string or a list is expected"               },
	{"prefix_rule(pattern='a')",                              "x.rules:1: pattern is not a list"                                  },
	{"prefix_rule(pattern=[])",                               "x.rules:1: pattern is an empty list"                               },
	{"prefix_rule(pattern=['a',\n[]])",                       "x.rules:2: an empty list"                                          },
	{"prefix_rule(pattern=['a',\n''])",                       "x.rules:2: a word is empty"                                        },
	{"prefix_rule(pattern=['a\\n'])",                         "x.rules:1: a word has a control character"                         },
	{"prefix_rule(pattern=[1])",                              "x.rules:1: '1' where a string or a list is expected"               },
	{"prefix_rule(pattern=[a])",                              "x.rules:1: 'a' where a string or a list"                           },
	{"prefix_rule(pattern=['a' 'b'])",                        "x.rules:1: a string where ',' is expected"                         },
	{"prefix_rule(pattern=['a'+'b'])",                        "x.rules:1: '+' where ',' is expected"                              },
	{"prefix_rule(pattern=['a',,])",                          "x.rules:1: ',' where a string or a list"                           },
	{"prefix_rule(pattern=[['a',['b']]])",                    "x.rules:1: '[' where a string is expected"                         },
	{"prefix_rule(pattern=['a'],,)",                          "x.rules:1: ',' where the name of an argument"                      },
	{"prefix_rule(pattern=['a'] decision='allow')",           "x.rules:1: 'decision' where ',' is"                                },
	{"prefix_rule(pattern=['a'], pattern=['b'])",             "x.rules:1: pattern is given a second time"                         },
	{"prefix_rule(pattern=['a'],\n why='b')",                 "x.rules:2: prefix_rule has no argument 'why'"                      },
	{"prefix_rule(pattern=['a'],\ndecision='deny')",          "x.rules:2: decision is none of allow"                              },
	{"prefix_rule(pattern=['a'], decision='none')",           "decision is none of allow"                                         },
	{"prefix_rule(pattern=['a'], decision='Allow')",          "decision is none of allow"                                         },
	{"prefix_rule(pattern=['a'], decision=['allow'])",        "'[' where a string is expected"                                    },
	{"prefix_rule(pattern=['a'], decision=allow)",            "'allow' where a string is expected"                                },
	{"prefix_rule(pattern=['a']) prefix_rule(pattern=['b'])",
         "x.rules:1: 'prefix_rule' where the end of the line is expected"                                                             },
	{"prefix_rule(pattern=['a']);",                           "x.rules:1: ';' where the end of the line is expected"              },
	{"prefix_rule(pattern=['a",                               "x.rules:1: a string that does not end on its line"                 },
	{"prefix_rule(pattern=['a\n'])",                          "x.rules:1: a string that does not end on its line"                 },
	{"\n\nprefix_rule(pattern=['''a'''])",                    "x.rules:3: a string where ',' is expected"                         },
	{"prefix_rule(pattern=[r'a'])",                           "'r' where a string or a list"                                      },
	{"prefix_rule(pattern=['\\x41'])",                        "an escape other than"                                              },
	{"prefix_rule(pattern=['a\\",                             "an escape other than"                                              },
	{"prefix_rule(pattern=['a'],\n\nmatch=['b'])",
         "x.rules:3: an example of match that the rule does not match"                                                                },
	{"prefix_rule(pattern=['a'],\nnot_match=['b',\n'a c'])",
         "x.rules:3: an example of not_match that the rule matches"                                                                   },
	{"prefix_rule(pattern=['a'], match=['a; a'])",            "an example of 2 commands"                                          },
	{"prefix_rule(pattern=['a'], match=['a > b'])",
         "an example is no plain script: a redirection at byte 2"                                                                     },
	{"prefix_rule(pattern=['a'], match=[[]])",                "an empty list"                                                     },
	{"prefix_rule(pattern=['a'], match='a')",                 "match is not a list"                                               },
	{"prefix_rule(pattern=['a'],\njustification='a\\nb')",
         "x.rules:2: justification has a control character"									   },
	{"host_executable(name='git')",                           "host_executable without paths"                                     },
	{"host_executable(paths=['/x'])",                         "host_executable without name"                                      },
	{"host_executable(name='a/b', paths=['/x'])",             "name is a path"                                                    },
	{"host_executable(name='a', paths=['x'])",                "a path that is not absolute"                                       },
	{"# a\x01",					       "x.rules:1: a control character"                                    },
	{"#\n# a\rb",					     "x.rules:2: a carriage return within a line"                        },
	{"\n\xff",						"the file is not UTF-8"					     },
	{"\xef\xbb\xbf# a",				       "x.rules:1: "						       },
	{"prefix_rule(pattern=['a'])\n\xc2\xa0",                  "x.rules:2: "                                                       },
};

static void what_is_wrong_and_where(void **state)
{

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		_cleanup_(rules) struct rules *r = rules_new();
		struct error err = ERROR_INIT;

		if (rules_read_text(r, "x.rules", str_from(wrong[i].text), &err) == 0)
			fail_msg("'%s' was read", wrong[i].text);
		if (!error_is(&err, &RULES_UNREADABLE) || !strstr(err.text, wrong[i].wanted))
			fail_msg("'%s': %s: '%s', not '%s'", wrong[i].text, error_code(&err),
				err.text, wrong[i].wanted);
	}
}

static void rules_know_their_lines(void **state)
{
	_cleanup_(rules) struct rules *r = rules_new();
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(
		rules_read_text(r, "a.rules",
			STR("# x\nprefix_rule(\npattern=['a'],\n)\n\nprefix_rule(pattern=['b'])\n"),
			&err),
		&err);
	assert_ok(rules_read_text(r, "b.rules", STR("prefix_rule(pattern=['c'])"), &err), &err);
	assert_int_equal(rules_count(r), 3);
	assert_int_equal(rules_at(r, 0)->line, 2);
	assert_int_equal(rules_at(r, 1)->line, 6);
	assert_int_equal(rules_at(r, 2)->line, 1);
	assert_true(str_is(rules_at(r, 1)->file, "a.rules"));
	assert_true(str_is(rules_at(r, 2)->file, "b.rules"));
}

/* A list of n items: BEFORE, ITEM n times, BEHIND. */
static struct buf made(const char *before, const char *item, size_t n, const char *behind)
{
	struct buf b = BUF_INIT(1 << 22);

	(void)buf_puts(&b, before);
	for (size_t i = 0; i < n; i++)
		(void)buf_puts(&b, item);
	(void)buf_puts(&b, behind);
	assert_false(b.full);
	return b;
}

static void limits(void **state)
{
	static const struct {
		const char *before, *item, *behind;
		size_t most;
		const struct error_kind *kind;
	} rows[] = {
		{"prefix_rule(pattern=[",                     "'a',",                         "])",  RULE_PATTERN_MAX,      &RULES_LIMIT     },
		{"prefix_rule(pattern=[[",                    "'a',",                         "]])", RULE_ALTERNATIVES_MAX, &RULES_LIMIT     },
		{"prefix_rule(pattern=['a'],match=[",         "'a',",                         "])",  RULE_EXAMPLES_MAX,
                 &RULES_LIMIT														},
		{"prefix_rule(pattern=['",                    "a",                            "'])", RULE_WORD_MAX_BYTES,   &RULES_UNREADABLE},
		{"prefix_rule(pattern=['a'],justification='", "a",                            "')",
                 RULE_JUSTIFICATION_MAX_BYTES,									      &RULES_UNREADABLE},
		{"",					  "prefix_rule(pattern=['a'])\n", "",    RULES_MAX,             &RULES_LIMIT     },
		{"",					  "#",			    "",    RULES_FILE_MAX_BYTES,  &RULES_LIMIT     },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t more = 0; more < 2; more++) {
			_cleanup_(rules) struct rules *r = rules_new();
			_cleanup_(buf) struct buf text = made(
				rows[i].before, rows[i].item, rows[i].most + more, rows[i].behind);
			struct error err = ERROR_INIT;
			const int rc = rules_read_text(r, "x.rules", buf_str(&text), &err);

			if (more ? rc == 0 || !error_is(&err, rows[i].kind) : rc < 0)
				fail_msg("%zu of '%s': %d %s", rows[i].most + more, rows[i].item,
					rc, err.text);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),
		cmocka_unit_test(what_is_wrong_and_where),
		cmocka_unit_test(rules_know_their_lines),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests_name("rule file", tests, NULL, NULL);
}
