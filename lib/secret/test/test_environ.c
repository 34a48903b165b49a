/*
 * The environment of a child: without the names dropped, with those set.
 */
#include "secret/secret.h"
#include "testing.h"

static void assert_environ(char **got, const char *const *want)
{
	size_t i = 0;

	for (; want[i]; i++) {
		if (!got[i])
			fail_msg("'%s' is missing", want[i]);
		assert_string_equal(got[i], want[i]);
	}
	assert_null(got[i]);
	free(got);
}

static char *const env[] = {"PATH=/bin", "OPENAI_API_KEY=k", "FOO=bar", "EMPTY=", "NOEQUALS",
	"FOO=again", "OPENAI_API_KEY=twice", "openai_api_key=other", "OPENAI_API_KEY2=x", NULL};

static void names_are_dropped(void **state)
{
	static const struct str drop[] = {
		{"OPENAI_API_KEY", 14},
                {"NOTHERE",        7 },
                {"NOEQUALS",       8 }
        };
	static const char *const want[] = {"PATH=/bin", "FOO=bar", "EMPTY=", "FOO=again",
		"openai_api_key=other", "OPENAI_API_KEY2=x", NULL};

	(void)state;
	assert_environ(secret_environ(env, drop, ARRAY_LEN(drop), NULL), want);
}

static void entries_are_added_and_replaced(void **state)
{
	static const struct str drop[] = {
		{"OPENAI_API_KEY", 14}
        };
	char *const set[] = {"FOO=new", "BAR=1", "BAR=2", "OPENAI_API_KEY=fake", NULL};
	static const char *const want[] = {"PATH=/bin", "EMPTY=", "NOEQUALS",
		"openai_api_key=other", "OPENAI_API_KEY2=x", "FOO=new", "BAR=2",
		"OPENAI_API_KEY=fake", NULL};

	(void)state;
	assert_environ(secret_environ(env, drop, ARRAY_LEN(drop), set), want);
}

static void nothing_gives_nothing(void **state)
{
	char *const none[] = {NULL};
	static const char *const want[] = {NULL};

	(void)state;
	assert_environ(secret_environ(none, NULL, 0, NULL), want);
	assert_environ(secret_environ(NULL, NULL, 0, none), want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_dropped),
		cmocka_unit_test(entries_are_added_and_replaced),
		cmocka_unit_test(nothing_gives_nothing),
	};

	return cmocka_run_group_tests_name("secret.environ", tests, NULL, NULL);
}
