/* agent ls: the bots. */
#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/listing.h"
#include "agent/cmd/output.h"
#include "agent/core/limits.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print a table instead of JSON"),
};

static const char *const headings[] = {"BOT", "STATUS", "MODEL", "SANDBOX", "FOLDER", NULL};

static void add_row(struct columns *to, const struct json *bot)
{
	columns_add(to, json_str(json_get(bot, "name")));
	columns_add(to, json_str(json_get(bot, "status")));
	columns_add(to, json_str(json_get(bot, "model")));
	columns_add(to, json_str(json_get(bot, "sandbox")));
	columns_add(to, json_str(json_get(bot, "workspace")));
}

static int add_pages(struct client *c, struct listing *l, struct error *err)
{
	_cleanup_(mem) char *after = NULL;

	for (;;) {
		const struct json *page;
		struct str next;
		struct ask a;

		ask_begin(&a, "bots");
		json_put_i64(&a.j, "limit", PAGE_MAX);
		if (after)
			json_put_cstr(&a.j, "after", after);
		if (ask_call(&a, c, &page, err) < 0)
			return -1;
		json_for_each (bot, ask_list(page, "bots"))
			listing_add(l, bot);
		next = json_str(json_get(page, "next_after"));
		if (!next.p)
			return 0;
		free(after);
		after = xstrndup(next.p, next.len);
	}
}

static int run(void *options, char **args, int count)
{
	struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	_cleanup_(listing) struct listing l;
	struct error err = ERROR_INIT;

	(void)args;
	(void)count;
	listing_init(&l, o->pretty, headings, add_row);
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0 ||
		add_pages(c.client, &l, &err) < 0 || listing_print(&l, &err) < 0)
		return ask_failed("ls", c.client, &err);
	return output_end("ls", CLI_OK);
}

const struct cli_command cmd_ls = {
	.name = "ls",
	.arguments = "",
	.purpose = "list the bots",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
