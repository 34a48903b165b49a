#ifndef ATTEST_SUITES_H
#define ATTEST_SUITES_H
/* The suites: a policy's promises and the tables that hold its cases. */
#include "attest/attest.h"
#include "attest/promise.h"

struct suite {
	const char *name;
	const struct promise *promises;
	const struct attest_case *const *tables; /* NULL-terminated */
};
extern const struct suite suites[]; /* ended by a row without a name */

/* The case of a promise, or NULL. */
const struct attest_case *suite_case(const struct suite *s, const char *id);

extern const struct attest_case attest_agent_protocol[];
extern const struct attest_case attest_agent_history[];
extern const struct attest_case attest_agent_life[];
extern const struct attest_case attest_agent_files[];
extern const struct attest_case attest_agent_processes[];
extern const struct attest_case attest_agent_own_socket[];
extern const struct attest_case attest_agent_bot_sockets[];
extern const struct attest_case attest_agent_lineage[];
extern const struct attest_case attest_agent_reach[];
extern const struct attest_case attest_agent_sandbox[];
extern const struct attest_case attest_agent_filter[];
extern const struct attest_case attest_agent_unavailable[];
extern const struct attest_case attest_agent_walls[];
extern const struct attest_case attest_agent_protected[];
extern const struct attest_case attest_agent_commit[];
extern const struct attest_case attest_agent_writes[];
extern const struct attest_case attest_agent_gates[];
extern const struct attest_case attest_agent_rules[];
extern const struct attest_case attest_agent_served[];
extern const struct attest_case attest_agent_secrets[];
extern const struct attest_case attest_agent_config[];
extern const struct attest_case attest_agent_login[];
extern const struct attest_case attest_agent_providers[];
extern const struct attest_case attest_agent_bedrock[];
extern const struct attest_case attest_agent_pages[];
extern const struct attest_case attest_agent_pictures[];
extern const struct attest_case attest_agent_leaks[];
extern const struct attest_case attest_agent_pause[];
extern const struct attest_case attest_agent_companions[];
extern const struct attest_case attest_agent_release[];

#endif
