/* The sandbox: modes, roots, network, walls. */
#include "attest/suites.h"

const struct attest_case attest_agent_sandbox[] = {
	{NULL, 0, NULL},
};
