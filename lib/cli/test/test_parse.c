/* parse: what each way of writing an option means, and what every wrong one is told. */
#include "sample.h"
#include "testing.h"

/* Parses the words of a line, separated by single blanks, as arguments of `run`. */
static int parse(
	const char *line, struct run_options *o, char *args, size_t size, struct error *err)
{
	_cleanup_(mem) char *copy = xstrdup(line);
	char *argv[32], *at = copy, *word;
	struct cli_words words = {argv, 0};
	int rc;

	while (*line && (word = strsep(&at, " ")))
		argv[words.count++] = word;
	memset(o, 0, sizeof(*o));
	args[0] = '\0';
	rc = cli_parse(&run_command_row, &words, o, err);
	for (int i = 0; rc == 0 && i < words.count; i++) {
		size_t len = strlen(args);

		(void)snprintf(args + len, size - len, "[%s]", argv[i]);
	}
	/* They point into copy: keep what tests look at. */
	o->bot = o->bot ? strcmp(o->bot, "--x") == 0 ? "--x"
			  : *o->bot                  ? strcmp(o->bot, "-h") == 0 ? "-h" : "b"
						     : ""
			: NULL;
	return rc;
}

static void arguments_are_what_is_left(void **state)
{
	static const struct {
		const char *line, *args, *bot;
		bool fresh;
	} rows[] = {
		{"a b c",               "[a][b][c]",       NULL,  false},
		{"--bot b a",           "[a]",             "b",   false},
		{"a --bot=b c --new d", "[a][c][d]",       "b",   true },
		{"--bot= a",            "[a]",             "",    false},
		{"--bot=--x a",         "[a]",             "--x", false},
		{"--bot -h a",          "[a]",             "-h",  false}, /* a value, so no call for help */
		{"-- --bot -h --",      "[--bot][-h][--]", NULL,  false},
		{"a -- --new",          "[a][--new]",      NULL,  false},
		{"- a",                 "[-][a]",          NULL,  false},
		{"--bot - a",           "[a]",             "b",   false},
		{" ",                   "[][]",            NULL,  false},
	};
	struct run_options o;
	char args[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;

		assert_ok(parse(rows[i].line, &o, args, sizeof(args), &err), &err);
		assert_string_equal(args, rows[i].args);
		assert_int_equal(o.fresh, rows[i].fresh);
		assert_int_equal(!o.bot, !rows[i].bot);
		if (o.bot)
			assert_string_equal(o.bot, rows[i].bot);
	}
}

static void wrong_arguments_are_named(void **state)
{
	static const struct {
		const char *line, *text;
	} rows[] = {
		{"",					    "needs [--] PROMPT…"                                        },
		{"--new",				       "needs [--] PROMPT…"                                        },
		{"a --bot",				     "'--bot' needs a value: --bot NAME"                           },
		{"--bot --new a",
                 "'--bot' needs a value; one that starts with '--' is written --bot=--new"                                    },
		{"--bot -- a",
                 "'--bot' needs a value; one that starts with '--' is written --bot=--"                                       },
		{"--bot a --bot b c",                           "'--bot' is given twice"                                      },
		{"--new --new a",                               "'--new' is given twice"                                      },
		{"--turn 1 --turn=1 a",                         "'--turn' is given twice"                                     },
		{"--new=yes a",				 "'--new' takes no value"                                      },
		{"--bto x a",				   "unknown option '--bto'; did you mean '--bot'?"               },
		{"--writeable-root x a",
                 "unknown option '--writeable-root'; did you mean '--writable-root'?"                                         },
		{"--writable x a",                              "unknown option '--writable'; did you mean '--writable-root'?"},
		{"--hlep a",				    "unknown option '--hlep'; did you mean '--help'?"             },
		{"--zzzzzz a",				  "unknown option '--zzzzzz'"                                   },
		{"--=x a",				      "unknown option '--'"                                         },
		{"--BOT x a",				   "unknown option '--BOT'"                                      },
		{"-b x a",
                 "unknown option '-b'; an argument that starts with '-' comes after '--'"                                     },
		{"--turn 0 a",				  "--turn: 0 is under 1"                                        },
		{"--turn x a",				  "--turn: 'x' is not a whole number"                           },
		{"--turn= a",				   "--turn: '' is not a whole number"                            },
		{"--turn 99999999999999999999 a",
                 "--turn: 99999999999999999999 is over 9223372036854775807"                                                   },
		{"--a-limit-with-a-very-long-name 86401 a",
                 "--a-limit-with-a-very-long-name: 86401 is over 86400"                                                       },
		{"--writable-root a --writable-root b --bad c", "unknown option '--bad'"                                      },
		{"--b\x1bz x a",                                "unknown option '--b?z'"                                      },
		{"a --help",				    "help is asked for"                                           },
		{"a -h --nonsense",                             "help is asked for"                                           },
	};
	struct run_options o;
	char args[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;

		assert_fails(
			parse(rows[i].line, &o, args, sizeof(args), &err), &err, CLI_USAGE_ERROR);
		assert_string_equal(err.text, rows[i].text);
		assert_null(o.roots.items); /* nothing to release after an error */
	}
}

static void numbers_and_repeated_texts(void **state)
{
	char *argv[] = {"--turn", "7", "--a-limit-with-a-very-long-name=-5", "--writable-root",
		"/a", "--writable-root=/b", "x", NULL};
	struct error err = ERROR_INIT;
	struct run_options o = {0};

	(void)state;
	assert_ok(cli_parse(&run_command_row, &(struct cli_words){argv, 7}, &o, &err), &err);
	assert_true(o.turn.set && o.limit.set);
	assert_int_equal(o.turn.value, 7);
	assert_int_equal(o.limit.value, -5);
	assert_int_equal(o.roots.count, 2);
	assert_string_equal(o.roots.items[0], "/a");
	assert_string_equal(o.roots.items[1], "/b");
	cli_texts_release(&o.roots);
	cli_texts_release(&o.roots);
}

static void a_group_goes_where_its_base_says(void **state)
{
	char *argv[] = {"--store", "/s", "--pretty", "x", NULL};
	struct error err = ERROR_INIT;
	struct run_options o = {0};

	(void)state;
	assert_ok(cli_parse(&run_command_row, &(struct cli_words){argv, 4}, &o, &err), &err);
	assert_string_equal(o.place.store, "/s");
	assert_true(o.place.pretty);
	assert_false(o.turn.set);
}

static void surplus_arguments_are_refused(void **state)
{
	char *argv[] = {"one", "two", NULL};
	struct error err = ERROR_INIT;
	struct run_options o = {0};

	(void)state;
	assert_fails(cli_parse(&list_command_row, &(struct cli_words){argv, 1}, &o, &err), &err,
		CLI_USAGE_ERROR);
	assert_string_equal(err.text, "unexpected argument 'one'");
	assert_fails(cli_parse(&interrupt_command_row, &(struct cli_words){argv, 2}, &o, &err),
		&err, CLI_USAGE_ERROR);
	assert_string_equal(err.text, "unexpected argument 'two'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_what_is_left),
		cmocka_unit_test(wrong_arguments_are_named),
		cmocka_unit_test(numbers_and_repeated_texts),
		cmocka_unit_test(a_group_goes_where_its_base_says),
		cmocka_unit_test(surplus_arguments_are_refused),
	};

	return cmocka_run_group_tests_name("cli.parse", tests, NULL, NULL);
}
