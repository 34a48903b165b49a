/* script: what is plain and how it is read, what is not and why, and that writing it changes
 * nothing. */
#include "rule/rule.h"
#include "testing.h"

enum { OUT_MAX_BYTES = 65536 };

/* Words between '|', commands behind the sign of how they are joined: "a|b && c". */
static void put_shown(struct buf *to, const struct rule_script *s)
{
	static const char *const joins[] = {"", " ; ", " && ", " || ", " / "};

	for (size_t i = 0; i < s->count; i++) {
		const struct str_list *words = &s->commands[i].words;

		assert_int_equal(buf_puts(to, joins[s->commands[i].join]), 0);
		for (size_t k = 0; k < words->count; k++) {
			assert_int_equal(buf_puts(to, k > 0 ? "|" : ""), 0);
			assert_int_equal(buf_put_str(to, words->items[k]), 0);
		}
	}
}

static void expect_plain(const char *text, const char *wanted)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf shown = BUF_INIT(OUT_MAX_BYTES), put = BUF_INIT(OUT_MAX_BYTES),
				  again = BUF_INIT(OUT_MAX_BYTES);
	struct rule_script s;
	struct rule_doubt doubt;

	if (!rule_script_read(&a, str_from(text), &s, &doubt))
		fail_msg("'%s' is not plain: %s at %zu", text, doubt.why, doubt.at);
	put_shown(&shown, &s);
	if (!str_is(buf_str(&shown), wanted))
		fail_msg("'%s': '%s', not '%s'", text, shown.data, wanted);
	rule_script_put(&put, &s);
	if (!rule_script_read(&a, buf_str(&put), &s, &doubt))
		fail_msg("'%s', written of '%s': %s at %zu", put.data, text, doubt.why, doubt.at);
	put_shown(&again, &s);
	assert_string_equal(again.data, wanted);
}

static void plain_scripts(void **state)
{
	static const char *const rows[][2] = {
		{"a",			     "a"                      },
		{"git status",                    "git|status"             },
		{"  git \t status  ",             "git|status"             },
		{"\n\n a \n",                     "a"                      },
		{"a;",			    "a"                      },
		{"a ; \n\n",                      "a"                      },
		{"a && b",                        "a && b"                 },
		{"a&&b||c|d;e\nf",                "a && b || c / d ; e ; f"},
		{"a &&\n\n b",                    "a && b"                 },
		{"a ||\n b",                      "a || b"                 },
		{"a |\n\n\tb",                    "a / b"                  },
		{"a\n\n\nb",                      "a ; b"                  },
		{"a;\n b",                        "a ; b"                  },
		{"'a'",			   "a"                      },
		{"\"a\"",                         "a"                      },
		{"a'b'\"c\"d",                    "abcd"                   },
		{"a ''",			  "a|"                     },
		{"a \"\"''\"\"",                  "a|"                     },
		{"a 'b c'",                       "a|b c"                  },
		{"a 'b\nc'",                      "a|b\nc"                 },
		{"a \"b\tc\"",                    "a|b\tc"                 },
		{"a '$x' '`x`' '\\'",             "a|$x|`x`|\\"            },
		{"a '\"' \"'\"",                  "a|\"|'"                 },
		{"a 'don'\"'\"'t'",               "a|don't"                },
		{"a ';' '&&' '|' '#' '>' '('",    "a|;|&&|||#|>|("         },
		{"a \"!\" '*' '~' '{a,b}' '[x]'", "a|!|*|~|{a,b}|[x]"      },
		{"a b#c",                         "a|b#c"                  },
		{"a ''#c",                        "a|#c"                   },
		{"a HEAD^ HEAD^^ a..b",           "a|HEAD^|HEAD^^|a..b"    },
		{"a -x --y=z X=y",                "a|-x|--y=z|X=y"         },
		{"make CC=gcc",                   "make|CC=gcc"            },
		{"a ! b",                         "a|!|b"                  },
		{"a %1 1%",                       "a|%1|1%"                },
		{"a http://h:80/p,q+r@s",         "a|http://h:80/p,q+r@s"  },
		{"a ]",			   "a|]"                    },
		{"[ a = b ]",                     "[|a|=|b|]"              },
		{"'[' a ']'",                     "[|a|]"                  },
		{"[",			     "["                      },
		{"test -f x && a",                "test|-f|x && a"         },
		{"cd /x && a",                    "cd|/x && a"             },
		{"echo if then done",             "echo|if|then|done"      },
		{"echo eval . export",            "echo|eval|.|export"     },
		{"./run.sh a",                    "./run.sh|a"             },
		{"../x/y_z-1.2+3:4,5@6",          "../x/y_z-1.2+3:4,5@6"   },
		{"/usr/bin/git x",                "/usr/bin/git|x"         },
		{": x",			   ":|x"                    },
		{"a 'é' \"ü\"",                 "a|é|ü"                },
		{"a '\xe2\x80\x83'",              "a|\xe2\x80\x83"         },
		{"env A=b c",                     "env|A=b|c"              },
		{"iff",			   "iff"                    },
		{"setx",			  "setx"                   },
		{"a in",			  "a|in"                   },
		{"test '-f' v-v",                 "test|-f|v-v"            },
		{"1 2",			   "1|2"                    },
		{"g\"i\"t",                       "git"                    },
		{"'git' \"push\"",                "git|push"               },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		expect_plain(rows[i][0], rows[i][1]);
}

struct doubted {
	const char *text, *why;
};

static void expect_doubted(const struct doubted *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_(arena) struct arena a = {NULL};
		struct rule_script s;
		struct rule_doubt doubt = {NULL, 0};

		if (rule_script_read(&a, str_from(rows[i].text), &s, &doubt))
			fail_msg("'%s' is plain", rows[i].text);
		if (!strstr(doubt.why, rows[i].why))
			fail_msg("'%s': '%s', not '%s'", rows[i].text, doubt.why, rows[i].why);
		assert_true(doubt.at <= strlen(rows[i].text));
	}
}

static void what_is_substituted(void **state)
{
	static const struct doubted rows[] = {
		{"echo $(touch x)", "a substitution"},
		{"echo `touch x`",  "a substitution"},
		{"echo $VAR",       "a substitution"},
		{"echo ${VAR}",     "a substitution"},
		{"echo $((1))",     "a substitution"},
		{"echo \"$(x)\"",   "a substitution"},
		{"echo \"a`x`\"",   "a substitution"},
		{"echo \"$x\"",     "a substitution"},
		{"echo a$",         "a substitution"},
		{"echo $'a'",       "a substitution"},
		{"echo $\"a\"",     "a substitution"},
		{"echo \"a$\"",     "a substitution"},
		{"$x",              "a substitution"},
		{"echo <(touch x)", "a redirection" },
		{"echo >(touch x)", "a redirection" },
		{"echo x > y",      "a redirection" },
		{"echo x>y",        "a redirection" },
		{"echo x >> y",     "a redirection" },
		{"echo x 2> y",     "a redirection" },
		{"echo x 2>&1",     "a redirection" },
		{"echo x &> y",     "background"    },
		{"echo x < y",      "a redirection" },
		{"cat <<E\nx\nE\n", "a redirection" },
		{"cat <<< x",       "a redirection" },
		{"> x",             "a redirection" },
		{"echo *",          "a glob"        },
		{"echo a?",         "a glob"        },
		{"echo [a]",        "a glob"        },
		{"echo [",          "a glob"        },
		{"[[ a ]]",         "a glob"        },
		{"[a",              "a glob"        },
		{"['a'",            "a glob"        },
		{"echo ~",          "a tilde"       },
		{"echo ~/x",        "a tilde"       },
		{"echo a=~",        "a tilde"       },
		{"echo a:~/x",      "a tilde"       },
		{"echo {a,b}",      "a brace"       },
		{"echo {1..3}",     "a brace"       },
		{"echo {}",         "a brace"       },
		{"{ a; }",          "a brace"       },
		{"echo a}",         "a brace"       },
	};

	(void)state;
	expect_doubted(rows, ARRAY_LEN(rows));
}

static void other_grammar(void **state)
{
	static const struct doubted rows[] = {
		{"",                   "no command"       },
		{"  \t \n ",           "no command"       },
		{";",                  "missing"          },
		{"; a",                "missing"          },
		{"a ;; b",             "missing"          },
		{"a ; ; b",            "missing"          },
		{"a\n;b",              "missing"          },
		{"a;\n;",              "missing"          },
		{"a &&",               "missing"          },
		{"a && \n",            "missing"          },
		{"a ||",               "missing"          },
		{"a |",                "missing"          },
		{"a | | b",            "missing"          },
		{"a ||| b",            "missing"          },
		{"a && && b",          "missing"          },
		{"&& a",               "missing"          },
		{"| a",                "missing"          },
		{"a\n&& b",            "missing"          },
		{"a\n| b",             "missing"          },
		{"a && ; b",           "missing"          },
		{"a |& b",             "missing"          },
		{"a &",                "background"       },
		{"a & b",              "background"       },
		{"a &&& b",            "missing"          },
		{"(a)",                "subshell"         },
		{"a (b)",              "subshell"         },
		{"f() a",              "subshell"         },
		{"a )",                "subshell"         },
		{"# a",                "a comment"        },
		{"a # b",              "a comment"        },
		{"a;#b",               "a comment"        },
		{"a \\b",              "a backslash"      },
		{"\\a",                "a backslash"      },
		{"a \\\nb",            "a backslash"      },
		{"a \"\\b\"",          "a backslash"      },
		{"a 'b",               "does not end"     },
		{"a \"b",              "does not end"     },
		{"'",                  "does not end"     },
		{"a 'b'\"'",           "does not end"     },
		{"a\r\nb",             "control character"},
		{"a\rb",               "control character"},
		{"a '\r'",             "control character"},
		{"a '\x01'",           "control character"},
		{"a \x7f",             "control character"},
		{"a '\x1b[0m'",        "control character"},
		{"a\vb",               "control character"},
		{"a \xff",             "UTF-8"            },
		{"a '\xc3'",           "UTF-8"            },
		{"a\xc2\xa0"
		 "b", "in quotes"        },
		{"a é",               "in quotes"        },
		{"a \xe2\x80\x83"
		 "b", "in quotes"        },
		{"\xef\xbb\xbf"
		 "a", "in quotes"        },
	};

	(void)state;
	expect_doubted(rows, ARRAY_LEN(rows));
}

static void programs_that_are_none(void **state)
{
	static const struct doubted rows[] = {
		{"A=b",                 "variable"      },
		{"A=b c",               "variable"      },
		{"PATH=/x tool",        "variable"      },
		{"A+=b",                "variable"      },
		{"'A'=b c",             "variable"      },
		{"A='b c' d",           "variable"      },
		{"a && B=c",            "variable"      },
		{"A-B=c",               "unusual"       },
		{"-x",                  "like an option"},
		{"+",                   "like an option"},
		{"a; '-'c b",           "like an option"},
		{"%1",                  "unusual"       },
		{"!",                   "reserved"      },
		{"! a",                 "reserved"      },
		{"a && ! b",            "reserved"      },
		{"!!",                  "unusual"       },
		{"^a^b",                "unusual"       },
		{"''",                  "without a name"},
		{"'' a",                "without a name"},
		{"'a b'",               "unusual"       },
		{"'a;b'",               "unusual"       },
		{"'$x'",                "unusual"       },
		{"a#b",                 "unusual"       },
		{"]",                   "unusual"       },
		{"'{' a",               "reserved"      },
		{"'é'",                "unusual"       },
		{"if a",                "reserved"      },
		{"if a; then b; fi",    "reserved"      },
		{"'if' a",              "reserved"      },
		{"a && then b",         "reserved"      },
		{"while a",             "reserved"      },
		{"for x in a",          "reserved"      },
		{"case x in",           "reserved"      },
		{"a; done",             "reserved"      },
		{"time a",              "reserved"      },
		{"function f",          "reserved"      },
		{"coproc a",            "reserved"      },
		{"select x",            "reserved"      },
		{"in",                  "reserved"      },
		{"a | while b",         "reserved"      },
		{". x",                 "builtin"       },
		{"source x",            "builtin"       },
		{"eval a",              "builtin"       },
		{"exec a",              "builtin"       },
		{"e'v'al a",            "builtin"       },
		{"command a",           "builtin"       },
		{"builtin a",           "builtin"       },
		{"export PATH=x; a",    "builtin"       },
		{"alias a=b",           "builtin"       },
		{"set -k",              "builtin"       },
		{"unset 'a[$(x)]'",     "builtin"       },
		{"read PATH",           "builtin"       },
		{"printf -v PATH x",    "builtin"       },
		{"hash -p /x a",        "builtin"       },
		{"trap x EXIT",         "builtin"       },
		{"jobs -x a",           "builtin"       },
		{"shopt -s extglob",    "builtin"       },
		{"local x",             "builtin"       },
		{"compgen -W '$(x)'",   "builtin"       },
		{"a && getopts x PATH", "builtin"       },
		{"wait -p PATH",        "builtin"       },
		{"test -v 'a[$(x)]'",   "evaluates"     },
		{"[ -v 'a[$(x)]' ]",    "evaluates"     },
		{"[ ! '-'v x ]",        "evaluates"     },
	};

	(void)state;
	expect_doubted(rows, ARRAY_LEN(rows));
}

/* No byte but those that the header lists stands in a bare word or is a blank. */
static void every_byte_in_a_word(void **state)
{
	static const char bare[] = "_-./,:+=@%^]!#";

	(void)state;
	for (int c = 0; c < 256; c++) {
		_cleanup_(arena) struct arena a = {NULL};
		const char text[] = {'a', ' ', 'b', (char)c, 'b'};
		const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				    (c >= '0' && c <= '9');
		const bool splits = c && strchr(" \t\n;|", c);
		struct rule_script s;
		struct rule_doubt doubt;
		const int plain = rule_script_read(
			&a, (struct str){text, sizeof(text)}, &s, &doubt);

		if (plain != (letter || splits || (c && strchr(bare, c))))
			fail_msg("byte 0x%02x: %d", c, plain);
		if (plain && !splits)
			assert_int_equal(s.commands[0].words.items[1].len, 3);
		if (plain && (c == ' ' || c == '\t'))
			assert_int_equal(s.commands[0].words.count, 3);
		if (plain && splits && c != ' ' && c != '\t')
			assert_int_equal(s.count, 2);
	}
}

static void a_nul_is_a_control_character(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct rule_script s;
	struct rule_doubt doubt;

	(void)state;
	assert_false(rule_script_read(&a, STR("a\0b"), &s, &doubt));
	assert_string_equal(doubt.why, "a control character");
	assert_int_equal(doubt.at, 1);
}

static void the_longest_script(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(mem) char *text = xmalloc(RULE_SCRIPT_MAX_BYTES + 1);
	struct rule_script s;
	struct rule_doubt doubt;

	(void)state;
	for (size_t i = 0; i <= RULE_SCRIPT_MAX_BYTES; i++)
		text[i] = i % 2 ? ';' : 'a';
	assert_true(rule_script_read(&a, (struct str){text, RULE_SCRIPT_MAX_BYTES}, &s, &doubt));
	assert_int_equal(s.count, RULE_SCRIPT_MAX_BYTES / 2);
	assert_false(
		rule_script_read(&a, (struct str){text, RULE_SCRIPT_MAX_BYTES + 1}, &s, &doubt));
	assert_string_equal(doubt.why, "too long");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_scripts),
		cmocka_unit_test(what_is_substituted),
		cmocka_unit_test(other_grammar),
		cmocka_unit_test(programs_that_are_none),
		cmocka_unit_test(every_byte_in_a_word),
		cmocka_unit_test(a_nul_is_a_control_character),
		cmocka_unit_test(the_longest_script),
	};

	return cmocka_run_group_tests_name("rule script", tests, NULL, NULL);
}
