/* One rehearsal. */
#include "agent/cmd/trial.h"

#include <stdlib.h>
#include <string.h>

#include "agent/cmd/ask.h"
#include "agent/cmd/render_call.h"
#include "agent/cmd/ruleset.h"
#include "agent/core/item.h"
#include "mem/mem.h"
#include "os/os.h"
#include "sandbox/sandbox.h"

enum {
	TEXT_MAX_BYTES = 64 * 1024 * 1024, /* ours: one item */
	UNANSWERED_MS = 60000, /* ours: should this process be killed its bot does not wait on */
};

static const char bot_name[] = "rehearsal";
static const char refusal[] = "this is a rehearsal: nothing leaves the sandbox";

const struct error_kind TRIAL_INTERRUPTED = {"interrupted", ERROR_CLASS_UNAVAILABLE};

/*
 * What holds.
 */
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

static const char *joined(struct arena *a, const struct str_list *names)
{
	const char *text = "";

	for (size_t i = 0; i < names->count; i++)
		text = arena_printf(
			a, "%s%s" STR_FMT, text, i ? "," : "", STR_ARG(names->items[i]));
	return text;
}

static int settle_approval(struct trial *t, const struct drill_bot *bot, struct error *err)
{
	const struct trial_flags *f = t->flags;
	struct str_list tools = acting_tools();
	const char *mode = f->approval, *approve = f->approve;

	if (approval_read(&t->arena, mode, approve, &tools, &t->approval, err) < 0)
		return -1;
	if (mode || approve || bot->asks.count == 0)
		return 0;
	if (approval_read(&t->arena, "manual", joined(&t->arena, &bot->asks), &tools, &t->approval,
		    err) == 0)
		return 0;
	return error_set(err, &REHEARSAL_INVALID, "bot.asks: of shell, write, edit, apply_patch");
}

static int settle_rules(struct trial *t, struct str own, struct error *err)
{
	if (t->flags->rules) {
		t->rules = ruleset_read("rehearse", t->flags->rules);
		return 0;
	}
	if (!own.p)
		return 0;
	t->rules = rules_new();
	if (rules_read_text(t->rules, "bot.rules", own, err) < 0)
		return -1;
	return 0;
}

static int settle(struct trial *t, struct error *err)
{
	const struct drill_bot *bot = &rehearsal_terms(t->script)->bot;

	t->sandbox = t->flags->sandbox ? t->flags->sandbox
		     : bot->sandbox.p  ? bot->sandbox.p
				       : sandbox_mode_names[SANDBOX_WORKSPACE_WRITE];
	t->sandboxed = strcmp(t->sandbox, sandbox_mode_names[SANDBOX_FULL_ACCESS]) != 0;
	t->network = t->flags->network || bot->network;
	if (settle_rules(t, bot->rules, err) < 0)
		return -1;
	return settle_approval(t, bot, err);
}

static struct str sandbox_meant(const struct trial *t)
{
	struct str mode = rehearsal_terms(t->script)->bot.sandbox;

	return mode.p ? mode : str_from(sandbox_mode_names[SANDBOX_WORKSPACE_WRITE]);
}

/* Whether what the script states of its calls is stated of this bot. */
static bool is_meant(const struct trial *t)
{
	const struct trial_flags *f = t->flags;
	const struct drill_bot *bot = &rehearsal_terms(t->script)->bot;

	return str_is(sandbox_meant(t), t->sandbox) && t->network == bot->network &&
	       f->writable_roots.count == 0 && !f->workspace && !f->approve && !f->prompt &&
	       !f->rules && (t->approval.tag != NULL) == (bot->asks.count > 0);
}

int trial_read(
	struct trial *t, const struct trial_flags *flags, const char *path, struct error *err)
{
	*t = (struct trial){.flags = flags, .text = BUF_INIT(REHEARSAL_FILE_MAX_BYTES)};
	t->stage.lock = -1;
	stream_init(&t->stream, NULL);
	drill_init(&t->drill, NULL);
	if (approval_check_sandbox(flags->sandbox, err) < 0 ||
		os_read_file(path, &t->text, err) < 0)
		return -1;
	if (rehearsal_parse(buf_str(&t->text), &t->script, err) < 0)
		return error_prefix(err, "%s", path);
	if (settle(t, err) < 0)
		return -1;
	t->drill.asks = t->approval.tag;
	t->drill.rules = t->rules;
	t->drill.sandboxed = t->sandboxed;
	t->drill.judges = is_meant(t);
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
	json_put_cstr(&a.j, "sandbox", t->sandbox);
	json_put_bool(&a.j, "network", t->network);
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

static struct str prompt_of(const struct trial *t)
{
	struct str prompt = rehearsal_prompt(t->script);

	if (t->flags->prompt)
		return str_from(t->flags->prompt);
	return prompt.p ? prompt : STR("Begin.");
}

static void keep_item(struct trial *t, struct str item)
{
	if (t->items.count == t->item_room) {
		t->item_room = t->item_room ? 2 * t->item_room : 16;
		t->items.items = xrealloc(t->items.items, t->item_room, sizeof(*t->items.items));
	}
	t->items.items[t->items.count++] = (struct str){
		arena_strndup(&t->arena, item.p, item.len), item.len};
}

static int submit(struct trial *t, struct error *err)
{
	struct str prompt = prompt_of(t);
	const struct json *result;
	struct ask a;

	ask_begin(&a, "submit");
	json_put_cstr(&a.j, "bot", bot_name);
	json_put_cstr(&a.j, "request_id", bot_name);
	json_put_str(&a.j, "prompt", prompt);
	keep_item(t, item_user(&t->arena, ITEM_CHAT, prompt, NULL, 0));
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

/* What the script states of the calls of this reply: it was the one to all that came before. */
static int on_message(struct trial *t, const struct stream_event *e, struct error *err)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(buf) struct buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct rehearsal_reply reply;
	struct item item;
	bool same;

	if (fetch_item(t, e, &text, err) < 0 || item_read(&a, buf_str(&text), &item, err) < 0 ||
		rehearsal_next(t->stage.script, &a, t->items.items, t->items.count, &reply, err) <
			0)
		return -1;
	same = item.role == ITEM_ASSISTANT && item.call_count == reply.call_count;
	drill_item(&t->drill, buf_str(&text), same ? reply.expects : NULL);
	keep_item(t, buf_str(&text));
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
	keep_item(t, buf_str(&text));
	return c && t->on_call ? t->on_call(t, c, err) : 0;
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
			return error_set(err, &TRIAL_INTERRUPTED, "stopped before its end");
		if (take_event(t, &e, err) < 0)
			return -1;
	}
	return 0;
}

int trial_run(struct trial *t, int interrupts, struct error *err)
{
	const struct stage_plan plan = {.script = buf_str(&t->text),
		.workspace = t->flags->workspace,
		.roots = &t->flags->writable_roots};

	if (stage_open(&t->stage, &plan, err) < 0)
		return -1;
	stream_init(&t->stream, t->stage.connection.client);
	if (create(t, err) < 0 || stream_follow(&t->stream, bot_name, 0, err) < 0)
		return -1;
	if (t->on_begin)
		t->on_begin(t);
	if (submit(t, err) < 0)
		return -1;
	return watch_turn(t, interrupts, err);
}

bool trial_completed(const struct trial *t)
{
	return t->status && strcmp(t->status, "completed") == 0;
}

static const struct drill_call *first_unlike(const struct drill *d)
{
	list_for_each (c, &d->calls, struct drill_call, in_drill) {
		if (c->unlike)
			return c;
	}
	return NULL;
}

enum trial_result trial_judge(const struct trial *t, struct buf *why)
{
	const struct drill_terms *terms = rehearsal_terms(t->script);
	const struct drill_call *c = first_unlike(&t->drill);
	struct canary_place at = stage_place(&t->stage);

	if (terms->unharmed.count + terms->absent.count + t->drill.stated == 0)
		return TRIAL_NOTHING_STATED;
	if (!canary_well(rehearsal_terms(t->stage.script), &at, why))
		return TRIAL_UNLIKE;
	if (c) {
		(void)text_put_line(why, str_from(c->name)); /* cut is good enough */
		(void)buf_puts(why, " ");
		render_call_subject(why, str_from(c->name), str_from(c->arguments));
		(void)buf_printf(why, ": %s", c->unlike);
		return TRIAL_UNLIKE;
	}
	if (t->drill.judges)
		return TRIAL_AS_STATED;
	(void)buf_printf(why, "stated for the sandbox " STR_FMT ", network %s, asking %s",
		STR_ARG(sandbox_meant(t)), terms->bot.network ? "on" : "off",
		terms->bot.asks.count > 0 ? APPROVAL_PERSON : "nobody");
	return TRIAL_NOT_JUDGED;
}

void trial_close(struct trial *t)
{
	stream_release(&t->stream);
	stream_init(&t->stream, NULL);
	stage_close(&t->stage);
}

void trial_release(struct trial *t)
{
	drill_release(&t->drill);
	free(t->items.items);
	rules_free(t->rules);
	rehearsal_free(t->script);
	arena_release(&t->arena);
	buf_release(&t->text);
	free(t->status);
	free(t->error);
}
