/* Conversations: durable, owned once, in the clear. */
#include "attest/suites.h"

const struct attest_case attest_agent_history[] = {
	{NULL, 0, NULL},
};
