/* program: which command runs, what goes to which stream, and the exit status. */
#include <fcntl.h>
#include <sys/stat.h>

#include "sample.h"
#include "testing.h"

static char out[65536], said[65536];

static void read_back(int fd, char *to, size_t size)
{
	ssize_t len = pread(fd, to, size - 1, 0);

	assert_true(len >= 0);
	to[len] = '\0';
	assert_int_equal(close(fd), 0);
}

/* Runs f with both streams in files and puts what came into out and said. */
static int captured(int (*f)(int argc, char **argv), int argc, char **argv)
{
	int files[2], saved[2], status;

	(void)fflush(NULL);
	for (int i = 0; i < 2; i++) {
		files[i] = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		saved[i] = dup(i + 1);
		assert_true(files[i] >= 0 && saved[i] >= 0);
		assert_true(dup2(files[i], i + 1) >= 0);
	}
	status = f(argc, argv);
	(void)fflush(NULL);
	for (int i = 0; i < 2; i++) {
		assert_true(dup2(saved[i], i + 1) >= 0);
		assert_int_equal(close(saved[i]), 0);
	}
	read_back(files[0], out, sizeof(out));
	read_back(files[1], said, sizeof(said));
	return status;
}

static int main_of_sample(int argc, char **argv)
{
	return cli_main(&sample, argc, argv);
}

static int run_line(const char *line)
{
	_cleanup_(mem) char *copy = xstrdup(line);
	char *argv[32] = {"sample"}, *at = copy, *word;
	int argc = 1;

	while (*line && (word = strsep(&at, " ")))
		argv[argc++] = word;
	runs = 0;
	return captured(main_of_sample, argc, argv);
}

static void commands_run_with_their_arguments(void **state)
{
	static const struct {
		const char *line, *args;
	} rows[] = {
		{"run fix it",				  "[fix][it]"  },
		{"run help",				    "[help]"     },
		{"run -- --version",                            "[--version]"},
		{"ls",					  ""           },
		{"ls --pretty",				 ""           },
		{"login chatgpt",                               ""           },
		{"interrupt lead",                              "[lead]"     },
		{"run --writable-root /a --writable-root /b x", "[x]"        },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(run_line(rows[i].line), CLI_OK);
		assert_int_equal(runs, 1);
		assert_string_equal(last_args, rows[i].args);
		assert_string_equal(out, "");
		assert_string_equal(said, "");
	}
	assert_int_equal(run_line("run 1 2 3 4 5 6 7 8 9 10 11 12 13"), CLI_LOST_RACE);
}

static void options_begin_zeroed(void **state)
{
	static const struct run_options none;

	(void)state;
	assert_int_equal(run_line("run --new --turn 3 x"), CLI_OK);
	assert_int_equal(run_line("run x"), CLI_OK);
	assert_memory_equal(&last_run, &none, sizeof(none));
	assert_int_equal((uintptr_t)last_options % sizeof(void *), 0);
}

static void help_goes_to_stdout_and_runs_nothing(void **state)
{
	static const struct {
		const char *line, *starts;
	} rows[] = {
		{"--help",                        "Usage: sample COMMAND"                    },
		{"-h",			    "Usage: sample COMMAND"                    },
		{"help",			  "Usage: sample COMMAND"                    },
		{"help help",                     "Usage: sample COMMAND"                    },
		{"help run",                      "Usage: sample run "                       },
		{"help login chatgpt",            "Usage: sample login chatgpt [OPTION…]\n"},
		{"run --help",                    "Usage: sample run "                       },
		{"run x -h",                      "Usage: sample run "                       },
		{"run --writable-root /a --help", "Usage: sample run "                       },
		{"login chatgpt --help",          "Usage: sample login chatgpt"              },
		{"--version",                     "sample 1.2.3\n"                           },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(run_line(rows[i].line), CLI_OK);
		assert_int_equal(runs, 0);
		if (!str_starts(str_from(out), str_from(rows[i].starts)))
			fail_msg("%s: %s", rows[i].line, out);
		assert_string_equal(said, "");
	}
}

static void usage_errors_go_to_stderr_and_name_the_argument(void **state)
{
	static const struct {
		const char *line, *who, *says;
	} rows[] = {
		{"rnu",             "",               "unknown command 'rnu'; did you mean 'run'?"              },
		{"interupt",        "",               "unknown command 'interupt'; did you mean 'interrupt'?"   },
		{"logn",            "",               "unknown command 'logn'; did you mean 'login chatgpt'?"   },
		{"hlep",            "",               "unknown command 'hlep'; did you mean 'help'?"            },
		{"xyzzy",           "",               "unknown command 'xyzzy'"                                 },
		{"RUN",             "",               "unknown command 'RUN'"                                   },
		{"login",           "",               "after 'login' comes: chatgpt"                            },
		{"login go",        "",               "unknown command 'login go'; after 'login' comes: chatgpt"},
		{"--bot x run y",   "",               "'--bot' is misplaced: the command comes first"           },
		{"--version run",   "",               "'--version' is misplaced: the command comes first"       },
		{"help nothing",    "",               "unknown command 'nothing'"                               },
		{"help ls more",    " help",          "unexpected argument 'more'"                              },
		{"ls --bot x",      " ls",            "'--bot' is not for this command (but for 'run')"         },
		{"ls --prety",      " ls",            "unknown option '--prety'; did you mean '--pretty'?"      },
		{"run",             " run",           "needs [--] PROMPT…"                                    },
		{"login chatgpt x", " login chatgpt", "unexpected argument 'x'"                                 },
		{"\x1b[2J",         "",               "unknown command '?[2J'"                                  },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *expected = xasprintf("sample%s: %s\nTry 'sample%s --help'.\n",
			rows[i].who, rows[i].says, rows[i].who);

		assert_int_equal(run_line(rows[i].line), CLI_USAGE);
		assert_int_equal(runs, 0);
		assert_string_equal(said, expected);
		assert_string_equal(out, "");
	}
}

static void no_command_gets_the_help_as_an_error(void **state)
{
	(void)state;
	assert_int_equal(run_line(""), CLI_USAGE);
	assert_true(str_starts(str_from(said), STR("Usage: sample COMMAND")));
	assert_string_equal(out, "");
}

static int own_usage(int argc, char **argv)
{
	(void)argc;
	return cli_usage("run", "'%s' and '--new' exclude each other", argv[0]);
}

static void a_command_can_find_usage_errors_itself(void **state)
{
	char *argv[] = {"--bot\n", NULL};

	(void)state;
	assert_int_equal(run_line("ls"), CLI_OK); /* names the program */
	assert_int_equal(captured(own_usage, 1, argv), CLI_USAGE);
	assert_string_equal(said, "sample run: '--bot?' and '--new' exclude each other\n"
				  "Try 'sample run --help'.\n");
}

static int help_to_full_disk(int argc, char **argv)
{
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), saved = dup(STDOUT_FILENO), status;

	assert_true(full >= 0 && saved >= 0 && dup2(full, STDOUT_FILENO) >= 0);
	status = cli_main(&sample, argc, argv);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	(void)close(saved);
	(void)close(full);
	return status;
}

static void help_that_cannot_be_written_is_a_failure(void **state)
{
	char *argv[] = {"sample", "--help", NULL};

	(void)state;
	assert_int_equal(captured(help_to_full_disk, 2, argv), CLI_FAILED);
	assert_string_equal(said, "sample: No space left on device\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_run_with_their_arguments),
		cmocka_unit_test(options_begin_zeroed),
		cmocka_unit_test(help_goes_to_stdout_and_runs_nothing),
		cmocka_unit_test(usage_errors_go_to_stderr_and_name_the_argument),
		cmocka_unit_test(no_command_gets_the_help_as_an_error),
		cmocka_unit_test(a_command_can_find_usage_errors_itself),
		cmocka_unit_test(help_that_cannot_be_written_is_a_failure),
	};

	return cmocka_run_group_tests_name("cli.program", tests, NULL, NULL);
}
