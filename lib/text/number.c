/*
 * number: whole decimal numbers as people and programs write them, and nothing else. Pure
 * functions.
 */
#include <inttypes.h>
#include <stdio.h>

#include "text/text.h"

enum { SHOWN_BYTES = 64 }; /* ours: how much of a wrong value an error repeats */

static int not_a_number(struct str s, const char *what, struct error *err)
{
	struct str shown = str_cut(s, SHOWN_BYTES);

	return error_set(err, &ERROR_INVALID, "%s: '" STR_FMT "%s' is not a whole number", what,
		STR_ARG(shown), shown.len < s.len ? "…" : "");
}

/* One to any number of digits, no zero in front of others. */
static bool are_digits(struct str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.len == 1 || (s.len > 1 && s.p[0] != '0');
}

/* Of digits; false when it does not fit. */
static bool value_of(struct str digits, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits.len; i++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(digits.p[i] - '0'), &value))
			return false;
	*ret_value = value;
	return true;
}

static int out_of_bounds(
	struct str s, const char *what, const char *side, const char *bound, struct error *err)
{
	struct str shown = str_cut(s, SHOWN_BYTES);

	return error_set(err, &ERROR_LIMIT, "%s: " STR_FMT "%s is %s %s", what, STR_ARG(shown),
		shown.len < s.len ? "…" : "", side, bound);
}

int text_u64(struct str s, uint64_t max, const char *what, uint64_t *ret_value, struct error *err)
{
	char bound[24];
	uint64_t value;

	if (!are_digits(s))
		return not_a_number(s, what, err);
	if (!value_of(s, &value) || value > max) {
		(void)snprintf(bound, sizeof(bound), "%" PRIu64, max);
		return out_of_bounds(s, what, "over", bound, err);
	}
	*ret_value = value;
	return 0;
}

int text_i64(struct str s, int64_t min, int64_t max, const char *what, int64_t *ret_value,
	struct error *err)
{
	bool minus = s.len && s.p[0] == '-';
	struct str digits = {s.p + minus, s.len - minus};
	uint64_t room = minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
	uint64_t value = 0;
	int64_t number = 0;
	char bound[24];
	bool fits;

	if (!are_digits(digits) || (minus && digits.p[0] == '0'))
		return not_a_number(s, what, err);
	fits = value_of(digits, &value) && value <= room;
	if (fits)
		number = minus ? (int64_t)(0 - value) : (int64_t)value;
	if (!fits || number < min || number > max) {
		bool below = fits ? number < min : minus;

		(void)snprintf(bound, sizeof(bound), "%" PRId64, below ? min : max);
		return out_of_bounds(s, what, below ? "under" : "over", bound, err);
	}
	*ret_value = number;
	return 0;
}
