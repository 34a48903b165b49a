/* The sandbox's filter and the traps of root. */
#include "attest/suites.h"

const struct attest_case attest_agent_filter[] = {
	{NULL, 0, NULL},
};
