/* agent follow: shows what a bot does, or all of them. */
#include <inttypes.h>

#include "agent/cmd/caller.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/output.h"
#include "agent/cmd/watch.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *bot;
	struct cli_number after;
	bool all, pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(
		struct options, bot, "bot", "NAME", "the bot to follow, to the end of its turn"),
	CLI_OPT_FLAG(struct options, all, "all", "follow all bots, until Ctrl-C"),
	CLI_OPT_NUMBER(struct options, after, "after", "CURSOR", 0, INT64_MAX,
		"leave out events up to this one (0)"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print for people instead of JSON lines"),
};

/* The turn the bot runs now, 0: none. */
static int running_turn(struct watch *w, int64_t *ret, struct error *err)
{
	const struct json *record;
	struct ask a;

	ask_begin(&a, "inspect");
	json_put_cstr(&a.j, "bot", w->bot);
	if (stream_call(&w->stream, &a, &record, err) < 0)
		return -1;
	if (json_i64(json_get(record, "running_turn"), ret) < 0)
		*ret = 0;
	return 0;
}

/* Asked when the replay is over: a turn that ended before shows as none, one that ends later will
 * say so. */
static int show(struct watch *w, struct error *err)
{
	bool over = false, live = false;
	int64_t turn = 0;

	while (!over && !output_failed()) {
		struct stream_event e;

		if (watch_next(w, -1, &e, err) < 0 || watch_show(w, &e, err) < 0)
			return -1;
		if (w->bot && !live && str_is(e.kind, "follow_live")) {
			live = true;
			if (running_turn(w, &turn, err) < 0)
				return -1;
			over = turn == 0;
		}
		over = over ||
		       (live && turn > 0 && e.turn == turn && str_is(e.kind, "turn_finished"));
	}
	return 0;
}

static int follow(const struct options *o, struct watch *w)
{
	struct error err = ERROR_INIT;

	w->bot = o->bot;
	w->prompts = true;
	if (stream_follow(&w->stream, o->all ? "*" : o->bot, o->after.value, &err) < 0)
		return ask_failed("follow", w->stream.client, &err);
	if (show(w, &err) == 0)
		return CLI_OK;
	if (error_is(&err, &CLIENT_REMOTE))
		return ask_failed("follow", w->stream.client, &err);
	return watch_lost(w, 0, &err);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	struct watch w;
	int status;

	(void)args;
	(void)count;
	if (!o->bot == !o->all)
		return cli_usage("follow", "needs --bot NAME or --all");
	if (caller_in_tool_shell())
		return caller_refused("follow", "wait for events");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0)
		return ask_failed("follow", c.client, &err);
	watch_init(&w, "follow", &c, &o->place, o->pretty);
	status = follow(o, &w);
	watch_release(&w);
	return output_end("follow", status);
}

const struct cli_command cmd_follow = {
	.name = "follow",
	.arguments = "",
	.purpose = "show what a bot does, from any point on",
	.about = "Prints the events after a cursor, then new ones as they come. With --bot it ends "
		 "with the "
		 "turn that the bot runs now, or after the replay when it runs none.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
