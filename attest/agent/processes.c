/* Processes and connections. */
#include "attest/suites.h"

const struct attest_case attest_agent_processes[] = {
	{NULL, 0, NULL},
};
