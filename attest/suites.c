/* The suites. */
#include "attest/suites.h"

#include <string.h>

static const struct attest_case *const agent_tables[] = {
	attest_agent_protocol,
	attest_agent_history,
	attest_agent_life,
	attest_agent_files,
	attest_agent_processes,
	attest_agent_own_socket,
	attest_agent_bot_sockets,
	attest_agent_lineage,
	attest_agent_reach,
	attest_agent_sandbox,
	attest_agent_filter,
	attest_agent_unavailable,
	attest_agent_walls,
	attest_agent_protected,
	attest_agent_commit,
	attest_agent_writes,
	attest_agent_gates,
	attest_agent_rules,
	attest_agent_served,
	attest_agent_secrets,
	attest_agent_config,
	attest_agent_login,
	attest_agent_providers,
	attest_agent_bedrock,
	attest_agent_pages,
	attest_agent_pictures,
	attest_agent_leaks,
	attest_agent_pause,
	attest_agent_companions,
	attest_agent_release,
	NULL,
};

const struct suite suites[] = {
	{"agent", agent_promises, agent_tables},
	{NULL,    NULL,           NULL        },
};

const struct attest_case *suite_case(const struct suite *s, const char *id)
{
	for (size_t i = 0; s->tables[i]; i++) {
		for (const struct attest_case *c = s->tables[i]; c->id; c++) {
			if (strcmp(c->id, id) == 0)
				return c;
		}
	}
	return NULL;
}
