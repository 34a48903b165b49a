/*
 * clock: the system's two clocks, one that stands still, and how a moment is written.
 */
#include <time.h>

#include "clock/clock.h"
#include "mem/mem.h"

enum {
	DAY_MS = 24 * 60 * 60 * 1000,
	CYCLE_DAYS = 146097, /* 400 years of the Gregorian calendar */
};

/* What four digits of a year can say; earlier and later moments are written as the nearest. */
#define FIRST_MS INT64_C(-62167219200000) /* 0000-01-01T00:00:00.000Z */
#define LAST_MS  INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

static int64_t read_ms(clockid_t id)
{
	struct timespec now;

	must(clock_gettime(id, &now) == 0); /* both exist on every Linux */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_real_ms(const struct clock *c)
{
	(void)c;
	return read_ms(CLOCK_REALTIME);
}

static int64_t system_mono_ms(const struct clock *c)
{
	(void)c;
	return read_ms(CLOCK_MONOTONIC);
}

static int64_t fake_real_ms(const struct clock *c)
{
	return container_of(c, struct clock_fake, clock)->now_real_ms;
}

static int64_t fake_mono_ms(const struct clock *c)
{
	return container_of(c, struct clock_fake, clock)->now_mono_ms;
}

const struct clock *clock_system(void)
{
	static const struct clock clock = {system_real_ms, system_mono_ms};

	return &clock;
}

void clock_fake_init(struct clock_fake *f, int64_t real_ms, int64_t mono_ms)
{
	*f = (struct clock_fake){
		{fake_real_ms, fake_mono_ms},
                real_ms, mono_ms
        };
}

void clock_fake_advance(struct clock_fake *f, int64_t ms)
{
	f->now_real_ms += ms;
	f->now_mono_ms += ms;
}

/* Year, month and day of a day counted from 0000-03-01, so that the leap day ends the year. */
static void date_of(int64_t days, int *ret_year, int *ret_month, int *ret_day)
{
	int64_t cycle = days / CYCLE_DAYS;
	int64_t in_cycle = days % CYCLE_DAYS;
	int64_t year =
		(in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / (CYCLE_DAYS - 1)) / 365;
	int64_t in_year = in_cycle - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * in_year + 2) / 153; /* 0 is March: 153 days in each five months */

	*ret_day = (int)(in_year - (153 * month + 2) / 5) + 1;
	*ret_month = (int)(month < 10 ? month + 3 : month - 9);
	*ret_year = (int)(cycle * 400 + year + (*ret_month <= 2));
}

static char *put_digits(char *out, int value, int digits)
{
	for (int i = digits - 1; i >= 0; i--) {
		out[i] = (char)('0' + value % 10);
		value /= 10;
	}
	return out + digits;
}

void clock_text(int64_t real_ms, char out[CLOCK_TEXT_SIZE])
{
	int64_t ms = real_ms < FIRST_MS ? FIRST_MS : real_ms > LAST_MS ? LAST_MS : real_ms;
	/* Counted from 0000-03-01 less one cycle, so that nothing is negative. */
	int64_t since = ms - FIRST_MS + (int64_t)(CYCLE_DAYS - 60) * DAY_MS;
	int in_day = (int)(since % DAY_MS);
	int year, month, day;

	date_of(since / DAY_MS, &year, &month, &day);
	out = put_digits(out, year - 400, 4);
	*out++ = '-';
	out = put_digits(out, month, 2);
	*out++ = '-';
	out = put_digits(out, day, 2);
	*out++ = 'T';
	out = put_digits(out, in_day / 3600000, 2);
	*out++ = ':';
	out = put_digits(out, in_day / 60000 % 60, 2);
	*out++ = ':';
	out = put_digits(out, in_day / 1000 % 60, 2);
	*out++ = '.';
	out = put_digits(out, in_day % 1000, 3);
	*out++ = 'Z';
	*out = '\0';
}
