/*
 * What a bot's command rules say of a script: refused, asked about, let out, or nothing (spec 7.8).
 *
 * Promises: AG-116, AG-121 to AG-123, AG-127.
 */
#include "agent/tool/internal.h"

enum {
	/* ours: a person reads it; a longest justification with every byte escaped fits */
	RULE_SHOWN_MAX_BYTES = 16 * 1024,
	RULE_LINE_MAX_BYTES = 300, /* ours: an error's text has 512 */
};

static void put_rule(struct buf *to, const struct rule_verdict *v, bool pattern)
{
	struct json_out j = JSON_OUT(to);

	buf_clear(to);
	json_open(&j, '{');
	if (pattern)
		rule_put_pattern(v->rule, &j);
	else
		json_put_null(&j, "pattern");
	json_put_str(&j, "justification", v->rule->justification);
	json_put_bool(&j, "tangled", v->tangled);
	json_close(&j, '}');
}

/* The rule that asks, for whoever decides; a pattern of thousands of words is left out. */
static struct str describe(struct arena *a, const struct rule_verdict *v)
{
	_cleanup_(buf) struct buf text = BUF_INIT(RULE_SHOWN_MAX_BYTES);

	put_rule(&text, v, true);
	if (text.full)
		put_rule(&text, v, false);
	must(!text.full);
	return tool_keep(a, &text);
}

/* "prompt [git push] (rule 3): it leaves the machine" */
static struct str show(struct arena *a, const struct rule_verdict *v)
{
	_cleanup_(buf) struct buf text = BUF_INIT(RULE_SHOWN_MAX_BYTES);
	struct str line;

	rule_put_text(v->rule, &text); /* what is dropped at the end is cut below anyway */
	line = str_cut(buf_str(&text), RULE_LINE_MAX_BYTES);
	return (struct str){arena_strndup(a, line.p, line.len), line.len};
}

int tool_rules_judge(const struct tool_context *c, struct arena *a, struct str script,
	struct tool_judgement *j, struct error *err)
{
	struct rule_verdict v;

	if (!c->rules)
		return 0;
	rules_decide(c->rules, script, &v);
	if (v.decision == RULE_FORBIDDEN)
		return rules_refusal(c->rules, &v, err);
	if (v.decision == RULE_PROMPT) {
		must(v.rule); /* only an unreadable set has none to blame, and it forbids */
		j->asks = true;
		j->rule = describe(a, &v);
		j->rule_shown = show(a, &v);
		if (!j->why)
			j->why = TOOL_WHY_RULE;
	} else if (v.decision == RULE_ALLOW && tool_sandboxed(c)) {
		j->reach = TOOL_LEAVES;
		j->free = true;
		j->why = TOOL_WHY_RULE;
	}
	return 0;
}
