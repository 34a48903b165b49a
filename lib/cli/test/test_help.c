/* help: columns, wrapping and the whole text, as a person sees it. */
#include "sample.h"
#include "testing.h"

static void help_of_the_program(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(10000);

	(void)state;
	assert_int_equal(cli_help(&sample, NULL, &b), 0);
	assert_string_equal(b.data,
		"Usage: sample COMMAND [OPTION…] [ARGUMENT…]\n"
		"\n"
		"Runs things for a test.\n"
		"\n"
		"Commands:\n"
		"  run            give a bot a prompt and follow it\n"
		"  ls             list the bots\n"
		"  login chatgpt  sign in with a browser\n"
		"  interrupt      stop the running turn\n"
		"\n"
		"Options:\n"
		"  --help, -h     print this and exit\n"
		"  --version      print the version and exit\n"
		"\n"
		"'sample help COMMAND' says more about a command.\n"
		"'sample completion SHELL' prints what bash, zsh or fish needs to complete.\n"
		"\n"
		"Environment:\n"
		"  SAMPLE_STORE   the store, when --store is not given\n");
}

static void help_of_a_command(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(10000);

	(void)state;
	assert_int_equal(cli_help(&sample, &run_command_row, &b), 0);
	assert_string_equal(b.data,
		"Usage: sample run [OPTION…] [--] PROMPT…\n"
		"\n"
		"Give a bot a prompt and follow it.\n"
		"\n"
		"A first paragraph that is long enough to be wrapped at the edge of the terminal.\n"
		"\n"
		"  examples   stay as they are\n"
		"\n"
		"Options:\n"
		"  --bot NAME              the bot that gets the prompt\n"
		"  --new                   make the bot first\n"
		"  --turn N                after this turn (1 or more)\n"
		"  --writable-root FOLDER  a folder that commands may write to, beside the\n"
		"                          workspace, as long as the sandbox mode allows writing\n"
		"                          at all (may be repeated)\n"
		"  --help, -h              print this and exit\n"
		"\n"
		"Limits of a new bot:\n"
		"  --a-limit-with-a-very-long-name SECONDS\n"
		"                          how long (-5 to 86400)\n"
		"\n"
		"Where:\n"
		"  --store FILE            the store to use\n"
		"  --pretty                write for people\n");
}

static void no_line_is_wider_than_a_terminal(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(20000);
	struct str rest, line;

	(void)state;
	assert_int_equal(cli_help(&sample, NULL, &b), 0);
	for (size_t i = 0; i < sample.count; i++)
		assert_int_equal(cli_help(&sample, sample.commands[i], &b), 0);
	rest = buf_str(&b);
	while (str_next(&rest, '\n', &line)) {
		size_t width = 0;

		for (size_t i = 0; i < line.len; i++)
			width += ((unsigned char)line.p[i] & 0xc0) != 0x80;
		assert_true(width <= 80);
		assert_false(str_ends(line, STR(" ")));
	}
}

static void long_lines_keep_their_indent(void **state)
{
	struct cli_program p = sample;
	_cleanup_(buf) struct buf b = BUF_INIT(10000);

	(void)state;
	p.footer = "  one two three four five six seven eight nine ten eleven twelve thirteen "
		   "fourteen fifteen";
	assert_int_equal(cli_help(&p, NULL, &b), 0);
	assert_true(str_ends(buf_str(&b),
		STR("\n  one two three four five six seven eight nine ten eleven twelve thirteen\n"
		    "  fourteen fifteen\n")));
}

static void too_small_a_buffer_is_told(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(100);

	(void)state;
	assert_int_equal(cli_help(&sample, NULL, &b), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(help_of_the_program),
		cmocka_unit_test(help_of_a_command),
		cmocka_unit_test(no_line_is_wider_than_a_terminal),
		cmocka_unit_test(long_lines_keep_their_indent),
		cmocka_unit_test(too_small_a_buffer_is_told),
	};

	return cmocka_run_group_tests_name("cli.help", tests, NULL, NULL);
}
