/*
 * Properties of the whole filter: text without secrets passes as it is, cuts do not matter, what is
 * held back is bounded, a full buffer is told.
 */
#include "redact_testing.h"

/* The fragments random texts are made of: everything a stage reacts to. */
static const char *const fragments[] = {"password", "passwd", "api", "_", "-", "key", "KEY",
	"access", "token", "=", ":", " ", "  ", "\n", "\t", "\"", "'", "`", "\\", "\\\"", "]", "[",
	"{", "}", ",", "&", "?", "::", ":=", "=>", "x", "abc", "hunter22", "sk-abcdef", "sk-abc",
	"def", "gxyz", "-----", "-----BEGIN ", "RSA ", "PRIVATE KEY", "-----END ",
	"-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----",
	"\"-----BEGIN PRIVATE KEY-----\"", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIB", "$",
	"b", "\xff", "\xc3\xa9", "\r\n"};

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static struct buf random_text(uint32_t *seed, unsigned parts)
{
	struct buf b = BUF_INIT(64 * 1024);

	for (unsigned i = 0; i < parts; i++)
		buf_puts(&b, fragments[next_random(seed) % ARRAY_LEN(fragments)]);
	buf_putc(&b, '\0');
	return b;
}

static struct secret_set *sample_set(void)
{
	struct secret_set *set = secret_set_new();

	secret_set_add(set, STR("sk-abcdef"));
	secret_set_add(set, STR("abcdefgxyz"));
	secret_set_add(set, STR("p w'd\"/x"));
	return set;
}

static void cuts_do_not_matter(void **state)
{
	enum { ROUNDS = 1200 };
	_cleanup_(set) struct secret_set *set = sample_set();
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_(buf) struct buf text = random_text(&seed, 1 + next_random(&seed) % 14);

		assert_cuts_do_not_matter(set, buf_str(&text));
	}
}

static void known_values_never_show(void **state)
{
	enum { ROUNDS = 1500 };
	_cleanup_(set) struct secret_set *set = sample_set();
	uint32_t seed = 2;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_(buf) struct buf text = random_text(&seed, 60);
		_cleanup_(buf) struct buf out = redact(set, buf_str(&text));

		assert_true(str_find(buf_str(&out), STR("sk-abcdef"), 0) < 0);
		assert_true(str_find(buf_str(&out), STR("abcdefgxyz"), 0) < 0);
	}
}

static void every_byte_passes(void **state)
{
	_cleanup_(set) struct secret_set *set = sample_set();
	char text[3 * 256];
	struct buf got;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i < 256 ? i : i < 512 ? 511 - i : i * 37);
	got = redact(set, (struct str){text, sizeof(text)});
	assert_same(STR("bytes"), &got, (struct str){text, sizeof(text)}, "the whole");
	assert_cuts_do_not_matter(set, (struct str){text, sizeof(text)});
}

static void ordinary_lines_pass(void **state)
{
	static const char text[] =
		"int main(int argc, char **argv)\n{\n\treturn run(argc, argv) ? 0 : 1;\n}\n"
		"2024-01-01T10:00:00Z level=info msg=\"turn.done\" tokens=1234567 bot=7\n"
		"{\"id\":\"resp_1\",\"usage\":{\"input_tokens\":123456,\"output_tokens\":654321}}\n"
		"Change your passwords often; a token is no key. key=value secret=none\n"
		"| name | value |\n| ---- | ----- |\n<a "
		"href=\"http://x.example/?a=b&c=d#e\">x</a>\n";
	_cleanup_(set) struct secret_set *set = sample_set();
	struct buf got = redact(set, STR(text));

	(void)state;
	assert_same(STR("text"), &got, STR(text), "the whole");
	assert_cuts_do_not_matter(set, STR(text));
}

static void holds_back_no_more_than_a_value(void **state)
{
	_cleanup_(set) struct secret_set *set = sample_set();
	_cleanup_(filter) struct secret_filter *f = secret_filter_new(set);
	_cleanup_(buf) struct buf out = BUF_INIT(REDACT_OUT_MAX);
	size_t put = 0;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		const char *part = i % 2 ? "sk-abcde" : "abcdefgxy p w'd \\\"";

		assert_int_equal(secret_filter_put(f, part, strlen(part), &out), 0);
		put += strlen(part);
		assert_true(put - out.len <= 32);
	}
	assert_int_equal(secret_filter_end(f, &out), 0);
	assert_int_equal(out.len, put);
}

static void filter_can_be_used_again_after_its_end(void **state)
{
	_cleanup_(set) struct secret_set *set = sample_set();
	_cleanup_(filter) struct secret_filter *f = secret_filter_new(set);
	_cleanup_(buf) struct buf out = BUF_INIT(REDACT_OUT_MAX);

	(void)state;
	for (int i = 0; i < 3; i++) {
		buf_clear(&out);
		assert_int_equal(secret_filter_put(f, "api_key=\"x y sk-ab", 18, &out), 0);
		assert_int_equal(secret_filter_end(f, &out), 0);
		assert_true(str_is(buf_str(&out), "api_key=\"[REDACTED]"));
		buf_clear(&out);
		assert_int_equal(secret_filter_put(f, "cdef x y z", 10, &out), 0);
		assert_int_equal(secret_filter_end(f, &out), 0);
		assert_true(str_is(buf_str(&out), "cdef x y z"));
	}
}

static void full_buffer_is_told(void **state)
{
	_cleanup_(set) struct secret_set *set = sample_set();
	_cleanup_(buf) struct buf out = BUF_INIT(20);
	struct str text = STR("some text longer than twenty bytes");

	(void)state;
	assert_int_equal(secret_redact(set, text, &out), -1);
	assert_true(out.len <= 20);
}

/* Time is not measured here, but a square would not end: 4 MiB of what each stage likes least. */
static void hostile_text_takes_linear_time(void **state)
{
	static const char *const bad[] = {"a", "sk-abcde", "-", "=", ":", "password=", "\\", "\"",
		"-----BEGIN ", "          =", "password\\\\\\\\\\\\\\\":", "password=\"\\",
		"-----BEGIN PRIVATE KEY-----\"", "sk-abcdef"};
	_cleanup_(set) struct secret_set *set = sample_set();
	_cleanup_(mem) char *long_value = xmalloc(20000);

	(void)state;
	memset(long_value, 'a', 20000);
	secret_set_add(set, (struct str){long_value, 20000});
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(filter) struct secret_filter *f = secret_filter_new(set);
		struct buf text = BUF_INIT(REDACT_OUT_MAX);
		struct buf out = BUF_INIT(REDACT_OUT_MAX);

		while (text.len < 512 * 1024)
			buf_puts(&text, bad[i]);
		for (size_t at = 0; at + 7 < text.len; at += 7)
			assert_int_equal(secret_filter_put(f, text.data + at, 7, &out), 0);
		assert_int_equal(secret_filter_end(f, &out), 0);
		buf_release(&text);
		buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_do_not_matter),
		cmocka_unit_test(known_values_never_show),
		cmocka_unit_test(every_byte_passes),
		cmocka_unit_test(ordinary_lines_pass),
		cmocka_unit_test(holds_back_no_more_than_a_value),
		cmocka_unit_test(filter_can_be_used_again_after_its_end),
		cmocka_unit_test(full_buffer_is_told),
		cmocka_unit_test(hostile_text_takes_linear_time),
	};

	return cmocka_run_group_tests_name("secret.stream", tests, NULL, NULL);
}
