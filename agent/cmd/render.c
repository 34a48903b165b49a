/* What a bot does, for people to read: blocks, words and notes. */
#include "agent/cmd/render.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cmd/render_call.h"
#include "agent/cmd/style.h"
#include "agent/core/item.h"

enum {
	OUT_MAX_BYTES = 64 * 1024 *
			1024, /* ours: cleared after every event, which is at most 1 MiB */
	LINE_BYTES = 400,     /* ours: of a path, a reason */
};

static const struct style_block prompt_block = {2, 12, 4, LINE_BYTES};

void render_init(struct render *r, bool colours)
{
	*r = (struct render){.out = BUF_INIT(OUT_MAX_BYTES), .colours = colours};
	list_init(&r->calls);
}

static void call_free(struct render_call *c)
{
	list_remove(&c->in_render);
	free(c->bot);
	free(c->call_id);
	free(c->name);
	free(c->arguments);
	free(c);
}

void render_release(struct render *r)
{
	list_for_each_safe (c, &r->calls, struct render_call, in_render)
		call_free(c);
	buf_release(&r->out);
	free(r->subject);
	r->subject = NULL;
}

void render_close_line(struct render *r)
{
	if (r->at == RENDER_TEXT)
		(void)buf_putc(&r->out, '\n'); /* full is seen by whoever prints */
	if (r->at == RENDER_TEXT || r->at == RENDER_TITLED)
		r->at = RENDER_LINES;
}

/* A block of its own: an empty line above it. */
void render_block(struct render *r)
{
	render_close_line(r);
	if (r->at != RENDER_START)
		(void)buf_putc(&r->out, '\n');
	r->at = RENDER_LINES;
}

static void put_field(struct render *r, const char *name, struct str value)
{
	style_put(&r->out, r->colours, STYLE_DIM, name);
	(void)buf_printf(&r->out, "%*s", 10 - (int)strlen(name), "");
	style_line(&r->out, r->colours, STYLE_PLAIN, value, LINE_BYTES);
}

static void put_names(struct buf *to, const struct json *list)
{
	const char *between = "";

	if (!list || list->type != JSON_ARRAY)
		return;
	json_for_each (item, list) {
		(void)buf_puts(to, between);
		(void)text_put_line(to, json_str(item));
		between = ", ";
	}
}

static void put_gates(struct render *r, const struct json *gates)
{
	if (!gates || gates->count == 0)
		return;
	json_for_each (gate, gates) {
		put_field(r, "asks", json_str(json_get(gate, "tag")));
		(void)buf_puts(&r->out, " about ");
		put_names(&r->out, json_get(gate, "tools"));
		(void)buf_puts(&r->out, r->sandboxed ? ", when a call leaves the sandbox\n" : "\n");
	}
}

static void put_sandbox(struct render *r, const struct json *record)
{
	struct str mode = json_str(json_get(record, "sandbox"));
	const struct json *roots = json_get(record, "writable_roots");

	if (!r->sandboxed) {
		put_field(r, "sandbox", STR("none: its commands run with all your rights"));
		(void)buf_putc(&r->out, '\n');
		return;
	}
	put_field(r, "sandbox", mode);
	(void)buf_puts(&r->out,
		json_is_true(json_get(record, "network")) ? ", network on" : ", network off");
	if (str_is(mode, "workspace-write") && roots && roots->count > 0) {
		(void)buf_puts(&r->out, ", also writes ");
		put_names(&r->out, roots);
	}
	(void)buf_putc(&r->out, '\n');
}

void render_bot(struct render *r, const struct json *record, bool fresh)
{
	struct str mode = json_str(json_get(record, "sandbox"));

	r->sandboxed = mode.p && !str_is(mode, "danger-full-access");
	render_block(r);
	put_field(r, "bot", json_str(json_get(record, "name")));
	(void)buf_puts(&r->out, fresh ? ", new (" : " (");
	(void)text_put_line(&r->out, json_str(json_get(record, "model")));
	(void)buf_puts(&r->out, ")\n");
	put_field(r, "folder", json_str(json_get(record, "workspace")));
	(void)buf_putc(&r->out, '\n');
	put_sandbox(r, record);
	put_gates(r, json_get(record, "gates"));
}

void render_subject(struct render *r, struct str bot, int64_t turn)
{
	_cleanup_(mem) char *subject = xasprintf(STR_FMT "/%" PRId64, STR_ARG(bot), turn);

	if (r->subject && strcmp(r->subject, subject) == 0)
		return;
	free(r->subject);
	r->subject = mem_take(&subject);
	render_block(r);
	style_put(&r->out, r->colours, STYLE_DIM, "-- ");
	style_line(&r->out, r->colours, STYLE_BOLD, bot, LINE_BYTES);
	if (turn > 0)
		(void)buf_printf(&r->out, ", turn %" PRId64, turn);
	(void)buf_putc(&r->out, '\n');
}

void render_delta(struct render *r, struct str text)
{
	if (text.len == 0)
		return;
	if (r->at != RENDER_TEXT)
		render_block(r);
	(void)text_put_visible(&r->out, text);
	r->at = text.p[text.len - 1] == '\n' ? RENDER_LINES : RENDER_TEXT;
	r->told = true;
}

static void forget_calls(struct render *r, struct str bot)
{
	list_for_each_safe (c, &r->calls, struct render_call, in_render) {
		if (str_is(bot, c->bot))
			call_free(c);
	}
}

static void note_call(struct render *r, struct str bot, const struct item_call *call)
{
	struct render_call *c = xcalloc(1, sizeof(*c));

	c->bot = xstrndup(bot.p, bot.len);
	c->call_id = xstrndup(call->call_id.p, call->call_id.len);
	c->name = xstrndup(call->name.p, call->name.len);
	c->arguments = xstrndup(call->arguments.p, call->arguments.len);
	list_add_tail(&r->calls, &c->in_render);
}

static void put_prompt(struct render *r, struct str text)
{
	render_block(r);
	style_put(&r->out, r->colours, STYLE_DIM, "prompt");
	(void)buf_putc(&r->out, '\n');
	style_block(&r->out, r->colours, STYLE_PLAIN, text, &prompt_block);
}

static void put_reply(struct render *r, struct str bot, const struct item *item)
{
	if (!r->told && item->text.len > 0)
		render_delta(r, item->text);
	render_close_line(r);
	r->told = false;
	forget_calls(r, bot);
	for (size_t i = 0; i < item->call_count; i++)
		note_call(r, bot, &item->calls[i]);
}

void render_item(struct render *r, struct str bot, struct str json)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct item item;

	if (item_read(&a, json, &item, NULL) < 0)
		return; /* of a family this version does not know */
	if (item.role == ITEM_USER)
		put_prompt(r, item.text);
	else if (item.role == ITEM_ASSISTANT)
		put_reply(r, bot, &item);
}

struct render_call *render_find(struct render *r, struct str bot, struct str call_id)
{
	list_for_each (c, &r->calls, struct render_call, in_render) {
		if (str_is(bot, c->bot) && str_is(call_id, c->call_id))
			return c;
	}
	return NULL;
}

bool render_is_next(const struct render *r, const struct render_call *c)
{
	list_for_each (before, &r->calls, struct render_call, in_render) {
		if (before == c)
			break;
		if (!before->done && strcmp(before->bot, c->bot) == 0)
			return false;
	}
	return true;
}

bool render_has_open(const struct render *r, struct str bot)
{
	list_for_each (c, &r->calls, struct render_call, in_render) {
		if (!c->done && str_is(bot, c->bot))
			return true;
	}
	return false;
}

void render_note(struct render *r, const char *format, ...)
{
	_cleanup_(mem) char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	render_close_line(r);
	style_line(&r->out, r->colours, STYLE_DIM, str_from(text), strlen(text));
	(void)buf_putc(&r->out, '\n');
}

static void put_figures(struct render *r, const struct json *turn)
{
	int64_t rounds = 0, in = 0, out = 0, from = 0, to = 0;

	if (json_i64(json_get(turn, "model_rounds"), &rounds) < 0 ||
		json_i64(json_get(turn, "input_tokens"), &in) < 0 ||
		json_i64(json_get(turn, "output_tokens"), &out) < 0)
		return;
	(void)buf_printf(&r->out, ": %" PRId64 " model call%s, ", rounds, rounds == 1 ? "" : "s");
	style_count(&r->out, in + out);
	(void)buf_puts(&r->out, " tokens");
	if (json_i64(json_get(turn, "started_ms"), &from) == 0 &&
		json_i64(json_get(turn, "finished_ms"), &to) == 0) {
		(void)buf_puts(&r->out, ", ");
		style_duration(&r->out, to - from);
	}
}

void render_finished(struct render *r, const struct json *data, const struct json *turn)
{
	struct str status = json_str(json_get(data, "status"));
	struct str error = json_str(json_get(data, "error"));
	struct str detail = json_str(json_get(data, "detail"));
	enum style look = str_is(status, "completed") ? STYLE_GOOD : STYLE_BAD;

	render_block(r);
	style_line(&r->out, r->colours, look, status, LINE_BYTES);
	put_figures(r, turn);
	(void)buf_putc(&r->out, '\n');
	if (!error.p)
		return;
	(void)buf_puts(&r->out, "  ");
	style_line(&r->out, r->colours, STYLE_BAD, error, LINE_BYTES);
	if (detail.len > 0 && !str_eq(detail, error)) {
		(void)buf_puts(&r->out, ": ");
		style_line(&r->out, r->colours, STYLE_PLAIN, detail, ERROR_TEXT_MAX);
	}
	(void)buf_putc(&r->out, '\n');
}
