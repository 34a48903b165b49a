/* agent rm: deletes a bot. */
#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"

struct options {
	struct place_options place;
	const char *bot;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
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
	if (!o->bot)
		return cli_usage("rm", "needs --bot NAME");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0)
		return ask_failed("rm", c.client, &err);
	ask_begin(&a, "delete");
	json_put_cstr(&a.j, "bot", o->bot);
	if (ask_wait(&a, c.client, &result, &err) < 0)
		return ask_failed("rm", c.client, &err);
	output_json(result);
	return output_end("rm", CLI_OK);
}

const struct cli_command cmd_rm = {
	.name = "rm",
	.arguments = "",
	.purpose = "delete a bot and what is stored of it",
	.about = "Not while it has a turn that is not over. Forks of it keep the history they "
		 "share. Rows are deleted, not overwritten: their bytes stay in the store's free "
		 "pages and its log until they are used again.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
