/* A tool call as people read it. */
#include "agent/cmd/render_call.h"

#include <inttypes.h>
#include <string.h>

#include "agent/cmd/style.h"
#include "agent/core/item.h"

enum {
	SUBJECT_BYTES = 160,   /* ours: a title should stay a line */
	REASON_BYTES = 1000,   /* ours */
	PATCH_FILES_SHOWN = 4, /* ours */
	CONTENT_LINES_SHOWN =
		40, /* ours: at each end; a person who decides sees more than one who watches */
};

static const struct style_block output_block = {4, 10, 8, 240};
static const struct style_block page_block = {4, 6, 2, 160};
/* A command is shown whole, whatever its length: it is at most 16 KiB. */
static const struct style_block command_block = {14, SIZE_MAX / 2, 0, 65536};
static const struct style_block content_block = {
	14, CONTENT_LINES_SHOWN, CONTENT_LINES_SHOWN, 4096};

/* What does not act on anything runs in the daemon, whatever sandbox the bot has. */
bool render_call_in_daemon(struct str name)
{
	static const char *const names[] = {"read", "echo", "history", "note", "wait", "web_fetch"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_is(name, names[i]))
			return true;
	}
	return false;
}

struct str render_call_argument(struct arena *a, struct str arguments, const char *member)
{
	const struct json *doc;

	if (!arguments.p || json_parse(a, arguments, &doc, NULL) < 0)
		return (struct str){NULL, 0};
	return json_str(json_get(doc, member));
}

/* The names behind "*** Add File: " and its like. */
static void put_patch(struct buf *to, struct str patch)
{
	static const char *const marks[] = {
		"*** Add File: ", "*** Update File: ", "*** Delete File: "};
	struct str line;
	int files = 0;

	while (str_next(&patch, '\n', &line)) {
		for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
			struct str mark = str_from(marks[i]);

			if (!str_starts(line, mark) || files++ >= PATCH_FILES_SHOWN)
				continue;
			(void)buf_puts(to, files > 1 ? ", " : ""); /* full is seen by the owner */
			style_line(to, false, STYLE_PLAIN,
				(struct str){line.p + mark.len, line.len - mark.len},
				SUBJECT_BYTES);
		}
	}
	if (files > PATCH_FILES_SHOWN)
		(void)buf_printf(to, " and %d more", files - PATCH_FILES_SHOWN);
}

void render_call_subject(struct buf *to, struct str name, struct str arguments)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const char *member = str_is(name, "shell") ? "command" : "path";
	struct str value = render_call_argument(&a, arguments, member);

	if (str_is(name, "apply_patch"))
		put_patch(to, render_call_argument(&a, arguments, "patch"));
	else if (value.p)
		style_line(to, false, STYLE_PLAIN, str_trim(value), SUBJECT_BYTES);
	else
		style_line(
			to, false, STYLE_PLAIN, arguments.p ? arguments : STR(""), SUBJECT_BYTES);
}

/* "$ make test" or "edit src/a.c" */
static void put_title(struct render *r, struct str name, struct str arguments)
{
	_cleanup_(buf) struct buf subject = BUF_INIT(64 * 1024);

	render_block(r);
	render_call_subject(&subject, name, arguments);
	style_put(&r->out, r->colours, STYLE_BOLD, str_is(name, "shell") ? "$" : "");
	if (!str_is(name, "shell"))
		style_line(
			&r->out, r->colours, STYLE_BOLD, name.p ? name : STR("?"), SUBJECT_BYTES);
	(void)buf_putc(&r->out, ' ');
	style_put(&r->out, r->colours, STYLE_BOLD, subject.len ? subject.data : "");
}

static struct str arguments_of(const struct render_call *c)
{
	return str_from(c ? c->arguments : NULL);
}

/* "allowed by alice (person) after 2.1 s", for each that was asked. */
static void put_approvals(struct buf *to, const struct json *list)
{
	const char *before = "allowed by ";

	json_for_each (v, list) {
		struct str by = json_str(json_get(v, "by")), tag = json_str(json_get(v, "tag"));
		int64_t waited = 0;

		(void)buf_puts(to, before);
		(void)text_put_line(to, by.p ? by : tag);
		if (by.p && !str_eq(by, tag)) {
			(void)buf_puts(to, " (");
			(void)text_put_line(to, tag);
			(void)buf_putc(to, ')');
		}
		if (json_i64(json_get(v, "waited_ms"), &waited) == 0) {
			(void)buf_puts(to, " after ");
			style_duration(to, waited);
		}
		before = ", ";
	}
}

static void put_where(struct render *r, struct str name, const struct json *data)
{
	_cleanup_(buf) struct buf where = BUF_INIT(64 * 1024);
	const struct json *approvals = json_get(data, "approvals");
	bool asked = approvals && approvals->count > 0;

	if (json_is_true(json_get(data, "sandboxed")))
		(void)buf_puts(&where, "in the sandbox"); /* small texts: fit */
	else if (!render_call_in_daemon(name))
		(void)buf_puts(&where, r->sandboxed ? "outside the sandbox" : "no sandbox");
	if (asked) {
		(void)buf_puts(&where, where.len ? ", " : "");
		put_approvals(&where, approvals);
	}
	if (where.len == 0)
		return;
	(void)buf_puts(&r->out, "   ");
	style_put(&r->out, r->colours,
		json_is_true(json_get(data, "sandboxed")) || !r->sandboxed ? STYLE_DIM : STYLE_ASK,
		where.data);
}

void render_started(struct render *r, struct str bot, const struct json *data)
{
	struct str call_id = json_str(json_get(data, "call_id"));
	struct str name = json_str(json_get(data, "name"));
	struct render_call *c = render_find(r, bot, call_id);
	struct str arguments = c ? arguments_of(c) : json_str(json_get(data, "arguments"));

	put_title(r, name, arguments);
	put_where(r, name, data);
	(void)buf_putc(&r->out, '\n');
	r->at = RENDER_TITLED;
	if (c)
		c->titled = true;
}

/*
 * Results.
 */
static void put_mark(struct render *r, enum style s, const char *text)
{
	(void)buf_puts(&r->out, "    ");
	style_put(&r->out, r->colours, s, text);
}

static void put_exit(struct render *r, const struct json *result)
{
	int64_t code = 0;

	if (json_is_true(json_get(result, "timed_out"))) {
		put_mark(r, STYLE_BAD, "timed out\n");
	} else if (json_i64(json_get(result, "exit_code"), &code) == 0 && code != 0) {
		_cleanup_(mem) char *text = xasprintf("exit status %" PRId64 "\n", code);

		put_mark(r, STYLE_BAD, text);
	}
}

/* {"error":CODE,"detail":TEXT} */
static void put_error(struct render *r, const struct json *result)
{
	struct str code = json_str(json_get(result, "error"));
	struct str detail = json_str(json_get(result, "detail"));

	put_mark(r, STYLE_BAD, "");
	style_line(&r->out, r->colours, STYLE_BAD, code, REASON_BYTES);
	if (detail.len > 0) {
		(void)buf_puts(&r->out, ": ");
		style_line(&r->out, r->colours, STYLE_PLAIN, detail, REASON_BYTES);
	}
	(void)buf_putc(&r->out, '\n');
}

static void put_output(struct render *r, struct str name, struct str output)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const struct json *result = NULL;
	struct str streams[2];

	if (output.len > 0 && output.p[0] == '{' && json_parse(&a, output, &result, NULL) < 0)
		result = NULL;
	streams[0] = json_str(json_get(result, "stdout"));
	streams[1] = json_str(json_get(result, "stderr"));
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		if (streams[i].len > 0)
			style_block(&r->out, r->colours, i ? STYLE_DIM : STYLE_PLAIN, streams[i],
				&output_block);
	}
	if (json_get(result, "error"))
		put_error(r, result);
	else if (streams[0].p)
		put_exit(r, result);
	else if (output.len > 0)
		style_block(&r->out, r->colours, STYLE_DIM, output,
			str_is(name, "read") ? &page_block : &output_block);
}

static void put_denial(struct render *r, const struct json *data)
{
	const struct json *verdicts = json_get(data, "verdicts");

	put_mark(r, STYLE_BAD, "denied");
	if (verdicts) {
		json_for_each (v, verdicts) {
			struct str by = json_str(json_get(v, "by")),
				   tag = json_str(json_get(v, "tag"));

			if (!str_is(json_str(json_get(v, "decision")), "deny"))
				continue;
			(void)buf_puts(&r->out, by.p ? " by " : " at gate ");
			style_line(&r->out, r->colours, STYLE_PLAIN, by.p ? by : tag, REASON_BYTES);
		}
	}
}

static void put_denied(struct render *r, const struct json *data, struct str output)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct str reason = render_call_argument(&a, output, "detail");

	put_denial(r, data);
	if (reason.len > 0) {
		(void)buf_puts(&r->out, ": ");
		style_line(&r->out, r->colours, STYLE_PLAIN, reason, REASON_BYTES);
	}
	(void)buf_putc(&r->out, '\n');
}

void render_completed(struct render *r, struct str bot, const struct json *data, struct str json)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct render_call *c = render_find(r, bot, json_str(json_get(data, "call_id")));
	struct item item = {
		.text = {NULL, 0}
        };
	struct str name = str_from(c ? c->name : NULL);

	if (json.p && item_read(&a, json, &item, NULL) < 0)
		item.text = (struct str){NULL, 0};
	if (r->at != RENDER_TITLED || (c && !c->titled)) {
		put_title(r, name, arguments_of(c));
		if (!c || !c->titled) {
			(void)buf_puts(&r->out, "   ");
			style_put(&r->out, r->colours, STYLE_BAD, "not run");
		}
		(void)buf_putc(&r->out, '\n');
	}
	r->at = RENDER_LINES;
	if (c)
		c->done = true;
	if (json_is_true(json_get(data, "denied")))
		put_denied(r, data, item.text);
	else if (!item.text.p)
		put_mark(r, STYLE_DIM, "(its result could not be read)\n");
	else
		put_output(r, name, item.text);
}

/*
 * Asking.
 */
static void put_label(struct render *r, const char *label)
{
	(void)buf_puts(&r->out, "    ");
	style_put(&r->out, r->colours, STYLE_DIM, label);
	(void)buf_printf(&r->out, "%*s", 10 - (int)strlen(label), "");
}

static void put_asked_line(struct render *r, const char *label, struct str text)
{
	put_label(r, label);
	style_line(&r->out, r->colours, STYLE_PLAIN, text, REASON_BYTES * 4);
	(void)buf_putc(&r->out, '\n');
}

static void put_asked_text(
	struct render *r, const char *label, struct str text, const struct style_block *how)
{
	struct buf lines = BUF_INIT(8 * 1024 * 1024);

	put_label(r, label);
	style_block(&lines, r->colours, STYLE_BOLD, text, how);
	if (lines.len > how->indent)
		(void)buf_puts(&r->out, lines.data + how->indent);
	else
		(void)buf_putc(&r->out, '\n');
	buf_release(&lines);
}

const char *render_call_why(struct str kind)
{
	if (str_is(kind, "require_escalated"))
		return "asks to leave the sandbox";
	if (str_is(kind, "outside_writable_folders"))
		return "would write outside the writable folders";
	if (str_is(kind, "protected"))
		return "would write a protected path";
	if (str_is(kind, "rule"))
		return "runs a command that a rule asks about";
	return kind.p ? "would leave the sandbox" : "waits for a verdict";
}

static void put_commands(struct render *r, const struct json *approval, const struct paste *paste)
{
	struct paste_call call = {.bot = json_str(json_get(approval, "bot")),
		.call_id = json_str(json_get(approval, "call_id")),
		.step = json_str(json_get(approval, "step"))};
	const struct json *gates = json_get(approval, "gates");

	if (!gates || json_i64(json_get(approval, "turn"), &call.turn) < 0 ||
		json_i64(json_get(approval, "request"), &call.request) < 0)
		return;
	json_for_each (gate, gates) {
		call.tag = json_str(json_get(gate, "tag"));
		if (json_str(json_get(gate, "decision")).p)
			continue;
		put_label(r, "allow");
		paste_answer(&r->out, paste, &call, true);
		(void)buf_putc(&r->out, '\n');
		put_label(r, "deny");
		paste_answer(&r->out, paste, &call, false);
		(void)buf_putc(&r->out, '\n');
	}
}

/* The arguments as the model wrote them where the item was seen, else as they were listed. */
static struct str asked_arguments(
	struct render *r, const struct json *approval, struct buf *room, bool *ret_cut)
{
	struct render_call *c = render_find(
		r, json_str(json_get(approval, "bot")), json_str(json_get(approval, "call_id")));
	struct json_out j = JSON_OUT(room);

	*ret_cut = false;
	if (c && !json_get(approval, "step"))
		return str_from(c->arguments);
	json_put(&j, NULL, json_get(approval, "arguments"));
	*ret_cut = json_is_true(json_get(approval, "arguments_cut"));
	return buf_str(room);
}

static void put_what(struct render *r, struct str name, struct str arguments, bool was_cut)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct str path = render_call_argument(&a, arguments, "path");

	if (str_is(name, "shell"))
		put_asked_text(r, "command", render_call_argument(&a, arguments, "command"),
			&command_block);
	else if (str_is(name, "apply_patch"))
		put_asked_text(
			r, "patch", render_call_argument(&a, arguments, "patch"), &content_block);
	else if (path.p)
		put_asked_line(r, "path", path);
	else
		put_asked_line(r, "arguments", arguments);
	if (str_is(name, "write"))
		put_asked_text(r, "content", render_call_argument(&a, arguments, "content"),
			&content_block);
	if (str_is(name, "edit")) {
		put_asked_text(
			r, "old", render_call_argument(&a, arguments, "old"), &content_block);
		put_asked_text(
			r, "new", render_call_argument(&a, arguments, "new"), &content_block);
	}
	if (was_cut)
		put_mark(r, STYLE_BAD, "this is only the beginning of it\n");
}

static void put_word(struct buf *to, const struct json *word)
{
	const char *before = "";

	if (word->type == JSON_STRING) {
		(void)buf_put_str(to, word->text); /* full is seen by the owner */
		return;
	}
	json_for_each (one, word) {
		(void)buf_puts(to, before);
		(void)buf_put_str(to, json_str(one));
		before = "|";
	}
}

/* "git push|fetch: it leaves the machine" */
static void put_rule(struct render *r, const struct json *rule)
{
	_cleanup_(buf) struct buf text = BUF_INIT(64 * 1024);
	struct str why = json_str(json_get(rule, "justification"));
	const struct json *pattern = json_get(rule, "pattern");

	if (pattern && pattern->type == JSON_ARRAY) {
		json_for_each (word, pattern) {
			(void)buf_puts(&text, text.len ? " " : "");
			put_word(&text, word);
		}
	} else {
		(void)buf_puts(&text, "a rule of many words");
	}
	if (why.len > 0) {
		(void)buf_puts(&text, ": ");
		(void)buf_put_str(&text, why);
	}
	if (json_is_true(json_get(rule, "tangled")))
		(void)buf_puts(&text, " (the script is too tangled to be followed)");
	put_asked_line(r, "rule", buf_str(&text));
}

void render_asked(struct render *r, const struct json *approval, const struct paste *paste)
{
	_cleanup_(buf) struct buf room = BUF_INIT(8 * 1024 * 1024);
	const struct json *escalation = json_get(approval, "escalation");
	const struct json *paths = json_get(escalation, "paths");
	struct str name = json_str(json_get(approval, "name"));
	struct str reason = json_str(json_get(escalation, "justification"));
	bool was_cut;
	struct str arguments = asked_arguments(r, approval, &room, &was_cut);

	render_block(r);
	style_put(&r->out, r->colours, STYLE_ASK, "? ");
	style_line(&r->out, r->colours, STYLE_ASK, name, SUBJECT_BYTES);
	(void)buf_putc(&r->out, ' ');
	style_put(&r->out, r->colours, STYLE_ASK,
		render_call_why(json_str(json_get(escalation, "kind"))));
	(void)buf_putc(&r->out, '\n');
	put_what(r, name, arguments, was_cut);
	if (reason.len > 0)
		put_asked_line(r, "reason", reason);
	if (json_get(escalation, "rule") && json_get(escalation, "rule")->type == JSON_OBJECT)
		put_rule(r, json_get(escalation, "rule"));
	if (paths) {
		json_for_each (path, paths)
			put_asked_line(r, "touches", json_str(path));
	}
	if (paste)
		put_commands(r, approval, paste);
}

void render_answered(struct render *r, bool allow)
{
	put_mark(r, allow ? STYLE_GOOD : STYLE_BAD, allow ? "allowed\n" : "denied\n");
	r->at = RENDER_LINES;
}
