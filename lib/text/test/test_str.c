/* str: looking into, splitting and trimming borrowed bytes. */
#include "testing.h"
#include "text/text.h"

static void absent_and_empty_differ(void **state)
{
	(void)state;
	assert_null(str_from(NULL).p);
	assert_non_null(str_from("").p);
	assert_true(str_eq(str_from(NULL), str_from("")));
	assert_true(str_is(STR("a\0b"), "a") == false);
	assert_true(str_eq(STR("a\0b"), STR("a\0b")));
}

static void starts_and_ends(void **state)
{
	(void)state;
	assert_true(str_starts(STR("--bot"), STR("--")));
	assert_true(str_starts(STR("a"), STR("")));
	assert_true(str_starts((struct str){NULL, 0}, STR("")));
	assert_false(str_starts(STR("-"), STR("--")));
	assert_true(str_ends(STR("a.rules"), STR(".rules")));
	assert_false(str_ends(STR("rules"), STR(".rules")));
	assert_false(str_ends((struct str){NULL, 0}, STR("x")));
}

static void finding(void **state)
{
	static const struct {
		const char *s, *needle;
		size_t from;
		ptrdiff_t at;
	} rows[] = {
		{"abcabc", "bc",   0,        1 },
		{"abcabc", "bc",   2,        4 },
		{"abcabc", "bc",   5,        -1},
		{"abc",    "",     3,        3 },
		{"abc",    "",     4,        -1},
		{"abc",    "abcd", 0,        -1},
		{"",       "a",    0,        -1},
		{"abc",    "c",    SIZE_MAX, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(
			str_find(str_from(rows[i].s), str_from(rows[i].needle), rows[i].from),
			rows[i].at);
}

static void trimming(void **state)
{
	(void)state;
	assert_true(str_is(str_trim(STR(" \t\r\n a b \n")), "a b"));
	assert_true(str_is(str_trim(STR(" \t ")), ""));
	assert_int_equal(str_trim((struct str){NULL, 0}).len, 0);
}

static void splitting(void **state)
{
	static const struct {
		const char *from, *parts;
	} rows[] = {
		{"a,,b", "[a][][b]"},
		{"",     "[]"      },
		{",",    "[][]"    },
		{"a,",   "[a][]"   },
		{"abc",  "[abc]"   },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf got = BUF_INIT(100);
		struct str rest = str_from(rows[i].from), part;

		while (str_next(&rest, ',', &part))
			(void)buf_printf(&got, "[" STR_FMT "]", STR_ARG(part));
		assert_string_equal(got.data, rows[i].parts);
		assert_false(str_next(&rest, ',', &part));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_and_empty_differ),
		cmocka_unit_test(starts_and_ends),
		cmocka_unit_test(finding),
		cmocka_unit_test(trimming),
		cmocka_unit_test(splitting),
	};

	return cmocka_run_group_tests_name("text.str", tests, NULL, NULL);
}
