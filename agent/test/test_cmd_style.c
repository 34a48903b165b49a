/* Colours, cuts, blocks, figures, columns and outcomes. */
#include "agent/cmd/columns.h"
#include "agent/cmd/outcome.h"
#include "agent/cmd/style.h"
#include "json/json.h"
#include "testing.h"

static void a_line_stays_one_line(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(65536);

	(void)state;
	style_line(&b, false, STYLE_BAD, STR("a\nb\tc\033[2Jd\x9b"), 100);
	assert_string_equal(b.data, "a\\nb\\tc\\x1b[2Jd\\x9b");
	buf_clear(&b);
	style_line(&b, true, STYLE_BAD, STR("x"), 100);
	assert_string_equal(b.data, "\033[31mx\033[0m");
}

static void a_cut_keeps_characters_whole(void **state)
{
	static const struct {
		const char *text;
		size_t max;
		const char *expected;
	} rows[] = {
		{"abcdef",                   6, "abcdef"                  },
		{"abcdef",                   5, "abcde ..."               },
		{"a\xc3\xa9z",               2, "a ..."                   },
		{"a\xf0\x9f\xa6\x8a",        4, "a ..."                   },
		{"\x80\x80\x80\x80\x80\x80", 4, "\\x80\\x80\\x80\\x80 ..."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(65536);

		style_line(&b, false, STYLE_PLAIN, str_from(rows[i].text), rows[i].max);
		assert_string_equal(b.data, rows[i].expected);
	}
}

static void a_block_leaves_out_its_middle(void **state)
{
	static const struct style_block how = {2, 2, 1, 20};
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"one\n",                       "  one\n"				    },
		{"one",			 "  one\n"				    },
		{"a\n\nb\n",                    "  a\n\n  b\n"                               },
		{"1\n2\n3\n4\n",                "  1\n  2\n  3\n  4\n"                       },
		{"1\n2\n3\n4\n5\n",             "  1\n  2\n  ... 2 lines left out ...\n  5\n"},
		{"tab\there\r\n",               "  tab\there\n"                              },
		{"\033]0;x\007\n",              "  \\x1b]0;x\\x07\n"                         },
		{"0123456789012345678901234\n", "  01234567890123456789 ...\n"               },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(65536);

		style_block(&b, false, STYLE_PLAIN, str_from(rows[i].text), &how);
		assert_string_equal(b.data, rows[i].expected);
	}
}

static void figures_are_readable(void **state)
{
	static const struct {
		int64_t ms;
		const char *expected;
	} rows[] = {
		{-5,     "0 ms"      },
		{0,      "0 ms"      },
		{999,    "999 ms"    },
		{1000,   "1.0 s"     },
		{59999,  "59.9 s"    },
		{60000,  "1 min 0 s" },
		{192345, "3 min 12 s"},
	};
	_cleanup_(buf) struct buf b = BUF_INIT(65536);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_clear(&b);
		style_duration(&b, rows[i].ms);
		assert_string_equal(b.data, rows[i].expected);
	}
	buf_clear(&b);
	style_count(&b, 1234567);
	(void)buf_putc(&b, ' ');
	style_count(&b, 1000);
	(void)buf_putc(&b, ' ');
	style_count(&b, 7);
	assert_string_equal(b.data, "1,234,567 1,000 7");
}

static void columns_line_up(void **state)
{
	static const char *const headings[] = {"A", "LONG", "C", NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	struct columns c;

	(void)state;
	columns_init(&c, headings);
	assert_int_equal(columns_write(&c, &b), 0);
	assert_int_equal(b.len, 0);
	columns_add(&c, STR("\xc3\xa9\xc3\xa9\xc3\xa9"));
	columns_add(&c, (struct str){NULL, 0});
	columns_add(&c, STR("x\ny"));
	columns_add(&c, STR(""));
	columns_add(&c, STR("1"));
	columns_add(&c, STR("2"));
	assert_int_equal(columns_write(&c, &b), 0);
	assert_string_equal(b.data, "A    LONG  C\n"
				    "\xc3\xa9\xc3\xa9\xc3\xa9  -     x\\ny\n"
				    "     1     2\n");
	columns_release(&c);
}

static const struct json *parse(struct arena *a, const char *text)
{
	const struct json *doc;

	assert_int_equal(json_parse(a, str_from(text), &doc, NULL), 0);
	return doc;
}

static void outcomes_are_told(void **state)
{
	static const struct {
		const char *json, *expected;
		bool good;
	} rows[] = {
		{"{\"status\":\"completed\",\"error\":null,\"detail\":null,\"text\":\"done\\u001b["
		 "m\"}",					"completed\ndone\\x1b[m\n", true },
		{"{\"status\":\"steered\"}",                                     "steered\n",                true },
		{"{\"status\":\"failed\",\"error\":\"x_y\",\"detail\":\"why\"}",
                 "failed: x_y: why\n",								       false},
		{"{\"pending\":true}",					   "pending\n",                false},
		{"{\"error\":\"turn_not_found\"}",                               "turn_not_found\n",         false},
		{"{\"status\":\"running\",\"finished\":false}",                  "running\n",                false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {.blocks = NULL};
		_cleanup_(buf) struct buf b = BUF_INIT(65536);
		const struct json *doc = parse(&a, rows[i].json);

		outcome_write(&b, false, doc);
		assert_string_equal(b.data, rows[i].expected);
		assert_int_equal(outcome_is_good(doc), rows[i].good);
	}
	assert_true(outcome_is_over(STR("interrupted")));
	assert_false(outcome_is_over(STR("running")));
	assert_false(outcome_is_over((struct str){NULL, 0}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_stays_one_line),
		cmocka_unit_test(a_cut_keeps_characters_whole),
		cmocka_unit_test(a_block_leaves_out_its_middle),
		cmocka_unit_test(figures_are_readable),
		cmocka_unit_test(columns_line_up),
		cmocka_unit_test(outcomes_are_told),
	};

	return cmocka_run_group_tests_name("cmd_style", tests, NULL, NULL);
}
