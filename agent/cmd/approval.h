#ifndef AGENT_CMD_APPROVAL_H
#define AGENT_CMD_APPROVAL_H
/*
 * --approval and --approve as the daemon's gates: what a person means by them is policy of this
 *client, the daemon knows gates alone (spec 6.1).
 *
 *	full    no gate: nothing is asked; a call that would leave a sandbox is refused
 *	manual  a person answers, tag "person"
 *	auto    a program that serves the tag "auto" answers
 */
#include "cli/cli.h"
#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

#define APPROVAL_PERSON "person"

struct approval {
	const char *tag;       /* NULL: no gate */
	struct str_list tools; /* whose calls wait */
};
/* `mode` and `approve` as given, each may be NULL. Without --approve: of shell, write, edit and
 * apply_patch those that `tools` names; with it each must be one of `tools`. Lists in the arena.
 * CLI_USAGE_ERROR. */
int approval_read(struct arena *a, const char *mode, const char *approve,
	const struct str_list *tools, struct approval *ret, struct error *err);
/* The member `gates`. */
void approval_put(struct json_out *j, const struct approval *p);

/* A mode of the sandbox, or NULL; CLI_USAGE_ERROR for what is none. */
int approval_check_sandbox(const char *mode, struct error *err);

/* "a,b,c" as a list in the arena: no empty ones, none twice. CLI_USAGE_ERROR names the option. */
int approval_split(struct arena *a, const char *option, const char *text, struct str_list *ret,
	struct error *err);

#endif
