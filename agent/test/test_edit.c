/*
 * Edits: what was asked for changes, every other byte stays.
 */
#include "agent/core/edit.h"

#include "testing.h"

#define S(literal)                                                                                 \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

struct outcome {
	struct buf to;
	struct edit_report report;
	struct error err;
	int rc;
};

static struct outcome replace(struct str content, struct str old, struct str new, bool all)
{
	struct outcome o = {.to = BUF_INIT(EDIT_FILE_MAX_BYTES)};

	o.rc = edit_replace(content, &(struct edit){old, new, all}, &o.to, &o.report, &o.err);
	return o;
}

static void replaces_and_keeps_every_other_byte(void **state)
{
	static const struct {
		const char *name;
		struct str content, old, new, result;
		bool all;
		size_t count, line;
	} rows[] = {
		{"one word",                  S("a b c"),                S("b"),        S("x"),      S("a x c"),                false, 1, 1},
		{"no final newline stays",    S("a\nb"),                 S("b"),        S("x"),      S("a\nx"),                 false, 1, 2},
		{"a final newline stays",     S("a\nb\n"),               S("b"),        S("x"),      S("a\nx\n"),               false, 1, 2},
		{"to nothing",                S("a\nb\nc\n"),            S("b\n"),      S(""),       S("a\nc\n"),               false, 1, 2},
		{"everything to nothing",     S("a"),                    S("a"),        S(""),       S(""),                     false, 1, 1},
		{"BOM stays",
                 S("\xef\xbb\xbf"
			  "a\n"),
                 S("a"),								S("b"),
                 S("\xef\xbb\xbf"
			  "b\n"),
                 false,														1, 1},
		{"all, not overlapping",      S("aaaa"),                 S("aa"),       S("b"),      S("bb"),                   true,  2, 1},
		{"CRLF matched by LF",        S("a\r\nb\r\nc\r\n"),      S("a\nb"),     S("x\ny"),
                 S("x\r\ny\r\nc\r\n"),											  false, 1, 1},
		{"CRLF for a new line",       S("a\r\nb\r\n"),           S("b"),        S("b\nc"),   S("a\r\nb\r\nc\r\n"),
                 false,														1, 2},
		{"CRLF at the very end",      S("a\r\nb"),               S("b"),        S("b\nc"),   S("a\r\nb\r\nc"),          false, 1,
                 2															 },
		{"a line feed first",         S("a\r\nb\r\n"),           S("\nb"),      S("\nc"),    S("a\r\nc\r\n"),           false,
                 1,														       1},
		{"a line feed last",          S("a\r\nb\r\n"),           S("a\n"),      S(""),       S("b\r\n"),                false, 1, 1},
		{"mixed: LF where it lies",   S("a\r\nb\nc\n"),          S("b\n"),      S("x\ny\n"),
                 S("a\r\nx\ny\nc\n"),											   false, 1, 2},
		{"mixed: CRLF where it lies", S("a\nb\r\nc\n"),          S("b\n"),      S("x\ny\n"),
                 S("a\nx\r\ny\r\nc\n"),											 false, 1, 2},
		{"literal CRLF",              S("a\r\nb\n"),             S("a\r\n"),    S("a\n"),    S("a\nb\n"),               false, 1, 1},
		{"LF old, CRLF new",          S("a\nb\n"),               S("a\nb"),     S("a\r\nb"), S("a\r\nb\n"),             false, 1,
                 1															 },
		{"lone CR is a byte",         S("a\rb\r\n"),             S("b"),        S("c"),      S("a\rc\r\n"),             false, 1, 1},
		{"NUL is a byte",             S("a\0b"),                 S("b"),        S("c"),      S("a\0c"),                 false, 1, 1},
		{"all with lines",            S("x\r\nx\r\n"),           S("x"),        S("y\nz"),   S("y\r\nz\r\ny\r\nz\r\n"),
                 true,														 2, 1},
		{"beyond ASCII",              S("gr\xc3\xbc\xc3\x9f\n"), S("\xc3\xbc"), S("u"),
                 S("gru\xc3\x9f\n"),											    false, 1, 1},
		{"white space at line ends",  S("a  \nb\t\n"),           S("b"),        S("c"),      S("a  \nc\t\n"),
                 false,														1, 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = replace(rows[i].content, rows[i].old, rows[i].new, rows[i].all);

		if (o.rc < 0)
			fail_msg("%s: %s", rows[i].name, o.err.text);
		if (!str_eq(buf_str(&o.to), rows[i].result))
			fail_msg("%s: gave '%.*s'", rows[i].name, (int)o.to.len, o.to.data);
		assert_int_equal(o.report.count, rows[i].count);
		if (o.report.lines[0] != rows[i].line)
			fail_msg("%s: line %zu", rows[i].name, o.report.lines[0]);
		buf_release(&o.to);
	}
}

static void refuses_what_it_cannot_do(void **state)
{
	static const struct {
		const char *name;
		struct str content, old;
		const struct error_kind *kind;
		const char *says;
	} rows[] = {
		{"not there",           S("a\nb\n"),         S("x"),      &EDIT_TARGET_NOT_FOUND, "not in the file"},
		{"empty old",           S("a"),              S(""),       &EDIT_TARGET_NOT_FOUND, "empty"          },
		{"empty file",          S(""),               S("x"),      &EDIT_TARGET_NOT_FOUND, "not in the file"},
		{"hint at white space", S("a\n\tb\nc\n"),    S("b\n\nc"), &EDIT_TARGET_NOT_FOUND,
                 "lines 2:"											},
		{"two places",          S("a\nb\na\n"),      S("a"),      &EDIT_TARGET_AMBIGUOUS,
                 "2 places (lines 1, 3)"									   },
		{"overlapping places",  S("aaa"),            S("aa"),     &EDIT_TARGET_AMBIGUOUS,
                 "2 places (lines 1)"									      },
		{"CRLF and LF alike",   S("a\r\nb\na\nb\n"), S("a\nb"),   &EDIT_TARGET_AMBIGUOUS,
                 "lines 1, 3"										      },
		{"Latin-1",             S("gr\xfc\xdf\n"),   S("gr"),     &EDIT_NOT_UTF8,         "from byte 3 on" },
		{"UTF-16",
                 S("\xff\xfe"
			  "a\0"),
                 S("a"),						  &EDIT_NOT_UTF8,         "UTF-16"         },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome o = replace(rows[i].content, rows[i].old, STR("new"), false);

		if (o.rc != -1 || !error_is(&o.err, rows[i].kind) ||
			!strstr(o.err.text, rows[i].says))
			fail_msg("%s: %d %s: %s", rows[i].name, o.rc, error_code(&o.err),
				o.err.text);
		buf_release(&o.to);
	}
}

static void many_places_are_not_all_listed(void **state)
{
	_cleanup_(buf) struct buf content = BUF_INIT(1 << 20);
	struct outcome o;

	(void)state;
	for (int i = 0; i < 1000; i++)
		must(buf_puts(&content, "same\n") == 0);
	o = replace(buf_str(&content), STR("same"), STR("x"), false);
	assert_true(error_is(&o.err, &EDIT_TARGET_AMBIGUOUS));
	assert_non_null(strstr(o.err.text, "more than 20 places"));
	buf_release(&o.to);
	o = replace(buf_str(&content), STR("same"), STR("x"), true);
	assert_int_equal(o.rc, 0);
	assert_int_equal(o.report.count, 1000);
	assert_int_equal(o.report.lines[19], 20);
	assert_int_equal(o.to.len, 2000);
	buf_release(&o.to);
}

static void a_result_has_a_limit(void **state)
{
	_cleanup_(buf) struct buf content = BUF_INIT(EDIT_FILE_MAX_BYTES);
	struct outcome o;

	(void)state;
	must(buf_reserve(&content, EDIT_FILE_MAX_BYTES) == 0);
	memset(content.data, 'a', EDIT_FILE_MAX_BYTES);
	content.data[7] = 'b';
	content.len = EDIT_FILE_MAX_BYTES;
	o = replace(buf_str(&content), STR("b"), STR("c"), false);
	assert_int_equal(o.rc, 0);
	assert_int_equal(o.to.len, EDIT_FILE_MAX_BYTES);
	buf_release(&o.to);
	o = replace(buf_str(&content), STR("b"), STR("cc"), false);
	assert_true(error_is(&o.err, &EDIT_TOO_LARGE));
	assert_int_equal(o.to.len, 0);
	buf_release(&o.to);
	/* Many places, and a text with lines for a file without: linear all the same. */
	content.len = 20000;
	o = replace(buf_str(&content), STR("a"), STR("x\ny"), true);
	assert_int_equal(o.rc, 0);
	assert_int_equal(o.to.len, 3 * 19999 + 1);
	buf_release(&o.to);
}

/* A small generator of its own: the same cases in every run. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 16;
}

static size_t random_text(uint32_t *seed, char *to, size_t max)
{
	static const char *const parts[] = {"a", "b", "\n", "\r\n", " ", "\xc3\xa9", "ab"};
	size_t len = 0, wanted = next_random(seed) % max;

	while (len + 2 < wanted) {
		const char *part = parts[next_random(seed) % ARRAY_LEN(parts)];

		memcpy(to + len, part, strlen(part));
		len += strlen(part);
	}
	return len;
}

/* Property: cutting any piece out of a text that stands there once and putting it back by an edit
 * gives the text; and an edit changes nothing outside its place. */
static void an_edit_and_its_reverse_give_the_content_back(void **state)
{
	uint32_t seed = 20261;
	int tried = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		char content[64];
		size_t len = random_text(&seed, content, sizeof(content));
		size_t from = len ? next_random(&seed) % len : 0;
		size_t piece = len ? next_random(&seed) % (len - from) : 0;
		struct str old = {content + from, piece};
		struct outcome there, back;

		if (piece == 0 || !utf8_valid(old) || memchr(old.p, '\r', old.len) ||
			old.p[0] == '\n')
			continue;
		there = replace((struct str){content, len}, old, STR("<new>"), false);
		if (there.rc == 0) {
			tried++;
			assert_memory_equal(there.to.data, content, from);
			assert_memory_equal(there.to.data + from, "<new>", 5);
			assert_int_equal(there.to.len, len - piece + 5);
			assert_memory_equal(there.to.data + from + 5, content + from + piece,
				len - from - piece);
			back = replace(buf_str(&there.to), STR("<new>"), old, false);
			assert_int_equal(back.rc, 0);
			if (!memchr(old.p, '\n', old.len))
				assert_true(str_eq(buf_str(&back.to), (struct str){content, len}));
			buf_release(&back.to);
		}
		buf_release(&there.to);
	}
	assert_true(tried > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replaces_and_keeps_every_other_byte),
		cmocka_unit_test(refuses_what_it_cannot_do),
		cmocka_unit_test(many_places_are_not_all_listed),
		cmocka_unit_test(a_result_has_a_limit),
		cmocka_unit_test(an_edit_and_its_reverse_give_the_content_back),
	};

	return cmocka_run_group_tests_name("edit", tests, NULL, NULL);
}
