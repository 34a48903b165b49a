/* Events by cursor, and followers. */
#include "test/crash/events.h"

#include <stdio.h>
#include <string.h>

enum {
	LINE_MAX_BYTES = 2 * 1024 * 1024,
	CATCH_UP_MS = 20000 * RIG_SLOW,
	CURSORS_MAX = 100 * 1000 * 1000, /* ours: a cursor past this is a fault, not a number */
};

void events_release(struct events *e)
{
	for (int64_t i = 0; i < e->cap; i++) {
		free(e->rows[i].text);
		free(e->rows[i].bot);
	}
	free(e->rows);
	*e = (struct events){.cap = 0};
}

static struct event *row_at(struct events *e, int64_t cursor)
{
	rig_true(cursor > 0 && cursor < CURSORS_MAX, "a cursor of %lld", (long long)cursor);
	if (cursor >= e->cap) {
		int64_t cap = cursor * 2 > 4096 ? cursor * 2 : 4096;

		e->rows = xrealloc(e->rows, (size_t)cap, sizeof(*e->rows));
		memset(e->rows + e->cap, 0, (size_t)(cap - e->cap) * sizeof(*e->rows));
		e->cap = cap;
	}
	return &e->rows[cursor];
}

static void take(struct events *e, int64_t cursor, const struct json *line)
{
	_cleanup_(buf) struct buf text = BUF_INIT(LINE_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);
	struct event *row = row_at(e, cursor);

	json_put(&j, NULL, line);
	must(!text.full);
	if (!row->text) {
		struct str bot = json_str(json_get(line, "bot"));

		row->text = buf_take(&text);
		row->bot = bot.p ? xstrndup(bot.p, bot.len) : xstrdup("");
		e->last = cursor > e->last ? cursor : e->last;
		return;
	}
	rig_true(strcmp(row->text, text.data) == 0, "event %lld was\n  %s\nand is now\n  %s",
		(long long)cursor, row->text, text.data);
}

void follower_start(
	struct follower *f, struct client *c, struct events *seen, const char *bot, int64_t after)
{
	_cleanup_(mem) char *body = xasprintf(
		"\"op\":\"follow\",\"bot\":\"%s\",\"after\":%lld", bot, (long long)after);
	struct error err = ERROR_INIT;
	int64_t id;

	*f = (struct follower){.c = c, .seen = seen, .after = after, .cursor = after};
	must(snprintf(f->bot, sizeof(f->bot), "%s", bot) < (int)sizeof(f->bot));
	(void)client_send(
		c, str_from(body), &id, &err); /* a daemon that is gone shows on reading */
}

static bool follows_all(const struct follower *f)
{
	return strcmp(f->bot, "*") == 0;
}

static void take_durable(struct follower *f, const struct json *line, int64_t cursor)
{
	rig_true(cursor > f->cursor, "a follower of %s after %lld was sent %lld behind %lld",
		f->bot, (long long)f->after, (long long)cursor, (long long)f->cursor);
	rig_true(!follows_all(f) || cursor == f->cursor + 1,
		"a follower of * was sent %lld behind %lld", (long long)cursor,
		(long long)f->cursor);
	rig_true(follows_all(f) || str_is(json_str(json_get(line, "bot")), f->bot),
		"a follower of %s was sent an event of another bot", f->bot);
	f->cursor = cursor;
	if (!follows_all(f)) {
		if (f->count == f->cap) {
			f->cap = f->cap ? f->cap * 2 : 64;
			f->got = xrealloc(f->got, f->cap, sizeof(*f->got));
		}
		f->got[f->count++] = cursor;
	}
	take(f->seen, cursor, line);
	if (f->event)
		f->event(f->arg, line);
}

static void take_line(struct follower *f, const struct json *line)
{
	struct str kind = json_str(json_get(line, "event"));
	int64_t cursor, said;

	if (!kind.p) {
		rig_true(json_get(line, "result"), "follow %s was refused", f->bot);
	} else if (json_i64(json_get(line, "cursor"), &cursor) == 0) {
		take_durable(f, line, cursor);
	} else if (str_is(kind, "follow_live")) {
		said = rig_i64(json_get(line, "data"), "cursor");
		rig_true(said >= f->cursor && !f->live, "follow_live with %lld behind %lld",
			(long long)said, (long long)f->cursor);
		rig_true(!follows_all(f) || said == f->cursor, "follow_live with %lld behind %lld",
			(long long)said, (long long)f->cursor);
		f->cursor = said;
		f->live = true;
	}
}

bool follower_read(struct follower *f, int wait_ms)
{
	const struct json *line;
	struct error err = ERROR_INIT;
	int rc;

	while ((rc = client_next(f->c, wait_ms, &line, &err)) == 1) {
		take_line(f, line);
		wait_ms = 0;
	}
	rig_true(rc == 0 || !strstr(err.text, "JSON"), "follow %s: %s", f->bot, err.text);
	return rc == 0;
}

void follower_catch_up(struct follower *f)
{
	int64_t until = rig_now_ms() + CATCH_UP_MS;

	while (!f->live) {
		rig_true(follower_read(f, 100), "a follower of %s was cut off", f->bot);
		rig_true(rig_now_ms() < until, "following %s after %lld does not get live", f->bot,
			(long long)f->after);
	}
}

void follower_check(const struct follower *f)
{
	size_t at = 0;

	if (follows_all(f))
		return;
	for (int64_t i = f->after + 1; i <= f->cursor && i <= f->seen->last; i++) {
		const struct event *row = &f->seen->rows[i];

		if (!row->text || strcmp(row->bot, f->bot) != 0)
			continue;
		while (at < f->count && f->got[at] < i)
			at++;
		rig_true(at < f->count && f->got[at] == i,
			"a follower of %s after %lld was not sent %lld: %s", f->bot,
			(long long)f->after, (long long)i, row->text);
	}
}

void follower_release(struct follower *f)
{
	client_free(f->c);
	free(f->got);
	*f = (struct follower){.c = NULL};
}
