/* Reading rate limits out of headers. What is no limit is as if it were not there. */
#include "agent/io/pace_headers.h"

#include "mem/mem.h"

enum { LONGEST_MS = 24 * 60 * 60 * 1000 }; /* ours: no bucket takes longer to fill */

static const struct {
	enum pace_dimension of;
	const char *limit, *remaining, *reset;
	bool moment; /* reset is a moment, not a duration */
} names[] = {
	{PACE_REQUESTS, "x-ratelimit-limit-requests",              "x-ratelimit-remaining-requests",
         "x-ratelimit-reset-requests",														false},
	{PACE_TOKENS,   "x-ratelimit-limit-tokens",                "x-ratelimit-remaining-tokens",
         "x-ratelimit-reset-tokens",														  false},
	{PACE_REQUESTS, "anthropic-ratelimit-requests-limit",
         "anthropic-ratelimit-requests-remaining",                                                         "anthropic-ratelimit-requests-reset",
         true																	      },
	{PACE_TOKENS,   "anthropic-ratelimit-tokens-limit",        "anthropic-ratelimit-tokens-remaining",
         "anthropic-ratelimit-tokens-reset",													  true },
	{PACE_INPUT,    "anthropic-ratelimit-input-tokens-limit",
         "anthropic-ratelimit-input-tokens-remaining",						     "anthropic-ratelimit-input-tokens-reset",  true },
	{PACE_OUTPUT,   "anthropic-ratelimit-output-tokens-limit",
         "anthropic-ratelimit-output-tokens-remaining",						    "anthropic-ratelimit-output-tokens-reset", true },
};

static const struct {
	const char *name;
	double ms;
} units[] = {
	{"ms", 1               },
	{"h",  60.0 * 60 * 1000},
	{"m",  60.0 * 1000     },
	{"s",  1000            },
};

static int64_t rounded_up(double ms)
{
	return ms > (double)(int64_t)ms ? (int64_t)ms + 1 : (int64_t)ms;
}

/* Digits with one point among them, taken off the front of *rest; -1: none. */
static double take_number(struct str *rest)
{
	double value = 0, part = 0;
	size_t digits = 0, i = 0;

	for (; i < rest->len; i++) {
		char c = rest->p[i];

		if (c == '.' && part == 0 && digits > 0) {
			part = 1;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		digits++;
		part /= 10;
		value = part > 0 ? value + part * (c - '0') : value * 10 + (c - '0');
	}
	*rest = (struct str){rest->p + i, rest->len - i};
	return digits > 0 ? value : -1;
}

static double take_unit(struct str *rest)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct str name = str_from(units[i].name);

		if (!str_starts(*rest, name))
			continue;
		*rest = (struct str){rest->p + name.len, rest->len - name.len};
		return units[i].ms;
	}
	return -1;
}

int64_t pace_duration_ms(struct str text)
{
	struct str rest = str_trim(text);
	double sum = 0;

	if (rest.len == 0)
		return -1;
	while (rest.len > 0) {
		double value = take_number(&rest), unit = rest.len > 0 ? take_unit(&rest) : 1000;

		if (value < 0 || unit < 0)
			return -1;
		sum += value * unit;
	}
	return sum < LONGEST_MS ? rounded_up(sum) : LONGEST_MS;
}

/* The number of len digits at `at`, or -1. */
static int64_t digits_at(struct str s, size_t at, size_t len)
{
	int64_t value = 0;

	if (at + len > s.len)
		return -1;
	for (size_t i = at; i < at + len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -1;
		value = value * 10 + (s.p[i] - '0');
	}
	return value;
}

/* Days since 1970 of a day of the Gregorian calendar: years begin in March, so that the leap day is
 * the last. */
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t m = month > 2 ? month - 3 : month + 9;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* The offset of "Z", "+01:00", "-08:30" in minutes; false for anything else. */
static bool read_zone(struct str zone, int64_t *ret_minutes)
{
	int64_t hours = digits_at(zone, 1, 2), minutes = digits_at(zone, 4, 2);

	if (zone.len == 1 && (zone.p[0] == 'Z' || zone.p[0] == 'z')) {
		*ret_minutes = 0;
		return true;
	}
	if (zone.len != 6 || zone.p[3] != ':' || hours < 0 || minutes < 0 ||
		(zone.p[0] != '+' && zone.p[0] != '-'))
		return false;
	*ret_minutes = (zone.p[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
	return true;
}

/* YYYY-MM-DDThh:mm:ss: seconds since 1970, or -1. */
static int64_t read_seconds(struct str s)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";
	int64_t month = digits_at(s, 5, 2), day = digits_at(s, 8, 2);

	if (s.len < sizeof(shape) - 1)
		return -1;
	for (size_t i = 0; i < sizeof(shape) - 1; i++) {
		bool digit = s.p[i] >= '0' && s.p[i] <= '9';
		bool mark = s.p[i] == shape[i] || (shape[i] == 'T' && s.p[i] == 't');

		if (shape[i] == 'd' ? !digit : !mark)
			return -1;
	}
	if (month < 1 || month > 12 || day < 1 || day > 31)
		return -1;
	return days_since_1970(digits_at(s, 0, 4), month, day) * 86400 +
	       digits_at(s, 11, 2) * 3600 + digits_at(s, 14, 2) * 60 + digits_at(s, 17, 2);
}

/* ".25" off the front of *rest: 0.25; 0 where there is none. */
static double take_fraction(struct str *rest)
{
	double part = 0, place = 1;
	size_t n = 1;

	if (rest->len < 2 || rest->p[0] != '.')
		return 0;
	for (; n < rest->len && rest->p[n] >= '0' && rest->p[n] <= '9'; n++) {
		place /= 10;
		part += place * (rest->p[n] - '0');
	}
	*rest = (struct str){rest->p + n, rest->len - n};
	return part;
}

int64_t pace_moment_ms(struct str text)
{
	struct str s = str_trim(text), rest;
	int64_t seconds = read_seconds(s), minutes;
	double part;

	if (seconds < 0)
		return -1;
	rest = (struct str){s.p + 19, s.len - 19};
	part = take_fraction(&rest);
	if (!read_zone(rest, &minutes))
		return -1;
	return (seconds - minutes * 60) * 1000 + rounded_up(part * 1000);
}

static bool read_count(struct str value, int64_t *ret)
{
	uint64_t n;

	if (!value.p || text_u64(str_trim(value), INT64_MAX, "limit", &n, NULL) < 0)
		return false;
	*ret = (int64_t)n;
	return true;
}

static int64_t read_reset(struct str value, bool moment, int64_t real_ms)
{
	int64_t ms;

	if (!value.p)
		return -1;
	if (!moment)
		return pace_duration_ms(value);
	ms = pace_moment_ms(value);
	if (ms < 0)
		return -1;
	ms = ms > real_ms ? ms - real_ms : 0;
	return ms < LONGEST_MS ? ms : LONGEST_MS;
}

void pace_read_headers(
	const struct http_head *h, int64_t real_ms, struct pace_limit ret[PACE_DIMENSIONS])
{
	for (size_t i = 0; i < PACE_DIMENSIONS; i++)
		ret[i] = (struct pace_limit){.known = false};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct pace_limit *l = &ret[names[i].of];

		if (l->known || !read_count(http_header_get(h, names[i].limit), &l->limit) ||
			!read_count(http_header_get(h, names[i].remaining), &l->remaining))
			continue;
		l->known = l->limit > 0 && l->remaining <= l->limit;
		l->reset_ms = read_reset(
			http_header_get(h, names[i].reset), names[i].moment, real_ms);
	}
}
