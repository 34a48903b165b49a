/* agent approvals: what waits for a verdict. */
#include "agent/cmd/ask.h"
#include "agent/cmd/columns.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/connect.h"
#include "agent/cmd/listing.h"
#include "agent/cmd/output.h"
#include "agent/cmd/paste.h"
#include "agent/cmd/render.h"
#include "agent/core/limits.h"
#include "mem/mem.h"

struct options {
	struct place_options place;
	const char *bot, *tag;
	bool pretty;
};

static const struct cli_option own[] = {
	CLI_OPT_TEXT(struct options, bot, "bot", "NAME", "those of this bot only"),
	CLI_OPT_TEXT(struct options, tag, "tag", "TAG", "those that a gate of this tag waits for"),
	CLI_OPT_FLAG(struct options, pretty, "pretty",
		"print what is asked, and the commands that answer it"),
};

static const char *const headings[] = {"BOT", NULL};

static void no_row(struct columns *to, const struct json *item)
{
	(void)to;
	(void)item;
}

/* JSON is kept until all is here; what people read is printed as it comes. */
struct showing {
	bool pretty;
	struct listing list;
	struct render render;
	struct paste paste;
};

static void add(struct showing *s, const struct json *approval)
{
	if (!s->pretty) {
		listing_add(&s->list, approval);
		return;
	}
	render_subject(&s->render, json_str(json_get(approval, "bot")), 0);
	render_asked(&s->render, approval, &s->paste);
	output_buf(&s->render.out);
	s->list.count++;
}

static int add_pages(
	struct client *c, const struct options *o, struct showing *s, struct error *err)
{
	_cleanup_(mem) char *after = NULL;

	for (;;) {
		const struct json *page;
		struct str next;
		struct ask a;

		ask_begin(&a, "approvals");
		json_put_i64(&a.j, "limit", PAGE_MAX);
		if (o->bot)
			json_put_cstr(&a.j, "bot", o->bot);
		if (o->tag)
			json_put_cstr(&a.j, "tag", o->tag);
		if (after)
			json_put_cstr(&a.j, "after", after);
		if (ask_call(&a, c, &page, err) < 0)
			return -1;
		json_for_each (approval, ask_list(page, "approvals"))
			add(s, approval);
		next = json_str(json_get(page, "next_after"));
		if (!next.p)
			return 0;
		free(after);
		after = xstrndup(next.p, next.len);
	}
}

static int show(const struct options *o, struct connection *c, struct error *err)
{
	struct showing s = {.pretty = o->pretty};
	int rc;

	listing_init(&s.list, false, headings, no_row);
	render_init(&s.render, output_colours());
	paste_init(&s.paste, &o->place, c->store, c->socket);
	rc = add_pages(c->client, o, &s, err);
	if (rc == 0 && !o->pretty)
		rc = listing_print(&s.list, err);
	else if (rc == 0 && s.list.count == 0)
		output_text(STR("nothing waits for a verdict\n"));
	listing_release(&s.list);
	render_release(&s.render);
	paste_release(&s.paste);
	return rc;
}

static int run(void *options, char **args, int count)
{
	const struct options *o = options;
	_cleanup_(connection) struct connection c = {.client = NULL};
	struct error err = ERROR_INIT;

	(void)args;
	(void)count;
	if (connect_open(&o->place, NULL, CONNECT_EXISTING, &c, &err) < 0 || show(o, &c, &err) < 0)
		return ask_failed("approvals", c.client, &err);
	return output_end("approvals", CLI_OK);
}

const struct cli_command cmd_approvals = {
	.name = "approvals",
	.arguments = "",
	.purpose = "list the calls that wait for a verdict",
	.groups = {{NULL, own, ARRAY_LEN(own), 0},
		   {"Place", place_options, ARRAY_LEN(place_options),
			offsetof(struct options, place)}},
	.options_size = sizeof(struct options),
	.run = run,
};
