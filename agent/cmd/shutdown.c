/* agent shutdown: ends the daemon and returns when its process is gone. */
#include <inttypes.h>

#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/gone.h"
#include "agent/cmd/output.h"
#include "mem/mem.h"

enum {
	GRACE_MAX_S = 86400, /* spec 2.3 */
};

struct options {
	struct place_options place;
	struct cli_number grace;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_NUMBER(struct options, grace, "grace", "SECONDS", 0, GRACE_MAX_S,
		"let running turns go on for so long first (0)"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print a sentence instead of JSON"),
};

static void print(int64_t pid, bool pretty)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1024);
	struct json_out j = JSON_OUT(&b);

	if (pretty) {
		(void)buf_printf(&b, "the daemon, pid %" PRId64 ", has ended", pid);
	} else {
		json_open(&j, '{');
		json_put_bool(&j, "shut_down", true);
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
	int64_t pid;

	(void)args;
	(void)count;
	if (connect_open(&o->place, NULL, CONNECT_ONLY, &c, &err) < 0 ||
		gone_shutdown(c.client, o->grace.value * 1000, &pid, &err) < 0)
		return ask_failed("shutdown", c.client, &err);
	print(pid, o->pretty);
	return output_end("shutdown", CLI_OK);
}

const struct cli_command cmd_shutdown = {
	.name = "shutdown",
	.arguments = "",
	.purpose = "end the daemon",
	.about = "Running turns are interrupted and say so; with --grace they may go on for a "
		 "while, and "
		 "no new one starts. Returns when the process is gone.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
