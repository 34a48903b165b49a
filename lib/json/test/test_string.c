/* json strings: the two scans agree, escapes at every place, any bytes written cleanly. */
#include "testing.h"
#include "json/internal.h"

static size_t plain_run_slowly(const char *p, size_t len)
{
	size_t n = 0;

	while (n < len && json_is_plain((unsigned char)p[n]))
		n++;
	return n;
}

static void both_scans_stop_at_every_odd_byte(void **state)
{
	char text[80];

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		for (size_t at = 0; at < sizeof(text); at++) {
			memset(text, 'a', sizeof(text));
			text[at] = (char)c;
			for (size_t from = 0; from < 17 && from <= at; from++) {
				const size_t wanted = plain_run_slowly(
					text + from, sizeof(text) - from);

				assert_int_equal(
					json_plain_run(text + from, sizeof(text) - from), wanted);
				assert_int_equal(
					json_plain_run_portable(text + from, sizeof(text) - from),
					wanted);
			}
		}
	}
}

static void both_scans_keep_within_the_length(void **state)
{
	(void)state;
	for (size_t len = 0; len < 70; len++) {
		/* Of the exact size, so that the sanitizer sees a byte read too far. */
		_cleanup_(mem) char *text = xmalloc(len);

		memset(text, '~', len);
		assert_int_equal(json_plain_run(text, len), len);
		assert_int_equal(json_plain_run_portable(text, len), len);
	}
}

static void every_byte_alone_comes_back(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 0x80; c++) {
		_cleanup_(arena) struct arena a = {NULL};
		_cleanup_(buf) struct buf b = BUF_INIT(64);
		const char byte = (char)c;
		const struct json *root;
		struct error err = ERROR_INIT;

		json_quote(&b, (struct str){&byte, 1});
		for (size_t i = 0; i < b.len; i++)
			assert_true((unsigned char)b.data[i] >= 0x20);
		assert_ok(json_parse(&a, buf_str(&b), &root, &err), &err);
		assert_true(str_eq(root->text, (struct str){&byte, 1}));
	}
}

static void every_code_point_is_read_escaped_and_plain(void **state)
{
	(void)state;
	for (uint32_t point = 0x80; point <= 0x10ffff; point += point < 0x11000 ? 1 : 61) {
		char plain[4], text[32], *after;
		size_t len;
		struct str got;
		const uint32_t rest = point - 0x10000;

		if (point >= 0xd800 && point <= 0xdfff)
			continue;
		len = utf8_encode(point, plain);
		if (point < 0x10000)
			snprintf(text, sizeof(text), "\\u%04X\"", point);
		else
			snprintf(text, sizeof(text), "\\u%04x\\u%04x\"", 0xd800 + (rest >> 10),
				0xdc00 + (rest & 0x3ff));
		assert_null(json_unquote(text, text + strlen(text), &got, &after));
		assert_true(str_eq(got, (struct str){plain, len}));
		assert_true(*after == '\0');
		snprintf(text, sizeof(text), "a%.*s\"", (int)len, plain);
		assert_null(json_unquote(text, text + strlen(text), &got, &after));
		assert_true(str_eq((struct str){got.p + 1, got.len - 1}, (struct str){plain, len}));
		for (size_t cut = 1; cut < len; cut++) {
			snprintf(text, sizeof(text), "%.*s\"", (int)cut, plain);
			assert_non_null(json_unquote(text, text + cut + 1, &got, &after));
			assert_ptr_equal(after, text);
			assert_non_null(json_unquote(text, text + cut, &got, &after));
		}
	}
}

static void an_escape_stands_anywhere(void **state)
{
	(void)state;
	/* Before and after it runs of every length around the sizes the scan works in. */
	for (size_t before = 0; before < 36; before++) {
		for (size_t after = 0; after < 36; after++) {
			char text[96], wanted[96], *end;
			struct str got;

			memset(text, 'x', sizeof(text));
			memset(wanted, 'x', sizeof(wanted));
			memcpy(text + before, "\\n\\u20ac", 8);
			memcpy(wanted + before, "\n\xe2\x82\xac", 4);
			memcpy(text + before + 8 + after, "\"tail", 6);
			assert_null(json_unquote(text, text + before + 8 + after + 5, &got, &end));
			assert_true(str_eq(got, (struct str){wanted, before + 4 + after}));
			assert_int_equal(got.p[got.len], '\0');
			assert_string_equal(end, "tail");
		}
	}
}

static void bytes_of_no_character_become_a_mark(void **state)
{
	static const struct {
		const char *name, *bytes, *wanted;
	} rows[] = {
		{"a lone continuation",
                 "a\x80"
			"b",				 "\"a\xef\xbf\xbd"
			"b\""				  },
		{"0xff",                     "\xff",         "\"\xef\xbf\xbd\""            },
		{"a cut character",          "\xe2\x82",     "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"an overlong slash",        "\xc0\xaf",     "\"\xef\xbf\xbd\xef\xbf\xbd\""},
		{"an encoded surrogate",     "\xed\xa0\x80",
                 "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""                                },
		{"a good one after it",      "\xc3\xc3\xa9", "\"\xef\xbf\xbd\xc3\xa9\""    },
		{"a quote inside a cut one", "\xe2\"",       "\"\xef\xbf\xbd\\\"\""        },
		{"a newline inside it",      "\xf0\n",       "\"\xef\xbf\xbd\\n\""         },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(256);

		json_quote(&b, str_from(rows[i].bytes));
		if (strcmp(b.data, rows[i].wanted) != 0)
			fail_msg("%s: %s", rows[i].name, b.data);
	}
}

static void what_a_terminal_acts_on_is_escaped(void **state)
{
	static const struct {
		const char *name, *bytes, *wanted;
	} rows[] = {
		{"the first of C1",        "\xc2\x80",                 "\"\\u0080\""       },
		{"CSI in a text",          "a\xc2\x9b 2Jb",            "\"a\\u009b 2Jb\""  },
		{"the last, twice",        "\xc2\x9f\xc2\x9f",         "\"\\u009f\\u009f\""},
		{"no-break space is none", "\xc2\xa0",                 "\"\xc2\xa0\""      },
		{"cut",                    "\xc2",                     "\"\xef\xbf\xbd\""  },
		{"between others",         "\n\"\xc2\x85\xff\xc3\xa9",
                 "\"\\n\\\"\\u0085\xef\xbf\xbd\xc3\xa9\""                                  },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(256);

		json_quote(&b, str_from(rows[i].bytes));
		if (strcmp(b.data, rows[i].wanted) != 0)
			fail_msg("%s: %s", rows[i].name, b.data);
	}
}

static void writes_the_absent_and_the_empty(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(256);

	(void)state;
	json_quote(&b, (struct str){NULL, 0});
	json_quote(&b, STR(""));
	assert_string_equal(b.data, "\"\"\"\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_scans_stop_at_every_odd_byte),
		cmocka_unit_test(both_scans_keep_within_the_length),
		cmocka_unit_test(every_byte_alone_comes_back),
		cmocka_unit_test(every_code_point_is_read_escaped_and_plain),
		cmocka_unit_test(an_escape_stands_anywhere),
		cmocka_unit_test(bytes_of_no_character_become_a_mark),
		cmocka_unit_test(what_a_terminal_acts_on_is_escaped),
		cmocka_unit_test(writes_the_absent_and_the_empty),
	};

	return cmocka_run_group_tests_name("json string", tests, NULL, NULL);
}
