/* agent prune: drops the records of a bot's older turns. */
#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"

struct options {
	struct place_options place;
	const char *bot;
	struct cli_number keep_turns;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
	CLI_OPT_NUMBER(struct options, keep_turns, "keep-turns", "N", 1, INT32_MAX,
		"of how many finished turns, the newest ones, the records stay"),
};

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *result;
	struct ask a;

	(void)args;
	(void)count;
	if (!o->bot || !o->keep_turns.set)
		return cli_usage("prune", "needs --bot NAME and --keep-turns N");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0)
		return ask_failed("prune", c.client, &err);
	ask_begin(&a, "prune");
	json_put_cstr(&a.j, "bot", o->bot);
	json_put_i64(&a.j, "keep_turns", o->keep_turns.value);
	if (ask_wait(&a, c.client, &result, &err) < 0)
		return ask_failed("prune", c.client, &err);
	output_json(result);
	return output_end("prune", CLI_OK);
}

const struct cli_command cmd_prune = {
	.name = "prune",
	.arguments = "",
	.purpose = "drop the events, calls and outputs of older turns",
	.about = "Events, calls, artifacts and commands that ended go; the conversation and the "
		 "turns "
		 "themselves stay, so that the bot goes on as before. As with rm, rows are deleted "
		 "and not overwritten.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
