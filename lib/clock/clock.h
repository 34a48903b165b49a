#ifndef CLOCK_CLOCK_H
#define CLOCK_CLOCK_H
/*
 * clock: what time it is, for records (real) and for deadlines (mono, which no one can set).
 *
 * Code that decides by time is given a clock; in tests it is one that stands still until told.
 */
#include <stddef.h>
#include <stdint.h>

struct clock {
	int64_t (*real_ms)(const struct clock *c); /* since 1970, may jump */
	/* Never goes back, stops for nothing but suspend. */
	int64_t (*mono_ms)(const struct clock *c);
};

const struct clock *clock_system(void);

static inline int64_t clock_real_ms(const struct clock *c)
{
	return c->real_ms(c);
}
static inline int64_t clock_mono_ms(const struct clock *c)
{
	return c->mono_ms(c);
}

/* A clock that stands still. Embed or put on the stack; pass &f.clock. */
struct clock_fake {
	struct clock clock;
	int64_t now_real_ms, now_mono_ms;
};
void clock_fake_init(struct clock_fake *f, int64_t real_ms, int64_t mono_ms);
void clock_fake_advance(struct clock_fake *f, int64_t ms); /* both */

/* "2026-11-29T14:05:09.123Z" (RFC 3339, UTC) and the NUL. Before the year 0 and after 9999: the
 * nearest moment that can be written. */
enum { CLOCK_TEXT_SIZE = 25 };
void clock_text(int64_t real_ms, char out[CLOCK_TEXT_SIZE]);

#endif
