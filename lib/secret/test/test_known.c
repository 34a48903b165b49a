/*
 * Known values: every occurrence in every spelling, overlaps, and the same as a slow and simple
 * search.
 */
#include "redact_testing.h"

static void exact_values_are_replaced(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	secret_set_add(set, STR("sk-abcdef"));
	becomes(set, "sk-abcdef", "[REDACTED]");
	becomes(set, "key sk-abcdef!", "key [REDACTED]!");
	becomes(set, "xsk-abcdefx", "x[REDACTED]x");
	becomes(set, "sk-abcdefsk-abcdef", "[REDACTED][REDACTED]");
	stays(set, "sk-abcde");
	stays(set, "SK-ABCDEF");
	becomes(set, "sk-sk-sk-abcdef", "sk-sk-[REDACTED]");
	becomes(set, "sk-abcdesk-abcdef", "sk-abcde[REDACTED]");
	stays(set, "");
}

static void overlaps_and_prefixes(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	secret_set_add(set, STR("abcdef"));
	secret_set_add(set, STR("abcdefgh"));
	secret_set_add(set, STR("ghijkl"));
	secret_set_add(set, STR("xxabcdefyy"));
	secret_set_add(set, STR("aaaaaa"));
	secret_set_add(set, STR("_abcdef_abcdef_Z"));
	becomes(set, "abcdefgh", "[REDACTED]");     /* a value and its prefix */
	becomes(set, "abcdefg", "[REDACTED]g");     /* the prefix alone */
	becomes(set, "abcdefghijkl", "[REDACTED]"); /* one runs into the next */
	becomes(set, "xxabcdefyy", "[REDACTED]");   /* one inside another */
	becomes(set, "xxabcdefyz", "xx[REDACTED]yz");
	becomes(set, "..xxabcdef", "..xx[REDACTED]"); /* the outer one cut by the end */
	becomes(set, "aaaaaaaaaaaaa", "[REDACTED]");  /* overlapping itself */
	becomes(set, "aaaaaa aaaaa", "[REDACTED] aaaaa");
	becomes(set, "_abcdef_abcdef_q",
		"_[REDACTED]_[REDACTED]_q"); /* two inside the start of a long one */
	becomes(set, "_abcdef_abcdef_Z", "[REDACTED]");
	becomes(set, "_abcdef_abcdef_", "_[REDACTED]_[REDACTED]_");
}

static void other_spellings_are_replaced(void **state)
{
	static const char value[] = "p\"q'r/s\\t u+v\xc3\xa9\xf0\x9f\x98\x80\n$w";
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	secret_set_add(set, str_from(value));
	becomes(set, value, "[REDACTED]");
	becomes(set, "<p\\\"q'r/s\\\\t u+v\xc3\xa9\xf0\x9f\x98\x80\\n$w>", "<[REDACTED]>");
	becomes(set, "<p\\\"q'r\\/s\\\\t u+v\xc3\xa9\xf0\x9f\x98\x80\\n$w>", "<[REDACTED]>");
	becomes(set, "<p\\\"q'r/s\\\\t u+v\\u00e9\\ud83d\\ude00\\n$w>", "<[REDACTED]>");
	becomes(set, "<p\\\"q'r/s\\\\t u+v\\u00E9\\uD83D\\uDE00\\n$w>", "<[REDACTED]>");
	becomes(set, "<p%22q%27r%2Fs%5Ct%20u%2Bv%C3%A9%F0%9F%98%80%0A%24w>", "<[REDACTED]>");
	becomes(set, "<p%22q%27r%2fs%5ct%20u%2bv%c3%a9%f0%9f%98%80%0a%24w>", "<[REDACTED]>");
	becomes(set, "<p%22q'r%2Fs%5Ct%20u%2Bv%C3%A9%F0%9F%98%80%0A%24w>", "<[REDACTED]>");
	becomes(set, "<p%22q%27r/s%5Ct%20u%2Bv%C3%A9%F0%9F%98%80%0A%24w>", "<[REDACTED]>");
	becomes(set, "<p%22q%27r%2Fs%5Ct+u%2Bv%C3%A9%F0%9F%98%80%0A%24w>", "<[REDACTED]>");
	becomes(set, "'p\"q'\\''r/s\\t u+v\xc3\xa9\xf0\x9f\x98\x80\n$w'", "'[REDACTED]'");
	becomes(set, "'p\"q'\"'\"'r/s\\t u+v\xc3\xa9\xf0\x9f\x98\x80\n$w'", "'[REDACTED]'");
	becomes(set, "<p\\\"q'r/s\\\\t u+v\xc3\xa9\xf0\x9f\x98\x80\n\\$w>", "<[REDACTED]>");
	becomes(set, "$'p\"q\\'r/s\\\\t u+v\xc3\xa9\xf0\x9f\x98\x80\\n$w'", "$'[REDACTED]'");
}

/* What JSON's writers may leave as it is, and some do not. */
static void json_of_every_writer(void **state)
{
	static const struct {
		const char *name, *spelling;
	} rows[] = {
		{"as it is",                  "ab\"$cd\x7f/<&+>'\b\xc3\xa9"                     },
		{"DEL as it is",              "ab\\\"$cd\x7f/<&+>'\\b\xc3\xa9"                  },
		{"DEL and ASCII",             "ab\\\"$cd\x7f/<&+>'\\b\\u00e9"                   },
		{"DEL and slashes, as PHP",   "ab\\\"$cd\x7f\\/<&+>'\\b\\u00e9"                 },
		{"DEL by number, as jq",      "ab\\\"$cd\\u007f/<&+>'\\b\xc3\xa9"               },
		{"DEL by number, upper case", "ab\\\"$cd\\u007F/<&+>'\\b\\u00E9"                },
		{"fit for HTML, as Go",       "ab\\\"$cd\x7f/\\u003c\\u0026+\\u003e'\\b\xc3\xa9"},
		{"fit for HTML, as older Go",
                 "ab\\\"$cd\x7f/\\u003c\\u0026+\\u003e'\\u0008\xc3\xa9"                         },
		{"fit for anything, as .NET",
                 "ab\\u0022$cd\\u007F/\\u003C\\u0026\\u002B\\u003E\\u0027\\b\\u00E9"            },
	};
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	secret_set_add(set, str_from(rows[0].spelling));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *text = xasprintf(
			"{\"%s\":\"%s\"}", rows[i].name, rows[i].spelling);
		_cleanup_(mem) char *want = xasprintf("{\"%s\":\"[REDACTED]\"}", rows[i].name);

		becomes(set, text, want);
	}
}

static void short_values_are_left_out_and_edges_trimmed(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	secret_set_add(set, STR("short"));
	secret_set_add(set, STR(" a \n"));
	secret_set_add(set, STR(""));
	secret_set_add(set, (struct str){NULL, 0});
	secret_set_add(set, STR(" trimmed\r\n"));
	stays(set, "a short one");
	becomes(set, "trimmed and trimmed\n", "[REDACTED] and [REDACTED]\n");
}

/* AG-182: nothing is decoded. */
static void encoded_copies_pass(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();

	(void)state;
	secret_set_add(set, STR("sk-abcdef"));
	stays(set, "c2stYWJjZGVm");
	stays(set, "736b2d616263646566");
	stays(set, "fedcba-ks");
}

/* The union of all occurrences, found the slow way. */
static struct buf simple_search(const struct str *values, size_t count, struct str text)
{
	struct buf out = BUF_INIT(REDACT_OUT_MAX);
	_cleanup_(mem) size_t *reach = xcalloc(text.len + 1, sizeof(*reach));
	size_t end = 0;

	for (size_t at = 0; at < text.len; at++) {
		for (size_t i = 0; i < count; i++) {
			struct str v = values[i];

			if (str_starts((struct str){text.p + at, text.len - at}, v) &&
				at + v.len > reach[at])
				reach[at] = at + v.len;
		}
	}
	for (size_t at = 0; at < text.len; at++) {
		if (reach[at] && at >= end)
			buf_puts(&out, "[REDACTED]");
		if (reach[at] > end)
			end = reach[at];
		if (at >= end)
			buf_putc(&out, text.p[at]);
	}
	return out;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static void fill_random(uint32_t *seed, char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = next_random(seed) % 5 ? 'a' : 'b';
}

static void same_as_a_simple_search(void **state)
{
	enum { ROUNDS = 400, VALUES = 5, TEXT = 200 };
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_(set) struct secret_set *set = secret_set_new();
		char bytes[VALUES][16], text[TEXT];
		struct str values[VALUES];
		struct str in = {text, TEXT};
		struct buf want, got;

		for (size_t i = 0; i < VALUES; i++) {
			values[i] = (struct str){bytes[i], 6 + next_random(&seed) % 10};
			fill_random(&seed, bytes[i], values[i].len);
			secret_set_add(set, values[i]);
		}
		fill_random(&seed, text, TEXT);
		want = simple_search(values, VALUES, in);
		got = redact(set, in);
		assert_same(in, &got, buf_str(&want), "the whole");
		got = redact_pieces(set, in, next_random(&seed) % 20, 1 + next_random(&seed) % 20);
		assert_same(in, &got, buf_str(&want), "pieces");
		for (size_t i = 0; i < VALUES; i++)
			assert_true(str_find(buf_str(&want), values[i], 0) < 0);
		buf_release(&want);
	}
}

static void any_byte_can_be_part_of_a_value(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();
	char value[300], text[1000];
	struct buf got;

	(void)state;
	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (char)(i * 7 + 1);
	memset(text, '#', sizeof(text));
	memcpy(text + 333, value, sizeof(value));
	secret_set_add(set, (struct str){value, sizeof(value)});
	got = redact(set, (struct str){text, sizeof(text)});
	assert_int_equal(got.len, sizeof(text) - sizeof(value) + 10);
	buf_release(&got);
	assert_cuts_do_not_matter(set, (struct str){text, sizeof(text)});
}

/* Many branches at one node, the many keys of one provider. */
static void many_values_with_one_start(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();
	struct buf got;

	(void)state;
	for (int i = 0; i < 200; i++) {
		char value[] = "sk-proj-\0tail";

		value[8] = (char)(i + 40);
		secret_set_add(set, (struct str){value, 13});
	}
	for (int i = 0; i < 256; i++) {
		char text[] = "<sk-proj-\0tail>";
		bool known = i >= 40 && i < 240;

		text[9] = (char)i;
		got = redact(set, (struct str){text, 15});
		assert_int_equal(str_is(buf_str(&got), "<[REDACTED]>"), known);
		buf_release(&got);
	}
}

static void values_added_later_count_for_later_filters(void **state)
{
	_cleanup_(set) struct secret_set *set = secret_set_new();
	struct buf got;

	(void)state;
	secret_set_add(set, STR("first1"));
	got = redact(set, STR("first1 second"));
	assert_same(STR("first1 second"), &got, STR("[REDACTED] second"), "the whole");
	secret_set_add(set, STR("second"));
	becomes(set, "first1 second", "[REDACTED] [REDACTED]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_values_are_replaced),
		cmocka_unit_test(overlaps_and_prefixes),
		cmocka_unit_test(other_spellings_are_replaced),
		cmocka_unit_test(json_of_every_writer),
		cmocka_unit_test(short_values_are_left_out_and_edges_trimmed),
		cmocka_unit_test(encoded_copies_pass),
		cmocka_unit_test(same_as_a_simple_search),
		cmocka_unit_test(any_byte_can_be_part_of_a_value),
		cmocka_unit_test(many_values_with_one_start),
		cmocka_unit_test(values_added_later_count_for_later_filters),
	};

	return cmocka_run_group_tests_name("secret.known", tests, NULL, NULL);
}
