/* agent rules check: what command rules say of a script, and why; nothing is run and no daemon
 * asked. */
#include <stdio.h>
#include <string.h>

#include "agent/cmd/ask.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/output.h"
#include "json/json.h"
#include "mem/mem.h"
#include "rule/rule.h"

enum {
	TEXT_MAX_BYTES = 64 * 1024 * 1024, /* ours: an explanation is a few times its script */
};

/* The exit status says it too, for scripts that ask. What a failure and wrong usage have stays. */
static const int statuses[] = {
	[RULE_ALLOW] = CLI_OK,
	[RULE_NONE] = 3,
	[RULE_PROMPT] = 4,
	[RULE_FORBIDDEN] = 5,
};

struct options {
	bool json;
};

static const struct cli_option own[] = {
	CLI_OPT_FLAG(struct options, json, "json", "print one line of JSON"),
};

static void put_rule(struct json_out *j, const struct rule *rule)
{
	json_open_key(j, "rule", '{');
	json_put_str(j, "file", rule->file);
	json_put_i64(j, "line", rule->line);
	json_put_str(j, "justification", rule->justification);
	json_close(j, '}');
}

static void put_json(const struct rules *r, struct str script, struct buf *to)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct json_out j = JSON_OUT(to);
	struct rule_doubt doubt = {NULL, 0};
	struct rule_script plain;
	struct rule_verdict v;

	rules_decide(r, script, &v);
	(void)rule_script_read(&a, script, &plain, &doubt); /* v says whether it is plain */
	json_open(&j, '{');
	json_put_cstr(&j, "decision", rule_decision_names[v.decision]);
	if (v.rule)
		put_rule(&j, v.rule);
	json_put_bool(&j, "plain", v.plain);
	json_put_bool(&j, "tangled", v.tangled);
	if (!v.plain) {
		json_put_cstr(&j, "why_not_plain", doubt.why);
		json_put_i64(&j, "at_byte", (int64_t)doubt.at);
	}
	json_close(&j, '}');
	(void)buf_putc(to, '\n'); /* it fits by far */
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	const struct str script = str_from(args[1]);
	_cleanup_(buf) struct buf text = BUF_INIT(TEXT_MAX_BYTES);
	_cleanup_(rules) struct rules *r = NULL;
	struct error err = ERROR_INIT;
	struct rule_verdict v;

	(void)count;
	if (rules_read_path(args[0], &r, &err) < 0)
		return ask_failed("rules check", NULL, &err);
	if (o->json)
		put_json(r, script, &text);
	else
		rules_explain(r, script, &text);
	output_buf(&text);
	rules_decide(r, script, &v);
	return output_end("rules check", statuses[v.decision]);
}

const struct cli_command cmd_rules_check = {
	.name = "rules check",
	.arguments = "FILE [--] SCRIPT",
	.args_min = 2,
	.args_max = 2,
	.purpose = "say what command rules decide about a script",
	.about = "Reads a file of command rules, or the files *.rules of a folder, and prints what "
		 "they "
		 "decide about a script of the tool shell, and why. The script is one argument; "
		 "nothing of "
		 "it is run. Exit status: 0 it would run outside the sandbox without asking, 3 no "
		 "rule "
		 "decides, 4 it would wait for a verdict, 5 it would be refused, 1 the rules "
		 "cannot be "
		 "read.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0}},
	.options_size = sizeof(struct options),
	.run = run,
};
