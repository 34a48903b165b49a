/* agent stats: what the daemon has to do and has done. */
#include "agent/cmd/ask.h"
#include "agent/cmd/columns.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "mem/mem.h"

enum { TEXT_MAX_BYTES = 8 * 1024 * 1024 /* ours: several times a line of the wire */ };

struct options {
	struct place_options place;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print one figure a line"),
};

/* "store.wal_bytes  123": what is inside an object after its name. */
static void add_rows(struct columns *c, const struct json *value, const char *prefix)
{
	json_for_each (m, value) {
		_cleanup_(buf) struct buf b = BUF_INIT(TEXT_MAX_BYTES);
		_cleanup_(mem) char *name = xasprintf(
			"%s%s" STR_FMT, prefix, *prefix ? "." : "", STR_ARG(m->key));
		struct json_out j = JSON_OUT(&b);

		if (m->type == JSON_OBJECT) {
			add_rows(c, m, name);
			continue;
		}
		json_put(&j, NULL, m);
		columns_add(c, str_from(name));
		columns_add(c, buf_str(&b));
	}
}

static void print_pretty(const struct json *stats)
{
	static const char *const headings[] = {"FIGURE", "VALUE", NULL};
	_cleanup_(columns) struct columns c;
	_cleanup_(buf) struct buf b = BUF_INIT(TEXT_MAX_BYTES);

	columns_init(&c, headings);
	add_rows(&c, stats, "");
	(void)columns_write(&c, &b); /* a line of the wire fits */
	output_buf(&b);
}

static int run(void *options, char **args, int count)
{
	struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *stats;
	struct ask a;

	(void)args;
	(void)count;
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0)
		return ask_failed("stats", c.client, &err);
	ask_begin(&a, "stats");
	if (ask_call(&a, c.client, &stats, &err) < 0)
		return ask_failed("stats", c.client, &err);
	if (o->pretty)
		print_pretty(stats);
	else
		output_json(stats);
	return output_end("stats", CLI_OK);
}

const struct cli_command cmd_stats = {
	.name = "stats",
	.arguments = "",
	.purpose = "print what the daemon is doing",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
