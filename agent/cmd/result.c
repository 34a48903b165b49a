/* agent result: how a turn ended. */
#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/outcome.h"
#include "agent/cmd/output.h"
#include "mem/mem.h"

enum { TEXT_MAX_BYTES = 8 * 1024 * 1024 /* ours: a line of the wire, each byte escaped */ };

struct options {
	struct place_options place;
	const char *bot;
	struct cli_number turn;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
	CLI_OPT_NUMBER(struct options, turn, "turn", "N", 1, INT64_MAX, "the turn"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print for people instead of JSON"),
};

static void print(const struct json *outcome, bool pretty)
{
	_cleanup_(buf) struct buf b = BUF_INIT(TEXT_MAX_BYTES);

	if (!pretty) {
		output_json(outcome);
		return;
	}
	outcome_write(&b, output_colours(), outcome);
	output_buf(&b);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *outcome;
	struct ask a;

	(void)args;
	(void)count;
	if (!o->bot || !o->turn.set)
		return cli_usage("result", "needs --bot NAME and --turn N");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0)
		return ask_failed("result", c.client, &err);
	ask_begin(&a, "result");
	json_put_cstr(&a.j, "bot", o->bot);
	json_put_i64(&a.j, "turn", o->turn.value);
	if (ask_call(&a, c.client, &outcome, &err) < 0)
		return ask_failed("result", c.client, &err);
	print(outcome, o->pretty);
	return output_end("result", outcome_is_good(outcome) ? CLI_OK : CLI_FAILED);
}

const struct cli_command cmd_result = {
	.name = "result",
	.arguments = "",
	.purpose = "print how a turn ended",
	.about = "Does not wait: a turn that runs prints finished false. Exits 0 only when it "
		 "completed.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
