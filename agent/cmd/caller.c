/* Who calls: a person, or the command of a bot. */
#include "agent/cmd/caller.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "text/text.h"

bool caller_in_tool_shell(void)
{
	const char *set = getenv("AGENT_SHELL_CONTEXT");

	return set && strcmp(set, "1") == 0;
}

int caller_refused(const char *command, const char *instead)
{
	(void)fprintf(stderr, "agent %s: %s_in_tool_shell: a bot's command may not %s\n", command,
		command, instead);
	return CLI_FAILED;
}

static int read_number(const char *variable, int64_t min, int64_t *ret, struct error *err)
{
	const char *set = getenv(variable);

	if (!set)
		return error_set(err, &ERROR_INVALID, "AGENT_BOT is set and %s is not", variable);
	return text_i64(str_from(set), min, INT64_MAX, variable, ret, err);
}

int caller_put_from(struct json_out *j, struct error *err)
{
	const char *bot = getenv("AGENT_BOT");
	int64_t id, turn;

	if (!bot)
		return 0;
	if (read_number("AGENT_BOT_ID", 1, &id, err) < 0 ||
		read_number("AGENT_TURN", 0, &turn, err) < 0)
		return -1;
	json_open_key(j, "from", '{');
	json_put_cstr(j, "bot", bot);
	json_put_i64(j, "bot_id", id);
	json_put_i64(j, "turn", turn);
	json_close(j, '}');
	return 0;
}

int caller_put_creator(struct json_out *j, struct error *err)
{
	const char *bot = getenv("AGENT_BOT");
	int64_t id;

	if (!bot)
		return 0;
	if (read_number("AGENT_BOT_ID", 1, &id, err) < 0)
		return -1;
	json_put_cstr(j, "created_by", bot);
	json_put_i64(j, "created_by_id", id);
	return 0;
}
