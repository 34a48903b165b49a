/* utf8: every scalar value goes round, and every kind of wrong bytes is refused. */
#include "testing.h"
#include "text/text.h"

static void every_scalar_value_goes_round(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		uint32_t back = 0;
		char out[4];
		size_t len;

		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		len = utf8_encode(c, out);
		if (utf8_decode(out, len, &back) != len || back != c)
			fail_msg("U+%04X does not go round", (unsigned)c);
		if (len > 1 && utf8_decode(out, len - 1, &back) != 0)
			fail_msg("U+%04X is taken when cut", (unsigned)c);
	}
}

static bool valid_by_decoding(const char *p, size_t len)
{
	uint32_t c;
	size_t at = 0, step;

	while (at < len && (step = utf8_decode(p + at, len - at, &c)))
		at += step;
	return at == len;
}

/* Every sequence of up to three bytes, and a sample of four: what decodes encodes to the same
 * bytes. */
static void what_decodes_is_the_shortest_form(void **state)
{
	char back[4];
	uint32_t c;

	(void)state;
	for (uint32_t v = 0; v < 1U << 24; v += v < 1U << 16 ? 1 : 7) {
		char in[4] = {(char)(v >> 16), (char)(v >> 8), (char)v, (char)(0x80 | (v & 0x3f))};
		size_t len = utf8_decode(in, 4, &c);

		if (len && (utf8_encode(c, back) != len || memcmp(in, back, len) != 0))
			fail_msg("%08x decodes to U+%04X", v, (unsigned)c);
		/* The quick way through whole texts says the same as the decoder. */
		for (size_t n = 1; n <= 4; n++)
			if (utf8_valid((struct str){in, n}) != valid_by_decoding(in, n))
				fail_msg("the first %zu of %08x", n, v);
	}
}

static void validity(void **state)
{
	static const struct {
		const char *name;
		struct str s;
		bool valid;
	} rows[] = {
		{"empty",				   {"", 0},                             true },
		{"absent",				  {NULL, 0},                           true },
		{"long ASCII",                              {"0123456789abcdefghijklmnopq", 27}, true },
		{"a NUL",				   {"a\0b", 3},                         true },
		{"mixed",
                 {"12345678\xc3\xa9"
			 "12345678\xf0\x9f\x98\x80",
				22},
                 true										 },
		{"eight letters, then a bare continuation", {"12345678\x80", 9},                 false},
		{"overlong two",                            {"\xc1\xbf", 2},                     false},
		{"overlong three",                          {"\xe0\x9f\xbf", 3},                 false},
		{"overlong four",                           {"\xf0\x8f\xbf\xbf", 4},             false},
		{"surrogate",			       {"\xed\xa0\x80", 3},                 false},
		{"last before surrogates",                  {"\xed\x9f\xbf", 3},                 true },
		{"last scalar",                             {"\xf4\x8f\xbf\xbf", 4},             true },
		{"past it",				 {"\xf4\x90\x80\x80", 4},             false},
		{"five byte form",                          {"\xf8\x88\x80\x80\x80", 5},         false},
		{"cut",				     {"abc\xe2\x82", 5},                  false},
		{"lead then letter",
                 {"\xe2"
			 "abc",
				4},
                 false										},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (utf8_valid(rows[i].s) != rows[i].valid)
			fail_msg("%s", rows[i].name);
}

static void cleaning(void **state)
{
	static const struct {
		struct str from;
		const char *to;
	} rows[] = {
		{{"", 0},                     ""			    },
		{{"abc", 3},                  "abc"                         },
		{{"a\xff"
		  "b",
			 3},
                 "a\xef\xbf\xbd"
			"b"						 },
		{{"\xe2\x82", 2},             "\xef\xbf\xbd\xef\xbf\xbd"    },
		{{"\xc3\xa9\x80\xc3\xa9", 5}, "\xc3\xa9\xef\xbf\xbd\xc3\xa9"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(64);

		assert_int_equal(utf8_put_clean(&b, rows[i].from), 0);
		assert_string_equal(b.data, rows[i].to);
		assert_true(utf8_valid(buf_str(&b)));
	}
}

static void cleaning_is_all_or_nothing(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(6);

	(void)state;
	(void)buf_puts(&b, "ab");
	assert_int_equal(utf8_put_clean(&b, STR("cd\xff")), -1);
	assert_string_equal(b.data, "ab");
	assert_true(b.full);
}

static void cutting_ends_at_a_character(void **state)
{
	static const struct {
		struct str s;
		size_t max, len;
	} rows[] = {
		{{"abc", 3},			      5, 3},
		{{"abc", 3},			      2, 2},
		{{"abc", 3},			      0, 0},
		{{"", 0},				 0, 0},
		{{"a\xc3\xa9", 3},                        2, 1},
		{{"a\xc3\xa9", 3},                        3, 3},
		{{"\xf0\x9f\x98\x80z", 5},                3, 0},
		{{"\xf0\x9f\x98\x80z", 5},                4, 4},
		{{"\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 8}, 7, 4},
		{{"a\xe2\x82", 3},                        9, 1},
		{{"\x80\x80\x80\x80\x80\x80", 6},         5, 5}, /* not UTF-8: any cut is as good */
		{{"ab\xff", 3},                           3, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(str_cut(rows[i].s, rows[i].max).len, rows[i].len);
	assert_null(str_cut((struct str){NULL, 0}, 3).p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_scalar_value_goes_round),
		cmocka_unit_test(what_decodes_is_the_shortest_form),
		cmocka_unit_test(validity),
		cmocka_unit_test(cleaning),
		cmocka_unit_test(cleaning_is_all_or_nothing),
		cmocka_unit_test(cutting_ends_at_a_character),
	};

	return cmocka_run_group_tests_name("text.utf8", tests, NULL, NULL);
}
