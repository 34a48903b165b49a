/* error: texts that are fit to be shown, whatever was put into them. */
#include <errno.h>

#include "testing.h"

static const struct error_kind OTHER = {"other_thing", ERROR_CLASS_DENIED};
static const struct error_kind SAME_CODE = {"invalid_value", ERROR_CLASS_USAGE};

static void texts_are_cleaned(void **state)
{
	static const struct {
		const char *name, *from, *to;
	} rows[] = {
		{"plain",			     "no file 'a'",                          "no file 'a'" },
		{"line ends, tabs, escape, DEL",      "a\r\nb\tc\x1b[2Jd\x7f",                "a??b?c?[2Jd?"},
		{"C1 in UTF-8",
                 "a\xc2\x9b"
			"31mb",							       "a?31mb"      },
		{"right to left override",
                 "a\xe2\x80\xae"
			"b\xe2\x81\xa6",						      "a?b?"        },
		{"line separator",                    "a\xe2\x80\xa8z",                       "a?z"         },
		{"letters of two to four bytes",      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"                                                     },
		{"bare continuation",                 "a\x80z",                               "a?z"         },
		{"overlong slash",                    "\xc0\xaf",                             "??"          },
		{"overlong in three bytes",           "\xe0\x80\xaf",                         "???"         },
		{"surrogate",                         "\xed\xa0\x80",                         "???"         },
		{"past the last plane",               "\xf4\x90\x80\x80",                     "????"        },
		{"broken at the end, not by the cut", "ab\xe2\x82",                           "ab??"        },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(error_set(&err, &ERROR_INVALID, "%s", rows[i].from), -1);
		if (strcmp(err.text, rows[i].to) != 0)
			fail_msg("%s: got '%s'", rows[i].name, err.text);
	}
}

static void long_texts_are_cut_at_a_character(void **state)
{
	struct error err = ERROR_INIT;
	char text[1200];

	(void)state;
	for (size_t lead = 0; lead < 4; lead++) {
		size_t len;

		memset(text, 'a', lead);
		for (size_t i = lead; i + 3 < sizeof(text); i += 3)
			memcpy(text + i, "\xe2\x82\xac", 4);
		(void)error_set(&err, &ERROR_INVALID, "%s", text);
		len = strlen(err.text);
		assert_true(len <= ERROR_TEXT_MAX - 1 && len > ERROR_TEXT_MAX - 4);
		assert_int_equal((len - lead) % 3, 0);
		assert_memory_equal(err.text, text, len);
	}
}

static void a_system_error_keeps_its_cause_and_errno(void **state)
{
	struct error err = ERROR_INIT;
	char longer[1000];

	(void)state;
	errno = ENOENT;
	assert_int_equal(error_sys(&err, "open '%s'", "x"), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(err.sys, ENOENT);
	assert_true(error_is(&err, &ERROR_SYS));
	assert_string_equal(err.text, "open 'x': No such file or directory");
	memset(longer, 'y', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	errno = EACCES;
	(void)error_sys_kind(&err, &OTHER, "open '%s'", longer);
	assert_true(error_is(&err, &OTHER));
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	assert_non_null(strstr(err.text, "yyy: Permission denied"));
	errno = 99999;
	(void)error_sys(&err, "do");
	assert_string_equal(err.text, "do: error 99999");
}

static void prefixes_stack_and_keep_the_cause(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(error_prefix(&err, "nothing yet"), -1);
	assert_string_equal(err.text, "");
	(void)error_set(&err, &ERROR_INVALID, "cause");
	errno = EPIPE;
	(void)error_prefix(&err, "step %d", 1);
	assert_int_equal(errno, EPIPE);
	assert_string_equal(err.text, "step 1: cause");
	(void)error_prefix(&err, "in '%s'", err.text); /* the argument is the text itself */
	assert_string_equal(err.text, "in 'step 1: cause': step 1: cause");
	for (int i = 0; i < 200; i++)
		(void)error_prefix(&err, "\xe2\x82\xac%d", i);
	assert_true(strlen(err.text) < ERROR_TEXT_MAX);
	assert_memory_equal(err.text,
		"\xe2\x82\xac"
		"199: ",
		8);
	assert_true(error_is(&err, &ERROR_INVALID));
}

static void a_long_prefix_leaves_a_short_cause_whole(void **state)
{
	struct error err = ERROR_INIT;
	char longer[1000];

	(void)state;
	memset(longer, 'y', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	(void)error_set(&err, &ERROR_INVALID, "the cause");
	(void)error_prefix(&err, "%s", longer);
	assert_int_equal(strlen(err.text), ERROR_TEXT_MAX - 1);
	assert_string_equal(err.text + ERROR_TEXT_MAX - 1 - 12, "y: the cause");
}

static void setting_replaces_even_from_its_own_text(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	(void)error_set(&err, &ERROR_INVALID, "first");
	(void)error_set(&err, &OTHER, "<%s>", err.text);
	assert_string_equal(err.text, "<first>");
	assert_string_equal(error_code(&err), "other_thing");
}

static void no_error_and_no_place_for_one(void **state)
{
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(error_set(NULL, &ERROR_INVALID, "x"), -1);
	assert_int_equal(error_sys(NULL, "x"), -1);
	assert_int_equal(error_sys_kind(NULL, &OTHER, "x"), -1);
	assert_int_equal(error_prefix(NULL, "x"), -1);
	error_clear(NULL);
	assert_false(error_is(NULL, &ERROR_SYS));
	assert_false(error_is(&err, &ERROR_SYS));
	assert_string_equal(error_code(&err), "internal_error");
	assert_string_equal(error_code(NULL), "internal_error");
	(void)error_set(&err, &ERROR_INVALID, "x");
	assert_true(error_is(&err, &SAME_CODE));
	error_clear(&err);
	assert_null(err.kind);
	assert_string_equal(err.text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_cleaned),
		cmocka_unit_test(long_texts_are_cut_at_a_character),
		cmocka_unit_test(a_system_error_keeps_its_cause_and_errno),
		cmocka_unit_test(prefixes_stack_and_keep_the_cause),
		cmocka_unit_test(a_long_prefix_leaves_a_short_cause_whole),
		cmocka_unit_test(setting_replaces_even_from_its_own_text),
		cmocka_unit_test(no_error_and_no_place_for_one),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
