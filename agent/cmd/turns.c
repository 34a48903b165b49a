/* agent turns: the turns of a bot. */
#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/listing.h"
#include "agent/cmd/output.h"
#include "agent/cmd/style.h"
#include "agent/core/limits.h"
#include "clock/clock.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *bot;
	struct cli_number after;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
	CLI_OPT_NUMBER(struct options, after, "after", "TURN", 0, INT64_MAX,
		"leave out turns up to this one (0)"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print a table instead of JSON"),
};

static const char *const headings[] = {
	"TURN", "STATUS", "STARTED", "TOOK", "CALLS", "TOKENS", "PROMPT", NULL};

static void add_times(struct columns *to, const struct json *turn)
{
	_cleanup_(buf) struct buf took = BUF_INIT(64);
	char started[CLOCK_TEXT_SIZE];
	int64_t from, until;

	if (json_i64(json_get(turn, "started_ms"), &from) < 0) {
		columns_add(to, (struct str){NULL, 0});
		columns_add(to, (struct str){NULL, 0});
		return;
	}
	clock_text(from, started);
	columns_add(to, str_from(started));
	if (json_i64(json_get(turn, "finished_ms"), &until) == 0)
		style_duration(&took, until - from);
	columns_add(to, took.len ? buf_str(&took) : (struct str){NULL, 0});
}

static void add_row(struct columns *to, const struct json *turn)
{
	_cleanup_(buf) struct buf tokens = BUF_INIT(64);
	_cleanup_(buf) struct buf status = BUF_INIT(1024);
	struct str error = json_str(json_get(turn, "error"));
	struct str preview = json_str(json_get(turn, "prompt_preview")), line;
	int64_t in = 0, out = 0;

	(void)buf_put_str(&status, json_str(json_get(turn, "status")));
	if (error.p)
		(void)buf_printf(&status, " (" STR_FMT ")", STR_ARG(str_cut(error, 64)));
	if (json_i64(json_get(turn, "input_tokens"), &in) == 0 &&
		json_i64(json_get(turn, "output_tokens"), &out) == 0)
		style_count(&tokens, in + out);
	listing_number(to, json_get(turn, "turn"));
	columns_add(to, buf_str(&status));
	add_times(to, turn);
	listing_number(to, json_get(turn, "model_rounds"));
	columns_add(to, buf_str(&tokens));
	(void)str_next(&preview, '\n', &line); /* its first line; an empty one has one too */
	columns_add(to, line);
}

/* Until a page is empty: pages may be cut by bytes as well. */
static int add_pages(
	struct client *c, const struct options *o, struct listing *l, struct error *err)
{
	int64_t after = o->after.value;
	size_t before;

	do {
		const struct json *page;
		struct ask a;

		before = l->count;
		ask_begin(&a, "turns");
		json_put_cstr(&a.j, "bot", o->bot);
		json_put_i64(&a.j, "after", after);
		json_put_i64(&a.j, "limit", PAGE_MAX);
		if (ask_call(&a, c, &page, err) < 0)
			return -1;
		json_for_each (turn, ask_list(page, NULL)) {
			listing_add(l, turn);
			if (json_i64(json_get(turn, "turn"), &after) < 0)
				return error_set(err, &CLIENT_LOST, "a turn has no number");
		}
	} while (l->count > before);
	return 0;
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	struct listing l;
	int rc;

	(void)args;
	(void)count;
	if (!o->bot)
		return cli_usage("turns", "needs --bot NAME");
	listing_init(&l, o->pretty, headings, add_row);
	rc = connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err);
	if (rc == 0)
		rc = add_pages(c.client, o, &l, &err);
	if (rc == 0)
		rc = listing_print(&l, &err);
	listing_release(&l);
	if (rc < 0)
		return ask_failed("turns", c.client, &err);
	return output_end("turns", CLI_OK);
}

const struct cli_command cmd_turns = {
	.name = "turns",
	.arguments = "",
	.purpose = "list the turns of a bot",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
