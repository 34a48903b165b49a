/* The command table, in the order of the help text. */
#include "agent/cmd/commands.h"

const struct cli_command *const agent_commands[AGENT_COMMANDS] = {
	&cmd_run,
	&cmd_follow,
	&cmd_log,
	&cmd_interrupt,
	&cmd_pause,
	&cmd_resume,
	&cmd_ls,
	&cmd_inspect,
	&cmd_configure,
	&cmd_fork,
	&cmd_rm,
	&cmd_prune,
	&cmd_turns,
	&cmd_result,
	&cmd_wait,
	&cmd_approvals,
	&cmd_answer,
	&cmd_receipts_verify,
	&cmd_rehearse,
	&cmd_login_chatgpt,
	&cmd_rules_check,
	&cmd_start,
	&cmd_models,
	&cmd_stats,
	&cmd_shutdown,
	&cmd_serve,
};

const char agent_footer[] =
	"Environment:\n"
	"  AGENT_STORE     the store, without --store\n"
	"  AGENT_SOCKET    the daemon's socket, without --socket and --store\n"
	"  AGENT_PROVIDER  providers of a daemon that is started, blanks between\n"
	"  AGENT_MODEL     the model of a new bot\n"
	"  AGENT_APPROVAL  full, manual or auto, for a new bot\n"
	"  AGENT_DELIVERY  reject or queue, for run\n"
	"  NO_COLOR        no colours, whatever it is\n"
	"\n"
	"Without them the store is ~/.agent/state.sqlite, and its socket lies beside it.\n";
