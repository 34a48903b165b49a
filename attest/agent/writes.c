/* write, edit, apply_patch and where they land. */
#include "attest/suites.h"

const struct attest_case attest_agent_writes[] = {
	{NULL, 0, NULL},
};
