/* agent answer: a verdict on one call. */
#include <string.h>

#include "agent/cmd/ask.h"
#include "agent/cmd/caller.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/output.h"
#include "agent/cmd/person.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *bot, *call, *step, *tag, *reason;
	struct cli_number turn, request;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
	CLI_OPT_NUMBER(struct options, turn, "turn", "N", 1, INT64_MAX, "its turn"),
	CLI_OPT_TEXT(struct options, call, "call", "ID", "the call"),
	CLI_OPT_TEXT(struct options, step, "step", "NAME", "the step of it, where one waits"),
	CLI_OPT_NUMBER(struct options, request, "request", "N", 1, INT64_MAX,
		"the number of the announcement that was read"),
	CLI_OPT_TEXT(struct options, tag, "tag", "TAG", "the gate, where the call has several"),
	CLI_OPT_TEXT(struct options, reason, "reason", "TEXT", "with deny: what the model is told"),
};

static int check(const struct options *o, const char *decision)
{
	bool allow = strcmp(decision, "allow") == 0;

	if (!o->bot || !o->turn.set || !o->call || !o->request.set)
		return cli_usage("answer", "needs --bot, --turn, --call and --request");
	if (!allow && strcmp(decision, "deny") != 0)
		return cli_usage("answer", "'%s': must be allow or deny", decision);
	if (allow && o->reason)
		return cli_usage("answer", "'--reason' goes with deny");
	return CLI_OK;
}

static int ask(struct client *c, const struct options *o, const char *decision,
	const struct json **ret, struct error *err)
{
	struct ask a;

	ask_begin(&a, "answer");
	json_put_cstr(&a.j, "bot", o->bot);
	json_put_i64(&a.j, "turn", o->turn.value);
	json_put_cstr(&a.j, "call_id", o->call);
	json_put_i64(&a.j, "request", o->request.value);
	json_put_cstr(&a.j, "decision", decision);
	if (o->step)
		json_put_cstr(&a.j, "step", o->step);
	if (o->tag)
		json_put_cstr(&a.j, "tag", o->tag);
	if (o->reason)
		json_put_cstr(&a.j, "reason", o->reason);
	json_put_cstr(&a.j, "by", person_name());
	return ask_call(&a, c, ret, err);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *result;
	int status = check(o, args[0]);

	(void)count;
	if (status != CLI_OK)
		return status;
	if (caller_in_tool_shell())
		return caller_refused("answer", "give verdicts");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0 ||
		ask(c.client, o, args[0], &result, &err) < 0)
		return ask_failed("answer", c.client, &err);
	output_json(result);
	return output_end("answer", CLI_OK);
}

const struct cli_command cmd_answer = {
	.name = "answer",
	.arguments = "allow|deny",
	.args_min = 1,
	.args_max = 1,
	.purpose = "allow or deny a call that waits for a verdict",
	.about = "Answers what 'agent approvals' lists. The answer holds for the announcement it "
		 "names: "
		 "a call that was announced again since needs another one.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
