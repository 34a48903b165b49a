/* --rules: read here, sent to the daemon. */
#include "agent/cmd/ruleset.h"

#include <stdio.h>

struct rules *ruleset_read(const char *command, const char *path)
{
	struct error err = ERROR_INIT;
	struct rules *r;

	if (*path == '\0')
		return rules_new();
	if (rules_read_path(path, &r, &err) == 0)
		return r;
	(void)fprintf(stderr,
		"agent %s: %s: %s\n"
		"agent %s: the bot refuses every command until it has rules that can be read\n",
		command, error_code(&err), err.text, command); /* nobody else to tell */
	return rules_new_unreadable(str_from(err.text));
}

void ruleset_put_strict(struct json_out *j, const struct rules *r)
{
	if (rules_unreadable(r).p) {
		rules_put_json(r, j, "rules");
		return;
	}
	json_open_key(j, "rules", '[');
	for (size_t i = 0; i < rules_count(r); i++) {
		const struct rule *rule = rules_at(r, i);

		if (rule->decision == RULE_ALLOW)
			continue;
		json_open(j, '{');
		rule_put_pattern(rule, j);
		json_put_cstr(j, "decision", rule_decision_names[rule->decision]);
		if (rule->justification.p)
			json_put_str(j, "justification", rule->justification);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void ruleset_put(struct json_out *j, const char *command, const char *path)
{
	_cleanup_(rules) struct rules *r = NULL;

	if (!path)
		return;
	r = ruleset_read(command, path);
	rules_put_json(r, j, "rules");
}
