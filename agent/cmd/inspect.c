/* agent inspect: all that is set and known of a bot. */
#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "agent/cmd/render.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *bot;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print for people instead of JSON"),
};

static void print_pretty(const struct json *record)
{
	struct render r;

	render_init(&r, output_colours());
	render_bot(&r, record, false);
	output_buf(&r.out);
	render_release(&r);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *record;
	struct ask a;

	(void)args;
	(void)count;
	if (!o->bot)
		return cli_usage("inspect", "needs --bot NAME");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0)
		return ask_failed("inspect", c.client, &err);
	ask_begin(&a, "inspect");
	json_put_cstr(&a.j, "bot", o->bot);
	if (ask_call(&a, c.client, &record, &err) < 0)
		return ask_failed("inspect", c.client, &err);
	if (o->pretty)
		print_pretty(record);
	else
		output_json(record);
	return output_end("inspect", CLI_OK);
}

const struct cli_command cmd_inspect = {
	.name = "inspect",
	.arguments = "",
	.purpose = "print what a bot is made of",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
