/* Protected names, the store, the sockets. */
#include "attest/suites.h"

const struct attest_case attest_agent_protected[] = {
	{NULL, 0, NULL},
};
