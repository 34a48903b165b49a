/* Keys and redaction. */
#include "attest/suites.h"

const struct attest_case attest_agent_secrets[] = {
	{NULL, 0, NULL},
};
