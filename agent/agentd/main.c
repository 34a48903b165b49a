/*
 * consort-agentd: the daemon, and the sign-in that keeps what the daemon then uses. `agent` execs
 * it with its own arguments, or starts it with those of `agent serve`: to a person it is `agent`.
 */
#include "agent/agentd/agentd.h"
#include "agent/cmd/commands.h"
#include "mem/mem.h"
#include "os/os.h"
#include "suite_config.h"

int main(int argc, char **argv)
{
	struct cli_command serve = cmd_serve, login = cmd_login_chatgpt,
			   receipts = cmd_receipts_verify;
	const struct cli_command *const commands[] = {&login, &receipts, &serve};
	const struct cli_program program = {
		.name = "agent",
		.version = SUITE_VERSION,
		.purpose = "the commands of agent that need a network or cryptography",
		.commands = commands,
		.count = ARRAY_LEN(commands),
	};

	serve.run = agentd_serve;
	login.run = agentd_login;
	receipts.run = agentd_receipts;
	if (os_hold_standard_fds(NULL) < 0)
		return CLI_FAILED; /* and nowhere to say so */
	return cli_main(&program, argc, argv);
}
