/*
 * retry: Retry-After, as seconds or as one of the three dates of RFC 9110 5.6.7.
 */
#include "http/internal.h"

enum {
	MS = 1000,
	MINUTE_S = 60,
	HOUR_S = 3600,
	DAY_S = 86400,
	LEAP_SECOND = 60,
	YEAR_MAX = 9999,
	FUTURE_YEARS = 50, /* RFC 9110 5.6.7: a year of two digits is not further ahead */
};

struct date {
	int64_t year, month, day, hour, minute, second; /* month: 1 to 12 */
};

static const char *const months[] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const days[] = {
	"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

/* Days since 1970-01-01 in the calendar of now; Gregorian rules, no table. */
static int64_t days_of(const struct date *d)
{
	const int64_t y = d->year - (d->month <= 2); /* years that start in March */
	const int64_t m = (d->month + 9) % 12;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + d->day - 1 - 719468;
}

static int64_t ms_of(const struct date *d)
{
	return (days_of(d) * DAY_S + d->hour * HOUR_S + d->minute * MINUTE_S + d->second) * MS;
}

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool is_possible(const struct date *d)
{
	static const signed char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	const int64_t length = lengths[d->month - 1] + (d->month == 2 && is_leap(d->year));

	return d->year >= 1 && d->day >= 1 && d->day <= length && d->hour < 24 && d->minute < 60 &&
	       d->second <= LEAP_SECOND;
}

/* Of a year's last two digits, beside now. A clock that is far off is taken as one at the bounds.
 */
static int64_t whole_year(int64_t two_digits, int64_t now_ms)
{
	const int64_t near = 1970 + now_ms / MS / DAY_S * 400 / 146097; /* days of 400 years */
	const int64_t now = near < 1970 ? 1970 : near > YEAR_MAX ? YEAR_MAX : near;
	const int64_t year = now - now % 100 + two_digits;

	if (year > now + FUTURE_YEARS)
		return year - 100;
	return year <= now - FUTURE_YEARS ? year + 100 : year;
}

static bool take(struct str *s, struct str wanted)
{
	if (!str_starts(*s, wanted))
		return false;
	*s = (struct str){s->p + wanted.len, s->len - wanted.len};
	return true;
}

static bool take_number(struct str *s, size_t digits, int64_t *ret)
{
	int64_t value = 0;

	if (s->len < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (!http_is_digit(s->p[i]))
			return false;
		value = value * 10 + (s->p[i] - '0');
	}
	*ret = value;
	*s = (struct str){s->p + digits, s->len - digits};
	return true;
}

static bool take_month(struct str *s, int64_t *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(months); i++) {
		if (take(s, str_from(months[i]))) {
			*ret = (int64_t)i + 1;
			return true;
		}
	}
	return false;
}

static bool take_time(struct str *s, struct date *d)
{
	return take_number(s, 2, &d->hour) && take(s, STR(":")) && take_number(s, 2, &d->minute) &&
	       take(s, STR(":")) && take_number(s, 2, &d->second);
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" from the day on. */
static bool take_fixed_date(struct str *s, struct date *d)
{
	return take_number(s, 2, &d->day) && take(s, STR(" ")) && take_month(s, &d->month) &&
	       take(s, STR(" ")) && take_number(s, 4, &d->year) && take(s, STR(" ")) &&
	       take_time(s, d) && take(s, STR(" GMT"));
}

/* "Sunday, 06-Nov-94 08:49:37 GMT" from the day on. */
static bool take_rfc850_date(struct str *s, struct date *d)
{
	return take_number(s, 2, &d->day) && take(s, STR("-")) && take_month(s, &d->month) &&
	       take(s, STR("-")) && take_number(s, 2, &d->year) && take(s, STR(" ")) &&
	       take_time(s, d) && take(s, STR(" GMT"));
}

/* "Sun Nov  6 08:49:37 1994" from the month on. */
static bool take_asctime_date(struct str *s, struct date *d)
{
	return take_month(s, &d->month) && take(s, STR(" ")) &&
	       (take(s, STR(" ")) ? take_number(s, 1, &d->day) : take_number(s, 2, &d->day)) &&
	       take(s, STR(" ")) && take_time(s, d) && take(s, STR(" ")) &&
	       take_number(s, 4, &d->year);
}

/* The name of the day says which form it is. */
static int read_date(struct str s, int64_t now_ms, struct date *d)
{
	bool whole = false;

	for (size_t i = 0; i < ARRAY_LEN(days); i++) {
		const struct str name = str_from(days[i]), brief = {days[i], 3};

		if (take(&s, name)) {
			whole = take(&s, STR(", ")) && take_rfc850_date(&s, d);
			d->year = whole_year(whole ? d->year : 0, now_ms);
			break;
		}
		if (take(&s, brief)) {
			whole = take(&s, STR(", "))
					? take_fixed_date(&s, d)
					: take(&s, STR(" ")) && take_asctime_date(&s, d);
			break;
		}
	}
	return whole && s.len == 0 && is_possible(d) ? 0 : -1;
}

static int64_t at_most(int64_t value, int64_t max)
{
	return value < max ? value : max;
}

/* Digits, any number of them; false when there is anything else. */
static bool read_seconds(struct str s, int64_t max_ms, int64_t *ret_ms)
{
	int64_t ms = 0;

	if (s.len == 0)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!http_is_digit(s.p[i]))
			return false;
		if (__builtin_mul_overflow(ms, 10, &ms) ||
			__builtin_add_overflow(ms, (int64_t)(s.p[i] - '0') * MS, &ms))
			ms = INT64_MAX / 10 * 10; /* stays above any max, goes over again */
	}
	*ret_ms = at_most(ms, max_ms);
	return true;
}

int http_retry_after(struct str value, int64_t now_ms, int64_t max_ms, int64_t *ret)
{
	const struct str s = http_trim(value);
	struct date d = {.year = 0};
	int64_t wait;

	if (read_seconds(s, max_ms, ret))
		return 0;
	if (read_date(s, now_ms, &d) < 0)
		return -1;
	if (__builtin_sub_overflow(ms_of(&d), now_ms, &wait))
		wait = now_ms < 0 ? INT64_MAX : 0;
	*ret = at_most(wait > 0 ? wait : 0, max_ms);
	return 0;
}
