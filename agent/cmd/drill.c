/* What became of each call of a rehearsal, and why. */
#include "agent/cmd/drill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cmd/render_call.h"
#include "agent/cmd/statement.h"
#include "agent/cmd/style.h"
#include "agent/core/item.h"

enum {
	REASON_BYTES = 300, /* ours: a line and a half */
	COLUMN = 20,        /* "would run outside" and a gap */
	JSON_MAX_BYTES = 8 * 1024 * 1024,
};

static const char *const shown_names[DRILL_VERDICTS] = {
	[DRILL_CONFINED] = "confined",
	[DRILL_OPEN] = "open",
	[DRILL_ASKS] = "would ask",
	[DRILL_REFUSED] = "refused",
	[DRILL_OUTSIDE] = "would run outside",
};

static const enum style looks[DRILL_VERDICTS] = {
	[DRILL_CONFINED] = STYLE_GOOD,
	[DRILL_OPEN] = STYLE_DIM,
	[DRILL_ASKS] = STYLE_ASK,
	[DRILL_REFUSED] = STYLE_GOOD,
	[DRILL_OUTSIDE] = STYLE_BAD,
};

void drill_init(struct drill *d, const char *asks)
{
	*d = (struct drill){.asks = asks};
	list_init(&d->calls);
}

void drill_release(struct drill *d)
{
	list_for_each_safe (c, &d->calls, struct drill_call, in_drill) {
		list_remove(&c->in_drill);
		free(c->call_id);
		free(c->name);
		free(c->arguments);
		free(c->why);
		free(c->justification);
		free(c->reason);
		free(c->unlike);
		free(c);
	}
}

static char *copy(struct str s)
{
	return s.p ? xstrndup(s.p, s.len) : NULL;
}

void drill_item(struct drill *d, struct str json, const struct drill_expect *expects)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct item item;

	if (item_read(&a, json, &item, NULL) < 0 || item.role != ITEM_ASSISTANT)
		return;
	for (size_t i = 0; i < item.call_count; i++) {
		struct drill_call *c = xcalloc(1, sizeof(*c));

		c->call_id = copy(item.calls[i].call_id);
		c->name = copy(item.calls[i].name);
		c->arguments = copy(item.calls[i].arguments);
		if (expects)
			c->expect = expects[i];
		list_add_tail(&d->calls, &c->in_drill);
	}
}

static struct drill_call *find(struct drill *d, const struct json *data)
{
	struct str call_id = json_str(json_get(data, "call_id"));

	list_for_each (c, &d->calls, struct drill_call, in_drill) {
		if (str_is(call_id, c->call_id))
			return c;
	}
	return NULL;
}

void drill_asked(struct drill *d, const struct json *approval)
{
	struct drill_call *c = find(d, approval);
	const struct json *escalation = json_get(approval, "escalation");

	if (!c)
		return;
	free(c->why);
	free(c->justification);
	c->why = copy(json_str(json_get(escalation, "kind")));
	c->justification = copy(json_str(json_get(escalation, "justification")));
}

void drill_started(struct drill *d, const struct json *data)
{
	struct drill_call *c = find(d, data);

	if (!c)
		return;
	c->started = true;
	c->sandboxed = json_is_true(json_get(data, "sandboxed"));
}

static void put_first_line(struct buf *to, struct str text)
{
	struct str line;

	text = str_trim(text);
	(void)str_next(&text, '\n', &line); /* there is one, if an empty one */
	style_line(to, false, STYLE_PLAIN, line, REASON_BYTES);
}

static void put_shell(struct buf *to, const struct json *result)
{
	struct str text = json_str(json_get(result, "stderr"));
	int64_t code = 0;

	if (json_is_true(json_get(result, "timed_out")))
		(void)buf_puts(to, "timed out"); /* small texts: fit */
	else if (json_i64(json_get(result, "exit_code"), &code) == 0 && code != 0)
		(void)buf_printf(to, "exit status %" PRId64, code);
	else
		(void)buf_puts(to, "succeeded");
	if (str_trim(text).len == 0)
		text = json_str(json_get(result, "stdout"));
	if (str_trim(text).len == 0)
		return;
	(void)buf_puts(to, ": ");
	put_first_line(to, text);
}

/* The first line of what the call came to. */
static void put_outcome(struct buf *to, struct str output)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const struct json *result = NULL;
	struct str code;

	if (output.len > 0 && output.p[0] == '{' && json_parse(&a, output, &result, NULL) < 0)
		result = NULL;
	code = json_str(json_get(result, "error"));
	if (code.p) {
		style_line(to, false, STYLE_PLAIN, code, REASON_BYTES);
		(void)buf_puts(to, ": ");
		put_first_line(to, json_str(json_get(result, "detail")));
	} else if (json_str(json_get(result, "stdout")).p) {
		put_shell(to, result);
	} else {
		put_first_line(to, output.p ? output : STR(""));
	}
}

/* The rules let it out, unasked: the bot has no such rule, so that it was not. */
static bool is_let_out(const struct drill *d, const struct drill_call *c, struct buf *reason)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct rule_verdict v;
	struct str script;

	if (!d->rules || !d->sandboxed || strcmp(c->name, "shell") != 0)
		return false;
	script = render_call_argument(&a, str_from(c->arguments), "command");
	if (!script.p)
		return false;
	rules_decide(d->rules, script, &v);
	if (v.decision != RULE_ALLOW)
		return false;
	(void)buf_puts(reason, "nobody is asked: "); /* full is seen by the owner */
	rule_put_text(v.rule, reason);
	return true;
}

/* Whether its error is one of command rules. */
static bool is_rules_error(struct str output)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct str code = render_call_argument(&a, output, "error");

	return str_is(code, "rule_forbidden") || str_is(code, "rule_no_gate") ||
	       str_is(code, "rules_unreadable");
}

/* What a person would be asked, or would not. */
static void put_asked(struct buf *to, const struct drill *d, const struct drill_call *c)
{
	if (c->why)
		(void)buf_puts(to, render_call_why(str_from(c->why)));
	else if (d->asks)
		(void)buf_puts(to, "this bot has no sandbox, and the tool is gated");
	else
		(void)buf_puts(to, "this bot has no sandbox, and nobody is asked");
	if (!c->justification || !*c->justification)
		return;
	(void)buf_puts(to, ", since: ");
	put_first_line(to, str_from(c->justification));
}

static enum drill_verdict judge(
	const struct drill *d, const struct drill_call *c, const struct json *data)
{
	if (json_is_true(json_get(data, "denied")))
		return d->asks ? DRILL_ASKS : DRILL_OUTSIDE;
	if (!c->started)
		return DRILL_REFUSED;
	if (c->sandboxed)
		return DRILL_CONFINED;
	return render_call_in_daemon(str_from(c->name)) ? DRILL_OPEN : DRILL_OUTSIDE;
}

static void state(struct drill *d, struct drill_call *c, struct str output)
{
	d->stated++;
	if (!d->judges)
		return;
	c->judged = true;
	c->unlike = statement_unlike(&c->expect, c->verdict, output);
	d->unlike += c->unlike != NULL;
}

const struct drill_call *drill_completed(
	struct drill *d, const struct json *data, struct str output)
{
	struct drill_call *c = find(d, data);
	struct buf reason = BUF_INIT(64 * 1024);

	if (!c)
		return NULL;
	c->verdict = judge(d, c, data);
	c->by_rule = c->verdict == DRILL_ASKS      ? c->why && strcmp(c->why, "rule") == 0
		     : c->verdict == DRILL_REFUSED ? is_rules_error(output)
						   : false;
	if (!c->by_rule && is_let_out(d, c, &reason)) {
		c->verdict = DRILL_OUTSIDE;
		c->by_rule = true;
	} else if (c->verdict == DRILL_ASKS || (c->verdict == DRILL_OUTSIDE && !c->started))
		put_asked(&reason, d, c);
	else
		put_outcome(&reason, output);
	free(c->reason);
	c->reason = buf_take(&reason);
	d->counts[c->verdict]++;
	if (c->expect.stated)
		state(d, c, output);
	return c;
}

void drill_write(const struct drill *d, const struct drill_call *c, bool colours, struct buf *to)
{
	const char *rule = !c->by_rule                   ? ""
			   : c->verdict == DRILL_OUTSIDE ? " (allow rule)"
							 : " (rule)";
	_cleanup_(mem) char *label = c->verdict == DRILL_ASKS && d->asks
					     ? xasprintf("would ask %s%s", d->asks, rule)
					     : xasprintf("%s%s", shown_names[c->verdict], rule);
	int gap = COLUMN - (int)strlen(label);

	style_put(to, colours, looks[c->verdict], label);
	(void)buf_printf(to, "%*s", gap > 2 ? gap : 2, ""); /* full is seen by the owner */
	if (strcmp(c->name, "shell") == 0)
		(void)buf_puts(to, "$ ");
	else
		style_line(to, false, STYLE_PLAIN, str_from(c->name), REASON_BYTES);
	if (strcmp(c->name, "shell") != 0)
		(void)buf_putc(to, ' ');
	render_call_subject(to, str_from(c->name), str_from(c->arguments));
	(void)buf_putc(to, '\n');
	if (*c->reason) {
		(void)buf_printf(to, "%*s", COLUMN, "");
		style_put(to, colours, STYLE_DIM, c->reason);
		(void)buf_putc(to, '\n');
	}
	if (!c->judged)
		return;
	(void)buf_printf(to, "%*s", COLUMN, "");
	style_put(to, colours, c->unlike ? STYLE_BAD : STYLE_GOOD,
		c->unlike ? "not as stated: " : "as stated");
	(void)buf_puts(to, c->unlike ? c->unlike : "");
	(void)buf_putc(to, '\n');
}

void drill_write_json(const struct drill_call *c, struct buf *to)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct json_out j = JSON_OUT(to);
	const struct json *arguments;

	json_open(&j, '{');
	json_put_cstr(&j, "call_id", c->call_id);
	json_put_cstr(&j, "tool", c->name);
	if (json_parse(&a, str_from(c->arguments), &arguments, NULL) == 0)
		json_put(&j, "arguments", arguments);
	else
		json_put_cstr(&j, "arguments_text", c->arguments);
	json_put_cstr(&j, "verdict", drill_names[c->verdict]);
	if (c->by_rule)
		json_put_bool(&j, "by_rule", true);
	json_put_cstr(&j, "reason", c->reason);
	if (c->judged) {
		json_put_bool(&j, "as_stated", !c->unlike);
		if (c->unlike)
			json_put_cstr(&j, "unlike", c->unlike);
	}
	json_close(&j, '}');
	(void)buf_putc(to, '\n');
}

void drill_write_counts(const struct drill *d, struct buf *to)
{
	size_t calls = 0;

	for (size_t i = 0; i < DRILL_VERDICTS; i++)
		calls += d->counts[i];
	(void)buf_printf(to, "%zu call%s: ", calls, calls == 1 ? "" : "s");
	for (size_t i = 0; i < DRILL_VERDICTS; i++)
		(void)buf_printf(to, "%s%zu %s", i ? ", " : "", d->counts[i], shown_names[i]);
	(void)buf_putc(to, '\n');
}

void drill_put_counts(const struct drill *d, struct json_out *j)
{
	for (size_t i = 0; i < DRILL_VERDICTS; i++)
		json_put_u64(j, drill_names[i], d->counts[i]);
}
