/* The repository and its releases. */
#include "attest/suites.h"

const struct attest_case attest_agent_release[] = {
	{NULL, 0, NULL},
};
