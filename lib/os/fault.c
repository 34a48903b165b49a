/*
 * fault: the nth system call of this library fails, for torture tests. Not in a release. And
 * chance.
 */
#include <errno.h>
#include <sys/random.h>

#include "os/internal.h"

enum { RANDOM_PART_BYTES = 256 }; /* getrandom(2): up to this, it comes whole */

#ifdef CONSORT_SANITIZED
static _Thread_local unsigned fail_at, calls;
static _Thread_local int fail_with;

void os_fault_at(unsigned nth, int sys)
{
	fail_at = nth;
	fail_with = sys;
	calls = 0;
}

unsigned os_fault_calls(void)
{
	return calls;
}

bool os_fault(void)
{
	calls++;
	if (calls != fail_at)
		return false;
	errno = fail_with;
	return true;
}
#endif

int os_random(void *p, size_t len, struct error *err)
{
	char *at = p;
	ssize_t got;

	while (len) {
		size_t part = len < RANDOM_PART_BYTES ? len : RANDOM_PART_BYTES;

		do
			got = os_fault() ? -1 : getrandom(at, part, 0);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return error_sys(err, "draw random bytes");
		at += got;
		len -= (size_t)got;
	}
	return 0;
}
