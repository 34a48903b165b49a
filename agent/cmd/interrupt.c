/* agent interrupt: stops the running turn of a bot. */
#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *bot;
	struct cli_number turn;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
	CLI_OPT_NUMBER(struct options, turn, "turn", "N", 1, INT64_MAX,
		"this turn and no other, also one that waits to start (the running one)"),
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
		return cli_usage("interrupt", "needs --bot NAME");
	if (connect_open(&o->place, NULL, CONNECT_ONLY, &c, &err) < 0)
		return ask_failed("interrupt", c.client, &err);
	ask_begin(&a, "interrupt");
	json_put_cstr(&a.j, "bot", o->bot);
	if (o->turn.set)
		json_put_i64(&a.j, "turn", o->turn.value);
	if (ask_call(&a, c.client, &result, &err) < 0)
		return ask_failed("interrupt", c.client, &err);
	output_json(result);
	return output_end("interrupt", CLI_OK);
}

const struct cli_command cmd_interrupt = {
	.name = "interrupt",
	.arguments = "",
	.purpose = "stop the running turn of a bot",
	.about = "Returns when the daemon has been told; the turn's end is an event, and its "
		 "result says "
		 "interrupted.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
