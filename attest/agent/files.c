/* Files, folders, modes. */
#include "attest/suites.h"

const struct attest_case attest_agent_files[] = {
	{NULL, 0, NULL},
};
