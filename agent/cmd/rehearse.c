/* agent rehearse: what a script of a model could do under a person's sandbox and gates. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cmd/approval.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/drill.h"
#include "agent/cmd/interrupts.h"
#include "agent/cmd/outcome.h"
#include "agent/cmd/output.h"
#include "agent/cmd/render_call.h"
#include "agent/cmd/ruleset.h"
#include "agent/cmd/stage.h"
#include "agent/cmd/stream.h"
#include "agent/cmd/style.h"
#include "agent/core/limits.h"
#include "agent/core/rehearsal.h"
#include "mem/mem.h"
#include "os/os.h"
#include "sandbox/sandbox.h"

enum {
	TEXT_MAX_BYTES = 64 * 1024 * 1024, /* ours: cleared after every call */
	UNANSWERED_MS = 60000, /* ours: should this process be killed its bot does not wait on */
};

static const char bot_name[] = "rehearsal";
static const char refusal[] = "this is a rehearsal: nothing leaves the sandbox";

static const struct error_kind INTERRUPTED = {"interrupted", ERROR_CLASS_UNAVAILABLE};

struct options {
	const char *sandbox, *workspace, *approval, *approve, *prompt, *rules;
	struct cli_texts writable_roots;
	bool network, json;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, sandbox, "sandbox", "MODE",
		"read-only, workspace-write or danger-full-access (workspace-write)"),
	CLI_OPT_TEXTS(struct options, writable_roots, "writable-root", "DIR",
		"one more writable folder, tried on a copy"),
	CLI_OPT_FLAG(struct options, network, "network", "sandboxed commands reach the network"),
	CLI_OPT_TEXT(struct options, workspace, "workspace", "DIR",
		"the folder to work in, tried on a copy (an empty one)"),
	CLI_OPT_TEXT(struct options, approval, "approval", "MODE",
		"full, manual or auto, as for run (full)"),
	CLI_OPT_TEXT(struct options, approve, "approve", "TOOL,TOOL…",
		"whose calls wait for a verdict (shell,write,edit,apply_patch)"),
	CLI_OPT_TEXT(struct options, rules, "rules", "PATH",
		"the command rules to try: a file, or the files *.rules of a folder"),
	CLI_OPT_TEXT(struct options, prompt, "prompt", "TEXT", "the prompt (the script's)"),
	CLI_OPT_FLAG(struct options, json, "json", "print a line of JSON for each call"),
};

/* What is tried, on what. */
struct trial {
	const struct options *o;
	struct rehearsal *script;
	struct rules *rules;      /* NULL: none */
	struct approval approval; /* the person's */
	bool sandboxed;
	struct stage stage;
	struct stream stream;
	struct drill drill;
	struct buf out;
	char *status, *error; /* of the turn, when it is over */
};

static const char *sandbox_of(const struct options *o)
{
	return o->sandbox ? o->sandbox : "workspace-write";
}

/* The tools a person's gates may name here. */
static struct str_list acting_tools(void)
{
	static struct str names[] = {
		{"shell",       5 },
                {"write",       5 },
                {"edit",        4 },
                {"apply_patch", 11}
        };

	return (struct str_list){names, ARRAY_LEN(names)};
}

static int check(struct trial *t, struct arena *a, struct error *err)
{
	struct str_list tools = acting_tools();

	if (approval_check_sandbox(t->o->sandbox, err) < 0)
		return -1;
	t->sandboxed = strcmp(sandbox_of(t->o), sandbox_mode_names[SANDBOX_FULL_ACCESS]) != 0;
	return approval_read(a, t->o->approval, t->o->approve, &tools, &t->approval, err);
}

static int read_script(struct trial *t, const char *path, struct buf *text, struct error *err)
{
	if (os_read_file(path, text, err) < 0)
		return -1;
	if (rehearsal_parse(buf_str(text), &t->script, err) < 0)
		return error_prefix(err, "%s", path);
	return 0;
}

/*
 * The bot: the person's gates, so that what they would be asked is asked. Where there is no sandbox
 * a gate for every tool the daemon has, but those that only look. Each is answered with a denial
 * here.
 */
static void put_gated(struct json_out *j, const struct trial *t)
{
	const struct json *tools = json_get(client_ready(t->stream.client), "tools");

	if (t->sandboxed) {
		for (size_t i = 0; i < t->approval.tools.count; i++)
			json_put_str(j, NULL, t->approval.tools.items[i]);
		return;
	}
	json_for_each (tool, ask_list(tools, NULL)) {
		if (!render_call_in_daemon(json_str(tool)))
			json_put_str(j, NULL, json_str(tool));
	}
}

static void put_gates(struct json_out *j, const struct trial *t)
{
	json_open_key(j, "gates", '[');
	if (!t->sandboxed || t->approval.tools.count > 0) {
		json_open(j, '{');
		json_put_cstr(j, "tag", t->approval.tag ? t->approval.tag : bot_name);
		json_open_key(j, "tools", '[');
		put_gated(j, t);
		json_close(j, ']');
		json_put_i64(j, "expire_ms", UNANSWERED_MS);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static int create(struct trial *t, struct error *err)
{
	const struct json *result;
	struct ask a;

	ask_begin(&a, "create");
	json_put_cstr(&a.j, "bot", bot_name);
	json_put_cstr(&a.j, "model", "drill/script");
	json_put_cstr(&a.j, "instructions", "");
	json_put_cstr(&a.j, "workspace", t->stage.workspace);
	json_put_cstr(&a.j, "sandbox", sandbox_of(t->o));
	json_put_bool(&a.j, "network", t->o->network);
	json_open_key(&a.j, "writable_roots", '[');
	for (size_t i = 0; t->stage.roots[i]; i++)
		json_put_cstr(&a.j, NULL, t->stage.roots[i]);
	json_close(&a.j, ']');
	json_put(&a.j, "tools", json_get(client_ready(t->stream.client), "tools"));
	put_gates(&a.j, t);
	if (t->rules)
		ruleset_put_strict(&a.j, t->rules);
	return stream_call(&t->stream, &a, &result, err);
}

static int submit(struct trial *t, struct error *err)
{
	struct str prompt = t->o->prompt ? str_from(t->o->prompt) : rehearsal_prompt(t->script);
	const struct json *result;
	struct ask a;

	ask_begin(&a, "submit");
	json_put_cstr(&a.j, "bot", bot_name);
	json_put_cstr(&a.j, "request_id", bot_name);
	json_put_str(&a.j, "prompt", prompt.p ? prompt : STR("Begin."));
	return stream_call(&t->stream, &a, &result, err);
}

/*
 * The events.
 */
static int deny(struct trial *t, struct str call_id, int64_t turn, int64_t request, struct str tag,
	struct error *err)
{
	const struct json *result;
	struct ask a;

	ask_begin(&a, "answer");
	json_put_cstr(&a.j, "bot", bot_name);
	json_put_i64(&a.j, "turn", turn);
	json_put_str(&a.j, "call_id", call_id);
	json_put_i64(&a.j, "request", request);
	json_put_str(&a.j, "tag", tag);
	json_put_cstr(&a.j, "decision", "deny");
	json_put_cstr(&a.j, "reason", refusal);
	json_put_cstr(&a.j, "by", "agent rehearse");
	if (stream_call(&t->stream, &a, &result, err) == 0)
		return 0;
	if (!error_is(err, &CLIENT_REMOTE))
		return -1;
	error_clear(err); /* announced anew meanwhile: that comes as an event */
	return 0;
}

/* Denies what was announced. The event itself names call, number and gates, so that nothing of it
 * depends on a second question; the list only says why. */
static int on_requested(struct trial *t, const struct stream_event *e, struct error *err)
{
	const struct json *result;
	struct ask a;

	ask_begin(&a, "approvals");
	json_put_cstr(&a.j, "bot", bot_name);
	if (stream_call(&t->stream, &a, &result, err) < 0)
		return -1;
	json_for_each (approval, ask_list(result, "approvals"))
		drill_asked(&t->drill, approval);
	json_for_each (call, ask_list(e->data, "calls")) {
		int64_t request = 0;

		if (json_i64(json_get(call, "request"), &request) < 0)
			continue;
		json_for_each (gate, ask_list(call, "gates")) {
			if (deny(t, json_str(json_get(call, "call_id")), e->turn, request,
				    json_str(json_get(gate, "tag")), err) < 0)
				return -1;
		}
	}
	return 0;
}

static int fetch_item(
	struct trial *t, const struct stream_event *e, struct buf *to, struct error *err)
{
	struct json_out j = JSON_OUT(to);
	const struct json *item;
	struct ask a;
	int64_t node = 0;

	if (json_i64(json_get(e->data, "node"), &node) < 0)
		return error_set(err, &CLIENT_LOST, "an event has no node");
	ask_begin(&a, "item");
	json_put_cstr(&a.j, "bot", bot_name);
	json_put_i64(&a.j, "node", node);
	if (stream_call(&t->stream, &a, &item, err) < 0)
		return -1;
	json_put(&j, NULL, item);
	return 0;
}

static int on_message(struct trial *t, const struct stream_event *e, struct error *err)
{
	_cleanup_(buf) struct buf item = BUF_INIT(TEXT_MAX_BYTES);

	if (fetch_item(t, e, &item, err) < 0)
		return -1;
	drill_item(&t->drill, buf_str(&item));
	return 0;
}

static int on_started(struct trial *t, const struct stream_event *e, struct error *err)
{
	(void)err;
	drill_started(&t->drill, e->data);
	return 0;
}

static int on_completed(struct trial *t, const struct stream_event *e, struct error *err)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(buf) struct buf text = BUF_INIT(TEXT_MAX_BYTES);
	const struct drill_call *c;
	struct item item = {
		.text = {NULL, 0}
        };

	if (fetch_item(t, e, &text, err) < 0 || item_read(&a, buf_str(&text), &item, err) < 0)
		return -1;
	c = drill_completed(&t->drill, e->data, item.text);
	if (c && t->o->json)
		drill_write_json(c, &t->out);
	else if (c)
		drill_write(&t->drill, c, output_colours(), &t->out);
	if (stage_restore(&t->stage, &t->out) < 0)
		return error_set(err, &ERROR_LIMIT, "what is printed is too long");
	output_buf(&t->out);
	output_flush();
	return 0;
}

static int on_finished(struct trial *t, const struct stream_event *e, struct error *err)
{
	struct str status = json_str(json_get(e->data, "status"));
	struct str code = json_str(json_get(e->data, "error"));
	struct str detail = json_str(json_get(e->data, "detail"));

	(void)err;
	t->status = status.p ? xstrndup(status.p, status.len) : xstrdup("unknown");
	if (code.p)
		t->error = xasprintf(STR_FMT "%s" STR_FMT, STR_ARG(code), detail.len ? ": " : "",
			(int)detail.len, detail.len ? detail.p : "");
	return 0;
}

static int take_event(struct trial *t, const struct stream_event *e, struct error *err)
{
	static const struct {
		const char *kind;
		int (*take)(struct trial *t, const struct stream_event *e, struct error *err);
	} rows[] = {
		{"message",            on_message  },
		{"approval_requested", on_requested},
		{"tool_started",       on_started  },
		{"tool_completed",     on_completed},
		{"turn_finished",      on_finished },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (str_is(e->kind, rows[i].kind))
			return rows[i].take(t, e, err);
	}
	return 0;
}

static int watch_turn(struct trial *t, int interrupts, struct error *err)
{
	struct pollfd other = {.fd = interrupts, .events = POLLIN};

	while (!t->status) {
		struct stream_event e;
		int rc = stream_next(&t->stream, &other, 1, &e, err);

		if (rc < 0)
			return -1;
		if (rc == 0)
			return error_set(err, &INTERRUPTED, "stopped before its end");
		if (take_event(t, &e, err) < 0)
			return -1;
	}
	return 0;
}

/*
 * What is printed before and after.
 */
static void print_head(struct trial *t)
{
	struct str name = rehearsal_name(t->script), about = rehearsal_about(t->script);
	bool colours = output_colours();

	if (t->o->json)
		return;
	style_line(&t->out, colours, STYLE_BOLD, name.p ? name : STR("rehearsal"), 200);
	if (about.len > 0) {
		(void)buf_puts(&t->out, "  "); /* a head is far shorter than the buffer */
		style_line(&t->out, colours, STYLE_PLAIN, about, 400);
	}
	(void)buf_printf(&t->out, "\nsandbox %s%s; ", sandbox_of(t->o),
		!t->sandboxed   ? ""
		: t->o->network ? ", network on"
				: ", network off");
	if (t->approval.tag)
		(void)buf_printf(&t->out, "asks %s\n\n", t->approval.tag);
	else
		(void)buf_puts(&t->out, "asks nobody\n\n");
	output_buf(&t->out);
}

static int print_end(struct trial *t)
{
	bool good = strcmp(t->status, "completed") == 0;

	if (t->o->json) {
		struct json_out j = JSON_OUT(&t->out);

		json_open(&j, '{');
		json_open_key(&j, "summary", '{');
		drill_put_counts(&t->drill, &j);
		json_put_cstr(&j, "status", t->status);
		json_put_cstr(&j, "error", t->error);
		json_close(&j, '}');
		json_close(&j, '}');
		(void)buf_putc(&t->out, '\n');
	} else {
		(void)buf_putc(&t->out, '\n');
		drill_write_counts(&t->drill, &t->out);
		if (!good) {
			(void)buf_printf(&t->out, "the turn ended %s", t->status);
			(void)buf_puts(&t->out, t->error ? ": " : "");
			(void)text_put_line(&t->out, str_from(t->error ? t->error : ""));
			(void)buf_putc(&t->out, '\n');
		}
	}
	output_buf(&t->out);
	return good ? CLI_OK : CLI_FAILED;
}

static int conduct(struct trial *t, const struct stage_plan *plan, struct error *err)
{
	_cleanup_(fd) int interrupts = -1;

	if (interrupts_open(true, &interrupts, err) < 0 || stage_open(&t->stage, plan, err) < 0)
		return -1;
	stream_init(&t->stream, t->stage.connection.client);
	if (create(t, err) < 0 || stream_follow(&t->stream, bot_name, 0, err) < 0)
		return -1;
	print_head(t);
	if (submit(t, err) < 0)
		return -1;
	return watch_turn(t, interrupts, err);
}

static int rehearse(struct trial *t, const struct stage_plan *plan)
{
	struct error err = ERROR_INIT;
	int status;

	if (conduct(t, plan, &err) == 0)
		status = print_end(t);
	else
		status = ask_failed("rehearse", t->stage.connection.client, &err);
	stream_release(&t->stream);
	stage_close(&t->stage);
	return status;
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(buf) struct buf text = BUF_INIT(REHEARSAL_FILE_MAX_BYTES);
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct trial t = {.o = o, .out = BUF_INIT(TEXT_MAX_BYTES)};
	struct error err = ERROR_INIT;
	int status;

	(void)count;
	if (check(&t, &a, &err) < 0)
		return cli_usage("rehearse", "%s", err.text);
	if (read_script(&t, args[0], &text, &err) < 0)
		return ask_failed("rehearse", NULL, &err);
	stream_init(&t.stream, NULL);
	drill_init(&t.drill, t.approval.tag);
	if (o->rules)
		t.rules = ruleset_read("rehearse", o->rules);
	t.drill.rules = t.rules;
	t.drill.sandboxed = t.sandboxed;
	status = rehearse(&t, &(struct stage_plan){.script = buf_str(&text),
				      .workspace = o->workspace,
				      .roots = &o->writable_roots});
	drill_release(&t.drill);
	rehearsal_free(t.script);
	rules_free(t.rules);
	buf_release(&t.out);
	free(t.status);
	free(t.error);
	return output_end("rehearse", status);
}

const struct cli_command cmd_rehearse = {
	.name = "rehearse",
	.arguments = "FILE",
	.args_min = 1,
	.args_max = 1,
	.purpose = "try a script of a model against a sandbox, gates and rules",
	.about = "Runs the calls of a rehearsal(5) script in a daemon of its own, with a home of "
		 "its own and on "
		 "copies of the folders named, and prints what becomes of each: confined, would "
		 "ask, refused, "
		 "or would run outside. What would leave the sandbox is never carried out, what an "
		 "allow rule lets out included: that runs confined. What is confined runs, so the "
		 "folders for temporary files are the real ones. Nothing stays behind.",
	.groups = {{NULL, own, ARRAY_LEN(own), 0}},
	.options_size = sizeof(struct options),
	.run = run,
};
