#ifndef AGENT_AGENTD_AGENTD_H
#define AGENT_AGENTD_AGENTD_H
/*
 * The commands that consort-agentd carries out. Each gets the options that its row of agent/cmd
 * describes, and returns an exit status.
 */

int agentd_serve(void *options, char **args, int count);
int agentd_login(void *options, char **args, int count);
int agentd_receipts(void *options, char **args, int count);

#endif
