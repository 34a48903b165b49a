/* rules check: the exit status is the decision, and what cannot be read is no decision. */
#include <fcntl.h>

#include "agent/cmd/commands.h"
#include "os/os.h"
#include "testing.h"

static const struct cli_command *const commands[] = {&cmd_rules_check};
static const struct cli_program program = {
	.name = "agent", .version = "0", .purpose = "test", .commands = commands, .count = 1};

static int check(const char *file, const char *script)
{
	const char *argv[] = {"agent", "rules", "check", file, "--", script, NULL};

	return cli_main(&program, (int)ARRAY_LEN(argv) - 1, (char **)argv);
}

static void the_exit_status_says_what_is_decided(void **state)
{
	static const struct {
		const char *script;
		int status;
	} rows[] = {
		{"tool a && tool b",  0},
		{"tool a; other",     3},
		{"tool > x",          3},
		{"git push",          4},
		{"x=$(git push) y",   4},
		{"rm x",              5},
		{"git push; sudo rm", 5},
		{"",                  3},
		{"--json",            3},
	};
	static const char rules[] = "prefix_rule(pattern=['tool'])\n"
				    "prefix_rule(pattern=['git', 'push'], decision='prompt')\n"
				    "prefix_rule(pattern=['rm'], decision='forbidden')\n";
	_cleanup_(mem) char *dir = testing_dir(), *file = xasprintf("%s/a.rules", dir);
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(os_replace_file(file, str_from(rules), 0600, &err), &err);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const int of_file = check(file, rows[i].script),
			  of_folder = check(dir, rows[i].script);

		if (of_file != rows[i].status || of_folder != rows[i].status)
			fail_msg("'%s': %d, %d", rows[i].script, of_file, of_folder);
	}
	assert_ok(os_replace_file(file, STR("nonsense"), 0600, &err), &err);
	assert_int_equal(check(file, "true"), CLI_FAILED);
	assert_int_equal(check(dir, "true"), CLI_FAILED);
	assert_ok(os_remove_tree(dir, &err), &err);
	assert_int_equal(check(file, "true"), CLI_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_exit_status_says_what_is_decided),
	};

	return cmocka_run_group_tests_name("cmd rules", tests, NULL, NULL);
}
