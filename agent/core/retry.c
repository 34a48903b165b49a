/* Whether a failed model call is tried again. */
#include "agent/core/retry.h"

enum {
	BACKOFF_TRIES = 8, /* agent spec 8.4, as all of these */
	PACE_TRIES = 64,
	WINDOW_MS = 5 * 60 * 1000, /* since the first failure */
	FIRST_MS = 250,
	LONGEST_MS = 30 * 1000,
	SPREAD_PART = 5, /* up to a fifth on top */
};

static int64_t backoff_ms(int failures)
{
	int64_t ms = FIRST_MS;

	for (int i = 1; i < failures && ms < LONGEST_MS; i++)
		ms *= 2;
	return ms < LONGEST_MS ? ms : LONGEST_MS;
}

static int64_t spread_ms(int64_t ms, uint32_t chance)
{
	return (int64_t)((uint64_t)(ms / SPREAD_PART) * chance / UINT32_MAX);
}

/* Whoever was asked to wait has closed its pool, which says for how long: the call comes back at
 * once and is held there. */
static int64_t delay_of(const struct retry *r, const struct retry_failure *f)
{
	int64_t own;

	if (f->class == RETRY_PACE && f->delay_ms >= 0)
		return 0;
	if (f->class == RETRY_PACE)
		return FIRST_MS;
	own = backoff_ms(r->backoffs);
	own += spread_ms(own, f->chance);
	return f->delay_ms > own ? f->delay_ms : own;
}

bool retry_next(struct retry *r, const struct retry_failure *f, int64_t *ret_delay_ms)
{
	int64_t delay_ms;

	if (r->failures++ == 0)
		r->first_ms = f->now_ms;
	if (f->class == RETRY_NEVER)
		return false;
	if (f->class == RETRY_BACKOFF)
		r->backoffs++;
	if (r->backoffs >= BACKOFF_TRIES || r->failures >= PACE_TRIES)
		return false;
	delay_ms = delay_of(r, f);
	if (f->now_ms - r->first_ms > WINDOW_MS - delay_ms)
		return false;
	*ret_delay_ms = delay_ms;
	return true;
}
