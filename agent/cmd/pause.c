/* agent pause and agent resume: the andon cord. */
#include "agent/cmd/ask.h"
#include "agent/cmd/caller.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *reason;
	bool pretty;
};

static const struct cli_option pause_options[] = {
	CLI_OPT_TEXT(struct options, reason, "reason", "TEXT", "why, for whoever resumes"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print a sentence instead of JSON"),
};
static const struct cli_option resume_options[] = {
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print a sentence instead of JSON"),
};

static void print_sentence(const char *text)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1024);

	(void)buf_puts(&b, text); /* short */
	(void)buf_putc(&b, '\n');
	output_buf(&b);
}

/* One request that says which bot's command asks, if one does. -1: it has been said why not. */
static int ask_daemon(const char *op, const struct options *o, enum connect_start may,
	struct connection *c, const struct json **ret)
{
	struct error err = ERROR_INIT;
	struct ask a;

	if (connect_open(&o->place, NULL, may, c, &err) < 0) {
		(void)ask_failed(op, c->client, &err);
		return -1;
	}
	ask_begin(&a, op);
	if (o->reason)
		json_put_cstr(&a.j, "reason", o->reason);
	if (caller_put_from(&a.j, &err) < 0) {
		buf_release(&a.text);
		(void)ask_failed(op, c->client, &err);
		return -1;
	}
	if (ask_call(&a, c->client, ret, &err) < 0) {
		(void)ask_failed(op, c->client, &err);
		return -1;
	}
	return 0;
}

static int run_pause(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	const struct json *result;

	(void)args;
	(void)count;
	if (ask_daemon("pause", o, CONNECT_ONLY, &c, &result) < 0)
		return CLI_FAILED;
	if (!o->pretty)
		output_json(result);
	else if (json_is_true(json_get(result, "already")))
		print_sentence("the daemon was paused already");
	else
		print_sentence("the daemon is paused: what ran is ended, and nothing starts until "
			       "'agent resume'");
	return output_end("pause", CLI_OK);
}

static int run_resume(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	const struct json *result;

	(void)args;
	(void)count;
	if (ask_daemon("resume", o, CONNECT_EXISTING, &c, &result) < 0)
		return CLI_FAILED;
	if (!o->pretty)
		output_json(result);
	else
		print_sentence(json_is_true(json_get(result, "resumed"))
				       ? "the daemon goes on"
				       : "the daemon was not paused");
	return output_end("resume", CLI_OK);
}

const struct cli_command cmd_pause = {
	.name = "pause",
	.arguments = "",
	.purpose = "stop everything that runs for any bot",
	.about = "Pulls the andon cord: every turn that has begun is interrupted, commands in the "
		 "background are ended, and no turn starts until 'agent resume', also in the next "
		 "daemon. A bot's command may do this too; it is recorded who did.",
	.groups = {{NULL, pause_options, ARRAY_LEN(pause_options), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run_pause,
};

const struct cli_command cmd_resume = {
	.name = "resume",
	.arguments = "",
	.purpose = "let turns start again after a pause",
	.about = "What was queued starts. What the pause interrupted stays so. Works on the "
		 "daemon's own socket alone: a sandboxed bot cannot resume.",
	.groups = {{NULL, resume_options, ARRAY_LEN(resume_options), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run_resume,
};
