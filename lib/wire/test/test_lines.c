/* wire: lines: every way to cut the bytes gives the same lines; the cap is exact. */
#include "wire/wire.h"

#include "testing.h"

enum { CAP = 16 };

struct collected {
	char text[512]; /* each line in brackets */
	size_t len, count, stop_after;
};

static bool collect(void *arg, struct str line)
{
	struct collected *c = arg;

	c->len += (size_t)snprintf(
		c->text + c->len, sizeof(c->text) - c->len, "[" STR_FMT "]", STR_ARG(line));
	return ++c->count != c->stop_after;
}

static void every_cut_gives_the_same_lines(void **state)
{
	static const char input[] = "a\n\nlong enough one\n{\"k\":1}\r\n \nno end";
	static const char wanted[] = "[a][][long enough one][{\"k\":1}\r][ ]";

	(void)state;
	for (size_t step = 1; step < sizeof(input); step++) {
		struct collected c = {.len = 0};
		struct error err = ERROR_INIT;
		struct wire_lines w;

		wire_lines_init(&w, CAP);
		for (size_t at = 0; at < sizeof(input) - 1; at += step) {
			size_t left = sizeof(input) - 1 - at;

			assert_ok(wire_lines_put(&w, input + at, left < step ? left : step, collect,
					  &c, &err),
				&err);
		}
		assert_string_equal(c.text, wanted);
		assert_int_equal(wire_lines_pending(&w), 6);
		wire_lines_release(&w);
	}
}

static void the_cap_counts_the_newline(void **state)
{
	static const struct {
		const char *name, *input;
		bool fits;
	} rows[] = {
		{"the longest line",           "123456789012345\n",                  true },
		{"one byte too long",          "1234567890123456\n",                 false},
		{"as long and not ended",      "123456789012345",                    true },
		{"too long and not ended",     "1234567890123456",                   false},
		{"too long after a good line", "ok\n1234567890123456789\nok\n",      false},
		{"the longest line, twice",    "123456789012345\nabcdefghijklmno\n", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t step = 1; step <= strlen(rows[i].input); step++) {
			struct collected c = {.len = 0};
			struct error err = ERROR_INIT;
			struct wire_lines w;
			int rc = 0;

			wire_lines_init(&w, CAP);
			for (size_t at = 0; at < strlen(rows[i].input) && rc == 0; at += step) {
				size_t left = strlen(rows[i].input) - at;

				rc = wire_lines_put(&w, rows[i].input + at,
					left < step ? left : step, collect, &c, &err);
			}
			if (rc != (rows[i].fits ? 0 : -1))
				fail_msg("%s in steps of %zu: %d", rows[i].name, step, rc);
			if (rc < 0) {
				assert_true(error_is(&err, &ERROR_LIMIT));
				assert_true(w.broken);
				/* and it stays broken */
				assert_fails(wire_lines_put(&w, "x\n", 2, collect, &c, &err), &err,
					ERROR_LIMIT);
				assert_null(strstr(c.text, "[x]"));
				assert_int_equal(wire_lines_pending(&w), 0);
			}
			wire_lines_release(&w);
		}
	}
}

static void a_nul_is_a_byte_like_any_other(void **state)
{
	struct wire_lines w;
	struct str rest = {"a\0b\n", 4}, line = {NULL, 0};
	struct error err = ERROR_INIT;

	(void)state;
	wire_lines_init(&w, CAP);
	assert_int_equal(wire_lines_next(&w, &rest, &line, &err), 1);
	assert_int_equal(line.len, 3);
	assert_memory_equal(line.p, "a\0b", 3);
	assert_int_equal(wire_lines_next(&w, &rest, &line, &err), 0);
	wire_lines_release(&w);
}

static void the_owner_can_stop(void **state)
{
	struct collected c = {.stop_after = 2};
	struct error err = ERROR_INIT;
	struct wire_lines w;

	(void)state;
	wire_lines_init(&w, CAP);
	assert_ok(wire_lines_put(&w, "a\nb\nc\nd", 7, collect, &c, &err), &err);
	assert_string_equal(c.text, "[a][b]");
	wire_lines_release(&w);
}

static void nothing_is_no_line(void **state)
{
	struct collected c = {.len = 0};
	struct wire_lines w;

	(void)state;
	wire_lines_init(&w, WIRE_LINE_MAX_BYTES);
	assert_int_equal(wire_lines_put(&w, NULL, 0, collect, &c, NULL), 0);
	assert_int_equal(c.count, 0);
	assert_int_equal(wire_lines_pending(&w), 0);
	wire_lines_release(&w);
}

static bool drop(void *arg, struct str line)
{
	*(size_t *)arg += line.len;
	return true;
}

static void memory_of_a_long_line_is_given_back(void **state)
{
	_cleanup_(mem) char *big = xcalloc(1, WIRE_LINE_MAX_BYTES);
	struct error err = ERROR_INIT;
	struct wire_lines w;
	size_t total = 0;

	(void)state;
	memset(big, 'x', WIRE_LINE_MAX_BYTES);
	big[WIRE_LINE_MAX_BYTES - 1] = '\n';
	wire_lines_init(&w, WIRE_LINE_MAX_BYTES);
	for (int i = 0; i < 3; i++) {
		assert_ok(wire_lines_put(&w, big, 700000, drop, &total, &err), &err);
		assert_int_equal(wire_lines_pending(&w), 700000);
		assert_ok(wire_lines_put(&w, big + 700000, WIRE_LINE_MAX_BYTES - 700000, drop,
				  &total, &err),
			&err);
		assert_true(w.partial.cap < 100000);
	}
	assert_int_equal(total, 3 * (WIRE_LINE_MAX_BYTES - 1));
	wire_lines_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cut_gives_the_same_lines),
		cmocka_unit_test(the_cap_counts_the_newline),
		cmocka_unit_test(a_nul_is_a_byte_like_any_other),
		cmocka_unit_test(the_owner_can_stop),
		cmocka_unit_test(nothing_is_no_line),
		cmocka_unit_test(memory_of_a_long_line_is_given_back),
	};

	return cmocka_run_group_tests_name("wire lines", tests, NULL, NULL);
}
