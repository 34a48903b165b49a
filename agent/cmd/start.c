/* agent start: makes sure that a daemon runs. */
#include <inttypes.h>

#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	struct startup_options startup;
	bool no_spawn, pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_FLAG(struct options, no_spawn, "no-spawn", "fail when no daemon runs"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print a sentence instead of JSON"),
};

static void print(const struct connection *c, bool pretty)
{
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	struct json_out j = JSON_OUT(&b);
	int64_t pid = 0;

	(void)json_i64(json_get(client_ready(c->client), "pid"), &pid); /* 0 when it says none */
	if (pretty) {
		(void)buf_printf(&b, "the daemon runs: pid %" PRId64 ", socket ", pid);
		(void)text_put_line(&b, str_from(c->socket)); /* a path is far shorter than b */
	} else {
		json_open(&j, '{');
		json_put_cstr(&j, "socket", c->socket);
		json_put_i64(&j, "pid", pid);
		json_close(&j, '}');
	}
	(void)buf_putc(&b, '\n');
	output_buf(&b);
}

static int run(void *options, char **args, int count)
{
	struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;

	(void)args;
	(void)count;
	if (connect_open(&o->place, &o->startup, o->no_spawn ? CONNECT_ONLY : CONNECT_START, &c,
		    &err) < 0)
		return ask_failed("start", c.client, &err);
	print(&c, o->pretty);
	return output_end("start", CLI_OK);
}

const struct cli_command cmd_start = {
	.name = "start",
	.arguments = "",
	.purpose = "make sure that a daemon runs",
	.about = "Starts the daemon of the store unless one runs already, and prints its socket "
		 "and pid. "
		 "Fails when one runs that is not as the startup options say.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options), offsetof(struct options, place)},
		   {"Startup", startup_options, STARTUP_OPTIONS, offsetof(struct options, startup)}},
	.options_size = sizeof(struct options),
	.run = run,
};
