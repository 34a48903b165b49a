#ifndef AGENT_CMD_AGENTD_H
#define AGENT_CMD_AGENTD_H
/*
 * What speaks to the network, or needs its cryptography, is a program of its own, consort-agentd,
 * so that no other command pays for the start of its libraries. The commands it carries out have
 * their rows here, for help, completion and usage errors; `agent` then becomes consort-agentd, in
 * the same process and with the same arguments, and that program reads them by the same rows.
 */
#include "agent/cmd/startup.h"
#include "cli/cli.h"

#define AGENTD "consort-agentd"

struct serve_options {
	struct place_options place;
	struct startup_options startup;
};

enum {
	LOGIN_LIMIT_S = 600,     /* AG-025: minutes */
	LOGIN_LIMIT_MAX_S = 900, /* AG-025 */
};
struct login_options {
	bool no_browser;
	const char *issuer;
	struct cli_number port, timeout;
};

struct receipts_options {
	struct place_options place;
	bool pretty;
};

/* The arguments of main, which outlive all commands. */
void agentd_keep_arguments(char **argv);

#endif
