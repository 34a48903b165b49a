/* clock: how moments are written, compared with the system's own calendar, and the clock that
 * stands. */
#include <time.h>

#include "clock/clock.h"
#include "testing.h"

static void moments_are_written(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{0,			"1970-01-01T00:00:00.000Z"},
		{-1,		       "1969-12-31T23:59:59.999Z"},
		{INT64_C(1795961109123),   "2026-11-29T14:05:09.123Z"},
		{INT64_C(951827696789),    "2000-02-29T12:34:56.789Z"},
		{INT64_C(4107542400000),   "2100-03-01T00:00:00.000Z"},
		{INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z"},
		{INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
		{INT64_MAX,                "9999-12-31T23:59:59.999Z"},
		{INT64_MIN,                "0000-01-01T00:00:00.000Z"},
	};
	char text[CLOCK_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		clock_text(rows[i].ms, text);
		assert_string_equal(text, rows[i].text);
	}
}

static void every_day_agrees_with_the_system(void **state)
{
	char text[CLOCK_TEXT_SIZE], expected[64];
	struct tm tm;

	(void)state;
	for (time_t day = -719528; day < 2932896; day += 13) {
		time_t at = day * 86400 + (day % 86400 + 86400) % 86400;

		assert_non_null(gmtime_r(&at, &tm));
		(void)snprintf(expected, sizeof(expected), "%04d-%02d-%02dT%02d:%02d:%02d.007Z",
			tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			tm.tm_sec);
		clock_text((int64_t)at * 1000 + 7, text);
		assert_string_equal(text, expected);
	}
}

static void a_fake_clock_stands_still(void **state)
{
	struct clock_fake f;

	(void)state;
	clock_fake_init(&f, 1000, 50);
	assert_int_equal(clock_real_ms(&f.clock), 1000);
	assert_int_equal(clock_mono_ms(&f.clock), 50);
	clock_fake_advance(&f, 7);
	assert_int_equal(clock_real_ms(&f.clock), 1007);
	assert_int_equal(clock_mono_ms(&f.clock), 57);
	f.now_real_ms = 3; /* somebody set the clock */
	assert_int_equal(clock_real_ms(&f.clock), 3);
	assert_int_equal(clock_mono_ms(&f.clock), 57);
}

static void the_system_clock_goes(void **state)
{
	const struct clock *c = clock_system();
	int64_t before = clock_mono_ms(c);
	int64_t real_s = clock_real_ms(c) / 1000;

	(void)state;
	assert_true(real_s >= (int64_t)time(NULL) - 2 && real_s <= (int64_t)time(NULL) + 2);
	while (clock_mono_ms(c) == before)
		;
	assert_true(clock_mono_ms(c) > before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_are_written),
		cmocka_unit_test(every_day_agrees_with_the_system),
		cmocka_unit_test(a_fake_clock_stands_still),
		cmocka_unit_test(the_system_clock_goes),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
