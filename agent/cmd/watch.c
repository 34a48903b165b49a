/* Shows the events of a bot as they come. */
#include "agent/cmd/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/cmd/output.h"
#include "cli/cli.h"

enum {
	ITEM_TEXT_MAX_BYTES = 8 * 1024 * 1024, /* ours: an item, each byte escaped */
	COMMAND_MAX_BYTES = 64 * 1024,         /* ours */
};

void watch_init(struct watch *w, const char *command, const struct connection *c,
	const struct place_options *place, bool pretty)
{
	*w = (struct watch){.command = command, .pretty = pretty};
	stream_init(&w->stream, c->client);
	render_init(&w->render, output_colours());
	paste_init(&w->paste, place, c->store, c->socket);
	w->paste.pretty = pretty;
	person_init(&w->person, false);
}

void watch_release(struct watch *w)
{
	stream_release(&w->stream);
	render_release(&w->render);
	paste_release(&w->paste);
	person_release(&w->person);
}

void watch_print(struct watch *w)
{
	if (w->render.out.len > 0)
		output_buf(&w->render.out);
	output_flush();
}

int watch_next(struct watch *w, int signal_fd, struct stream_event *ret, struct error *err)
{
	struct pollfd others[2] = {
		{.fd = signal_fd,    .events = POLLIN},
                {.fd = STDIN_FILENO, .events = POLLIN}
        };

	for (;;) {
		int rc;

		person_ask(&w->person);
		others[0].revents = others[1].revents = 0;
		rc = stream_next(&w->stream, others, w->person.there ? 2 : 1, ret, err);
		if (rc != 0)
			return rc;
		if (others[0].revents)
			return 0;
		if (others[1].revents && person_hear(&w->person, &w->stream, &w->render, err) < 0)
			return -1;
		watch_print(w);
	}
}

/* An item of the conversation as its JSON text. 0 also when it cannot be had (to stays empty). */
static int fetch_item(
	struct watch *w, struct str bot, const struct json *node, struct buf *to, struct error *err)
{
	struct json_out j = JSON_OUT(to);
	const struct json *item;
	struct ask a;
	int64_t id;

	if (json_i64(node, &id) < 0)
		return 0;
	ask_begin(&a, "item");
	json_put_str(&a.j, "bot", bot);
	json_put_i64(&a.j, "node", id);
	if (stream_call(&w->stream, &a, &item, err) == 0) {
		json_put(&j, NULL, item);
		return 0;
	}
	if (!error_is(err, &CLIENT_REMOTE))
		return -1;
	error_clear(err);
	return 0;
}

static struct str item_of(const struct buf *b)
{
	return b->len > 0 ? buf_str(b) : (struct str){NULL, 0};
}

static int show_item(struct watch *w, const struct stream_event *e, struct error *err)
{
	_cleanup_(buf) struct buf item = BUF_INIT(ITEM_TEXT_MAX_BYTES);

	if (fetch_item(w, e->bot, json_get(e->data, "node"), &item, err) < 0)
		return -1;
	render_item(&w->render, e->bot, buf_str(&item));
	return 0;
}

static int show_accepted(struct watch *w, const struct stream_event *e, struct error *err)
{
	return w->prompts ? show_item(w, e, err) : 0;
}

static int show_delta(struct watch *w, const struct stream_event *e, struct error *err)
{
	(void)err;
	if (!w->bot)
		return 0; /* words of several bots would mix: each is told when its message is whole
			   */
	render_delta(&w->render, json_str(json_get(e->data, "text")));
	return 0;
}

static int show_started(struct watch *w, const struct stream_event *e, struct error *err)
{
	(void)err;
	person_forget(&w->person, e->bot, json_str(json_get(e->data, "call_id")));
	render_started(&w->render, e->bot, e->data);
	return 0;
}

static bool announces(const struct json *calls, struct str call_id, struct str step)
{
	json_for_each (call, ask_list(calls, NULL)) {
		if (str_eq(json_str(json_get(call, "call_id")), call_id) &&
			str_eq(json_str(json_get(call, "step")), step))
			return true;
	}
	return false;
}

/* Whether to ask about it now: `calls` are those that were just announced, or NULL. */
static bool is_due(struct watch *w, const struct json *approval, const struct json *calls)
{
	struct str call_id = json_str(json_get(approval, "call_id"));
	struct str step = json_str(json_get(approval, "step"));
	struct render_call *c = render_find(
		&w->render, json_str(json_get(approval, "bot")), call_id);
	int64_t request = 0;

	if (!c || step.p)
		return announces(calls, call_id, step);
	if (json_i64(json_get(approval, "request"), &request) < 0 || c->asked == request ||
		!render_is_next(&w->render, c))
		return false;
	c->asked = request;
	return true;
}

/* What is asked now, by the daemon's list: an event that is replayed may be long answered. */
static int show_due(struct watch *w, struct str bot, const struct json *calls, struct error *err)
{
	const struct json *result;
	struct ask a;

	ask_begin(&a, "approvals");
	json_put_str(&a.j, "bot", bot);
	if (stream_call(&w->stream, &a, &result, err) < 0)
		return -1;
	json_for_each (approval, ask_list(result, "approvals")) {
		if (!is_due(w, approval, calls))
			continue;
		render_asked(
			&w->render, approval, person_add(&w->person, approval) ? NULL : &w->paste);
	}
	return 0;
}

static int show_requested(struct watch *w, const struct stream_event *e, struct error *err)
{
	return show_due(w, e->bot, json_get(e->data, "calls"), err);
}

static int show_completed(struct watch *w, const struct stream_event *e, struct error *err)
{
	_cleanup_(buf) struct buf item = BUF_INIT(ITEM_TEXT_MAX_BYTES);

	if (fetch_item(w, e->bot, json_get(e->data, "node"), &item, err) < 0)
		return -1;
	person_forget(&w->person, e->bot, json_str(json_get(e->data, "call_id")));
	render_completed(&w->render, e->bot, e->data, item_of(&item));
	return render_has_open(&w->render, e->bot) ? show_due(w, e->bot, NULL, err) : 0;
}

static int show_finished(struct watch *w, const struct stream_event *e, struct error *err)
{
	const struct json *turns = NULL;
	struct ask a;

	ask_begin(&a, "turns");
	json_put_str(&a.j, "bot", e->bot);
	json_put_i64(&a.j, "after", e->turn - 1);
	json_put_i64(&a.j, "limit", 1);
	if (stream_call(&w->stream, &a, &turns, err) < 0) {
		if (!error_is(err, &CLIENT_REMOTE))
			return -1;
		error_clear(err);
	}
	render_finished(&w->render, e->data, turns ? turns->child : NULL);
	return 0;
}

static int show_queued(struct watch *w, const struct stream_event *e, struct error *err)
{
	(void)err;
	render_note(&w->render, "turn %" PRId64 " waits until the bot is free", e->turn);
	return 0;
}

static int show_live(struct watch *w, const struct stream_event *e, struct error *err)
{
	(void)w;
	(void)e;
	(void)err;
	return 0;
}

static int show_kind(struct watch *w, const struct stream_event *e, struct error *err)
{
	(void)err;
	if (!render_passing(&w->render, e->kind, e->data))
		render_note(&w->render, STR_FMT, STR_ARG(e->kind));
	return 0;
}

static const struct {
	const char *kind;
	int (*show)(struct watch *w, const struct stream_event *e, struct error *err);
	bool quiet; /* says nothing that would need to know whose it is */
} kinds[] = {
	{"accepted",           show_accepted,  false},
	{"message",            show_item,      false},
	{"text_delta",         show_delta,     false},
	{"thinking_delta",     show_live,      true },
	{"usage",              show_live,      true },
	{"follow_live",        show_live,      true },
	{"created",            show_live,      true },
	{"queued",             show_queued,    false},
	{"approval_requested", show_requested, false},
	{"tool_started",       show_started,   false},
	{"tool_completed",     show_completed, false},
	{"turn_finished",      show_finished,  false},
	{NULL,		 show_kind,      false},
};

static int show_pretty(struct watch *w, const struct stream_event *e, struct error *err)
{
	size_t i = 0;
	int rc;

	while (kinds[i].kind && !str_is(e->kind, kinds[i].kind))
		i++;
	if (kinds[i].quiet)
		return 0;
	person_step_aside(&w->person);
	if (!w->bot || w->prompts)
		render_subject(&w->render, e->bot, e->turn);
	rc = kinds[i].show(w, e, err);
	watch_print(w);
	return rc;
}

int watch_show(struct watch *w, const struct stream_event *e, struct error *err)
{
	if (w->pretty)
		return show_pretty(w, e, err);
	output_text(e->line);
	output_text(STR("\n"));
	output_flush();
	return 0;
}

int watch_lost(struct watch *w, int64_t turn, const struct error *err)
{
	_cleanup_(buf) struct buf b = BUF_INIT(COMMAND_MAX_BYTES);
	struct str bot = str_from(w->bot);

	person_step_aside(&w->person);
	render_close_line(&w->render);
	watch_print(w);
	(void)buf_printf(&b, "agent %s: %s: %s; the last event had cursor %" PRId64 "\n",
		w->command, ask_code(w->stream.client, err), err->text, w->stream.cursor);
	(void)buf_puts(&b, "go on with:    ");
	paste_follow(&b, &w->paste, bot, w->stream.cursor);
	if (turn > 0) {
		(void)buf_puts(&b, "\nits outcome:   ");
		paste_result(&b, &w->paste, bot, turn);
	}
	(void)fprintf(stderr, "%s\n", b.data); /* nobody else to tell */
	return CLI_FAILED;
}
