/* agent configure: replaces settings of a bot. */
#include <string.h>

#include "agent/cmd/approval.h"
#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/limits.h"
#include "agent/cmd/newbot.h"
#include "agent/cmd/output.h"
#include "agent/cmd/ruleset.h"
#include "agent/core/limits.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *bot, *sandbox, *network, *git_commit, *workspace, *approval, *approve, *rules;
	struct cli_texts writable_roots, unix_sockets;
	struct limit_options limits;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "the bot"),
	CLI_OPT_TEXT(struct options, sandbox, "sandbox", "MODE",
		"read-only, workspace-write or danger-full-access"),
	CLI_OPT_TEXTS(struct options, writable_roots, "writable-root", "DIR",
		"the writable folders beside the workspace, all of them ('' for none)"),
	CLI_OPT_TEXT(struct options, network, "network", "on|off",
		"whether sandboxed commands reach the network"),
	CLI_OPT_TEXTS(struct options, unix_sockets, "unix-socket", "PATH",
		"the Unix sockets they reach, all of them ('' for none)"),
	CLI_OPT_TEXT(struct options, git_commit, "git-commit", "on|off",
		"whether they may commit: .git is writable but for hooks and config"),
	CLI_OPT_TEXT(struct options, workspace, "workspace", "DIR", "the folder it works in"),
	CLI_OPT_TEXT(struct options, approval, "approval", "MODE", "full, manual or auto"),
	CLI_OPT_TEXT(struct options, approve, "approve", "TOOL,TOOL…",
		"whose calls wait for a verdict (shell,write,edit,apply_patch)"),
	CLI_OPT_TEXT(struct options, rules, "rules", "PATH",
		"the command rules, all of them: a file or a folder of *.rules ('' for none)"),
};

static bool is_switch(const char *text)
{
	return !text || strcmp(text, "on") == 0 || strcmp(text, "off") == 0;
}

static int check(const struct options *o)
{
	if (!o->bot)
		return cli_usage("configure", "needs --bot NAME");
	if (!o->sandbox && !o->network && !o->git_commit && !o->workspace && !o->approval &&
		!o->approve && !o->rules && o->writable_roots.count == 0 &&
		o->unix_sockets.count == 0 && !limits_given(&o->limits))
		return cli_usage("configure", "needs a setting to replace");
	if (!is_switch(o->network))
		return cli_usage("configure", "'--network %s': must be on or off", o->network);
	if (!is_switch(o->git_commit))
		return cli_usage(
			"configure", "'--git-commit %s': must be on or off", o->git_commit);
	return CLI_OK;
}

static int put_paths(struct json_out *j, const char *member, const char *option,
	const struct cli_texts *paths, struct error *err)
{
	if (paths->count == 0)
		return 0;
	json_open_key(j, member, '[');
	for (size_t i = 0; i < paths->count; i++) {
		_cleanup_(mem) char *path = NULL;

		if (*paths->items[i] == '\0')
			continue;
		if (newbot_path(option, paths->items[i], &path, err) < 0)
			return -1;
		json_put_cstr(j, NULL, path);
	}
	json_close(j, ']');
	return 0;
}

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

/* The bot's tools, copied: a gate may name only these. */
static int find_tools(
	struct client *c, const char *bot, struct arena *a, struct str_list *ret, struct error *err)
{
	const struct json *record, *tools;
	struct ask ask;

	ask_begin(&ask, "inspect");
	json_put_cstr(&ask.j, "bot", bot);
	if (ask_call(&ask, c, &record, err) < 0)
		return -1;
	tools = ask_list(record, "tools");
	ret->items = arena_alloc(a, (tools->count + 1) * sizeof(*ret->items));
	ret->count = 0;
	json_for_each (tool, tools) {
		struct str name = json_str(tool);

		ret->items[ret->count++] = (struct str){
			arena_strndup(a, name.p ? name.p : "", name.len), name.len};
	}
	return 0;
}

static int configure(
	struct client *c, const struct options *o, const struct json **ret, struct error *err)
{
	_cleanup_(arena) struct arena arena = {.blocks = NULL};
	bool gates = o->approval || o->approve;
	struct approval approval = {.tag = NULL};
	struct str_list tools;
	struct ask a;

	if (approval_check_sandbox(o->sandbox, err) < 0)
		return -1;
	if (gates &&
		(find_tools(c, o->bot, &arena, &tools, err) < 0 ||
			approval_read(&arena, o->approval, o->approve, &tools, &approval, err) < 0))
		return -1;
	ask_begin(&a, "configure");
	json_put_cstr(&a.j, "bot", o->bot);
	if (o->sandbox)
		json_put_cstr(&a.j, "sandbox", o->sandbox);
	if (o->network)
		json_put_bool(&a.j, "network", strcmp(o->network, "on") == 0);
	if (o->git_commit)
		json_put_bool(&a.j, "git_commit", strcmp(o->git_commit, "on") == 0);
	if (gates)
		approval_put(&a.j, &approval);
	ruleset_put(&a.j, "configure", o->rules);
	if (put_paths(&a.j, "writable_roots", "writable-root", &o->writable_roots, err) < 0 ||
		put_paths(&a.j, "unix_sockets", "unix-socket", &o->unix_sockets, err) < 0 ||
		put_workspace(&a.j, o->workspace, err) < 0 ||
		limits_put(&a.j, &o->limits, err) < 0) {
		buf_release(&a.text);
		return -1;
	}
	return ask_call(&a, c, ret, err);
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;
	const struct json *record;
	int status = check(o);

	(void)args;
	(void)count;
	if (status != CLI_OK)
		return status;
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0 ||
		configure(c.client, o, &record, &err) < 0)
		return error_is(&err, &CLI_USAGE_ERROR) ? cli_usage("configure", "%s", err.text)
							: ask_failed("configure", c.client, &err);
	output_json(record);
	return output_end("configure", CLI_OK);
}

const struct cli_command cmd_configure = {
	.name = "configure",
	.arguments = "",
	.purpose = "replace settings of a bot",
	.about = "What is given replaces the setting as a whole, from the bot's next call on; what "
		 "is not "
		 "stays. Prints the bot as it is then.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Limits", limit_options, LIMIT_OPTIONS, offsetof(struct options, limits)},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
