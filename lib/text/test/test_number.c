/* number: what is a number, what is not, and what is too large. */
#include "testing.h"
#include "text/text.h"

static void unsigned_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t max, value;
		const struct error_kind *kind; /* NULL: it is a number */
	} rows[] = {
		{"0",			  0,          0,          NULL          },
                {"7",                          7,          7,          NULL          },
		{"18446744073709551615",       UINT64_MAX, UINT64_MAX, NULL          },
		{"18446744073709551616",       UINT64_MAX, 0,          &ERROR_LIMIT  },
		{"99999999999999999999999999", UINT64_MAX, 0,          &ERROR_LIMIT  },
		{"8",			  7,          0,          &ERROR_LIMIT  },
                {"",                           9,          0,          &ERROR_INVALID},
                {"00",                         9,          0,          &ERROR_INVALID},
		{"01",			 9,          0,          &ERROR_INVALID},
                {"+1",                         9,          0,          &ERROR_INVALID},
		{"-1",			 9,          0,          &ERROR_INVALID},
                {" 1",                         9,          0,          &ERROR_INVALID},
		{"1 ",			 9,          0,          &ERROR_INVALID},
                {"1e3",                        9,          0,          &ERROR_INVALID},
		{"0x1",			9,          0,          &ERROR_INVALID},
                {"1.0",                        9,          0,          &ERROR_INVALID},
		{"\xd9\xa3",                   9,          0,          &ERROR_INVALID}, /* an Arabic three */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		uint64_t value = 42;
		int rc = text_u64(str_from(rows[i].text), rows[i].max, "turns", &value, &err);

		if ((rc == 0) != !rows[i].kind || (rc < 0 && !error_is(&err, rows[i].kind)))
			fail_msg("'%s': %d %s", rows[i].text, rc, err.text);
		assert_int_equal(value, rc == 0 ? rows[i].value : 42);
	}
}

static void signed_numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t min, max, value;
		const struct error_kind *kind;
	} rows[] = {
		{"0",                    0,         0,         0,         NULL          },
		{"-5",                   -5,        5,         -5,        NULL          },
		{"-6",                   -5,        5,         0,         &ERROR_LIMIT  },
		{"6",                    -5,        5,         0,         &ERROR_LIMIT  },
		{"9223372036854775807",  INT64_MIN, INT64_MAX, INT64_MAX, NULL          },
		{"-9223372036854775808", INT64_MIN, INT64_MAX, INT64_MIN, NULL          },
		{"9223372036854775808",  INT64_MIN, INT64_MAX, 0,         &ERROR_LIMIT  },
		{"-9223372036854775809", INT64_MIN, INT64_MAX, 0,         &ERROR_LIMIT  },
		{"-",                    -5,        5,         0,         &ERROR_INVALID},
		{"--1",                  -5,        5,         0,         &ERROR_INVALID},
		{"-0",                   -5,        5,         0,         &ERROR_INVALID},
		{"-01",                  -5,        5,         0,         &ERROR_INVALID},
		{"",		     -5,        5,         0,         &ERROR_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		int64_t value = 42;
		int rc = text_i64(
			str_from(rows[i].text), rows[i].min, rows[i].max, "n", &value, &err);

		if ((rc == 0) != !rows[i].kind || (rc < 0 && !error_is(&err, rows[i].kind)))
			fail_msg("'%s': %d %s", rows[i].text, rc, err.text);
		assert_int_equal(value, rc == 0 ? rows[i].value : 42);
	}
}

static void errors_name_the_value(void **state)
{
	struct error err = ERROR_INIT;
	uint64_t u;
	int64_t i;

	(void)state;
	(void)text_u64(STR("200001"), 100000, "create.keep_turns", &u, &err);
	assert_string_equal(err.text, "create.keep_turns: 200001 is over 100000");
	(void)text_i64(STR("-3"), -2, 5, "n", &i, &err);
	assert_string_equal(err.text, "n: -3 is under -2");
	(void)text_i64(STR("-99999999999999999999"), -2, 5, "n", &i, &err);
	assert_string_equal(err.text, "n: -99999999999999999999 is under -2");
	(void)text_u64(STR("a\nb"), 1, "n", &u, &err);
	assert_string_equal(err.text, "n: 'a?b' is not a whole number");
	assert_int_equal(text_u64((struct str){NULL, 0}, 1, "n", &u, &err), -1);
	assert_int_equal(text_i64((struct str){NULL, 0}, 0, 1, "n", &i, NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsigned_numbers),
		cmocka_unit_test(signed_numbers),
		cmocka_unit_test(errors_name_the_value),
	};

	return cmocka_run_group_tests_name("text.number", tests, NULL, NULL);
}
