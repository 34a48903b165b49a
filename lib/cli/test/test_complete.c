/* complete: what the scripts hold. That the shells understand them is check-completion's to say. */
#include "sample.h"
#include "testing.h"

static void every_shell_gets_every_option(void **state)
{
	static const char *const options[] = {
		"store", "bot", "new", "writable-root", "a-limit-with-a-very-long-name"};

	(void)state;
	for (size_t i = 0; cli_shells[i]; i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(100000);

		assert_int_equal(cli_completion(&sample, cli_shells[i], &b), 0);
		for (size_t k = 0; k < ARRAY_LEN(options); k++) {
			if (!strstr(b.data, options[k]))
				fail_msg("%s: no --%s", cli_shells[i], options[k]);
		}
	}
}

static void other_shells_are_refused(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(100000);

	(void)state;
	assert_int_equal(cli_completion(&sample, "csh", &b), -1);
	assert_int_equal(cli_completion(&sample, "", &b), -1);
	assert_int_equal(b.len, 0);
}

static void a_full_buffer_is_told(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(100);

	(void)state;
	assert_int_equal(cli_completion(&sample, "bash", &b), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shell_gets_every_option),
		cmocka_unit_test(other_shells_are_refused),
		cmocka_unit_test(a_full_buffer_is_told),
	};

	return cmocka_run_group_tests_name("complete", tests, NULL, NULL);
}
