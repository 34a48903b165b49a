/* The command table, in the order of the help text. */
#include "agent/cmd/commands.h"

const struct cli_command *const agent_commands[AGENT_COMMANDS] = {
	&cmd_run,
	&cmd_follow,
	&cmd_ls,
	&cmd_start,
	&cmd_stats,
	&cmd_shutdown,
	&cmd_serve,
};

const char agent_footer[] =
	"Without --store the store is ~/.agent/state.sqlite, and its socket lies beside it.\n";
