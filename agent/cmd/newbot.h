#ifndef AGENT_CMD_NEWBOT_H
#define AGENT_CMD_NEWBOT_H
/*
 * The flags of a new bot, and making it (spec 12: run).
 */
#include "cli/cli.h"
#include "client/client.h"
#include "error/error.h"
#include "json/json.h"

struct limit_options;

/* Only of use when a bot is made: a usage error otherwise. */
struct newbot_options {
	const char *tools, *instructions, *instructions_file, *reasoning, *sandbox, *approval,
		*approve, *profile, *rules;
	struct cli_number budget_tokens;
	struct cli_texts writable_roots, unix_sockets;
	bool network, git_commit, agents;
};
enum { NEWBOT_OPTIONS = 15 };
extern const struct cli_option newbot_options[NEWBOT_OPTIONS];

/* The name of a flag that was given, or NULL. */
const char *newbot_given(const struct newbot_options *o);

struct newbot {
	const char *bot;       /* NULL: a name is made up */
	const char *model;     /* --model, or NULL: AGENT_MODEL */
	const char *workspace; /* NULL: the current folder */
	const struct newbot_options *options;
	const struct limit_options *limits; /* NULL: none */
};
/* What is wrong with the flags alone: CLI_USAGE_ERROR, or model_required. */
int newbot_check(const struct newbot *n, struct error *err);
/* Makes it; *ret is the bot's record, valid until the next call. */
int newbot_create(
	struct client *c, const struct newbot *n, const struct json **ret, struct error *err);
/* An absolute path of what a person named. Caller frees. */
int newbot_path(const char *option, const char *path, char **ret, struct error *err);

#endif
