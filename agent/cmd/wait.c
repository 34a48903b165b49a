/* agent wait: until turns are over. */
#include "agent/cmd/ask.h"
#include "agent/cmd/caller.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/outcome.h"
#include "agent/cmd/output.h"
#include "agent/cmd/style.h"
#include "agent/core/limits.h"
#include "mem/mem.h"

enum {
	TEXT_MAX_BYTES = 64 * 1024 * 1024, /* ours: 64 outcomes, each byte escaped */
	HANDLE_BYTES = 200,                /* ours: longer than any */
};

struct options {
	struct place_options place;
	struct cli_number timeout_ms;
	bool any, pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_FLAG(struct options, any, "any", "until one of them is over, not all"),
	CLI_OPT_NUMBER(struct options, timeout_ms, "timeout-ms", "MS", 0, WAIT_MAX_MS,
		"for so long at most; 0 only looks (no limit)"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print for people instead of JSON"),
};

static int ask(struct client *c, const struct options *o, char **handles, int count,
	const struct json **ret, struct error *err)
{
	struct ask a;

	ask_begin(&a, "wait");
	json_open_key(&a.j, "handles", '[');
	for (int i = 0; i < count; i++)
		json_put_cstr(&a.j, NULL, handles[i]);
	json_close(&a.j, ']');
	if (o->timeout_ms.set)
		json_put_i64(&a.j, "timeout_ms", o->timeout_ms.value);
	if (o->any)
		json_put_bool(&a.j, "any", true);
	return ask_wait(&a, c, ret, err);
}

/* All good; with `any` at least one, and none that is over is bad. */
static bool is_good(const struct json *results, bool any)
{
	int64_t good = 0, bad = 0, pending = 0;

	json_for_each (outcome, results) {
		if (json_is_true(json_get(outcome, "pending")))
			pending++;
		else if (outcome_is_good(outcome))
			good++;
		else
			bad++;
	}
	return bad == 0 && (any ? good > 0 : pending == 0);
}

static void print_pretty(const struct json *results)
{
	_cleanup_(buf) struct buf b = BUF_INIT(TEXT_MAX_BYTES);
	bool colours = output_colours();

	json_for_each (outcome, results) {
		style_line(&b, colours, STYLE_BOLD, outcome->key, HANDLE_BYTES);
		(void)buf_puts(&b, "  "); /* 64 outcomes of 16 KiB fit */
		outcome_write(&b, colours, outcome);
	}
	output_buf(&b);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *answer, *results;

	if (caller_in_tool_shell())
		return caller_refused("wait", "wait for a turn");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0 ||
		ask(c.client, o, args, count, &answer, &err) < 0)
		return ask_failed("wait", c.client, &err);
	results = json_get(answer, "results");
	if (!results) {
		(void)error_set(&err, &CLIENT_LOST, "the daemon named no results");
		return ask_failed("wait", c.client, &err);
	}
	if (o->pretty)
		print_pretty(results);
	else
		output_json(answer);
	return output_end("wait", is_good(results, o->any) ? CLI_OK : CLI_FAILED);
}

const struct cli_command cmd_wait = {
	.name = "wait",
	.arguments = "HANDLE…",
	.args_min = 1,
	.args_max = WAIT_HANDLES_MAX,
	.purpose = "wait until turns are over",
	.about = "A handle is turn:BOT/N, as run --detach prints it. Exits 0 when the turns "
		 "completed, 1 when "
		 "one did not or the time was over first.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
