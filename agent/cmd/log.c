/* agent log: what a bot did, to read. A follow of the past that ends with the present. */
#include <inttypes.h>

#include "agent/cmd/commands.h"
#include "agent/cmd/output.h"
#include "agent/cmd/watch.h"
#include "agent/core/limits.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *bot;
	struct cli_number turn, last;
	bool json;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
	CLI_OPT_NUMBER(struct options, turn, "turn", "N", 1, INT64_MAX, "only this turn"),
	CLI_OPT_NUMBER(struct options, last, "last", "N", 1, PAGE_MAX, "only the N newest turns"),
	CLI_OPT_FLAG(struct options, json, "json", "print the events as JSON lines"),
};

/* Turns from first to final are shown, and, when all are, what belongs to none. */
struct range {
	int64_t first, final;
};

/* The first of the newest `last` turns; ids of turns are the store's, so they are counted. */
static int first_of_last(struct watch *w, int64_t last, int64_t *ret, struct error *err)
{
	int64_t ids[PAGE_MAX] = {0}, after = 0;
	size_t seen = 0, before;

	do {
		const struct json *page;
		struct ask a;

		before = seen;
		ask_begin(&a, "turns");
		json_put_cstr(&a.j, "bot", w->bot);
		json_put_i64(&a.j, "after", after);
		json_put_i64(&a.j, "limit", PAGE_MAX);
		if (stream_call(&w->stream, &a, &page, err) < 0)
			return -1;
		json_for_each (turn, ask_list(page, NULL)) {
			if (json_i64(json_get(turn, "turn"), &after) < 0)
				return error_set(err, &CLIENT_LOST, "a turn has no number");
			ids[seen++ % (size_t)last] = after;
		}
	} while (seen > before);
	*ret = seen > (size_t)last ? ids[seen % (size_t)last] : 0;
	return 0;
}

static int range_of(const struct options *o, struct watch *w, struct range *ret, struct error *err)
{
	*ret = (struct range){0, INT64_MAX};
	if (o->turn.set)
		*ret = (struct range){o->turn.value, o->turn.value};
	return o->last.set ? first_of_last(w, o->last.value, &ret->first, err) : 0;
}

static int show(struct watch *w, const struct range *r, struct error *err)
{
	struct stream_event e;

	if (stream_follow(&w->stream, w->bot, 0, err) < 0)
		return -1;
	for (;;) {
		if (watch_next(w, -1, &e, err) < 0)
			return -1;
		if (str_is(e.kind, "follow_live") || output_failed())
			return 0;
		if (e.turn < r->first || e.turn > r->final)
			continue;
		if (watch_show(w, &e, err) < 0)
			return -1;
	}
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	struct range range;
	struct watch w;
	int rc;

	(void)args;
	(void)count;
	if (!o->bot)
		return cli_usage("log", "needs --bot NAME");
	if (o->turn.set && o->last.set)
		return cli_usage("log", "'--turn' and '--last' exclude each other");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0)
		return ask_failed("log", c.client, &err);
	watch_init(&w, "log", &c, &o->place, !o->json);
	w.bot = o->bot;
	w.prompts = true;
	rc = range_of(o, &w, &range, &err);
	if (rc == 0)
		rc = show(&w, &range, &err);
	watch_release(&w);
	if (rc < 0)
		return ask_failed("log", c.client, &err);
	return output_end("log", CLI_OK);
}

const struct cli_command cmd_log = {
	.name = "log",
	.arguments = "",
	.purpose = "print what a bot did, to read",
	.about = "Prints the past of a bot and ends with the present; follow goes on from there. A "
		 "turn that runs is shown as far as it is recorded.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
