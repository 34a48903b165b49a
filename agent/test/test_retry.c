/* Whether failed model calls are tried again, with a clock that is the test's. */
#include "agent/core/retry.h"

#include "testing.h"

static struct retry_failure failure(enum retry_class class, int64_t delay_ms, int64_t now_ms)
{
	return (struct retry_failure){.class = class, .delay_ms = delay_ms, .now_ms = now_ms};
}

static void what_is_not_to_be_tried_again_is_not(void **state)
{
	struct retry r = {.failures = 0};
	struct retry_failure f = failure(RETRY_NEVER, -1, 0);
	int64_t delay = -7;

	(void)state;
	assert_false(retry_next(&r, &f, &delay));
	assert_int_equal(delay, -7);
}

static void a_call_has_eight_tries_each_further_away(void **state)
{
	static const int64_t waits[] = {250, 500, 1000, 2000, 4000, 8000, 16000};
	struct retry r = {.failures = 0};
	int64_t now_ms = 1000, delay;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		struct retry_failure f = failure(RETRY_BACKOFF, -1, now_ms);

		assert_true(retry_next(&r, &f, &delay));
		assert_int_equal(delay, waits[i]);
		now_ms += delay;
	}
	assert_false(retry_next(&r, &(struct retry_failure){RETRY_BACKOFF, -1, now_ms, 0}, &delay));
}

static void the_spread_is_at_most_a_fifth(void **state)
{
	struct retry low = {.failures = 0}, high = {.failures = 0};
	struct retry_failure f = failure(RETRY_BACKOFF, -1, 0);
	int64_t least, most;

	(void)state;
	assert_true(retry_next(&low, &f, &least));
	f.chance = UINT32_MAX;
	assert_true(retry_next(&high, &f, &most));
	assert_int_equal(least, 250);
	assert_int_equal(most, 300);
}

static void a_longer_wait_that_was_named_is_kept_to(void **state)
{
	struct retry r = {.failures = 0};
	struct retry_failure f = failure(RETRY_BACKOFF, 9000, 0);
	int64_t delay;

	(void)state;
	assert_true(retry_next(&r, &f, &delay));
	assert_int_equal(delay, 9000);
}

static void five_minutes_after_the_first_failure_it_is_over(void **state)
{
	struct retry r = {.failures = 0};
	struct retry_failure f = failure(RETRY_BACKOFF, -1, 50);
	int64_t delay;

	(void)state;
	assert_true(retry_next(&r, &f, &delay));
	f.now_ms = 50 + 299500;
	assert_true(retry_next(&r, &f, &delay)); /* 500 ms more end within them */
	f.now_ms = 50 + 299001;
	assert_false(retry_next(&r, &f, &delay)); /* 1,000 do not */
}

static void a_provider_that_asks_to_wait_has_64_tries(void **state)
{
	struct retry r = {.failures = 0};
	struct retry_failure f = failure(RETRY_PACE, 3600000, 0);
	int64_t delay;

	(void)state;
	for (int i = 1; i < 64; i++) {
		assert_true(retry_next(&r, &f, &delay));
		assert_int_equal(delay, 0); /* the pool holds it */
	}
	assert_false(retry_next(&r, &f, &delay));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_to_be_tried_again_is_not),
		cmocka_unit_test(a_call_has_eight_tries_each_further_away),
		cmocka_unit_test(the_spread_is_at_most_a_fifth),
		cmocka_unit_test(a_longer_wait_that_was_named_is_kept_to),
		cmocka_unit_test(five_minutes_after_the_first_failure_it_is_over),
		cmocka_unit_test(a_provider_that_asks_to_wait_has_64_tries),
	};

	return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
