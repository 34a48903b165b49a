/* visible: nothing that acts on a terminal gets through. */
#include "testing.h"
#include "text/text.h"

static void what_acts_is_escaped(void **state)
{
	static const struct {
		const char *name;
		struct str from;
		const char *visible, *line;
	} rows[] = {
		{"plain",             {"abc", 3},                  "abc",                  "abc"         },
		{"empty",             {"", 0},                     "",                     ""            },
		{"letters",           {"\xc3\xa9\xe2\x82\xac", 5}, "\xc3\xa9\xe2\x82\xac",
                 "\xc3\xa9\xe2\x82\xac"								  },
		{"layout",            {"a\n\tb", 4},               "a\n\tb",               "a\\n\\tb"    },
		{"carriage return",   {"a\rb", 3},                 "a\\rb",                "a\\rb"       },
		{"colour",            {"\x1b[31mred", 8},          "\\x1b[31mred",         "\\x1b[31mred"},
		{"NUL and DEL",       {"\0\x7f", 2},               "\\x00\\x7f",           "\\x00\\x7f"  },
		{"C1 as a character",
                 {"\xc2\x9b"
			 "1m",
				4},
                 "\\u009b1m",							      "\\u009b1m"   },
		{"C1 as a byte",
                 {"\x9b"
			 "1m",
				3},
                 "\\x9b1m",								"\\x9b1m"     },
		{"cut character",     {"a\xe2\x82", 3},            "a\\xe2\\x82",          "a\\xe2\\x82" },
		{"turned direction",
                 {"\xe2\x80\xae"
			 "x",
				4},
                 "\\u202ex",							       "\\u202ex"    },
		{"isolates",          {"\xe2\x81\xa7", 3},         "\\u2067",              "\\u2067"     },
		{"arabic mark",       {"\xd8\x9c", 2},             "\\u061c",              "\\u061c"     },
		{"line separator",    {"\xe2\x80\xa8", 3},         "\\u2028",              "\\u2028"     },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf v = BUF_INIT(64), l = BUF_INIT(64);

		assert_int_equal(text_put_visible(&v, rows[i].from), 0);
		assert_int_equal(text_put_line(&l, rows[i].from), 0);
		if (strcmp(v.data, rows[i].visible) != 0 || strcmp(l.data, rows[i].line) != 0)
			fail_msg("%s: '%s' '%s'", rows[i].name, v.data, l.data);
	}
}

/* Whatever two bytes: the line is valid, printable, and what was printable is unchanged. */
static void any_bytes_become_printable(void **state)
{
	(void)state;
	for (unsigned v = 0; v < 1U << 16; v++) {
		_cleanup_(buf) struct buf b = BUF_INIT(64);
		char in[2] = {(char)(v >> 8), (char)v};

		assert_int_equal(text_put_line(&b, (struct str){in, 2}), 0);
		assert_true(utf8_valid(buf_str(&b)));
		for (size_t i = 0; i < b.len; i++)
			if ((unsigned char)b.data[i] < 0x20 || b.data[i] == 0x7f)
				fail_msg("%04x gives a control character", v);
	}
}

static void all_or_nothing(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(6);

	(void)state;
	(void)buf_puts(&b, "ab");
	assert_int_equal(text_put_line(&b, STR("c\x1b")), -1);
	assert_string_equal(b.data, "ab");
}

static void hexadecimal(void **state)
{
	char out[9];

	(void)state;
	text_hex("\x00\xff\x1a\x09", 4, out);
	assert_string_equal(out, "00ff1a09");
	text_hex(NULL, 0, out);
	assert_string_equal(out, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_acts_is_escaped),
		cmocka_unit_test(any_bytes_become_printable),
		cmocka_unit_test(all_or_nothing),
		cmocka_unit_test(hexadecimal),
	};

	return cmocka_run_group_tests_name("text.visible", tests, NULL, NULL);
}
