/* retry: seconds, the three dates, and what is neither. */
#include "http/http.h"
#include "testing.h"

#define NOW 784111777000 /* Sun, 06 Nov 1994 08:49:37 GMT */

enum { MAX_MS = 100000 };

static void waits(void **state)
{
	static const struct {
		const char *text;
		int64_t now_ms, max_ms, wanted; /* -1: neither number nor date */
	} rows[] = {
		{"0",				      NOW,           MAX_MS,         0     },
		{"7",				      NOW,           MAX_MS,         7000  },
		{"007",				    NOW,           MAX_MS,         7000  },
		{" 7 ",				    NOW,           MAX_MS,         7000  },
		{"100",				    NOW,           MAX_MS,         MAX_MS},
		{"101",				    NOW,           MAX_MS,         MAX_MS},
		{"9223372036854775807",                    NOW,           MAX_MS,         MAX_MS},
		{"99999999999999999999999999999999999999", NOW,           MAX_MS,         MAX_MS},
		{"99999999999999999999999999999999999999", NOW,           INT64_MAX - 10, -2    },
		{"Sun, 06 Nov 1994 08:49:37 GMT",          NOW,           MAX_MS,         0     },
		{"Sun, 06 Nov 1994 08:49:40 GMT",          NOW,           MAX_MS,         3000  },
		{"Sun, 06 Nov 1994 08:49:40 GMT",          NOW + 1,       MAX_MS,         2999  },
		{"Sun, 06 Nov 1994 08:49:36 GMT",          NOW,           MAX_MS,         0     },
		{"Sunday, 06-Nov-94 08:49:40 GMT",         NOW,           MAX_MS,         3000  },
		{"Sun Nov  6 08:49:40 1994",               NOW,           MAX_MS,         3000  },
		{"Mon Nov 16 08:49:40 1994",               NOW,           MAX_MS,         MAX_MS},
		{"Thu, 01 Jan 1970 00:00:05 GMT",          0,             MAX_MS,         5000  },
		{"Sat, 31 Dec 2016 23:59:60 GMT",          1483228790000, MAX_MS,         10000 }, /* a leap second */
		{"Thu, 29 Feb 2024 00:00:00 GMT",          1709164790000, MAX_MS,         10000 },
		{"Tue, 29 Feb 2000 00:00:00 GMT",          951782390000,  MAX_MS,         10000 },
		{"Mon, 01 Mar 2100 00:00:00 GMT",          4107542390000, MAX_MS,         10000 },
		{"Fri, 31 Dec 9999 23:59:59 GMT",          NOW,           MAX_MS,         MAX_MS},
		{"Mon, 01 Jan 0001 00:00:00 GMT",          NOW,           MAX_MS,         0     },
		{"Friday, 01-Jan-44 00:00:00 GMT",         NOW,           MAX_MS,         MAX_MS}, /* 2044, in 50 years */
		{"Sunday, 01-Jan-45 00:00:00 GMT",         NOW,           MAX_MS,         0     }, /* 1945 */
		{"Friday, 01-Jan-00 00:00:10 GMT",         4102444800000, MAX_MS,         10000 }, /* 2100 */
		{"",				       NOW,           MAX_MS,         -1    },
		{"-1",				     NOW,           MAX_MS,         -1    },
		{"+1",				     NOW,           MAX_MS,         -1    },
		{"1.5",				    NOW,           MAX_MS,         -1    },
		{"1 2",				    NOW,           MAX_MS,         -1    },
		{"0x10",				   NOW,           MAX_MS,         -1    },
		{"soon",				   NOW,           MAX_MS,         -1    },
		{"Fri",				    NOW,           MAX_MS,         -1    },
		{"Sunday, ",			       NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 1994 08:49:37",              NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 1994 08:49:37 UTC",          NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 1994 08:49:37 GMT+1",        NOW,           MAX_MS,         -1    },
		{"sun, 06 nov 1994 08:49:37 gmt",          NOW,           MAX_MS,         -1    },
		{"Sun, 6 Nov 1994 08:49:37 GMT",           NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 94 08:49:37 GMT",            NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 1994 8:49:37 GMT",           NOW,           MAX_MS,         -1    },
		{"Sun, 00 Nov 1994 08:49:37 GMT",          NOW,           MAX_MS,         -1    },
		{"Sun, 31 Nov 1994 08:49:37 GMT",          NOW,           MAX_MS,         -1    },
		{"Sun, 29 Feb 2023 08:49:37 GMT",          NOW,           MAX_MS,         -1    },
		{"Mon, 29 Feb 2100 08:49:37 GMT",          NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nox 1994 08:49:37 GMT",          NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 1994 24:00:00 GMT",          NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 1994 08:60:00 GMT",          NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 1994 08:49:61 GMT",          NOW,           MAX_MS,         -1    },
		{"Sun, 06 Nov 0000 08:49:37 GMT",          NOW,           MAX_MS,         -1    },
		{"1994-11-06T08:49:37Z",                   NOW,           MAX_MS,         -1    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const int64_t wanted = rows[i].wanted == -2 ? rows[i].max_ms
							    : rows[i].wanted; /* the max itself */
		int64_t got = -1;
		const int rc = http_retry_after(
			str_from(rows[i].text), rows[i].now_ms, rows[i].max_ms, &got);

		if (rc != (wanted < 0 ? -1 : 0) || got != wanted)
			fail_msg("'%s': %d, %lld", rows[i].text, rc, (long long)got);
	}
}

static void extreme_clocks(void **state)
{
	int64_t got = -1;

	(void)state;
	assert_int_equal(
		http_retry_after(STR("Fri, 31 Dec 9999 23:59:59 GMT"), INT64_MIN, 5, &got), 0);
	assert_int_equal(got, 5);
	assert_int_equal(
		http_retry_after(STR("Mon, 01 Jan 0001 00:00:00 GMT"), INT64_MAX, 5, &got), 0);
	assert_int_equal(got, 0);
	assert_int_equal(
		http_retry_after(STR("Monday, 01-Jan-01 00:00:00 GMT"), INT64_MAX, 5, &got), 0);
	assert_int_equal(
		http_retry_after(STR("Monday, 01-Jan-01 00:00:00 GMT"), INT64_MIN, 5, &got), 0);
	assert_int_equal(http_retry_after((struct str){NULL, 0}, 0, 5, &got), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits),
		cmocka_unit_test(extreme_clocks),
	};

	return cmocka_run_group_tests_name("http.retry", tests, NULL, NULL);
}
