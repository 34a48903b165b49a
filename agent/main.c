/* agent: one daemon per person and the command line that drives it. */
#include "agent/cmd/agentd.h"
#include "agent/cmd/commands.h"
#include "cli/cli.h"
#include "os/os.h"
#include "suite_config.h"

int main(int argc, char **argv)
{
	static const struct cli_program program = {
		.name = "agent",
		.version = SUITE_VERSION,
		.purpose = "run AI agents on this machine under a policy",
		.commands = agent_commands,
		.count = AGENT_COMMANDS,
		.footer = agent_footer,
	};

	if (os_hold_standard_fds(NULL) < 0)
		return CLI_FAILED; /* and nowhere to say so */
	agentd_keep_arguments(argv);
	return cli_main(&program, argc, argv);
}
