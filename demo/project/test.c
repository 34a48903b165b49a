#include <stdio.h>

#include "temperature.h"

static int failed;

static void expect(double celsius, double wanted)
{
	double got = fahrenheit(celsius);

	if (got == wanted)
		return;
	printf("FAIL: %g C is %g F, not %g F\n", celsius, wanted, got);
	failed = 1;
}

int main(void)
{
	expect(0, 32);
	expect(100, 212);
	expect(-40, -40);
	puts(failed ? "the test failed" : "the test passed");
	return failed;
}
