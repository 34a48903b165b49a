#ifndef AGENT_CMD_COMMANDS_H
#define AGENT_CMD_COMMANDS_H
/*
 * The command table. One file per command, each exporting one const entry; to add one is to add a
 * file, a declaration and a line in commands.c.
 */
#include "cli/cli.h"

enum { AGENT_COMMANDS = 26 };
extern const struct cli_command *const agent_commands[AGENT_COMMANDS];
extern const char agent_footer[];

extern const struct cli_command cmd_run;
extern const struct cli_command cmd_follow;
extern const struct cli_command cmd_log;
extern const struct cli_command cmd_interrupt;
extern const struct cli_command cmd_pause;
extern const struct cli_command cmd_resume;
extern const struct cli_command cmd_ls;
extern const struct cli_command cmd_inspect;
extern const struct cli_command cmd_configure;
extern const struct cli_command cmd_fork;
extern const struct cli_command cmd_rm;
extern const struct cli_command cmd_prune;
extern const struct cli_command cmd_turns;
extern const struct cli_command cmd_result;
extern const struct cli_command cmd_wait;
extern const struct cli_command cmd_approvals;
extern const struct cli_command cmd_answer;
extern const struct cli_command cmd_receipts_verify;
extern const struct cli_command cmd_rehearse;
extern const struct cli_command cmd_login_chatgpt;
extern const struct cli_command cmd_rules_check;
extern const struct cli_command cmd_start;
extern const struct cli_command cmd_models;
extern const struct cli_command cmd_stats;
extern const struct cli_command cmd_shutdown;
extern const struct cli_command cmd_serve;

#endif
