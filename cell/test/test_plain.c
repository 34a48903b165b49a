/* Texts of all character sets, packed and not. */
#include <zlib.h>

#include "../charset.h"
#include "../reading.h"
#include "testing.h"

enum { MIB = 1024 * 1024 };

static int read_it(const struct request *q, struct reading *r)
{
	reading_init(r, 4 * MIB);
	return read_text(q, r);
}

static void character_sets(void **state)
{
	static const struct {
		const char *label;
		struct str bytes;
		const char *is, *name;
	} rows[] = {
		{"utf-8",          STR("caf\xc3\xa9"),          "caf\xc3\xa9",               "utf-8"       },
		{"UTF8",
                 STR("a\xff"
			    "b"),
                 "a\xef\xbf\xbd"
			"b",								 "utf-8"       },
		{NULL,             STR("caf\xc3\xa9"),          "caf\xc3\xa9",               "utf-8"       },
		{NULL,             STR("caf\xe9"),              "caf\xc3\xa9",               "windows-1252"},
		{"nonsense",       STR("caf\xe9"),              "caf\xc3\xa9",               "windows-1252"},
		{"iso-8859-1",     STR("\x93q\x94"),            "\xe2\x80\x9cq\xe2\x80\x9d", "windows-1252"},
		{" Latin1 ",       STR("\xe9"),                 "\xc3\xa9",                  "windows-1252"},
		{"ISO-8859-15",    STR("\xa4"),                 "\xe2\x82\xac",              "iso-8859-15" },
		{"iso8859-2",      STR("\xb9"),                 "\xc5\xa1",                  "iso-8859-2"  },
		{"cp1251",         STR("\xcf"),                 "\xd0\x9f",                  "windows-1251"},
		{"koi8-r",         STR("\xd2"),                 "\xd1\x80",                  "koi8-r"      },
		{"Shift_JIS",      STR("\x93\xfa\xb1"),         "\xe6\x97\xa5\xef\xbd\xb1",  "shift_jis"   },
		{"euc-jp",         STR("\xc6\xfc"),             "\xe6\x97\xa5",              "euc-jp"      },
		{"gb2312",         STR("\xd6\xd0"),             "\xe4\xb8\xad",              "gbk"         },
		{"big5",           STR("\xa4\xa4"),             "\xe4\xb8\xad",              "big5"        },
		{"ks_c_5601-1987", STR("\xc7\xd1"),             "\xed\x95\x9c",              "euc-kr"      },
		{"big5",           STR("\xa4<"),                "\xef\xbf\xbd<",             "big5"        },
		{"gbk",            STR("\xd6"),                 "\xef\xbf\xbd",              "gbk"         },
		{"utf-16",         STR("a\0\x3d\xd8\x00\xde"),  "a\xf0\x9f\x98\x80",         "utf-16le"    },
		{"utf-16be",       STR("\0a\xd8\x3d\0b"),
                 "a\xef\xbf\xbd"
			"b",								 "utf-16be"    },
		{"utf-16be",       STR("\0a\xde"),              "a\xef\xbf\xbd",             "utf-16be"    },
		{"koi8-r",         STR("\xef\xbb\xbf\xc3\xa9"), "\xc3\xa9",                  "utf-8"       },
		{NULL,
                 STR("\xff\xfe"
			    "a\0"),
                 "a",									"utf-16le"    },
		{NULL,
                 STR("\xfe\xff"
			    "\0a"),
                 "a",									"utf-16be"    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct request q = {.charset = str_from(rows[i].label),
			.input = rows[i].bytes,
			.unpack_max_bytes = MIB};
		struct reading r;

		assert_int_equal(read_it(&q, &r), 0);
		if (!str_is(buf_str(&r.text), rows[i].is) || strcmp(r.charset, rows[i].name) != 0)
			fail_msg("row %zu: '%s' as %s", i, r.text.data, r.charset);
		reading_release(&r);
	}
}

static void controls_and_line_ends(void **state)
{
	const struct request q = {.unpack_max_bytes = MIB,
		.input = STR("a\r\nb\rc\n\td\x1b[0m\x7f\xc2\x85\xe2\x80\xae\xef\xbb\xbf"
			     "e")};
	struct reading r;

	(void)state;
	assert_int_equal(read_it(&q, &r), 0);
	assert_string_equal(r.text.data, "a\nb\nc\n\td[0me");
	assert_true(cell_text_is_clean(buf_str(&r.text)));
	reading_release(&r);
}

static void an_xml_declaration(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{"<?xml version=\"1.0\" encoding=\"koi8-r\"?><a/>", "koi8-r"},
		{"<?xml version='1.0' encoding='koi8-r'?>",         "koi8-r"},
		{"<?xml encoding=",                                 "utf-8" },
		{"<?xml encoding='koi8-r",                          "utf-8" },
		{"<?xml version='1.0'?>encoding='koi8-r'",          "utf-8" },
		{"<a encoding='koi8-r'?>",                          "utf-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct request q = {
			.xml = true, .input = str_from(rows[i].text), .unpack_max_bytes = MIB};
		struct reading r;

		assert_int_equal(read_it(&q, &r), 0);
		assert_string_equal(r.charset, rows[i].name);
		reading_release(&r);
		q.xml = false;
		assert_int_equal(read_it(&q, &r), 0);
		assert_string_equal(r.charset, "utf-8");
		reading_release(&r);
	}
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	const struct request q = {
		.input = {"a\0b", 3},
                  .unpack_max_bytes = MIB
        };
	struct reading r;

	(void)state;
	assert_int_equal(read_it(&q, &r), CELL_REFUSED_BINARY);
	reading_release(&r);
}

/* window: 15 + 16 gzip, 15 zlib, -15 bare. */
static size_t pack(struct str plain, int window, char *to, size_t room)
{
	z_stream z = {.next_in = (Bytef *)plain.p, .avail_in = (uInt)plain.len};

	must(deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_out = (Bytef *)to;
	z.avail_out = (uInt)room;
	must(deflate(&z, Z_FINISH) == Z_STREAM_END);
	(void)deflateEnd(&z);
	return room - z.avail_out;
}

static void packed_texts(void **state)
{
	static const struct {
		int window;
		const char *says;
		int refusal;
	} rows[] = {
		{15 + 16, "gzip",    0                   },
		{15,      "deflate", 0                   },
		{-15,     "deflate", 0                   },
		{-15,     "gzip",    CELL_REFUSED_PACKING},
	};
	char packed[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = pack(STR("hello, hello"), rows[i].window, packed, sizeof(packed) / 2);
		struct request q = {
			.packed = str_from(rows[i].says),
			.input = {packed, len},
			.unpack_max_bytes = 12
                };
		struct reading r;

		assert_int_equal(read_it(&q, &r), rows[i].refusal);
		reading_release(&r);
		if (rows[i].refusal)
			continue;
		q.unpack_max_bytes = 11;
		assert_int_equal(read_it(&q, &r), CELL_REFUSED_SIZE);
		reading_release(&r);
		q.unpack_max_bytes = 12;
		q.input.len--; /* cut */
		assert_int_equal(read_it(&q, &r), CELL_REFUSED_PACKING);
		reading_release(&r);
	}
}

static void members_of_a_gzip_follow_each_other(void **state)
{
	char packed[4096];
	size_t len = pack(STR("one "), 15 + 16, packed, 1024);
	struct request q = {.packed = STR("gzip"), .unpack_max_bytes = MIB};
	struct reading r;

	(void)state;
	len += pack(STR("two"), 15 + 16, packed + len, 1024);
	q.input = (struct str){packed, len};
	assert_int_equal(read_it(&q, &r), 0);
	assert_string_equal(r.text.data, "one two");
	reading_release(&r);
}

static void what_is_over_the_ceiling_is_cut(void **state)
{
	const struct request q = {.input = STR("ab\xc3\xa9"), .unpack_max_bytes = MIB};
	struct reading r;

	(void)state;
	reading_init(&r, 3);
	assert_int_equal(read_text(&q, &r), 0);
	assert_true(r.cut);
	assert_string_equal(r.text.data, "ab");
	reading_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(character_sets),
		cmocka_unit_test(controls_and_line_ends),
		cmocka_unit_test(an_xml_declaration),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
		cmocka_unit_test(packed_texts),
		cmocka_unit_test(members_of_a_gzip_follow_each_other),
		cmocka_unit_test(what_is_over_the_ceiling_is_cut),
	};

	return cmocka_run_group_tests_name("cell.plain", tests, NULL, NULL);
}
