/* Pools: lines, buckets, closures, with a clock that is the test's. */
#include "agent/io/pace.h"

#include "agent/io/pace_headers.h"
#include "testing.h"

static void enter(struct pace *p, const char *model, struct pace_ticket *t, int64_t bytes)
{
	struct pace_cost cost = {.bytes = bytes};
	struct error err = ERROR_INIT;

	assert_ok(pace_enter(pace_pool(p, str_from(model)), t, &cost, &err), &err);
}

/* Headers "name: value", NULL-terminated pairs. */
static void learn(struct pace_ticket *t, const char *const *pairs, int64_t mono_ms, int64_t real_ms)
{
	struct pace_now now = {mono_ms, real_ms};
	struct http_header headers[8];
	struct http_head h = {.headers = headers};

	for (; pairs[0]; pairs += 2)
		headers[h.header_count++] = (struct http_header){
			str_from(pairs[0]), str_from(pairs[1])};
	pace_learn(t, &h, &now);
}

static void snapshots_share_their_alias(void **state)
{
	static const struct {
		const char *model, *alias;
	} rows[] = {
		{"claude-sonnet-4-5-20250929", "claude-sonnet-4-5"      },
		{"gpt-5-2025-08-07",           "gpt-5"                  },
		{"gpt-5",                      "gpt-5"                  },
		{"claude-3-7-sonnet-latest",   "claude-3-7-sonnet"      },
		{"llama-3.1-70b-20250929x",    "llama-3.1-70b-20250929x"},
		{"20250929",                   "20250929"               },
		{"m-123-08-07",                "m-123-08-07"            },
	};
	struct pace *p = pace_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str alias = pace_alias(str_from(rows[i].model));

		if (!str_is(alias, rows[i].alias))
			fail_msg("%s is of pool " STR_FMT, rows[i].model, STR_ARG(alias));
	}
	assert_ptr_equal(pace_pool(p, STR("a-20250101")), pace_pool(p, STR("a")));
	assert_ptr_not_equal(pace_pool(p, STR("a")), pace_pool(p, STR("b")));
	pace_free(p);
}

static void nothing_is_held_back_before_something_is_known(void **state)
{
	struct pace *p = pace_new();
	struct pace_ticket t[100];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		enter(p, "m", &t[i], 1 << 20);
		assert_int_equal(pace_ask(&t[i], 0), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pace_leave(&t[i]);
	pace_free(p);
}

static void the_line_is_first_come_first_served(void **state)
{
	struct pace *p = pace_new();
	struct pace_ticket a, b, c;

	(void)state;
	enter(p, "m", &a, 4);
	enter(p, "m", &b, 4);
	enter(p, "m", &c, 4);
	assert_true(pace_ask(&b, 0) > 0);
	assert_true(pace_ask(&c, 0) > 0);
	assert_int_equal(pace_ask(&a, 0), 0);
	pace_leave(&b); /* it gave up */
	assert_ptr_equal(pace_first(pace_pool(p, STR("m"))), &c);
	assert_int_equal(pace_ask(&c, 0), 0);
	pace_leave(&a);
	pace_leave(&c);
	pace_leave(&c); /* once more is nothing */
	pace_free(p);
}

static void a_bucket_fills_as_the_headers_said(void **state)
{
	static const char *const headers[] = {"X-RateLimit-Limit-Tokens", "1000",
		"x-ratelimit-remaining-tokens", "100", "x-ratelimit-reset-tokens", "9s", NULL};
	struct pace *p = pace_new();
	struct pace_ticket a, b;

	(void)state;
	enter(p, "m", &a, 40);
	assert_int_equal(pace_ask(&a, 0), 0);
	learn(&a, headers, 1000, 0);
	pace_leave(&a);
	enter(p, "m", &b, 4 * 599); /* 600 tokens: 500 are missing at 100 a second */
	assert_int_equal(pace_ask(&b, 1000), 5000);
	assert_int_equal(pace_ask(&b, 4000), 2000);
	assert_int_equal(pace_ask(&b, 6000), 0);
	pace_leave(&b);
	enter(p, "m", &b, 40); /* what was taken is gone */
	assert_true(pace_ask(&b, 6000) > 0);
	pace_leave(&b);
	pace_free(p);
}

static void what_others_will_use_is_counted(void **state)
{
	static const char *const headers[] = {"anthropic-ratelimit-input-tokens-limit", "1000",
		"anthropic-ratelimit-input-tokens-remaining", "1000",
		"anthropic-ratelimit-input-tokens-reset", "1970-01-01T00:00:10Z", NULL};
	struct pace *p = pace_new();
	struct pace_ticket a, b, c;

	(void)state;
	enter(p, "m", &a, 4);
	enter(p, "m", &b, 4 * 899);
	assert_int_equal(pace_ask(&a, 0), 0);
	assert_int_equal(pace_ask(&b, 0), 0);
	learn(&a, headers, 0, 0); /* b's headers are still to come: 100 are left */
	enter(p, "m", &c, 4 * 199);
	assert_true(pace_ask(&c, 0) > 0);
	learn(&b, headers, 0, 0); /* it is in what they say now */
	assert_int_equal(pace_ask(&c, 0), 0);
	pace_leave(&a);
	pace_leave(&b);
	pace_leave(&c);
	pace_free(p);
}

static void more_than_the_limit_is_refused(void **state)
{
	static const char *const headers[] = {
		"x-ratelimit-limit-tokens", "1000", "x-ratelimit-remaining-tokens", "1000", NULL};
	struct pace_cost cost = {.bytes = 4 * 1000, .output_cap = 1};
	struct pace *p = pace_new();
	struct error err = ERROR_INIT;
	struct pace_ticket a, b;

	(void)state;
	enter(p, "m", &a, 4);
	assert_int_equal(pace_ask(&a, 0), 0);
	learn(&a, headers, 0, 0);
	assert_fails(pace_enter(pace_pool(p, STR("m")), &b, &cost, &err), &err, PACE_LIMIT);
	pace_leave(&b); /* it is in none */
	/* calls turn out to cost a quarter of that */
	for (int i = 0; i < 40; i++) {
		a.bytes = 16000;
		pace_used(&a, 1000);
	}
	error_clear(&err);
	assert_ok(pace_enter(pace_pool(p, STR("m")), &b, &cost, &err), &err);
	pace_leave(&b);
	pace_leave(&a);
	pace_free(p);
}

static void unnamed_delays_double_and_begin_anew(void **state)
{
	static const int64_t waits[] = {1000, 2000, 4000, 8000, 16000, 32000, 32000};
	struct pace *p = pace_new();
	struct pace_pool *pool = pace_pool(p, STR("m"));
	struct pace_ticket t;
	int64_t now_ms = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		assert_int_equal(pace_close(pool, -1, now_ms), waits[i]);
		now_ms += waits[i];
	}
	pace_well(pool);
	assert_int_equal(pace_close(pool, -1, now_ms), 1000);
	assert_int_equal(pace_close(pool, 100, now_ms), 1000); /* never opens it earlier */
	assert_int_equal(pace_close(pool, 5000, now_ms), 5000);
	enter(p, "m", &t, 4);
	assert_int_equal(pace_ask(&t, now_ms + 1000), 4000);
	assert_int_equal(pace_ask(&t, now_ms + 5000), 0);
	pace_leave(&t);
	pace_free(p);
}

static void durations_and_moments_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} durations[] =
		{
			{"1s",      1000   },
			{"6m0s",    360000 },
			{"1m26.4s", 86400  },
			{"20ms",    20     },
			{"1h2m3s",  3723000},
			{"7",       7000   },
			{"0.5",     500    },
			{"",        -1     },
			{"s",       -1     },
			{"1x",      -1     },
			{"-1s",     -1     },
        },
	  moments[] = {
		  {"1970-01-01T00:00:01Z", 1000},
		  {"2024-02-29T12:34:56.5Z", 1709210096500},
		  {"2026-11-29T20:00:00+01:00", 1795978800000},
		  {"2026-13-29T20:00:00Z", -1},
		  {"2026-11-29", -1},
		  {"2026-11-29T20:00:00", -1},
	  };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(durations); i++)
		assert_int_equal(pace_duration_ms(str_from(durations[i].text)), durations[i].ms);
	for (size_t i = 0; i < ARRAY_LEN(moments); i++)
		assert_int_equal(pace_moment_ms(str_from(moments[i].text)), moments[i].ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_share_their_alias),
		cmocka_unit_test(nothing_is_held_back_before_something_is_known),
		cmocka_unit_test(the_line_is_first_come_first_served),
		cmocka_unit_test(a_bucket_fills_as_the_headers_said),
		cmocka_unit_test(what_others_will_use_is_counted),
		cmocka_unit_test(more_than_the_limit_is_refused),
		cmocka_unit_test(unnamed_delays_double_and_begin_anew),
		cmocka_unit_test(durations_and_moments_are_read),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
