/* agent fork: a new bot that goes on from where another one stands, or stood. */
#include "agent/cmd/approval.h"
#include "agent/cmd/ask.h"
#include "agent/cmd/caller.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/newbot.h"
#include "agent/cmd/output.h"
#include "agent/cmd/render.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *source, *bot, *workspace, *approval, *approve, *allow;
	struct cli_number checkpoint, budget_tokens;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, source, "source", "NAME", "the bot to fork"),
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "what the fork is called"),
	CLI_OPT_NUMBER(struct options, checkpoint, "checkpoint", "NODE", 1, INT64_MAX,
		"the node of its history to go on from (where it stands)"),
	CLI_OPT_TEXT(struct options, workspace, "workspace", "DIR",
		"the folder it works in (the source's)"),
	CLI_OPT_NUMBER(struct options, budget_tokens, "budget-tokens", "N", 1, INT64_MAX,
		"tokens it may use in all (as the source)"),
	CLI_OPT_TEXT(struct options, approval, "approval", "MODE",
		"beside the source's gates: full adds none, manual asks you, auto a program"),
	CLI_OPT_TEXT(struct options, approve, "approve", "TOOL,TOOL…",
		"whose calls wait for a verdict too (shell,write,edit,apply_patch)"),
	CLI_OPT_TEXT(struct options, allow, "allow", "TOOL,TOOL…",
		"what of the source's tools it may call ('' for none; all it may)"),
	CLI_OPT_FLAG(struct options, pretty, "pretty", "print for people instead of JSON"),
};

static int put_workspace(struct json_out *j, const char *given, struct error *err)
{
	_cleanup_(mem) char *path = NULL;

	if (!given)
		return 0;
	if (newbot_path("workspace", given, &path, err) < 0)
		return -1;
	json_put_cstr(j, "workspace", path);
	return 0;
}

static void put_names(struct json_out *j, const char *name, const struct str_list *l)
{
	json_open_key(j, name, '[');
	for (size_t i = 0; i < l->count; i++)
		json_put_str(j, NULL, l->items[i]);
	json_close(j, ']');
}

static int put_allow(struct json_out *j, struct arena *a, const char *given, struct error *err)
{
	struct str_list names = {NULL, 0};

	if (!given)
		return 0;
	if (*given && approval_split(a, "allow", given, &names, err) < 0)
		return -1;
	put_names(j, "allow", &names);
	return 0;
}

/* What the source has tools for is the daemon's to say: it passes over a gate's other tools. */
static int put_gates(
	struct json_out *j, struct arena *a, const struct options *o, struct error *err)
{
	static struct str acting[] = {
		{"shell",       5 },
                {"write",       5 },
                {"edit",        4 },
                {"apply_patch", 11}
        };
	struct str_list tools = {acting, ARRAY_LEN(acting)};
	struct approval approval;

	if (!o->approval && !o->approve)
		return 0;
	if ((o->approve && approval_split(a, "approve", o->approve, &tools, err) < 0) ||
		approval_read(a, o->approval, o->approve, &tools, &approval, err) < 0)
		return -1;
	approval_put(j, &approval);
	return 0;
}

static int fork_bot(
	struct client *c, const struct options *o, const struct json **ret, struct error *err)
{
	_cleanup_(arena) struct arena arena = {.blocks = NULL};
	struct ask a;

	ask_begin(&a, "fork");
	json_put_cstr(&a.j, "source", o->source);
	json_put_cstr(&a.j, "bot", o->bot);
	if (o->checkpoint.set)
		json_put_i64(&a.j, "checkpoint", o->checkpoint.value);
	if (o->budget_tokens.set)
		json_put_i64(&a.j, "budget_tokens", o->budget_tokens.value);
	if (put_workspace(&a.j, o->workspace, err) < 0 ||
		put_allow(&a.j, &arena, o->allow, err) < 0 || put_gates(&a.j, &arena, o, err) < 0 ||
		caller_put_creator(&a.j, err) < 0) {
		buf_release(&a.text);
		return -1;
	}
	return ask_call(&a, c, ret, err);
}

static void print_pretty(const struct json *record)
{
	struct render r;

	render_init(&r, output_colours());
	render_bot(&r, record, true);
	output_buf(&r.out);
	render_release(&r);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *record;

	(void)args;
	(void)count;
	if (!o->source || !o->bot)
		return cli_usage("fork", "needs --source NAME and --bot NAME");
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0 ||
		fork_bot(c.client, o, &record, &err) < 0)
		return error_is(&err, &CLI_USAGE_ERROR) ? cli_usage("fork", "%s", err.text)
							: ask_failed("fork", c.client, &err);
	if (o->pretty)
		print_pretty(record);
	else
		output_json(record);
	return output_end("fork", CLI_OK);
}

const struct cli_command cmd_fork = {
	.name = "fork",
	.arguments = "",
	.purpose = "make a bot that goes on from where another one stands",
	.about =
		"The fork is a bot of its own with the source's history up to there, its model, "
		"instructions, "
		"tools, gates and sandbox. The source is as it was. Of a bot whose turn is running "
		"it is the "
		"newest point at which no call was open.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
