/* find: which commands are told from scripts of every sort, and how it ends. */
#include "rule/rule.h"
#include "testing.h"

enum { OUT_MAX_BYTES = 65536 };

static void put_visible(struct buf *to, struct str shape)
{
	for (size_t i = 0; i < shape.len; i++) {
		if (shape.p[i])
			(void)buf_putc(to, shape.p[i]);
		else
			(void)buf_putc(to, '*');
	}
}

/* Whether the command, written "git push" with '*' for a hole and … for any words, was found. */
static bool was_found(const struct rule_finds *finds, const char *wanted)
{
	for (size_t i = 0; i < finds->count; i++) {
		_cleanup_(buf) struct buf shown = BUF_INIT(OUT_MAX_BYTES);
		const struct rule_found *c = &finds->items[i];

		for (size_t k = 0; k < c->count; k++) {
			(void)buf_puts(&shown, k > 0 ? " " : "");
			if (c->words[k].certainty == RULE_ANY)
				(void)buf_puts(&shown, "…");
			else
				put_visible(&shown, c->words[k].text);
		}
		if (str_is(buf_str(&shown), wanted))
			return true;
	}
	return false;
}

static void show(const struct rule_finds *finds)
{
	for (size_t i = 0; i < finds->count; i++) {
		for (size_t k = 0; k < finds->items[i].count; k++)
			print_message(" '%.*s'%d", STR_ARG(finds->items[i].words[k].text),
				(int)finds->items[i].words[k].certainty);
		print_message("\n");
	}
}

struct row {
	const char *text, *wanted;
};

static void expect_found(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_(arena) struct arena a = {NULL};
		struct rule_finds finds;

		rule_find(&a, str_from(rows[i].text), &finds);
		if (finds.tangled)
			fail_msg("'%s' is tangled", rows[i].text);
		if (!was_found(&finds, rows[i].wanted)) {
			show(&finds);
			fail_msg("'%s' without '%s'", rows[i].text, rows[i].wanted);
		}
	}
}

static const struct row simple[] = {
	{"rm x",		  "rm x"    },
	{"a; rm x",               "rm x"    },
	{"a && rm x",             "rm x"    },
	{"a || rm x",             "rm x"    },
	{"a | rm x",              "rm x"    },
	{"a |& rm x",             "rm x"    },
	{"a & rm x",              "rm x"    },
	{"a\nrm x",               "rm x"    },
	{"rm x &",                "rm x"    },
	{"rm x > y",              "rm x"    },
	{"rm > y x",              "rm x"    },
	{"> y rm x",              "rm x"    },
	{">y rm x",               "rm x"    },
	{"2>y rm x",              "rm x"    },
	{"rm x 2>&1",             "rm x"    },
	{"rm 2>&1 x",             "rm x"    },
	{"rm >&2 x",              "rm x"    },
	{"rm 2>&- x",             "rm x"    },
	{"rm <>y x",              "rm x"    },
	{"rm >|y x",              "rm x"    },
	{"rm &>y x",              "rm x"    },
	{"a &>y rm x",            "rm x"    },
	{"rm &>>y x",             "rm x"    },
	{"rm {fd}>y x",           "rm x"    },
	{"A=b rm x",              "rm x"    },
	{"A= B=c rm x",           "rm x"    },
	{"A+=b rm x",             "rm x"    },
	{"A='b c' rm x",          "rm x"    },
	{"A=$b rm x",             "rm x"    },
	{"A=$(b) rm x",           "rm x"    },
	{"A[1]=2 rm x",           "rm x"    },
	{"A=(b) rm x",            "rm x"    },
	{"A=b >y C=d rm x",       "rm x"    },
	{"# y\nrm x",             "rm x"    },
	{"rm x # y",              "rm x"    },
	{"a # don't\nrm x",       "rm x"    },
	{"r'm' x",                "rm x"    },
	{"\"r\"m x",              "rm x"    },
	{"\\rm x",                "rm x"    },
	{"r\\m x",                "rm x"    },
	{"r\\\nm x",              "rm x"    },
	{"rm \\\n x",             "rm x"    },
	{"$'rm' x",               "rm x"    },
	{"$'\\x72\\155' x",       "rm x"    },
	{"$'r\\u006d' x",         "rm x"    },
	{"$'rm\\0y' x",           "rm x"    },
	{"$\"rm\" x",             "rm x"    },
	{"rm $'a\\'b'",           "rm a'b"  },
	{"a $'\\'; rm x; echo '", "rm x"    },
	{"a $'\\'; b' ; rm x",    "rm x"    },
	{"{rm,x}",                "rm x"    },
	{"{rm,} x",               "rm x"    },
	{"r{m,n} x",              "rm rn x" },
	{"rm x\0y",               "rm x"    },
	{"rm a*",                 "rm a*"   },
	{"rm [ab]c?",             "rm *c*"  },
	{"r? x",		  "r* x"    },
	{"r[m] x",                "r* x"    },
	{"rm $x y",               "rm … y"},
	{"rm \"$x\"",             "rm *"    },
	{"rm \"a$x b\"",          "rm a* b" },
	{"rm \"$(b)\"",           "rm *"    },
	{"rm \"`b`\"",            "rm *"    },
	{"rm \"$@\"",             "rm …"  },
	{"rm \"${a[@]}\"",        "rm …"  },
	{"rm \"${a}\"",           "rm *"    },
	{"rm \"$x\"*",            "rm …"  },
	{"rm <(b)",               "rm *"    },
	{"rm a$(b)c",             "rm …"  },
	{"rm `b`",                "rm …"  },
	{"$x rm y",               "rm y"    },
	{"\"$x\" rm y",           "rm y"    },
	{"$(x) rm y",             "rm y"    },
	{"rm {a,$b}",             "rm …"  },
	{"rm {a,b}",              "rm a b"  },
	{"rm {}",                 "rm {}"   },
	{"a \xff; rm x",          "rm x"    },
};

static void simple_commands(void **state)
{

	(void)state;
	expect_found(simple, ARRAY_LEN(simple));
}

static void compound_commands(void **state)
{
	static const struct row rows[] = {
		{"(rm x)",			      "rm x"},
		{"( a; rm x )",                         "rm x"},
		{"((rm x))",                            "rm x"},
		{"{ rm x; }",                           "rm x"},
		{"! rm x",			      "rm x"},
		{"if a; then rm x; fi",                 "rm x"},
		{"if rm x; then a; fi",                 "rm x"},
		{"if a; then b; elif rm x; then c; fi", "rm x"},
		{"if a; then b; else rm x; fi",         "rm x"},
		{"while rm x; do a; done",              "rm x"},
		{"until a; do rm x; done",              "rm x"},
		{"for f in a b; do rm x; done",         "rm x"},
		{"for f; do rm x; done",                "rm x"},
		{"for f in rm x; do $f; done",          "rm x"},
		{"for ((i=0;i<3;i++)); do rm x; done",  "rm x"},
		{"select f in a; do rm x; done",        "rm x"},
		{"case a in a) rm x;; esac",            "rm x"},
		{"case a in (a) rm x;; esac",           "rm x"},
		{"case a in a|b) rm x;; esac",          "rm x"},
		{"case a in\na)\nrm x\n;;\nesac",       "rm x"},
		{"case a in a) b;; esac; rm x",         "rm x"},
		{"case $(a) in *) rm x;& b) c;; esac",  "rm x"},
		{"f() { rm x; }",                       "rm x"},
		{"f() rm x",                            "rm x"},
		{"f () ( rm x )",                       "rm x"},
		{"function f { rm x; }",                "rm x"},
		{"function f() { rm x; }",              "rm x"},
		{"time rm x",                           "rm x"},
		{"time -p rm x",                        "rm x"},
		{"time { rm x; }",                      "rm x"},
		{"coproc rm x",                         "rm x"},
		{"coproc N { rm x; }",                  "rm x"},
		{"[[ a ]] && rm x",                     "rm x"},
		{"a() { b; }; rm x",                    "rm x"},
		{"(a) && rm x",                         "rm x"},
		{"{ a; } 2>y; rm x",                    "rm x"},
		{"shopt -s extglob\nls !(rm x)",        "rm x"},
	};

	(void)state;
	expect_found(rows, ARRAY_LEN(rows));
}

static void substitutions(void **state)
{
	static const struct row rows[] = {
		{"echo $(rm x)",                        "rm x"  },
		{"echo \"$(rm x)\"",                    "rm x"  },
		{"echo \"a $(rm 'x')\"",                "rm x"  },
		{"echo \"$(rm \"x\")\"",                "rm x"  },
		{"echo `rm x`",                         "rm x"  },
		{"echo \"`rm x`\"",                     "rm x"  },
		{"echo `a \\`rm x\\``",                 "rm x"  },
		{"echo \"`rm \\\"x\\\"`\"",             "rm x"  },
		{"echo $(a $(rm x))",                   "rm x"  },
		{"echo $(a (b); rm x)",                 "rm x"  },
		{"echo $(case a in a) b;; esac; rm x)", "rm x"  },
		{"echo $(case a in a) rm x;; esac)",    "rm x"  },
		{"echo $( # don't )\nrm x)",            "rm x"  },
		{"echo $(a ')'; rm x)",                 "rm x"  },
		{"echo $(a); rm x",                     "rm x"  },
		{"echo $((1+$(rm x)))",                 "rm x"  },
		{"echo $((1<<2))\nrm x",                "rm x"  },
		{"((1<<2))\nrm x",                      "rm x"  },
		{"echo $[1+1]; rm x",                   "rm x"  },
		{"cat <(rm x)",                         "rm x"  },
		{"a > >(rm x)",                         "rm x"  },
		{"echo ${a:-$(rm x)}",                  "rm x"  },
		{"echo \"${a:-$(rm x)}\"",              "rm x"  },
		{"${a:-rm x}",                          "rm x"  },
		{"${a-rm} x",                           "rm"    },
		{"echo ${a#'}'}; rm x",                 "rm x"  },
		{"echo ${a:-\"}\"}; rm x",              "rm x"  },
		{"echo ${a:-\\}}; rm x",                "rm x"  },
		{"echo ${#a}; rm x",                    "rm x"  },
		{"echo $#; rm x",                       "rm x"  },
		{"echo $$ $! $? $- $@ $* $1; rm x",     "rm x"  },
		{"a > $(rm x)",                         "rm x"  },
		{"A=$(rm x)",                           "rm x"  },
		{"A=`rm x` b",                          "rm x"  },
		{"$(echo $(rm x))",                     "rm x"  },
		{"echo 'a' $(rm x) 'b'",                "rm x"  },
		{"echo \"\\$(a)\"; rm x",               "rm x"  },
		{"echo \"a 'b\"; rm x",                 "rm x"  },
		{"echo 'a \"b'; rm x",                  "rm x"  },
		{"echo \"$(cat <<E\nrm\nE\n)\"; rm x",  "rm x"  },
		{"echo $",			      "echo $"},
		{"echo 'rm\nrm x",                      "rm x"  },
		{"echo \"a\nrm x",                      "rm x"  },
		{"echo `a\nrm x",                       "rm x"  },
		{"echo ${a\nrm x",                      "rm x"  },
		{"echo $'a\nrm x",                      "rm x"  },
		{"echo $(a\nrm x",                      "rm x"  },
	};

	(void)state;
	expect_found(rows, ARRAY_LEN(rows));
}

static void here_documents(void **state)
{
	static const struct row rows[] = {
		{"cat <<E\na\nE\nrm x",                   "rm x"},
		{"cat <<E\ndon't\nE\nrm x",               "rm x"},
		{"cat <<'E'\ndon't \"\nE\nrm x",          "rm x"},
		{"cat <<-E\n\tdon't\n\tE\nrm x",          "rm x"},
		{"cat << E\ndon't\nE\nrm x",              "rm x"},
		{"cat <<\"E F\"\ndon't\nE F\nrm x",       "rm x"},
		{"cat <<\\E\ndon't\nE\nrm x",             "rm x"},
		{"cat <<E; rm x\ndon't\nE",               "rm x"},
		{"cat <<E && (rm x\ndon't\nE\n)",         "rm x"},
		{"cat <<A <<B\ndon't\nA\ndon't\nB\nrm x", "rm x"},
		{"cat <<E\ndon't $(rm x)\nE",             "rm x"},
		{"cat <<E\ndon't `rm x`\nE",              "rm x"},
		{"sh <<E\nrm x\nE",                       "rm x"},
		{"sh <<'E'\nrm x\nE",                     "rm x"},
		{"cat <<E\na \\\nE\ndon't\nE\nrm x",      "rm x"},
		{"cat <<E\na\nrm x",                      "rm x"},
		{"cat <<E\nE\nrm x",                      "rm x"},
		{"cat <<''\ndon't\n\nrm x",               "rm x"},
		{"cat <<E \\\n-n\ndon't\nE\nrm x",        "rm x"},
		{"cat <<E 'a\nb'\ndon't\nE\nrm x",        "rm x"},
		{"sh <<< 'rm x'",                         "rm x"},
		{"sh <<<\"rm x\"",                        "rm x"},
		{"cat <<< $(rm x)",                       "rm x"},
	};

	(void)state;
	expect_found(rows, ARRAY_LEN(rows));
}

static const struct row starters[] = {
	{"env rm x",			     "rm x"            },
	{"/usr/bin/env rm x",                    "rm x"            },
	{"env -i A=b rm x",                      "rm x"            },
	{"env - rm x",			   "rm x"            },
	{"env -u A -C /d rm x",                  "rm x"            },
	{"env -uA --chdir=/d rm x",              "rm x"            },
	{"env --unset A -- rm x",                "rm x"            },
	{"env -S 'rm x'",                        "rm x"            },
	{"env -S'rm x'",			 "rm x"            },
	{"env --split-string='rm x'",            "rm x"            },
	{"env -vS 'rm x' y",                     "rm x"            },
	{"nice rm x",			    "rm x"            },
	{"nice -n 5 rm x",                       "rm x"            },
	{"nice -5 rm x",			 "rm x"            },
	{"nice --adjustment=5 rm x",             "rm x"            },
	{"nohup rm x &",			 "rm x"            },
	{"setsid -f rm x",                       "rm x"            },
	{"timeout 5 rm x",                       "rm x"            },
	{"timeout -s KILL -k 5 5s rm x",         "rm x"            },
	{"timeout --signal=9 5 rm x",            "rm x"            },
	{"timeout $t rm x",                      "rm x"            },
	{"stdbuf -oL rm x",                      "rm x"            },
	{"ionice -c 3 rm x",                     "rm x"            },
	{"xargs rm x",			   "rm x …"        },
	{"ls | xargs -0 -n 1 rm x",              "rm x …"        },
	{"ls | xargs -I% rm % y",                "rm … y …"    },
	{"ls | xargs -I {} rm {} y",             "rm … y …"    },
	{"xargs -P4 sh -c 'rm x'",               "rm x"            },
	{"sudo rm x",			    "rm x"            },
	{"sudo -u me -n rm x",                   "rm x"            },
	{"sudo --user=me rm x",                  "rm x"            },
	{"sudo A=b rm x",                        "rm x"            },
	{"sudo -s rm x",			 "rm x"            },
	{"sudo -i -- rm x",                      "rm x"            },
	{"doas -u me rm x",                      "rm x"            },
	{"command rm x",			 "rm x"            },
	{"command -p rm x",                      "rm x"            },
	{"exec rm x",			    "rm x"            },
	{"exec -a y rm x",                       "rm x"            },
	{"builtin eval 'rm x'",                  "rm x"            },
	{"busybox rm x",			 "rm x"            },
	{"busybox sh -c 'rm x'",                 "rm x"            },
	{"find . -exec rm {} x \\;",             "rm … x ;"      },
	{"find . -name a -execdir rm x +",       "rm x +"          },
	{"find $d -ok rm x \\;",                 "rm x ;"          },
	{"fd a -x rm x",			 "rm x"            },
	{"sh -c 'rm x'",			 "rm x"            },
	{"sh -ec 'a; rm x'",                     "rm x"            },
	{"bash -lc \"rm x\"",                    "rm x"            },
	{"bash -o errexit -c 'rm x'",            "rm x"            },
	{"bash $o 'rm x'",                       "rm x"            },
	{"/bin/sh -c 'rm x'",                    "rm x"            },
	{"zsh -c 'rm x'",                        "rm x"            },
	{"sh -c '\"$@\"' _ rm x",                "rm x"            },
	{"sh -c \"rm $y\"",                      "rm …"          },
	{"sh -c \"$y rm x\"",                    "rm x"            },
	{"sh -c rm\\ *",			 "rm *"            },
	{"sh -c 'sh -c \"rm x\"'",               "rm x"            },
	{"eval rm x",			    "rm x"            },
	{"eval 'rm x'",			  "rm x"            },
	{"eval 'a; rm' x",                       "rm x"            },
	{"eval \"$a\" rm x",                     "rm x"            },
	{"trap 'rm x' EXIT",                     "rm x"            },
	{"alias a='rm x'",                       "rm x"            },
	{"echo rm x | sh",                       "rm x"            },
	{"echo 'rm x' | bash -s",                "rm x"            },
	{"printf '%s\\n' 'rm x' | sh",           "rm x"            },
	{"echo 'rm x' | . /dev/stdin",           "rm x"            },
	{"echo rm x | xargs env",                "rm x"            },
	{"echo 'rm x' | at now",                 "rm x"            },
	{"sh <(echo rm x)",                      "rm x"            },
	{"echo rm x | (cd /y && sh)",            "rm x"            },
	{"echo rm x > >(sh)",                    "rm x"            },
	{"su -c 'rm x'",			 "rm x"            },
	{"su me -c 'rm x'",                      "rm x"            },
	{"watch -n 1 rm x",                      "rm x"            },
	{"watch 'rm x'",			 "rm x"            },
	{"flock /l rm x",                        "rm x"            },
	{"flock /l -c 'rm x'",                   "rm x"            },
	{"script -qc 'rm x' /dev/null",          "rm x"            },
	{"strace -f -o y rm x",                  "rm x"            },
	{"systemd-run --user -p A=b rm x",       "rm x"            },
	{"unshare -r rm x",                      "rm x"            },
	{"parallel rm {} ::: x",                 "rm … ::: x …"},
	{"ssh h 'rm x'",			 "rm x"            },
	{"env nice nohup setsid timeout 1 rm x", "rm x"            },
	{"sudo env A=b sh -c 'exec rm x'",       "rm x"            },
	{"env ${x} rm x",                        "rm x"            },
	{"A=b sudo -Z q rm x >y &",              "rm x"            },
};

static void programs_that_start_others(void **state)
{

	(void)state;
	expect_found(starters, ARRAY_LEN(starters));
}

/* A name that stands where no command can is not found: rules would refuse too much. */
static void not_everything_is_a_command(void **state)
{
	static const char *const rows[] = {
		"echo rm x",
		"git commit -m 'rm x'",
		"grep rm x > y",
		"a > rm",
		"a 2> rm x",
		"# rm x",
		"a # rm x",
		"RM=1 rmdir x",
		"rm-x; rmx; xrm",
		"/bin/rm x",
		"env -u rm a",
		"timeout -s rm 1 a",
		"sudo -u rm a",
		"nice -n rm a",
		"find . -name rm",
		"sh rm x",
		"echo rm; sh x",
		"bash x rm | cat",
		"echo \"rm x\"",
		"for rm in a; do b; done",
		"case rm in a) b;; esac",
		"xargs -n rm a",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		struct rule_finds finds;

		rule_find(&a, str_from(rows[i]), &finds);
		assert_false(finds.tangled);
		for (size_t k = 0; k < finds.count; k++)
			if (str_is(finds.items[k].words[0].text, "rm"))
				fail_msg("'%s' has a command rm", rows[i]);
	}
}

static char *repeated(const char *open, const char *middle, const char *close, size_t n)
{
	struct buf b = BUF_INIT(1 << 22);

	for (size_t i = 0; i < n; i++)
		(void)buf_puts(&b, open);
	(void)buf_puts(&b, middle);
	for (size_t i = 0; i < n; i++)
		(void)buf_puts(&b, close);
	assert_false(b.full);
	return buf_take(&b);
}

static void what_is_too_tangled(void **state)
{
	static const struct {
		const char *open, *close;
		size_t n;
	} rows[] = {
		{"$(",         ")",   40                   },
		{"<(",         ")",   40                   },
		{"${a:-",      "}",   40                   },
		{"\"${a:-",    "}\"", 5000                 },
		{"a;",         "",    32000                },
		{"env -Z ",    "",    8000                 },
		{"eval ",      "",    100                  },
		{"?a;",        "",    100                  },
		{"cat <<$x\n", "",    1                    },
		{"<<a ",       "",    17                   },
		{"a",          "",    RULE_SCRIPT_MAX_BYTES},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		_cleanup_(mem) char *text = repeated(rows[i].open, "a\n", rows[i].close, rows[i].n);
		struct rule_finds finds;

		rule_find(&a, str_from(text), &finds);
		if (!finds.tangled)
			fail_msg("%zu times '%s' is followed to its end", rows[i].n, rows[i].open);
	}
}

static void what_is_deep_and_followed(void **state)
{
	static const struct {
		const char *open, *close;
		size_t n;
	} rows[] = {
		{"$(",          ")",      20  },
		{"(",           ")",      1000},
		{"${a:-",       "}",      8   },
		{"{ ",          ";}",     1000},
		{"if a; then ", "\nfi\n", 100 },
		{"a;",          "",       4000},
		{"env ",        "",       500 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		_cleanup_(mem) char *text = repeated(
			rows[i].open, "rm x", rows[i].close, rows[i].n);
		struct rule_finds finds;

		rule_find(&a, str_from(text), &finds);
		if (finds.tangled || !was_found(&finds, "rm x"))
			fail_msg("%zu times '%s': %d", rows[i].n, rows[i].open, finds.tangled);
	}
}

static void nothing_is_found_in_nothing(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	struct rule_finds finds;

	(void)state;
	rule_find(&a, STR(""), &finds);
	assert_int_equal(finds.count, 0);
	rule_find(&a, STR(" ;\n&|()<>"), &finds);
	assert_int_equal(finds.count, 0);
	assert_false(finds.tangled);
	rule_find(&a, STR("a\0rm x"), &finds); /* no shell gets to see it; nor is it missed */
	assert_true(was_found(&finds, "rm x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple_commands),
		cmocka_unit_test(compound_commands),
		cmocka_unit_test(substitutions),
		cmocka_unit_test(here_documents),
		cmocka_unit_test(programs_that_start_others),
		cmocka_unit_test(not_everything_is_a_command),
		cmocka_unit_test(what_is_too_tangled),
		cmocka_unit_test(what_is_deep_and_followed),
		cmocka_unit_test(nothing_is_found_in_nothing),
	};

	return cmocka_run_group_tests_name("rule find", tests, NULL, NULL);
}
