/* The events of one connection, in order. */
#include "agent/cmd/stream.h"

#include <errno.h>
#include <stdlib.h>

enum {
	LINE_MAX_BYTES = 8 * 1024 * 1024, /* ours: a line of the wire, each byte escaped */
	OTHERS_MAX = 4,
};

struct stream_line {
	struct list in_stream;
	char *text;
	size_t len;
};

void stream_init(struct stream *s, struct client *c)
{
	*s = (struct stream){.client = c};
	list_init(&s->waiting);
}

static void line_free(struct stream_line *l)
{
	if (l)
		free(l->text);
	free(l);
}

void stream_release(struct stream *s)
{
	line_free(s->now);
	list_for_each_safe (l, &s->waiting, struct stream_line, in_stream)
		line_free(l);
	list_init(&s->waiting);
	arena_release(&s->arena);
	s->now = NULL;
}

static void keep(void *arg, const struct json *line)
{
	struct stream *s = arg;
	struct stream_line *l = xcalloc(1, sizeof(*l));
	struct buf b = BUF_INIT(LINE_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	json_put(&j, NULL, line);
	l->len = b.len;
	l->text = buf_take(&b);
	list_add_tail(&s->waiting, &l->in_stream);
}

int stream_call(struct stream *s, struct ask *a, const struct json **ret, struct error *err)
{
	return ask_hear(a, s->client, keep, s, ret, err);
}

int stream_follow(struct stream *s, const char *bot, int64_t after, struct error *err)
{
	const struct json *result;
	struct ask a;

	s->cursor = after;
	ask_begin(&a, "follow");
	json_put_cstr(&a.j, "bot", bot);
	json_put_i64(&a.j, "after", after);
	return stream_call(s, &a, &result, err);
}

/* The cursor of the first event after `after`, or 0. */
static int first_after(
	struct stream *s, const char *bot, int64_t after, int64_t *ret, struct error *err)
{
	const struct json *page, *events;
	struct ask a;

	ask_begin(&a, "events");
	json_put_cstr(&a.j, "bot", bot);
	json_put_i64(&a.j, "after", after);
	json_put_i64(&a.j, "limit", 1);
	if (stream_call(s, &a, &page, err) < 0)
		return -1;
	events = json_get(page, "events");
	if (!events || !events->child || json_i64(json_get(events->child, "cursor"), ret) < 0)
		*ret = 0;
	return 0;
}

/* There is an event after `low`, or low is the newest; none after `high`. Some forty small
 * questions for a store of any size, where replaying to the end could be thousands of pages. */
static int narrow(struct stream *s, const char *bot, int64_t low, int64_t high, int64_t *ret,
	struct error *err)
{
	while (low < high) {
		int64_t middle = low + (high - low) / 2, found;

		if (first_after(s, bot, middle, &found, err) < 0)
			return -1;
		if (found > 0)
			low = found;
		else
			high = middle;
	}
	*ret = low;
	return 0;
}

int stream_newest(struct stream *s, const char *bot, int64_t *ret, struct error *err)
{
	int64_t low = 0, high = 1, found;

	for (;;) {
		if (first_after(s, bot, high, &found, err) < 0)
			return -1;
		if (found == 0)
			return narrow(s, bot, low, high, ret, err);
		low = found;
		high = found > INT64_MAX / 2 ? INT64_MAX : found * 2;
	}
}

/* What is there already goes before what else there is to do. 1 there is a line, 0 not, -1 lost. */
static int take_ready(struct stream *s, struct error *err)
{
	const struct json *line;
	int rc;

	if (!list_empty(&s->waiting))
		return 1;
	do {
		rc = client_next(s->client, 0, &line, err);
		if (rc == 1 && json_get(line, "event"))
			keep(s, line);
	} while (rc == 1 && list_empty(&s->waiting));
	return rc;
}

static int wait_any(struct stream *s, struct pollfd *others, size_t count, struct error *err)
{
	struct pollfd all[OTHERS_MAX + 1];
	int rc;

	must(count <= OTHERS_MAX);
	for (size_t i = 0; i < count; i++)
		all[i] = others[i];
	all[count] = (struct pollfd){.fd = client_fd(s->client), .events = POLLIN};
	do
		rc = poll(all, (nfds_t)count + 1, -1);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return error_sys_kind(err, &CLIENT_LOST, "wait for the daemon");
	rc = 0;
	for (size_t i = 0; i < count; i++) {
		others[i].revents = all[i].revents;
		rc += others[i].revents != 0;
	}
	return rc;
}

static int read_event(struct stream *s, struct stream_event *ret, struct error *err)
{
	struct stream_event e = {
		.line = {s->now->text, s->now->len}
        };
	int64_t cursor;

	arena_release(&s->arena);
	if (json_parse(&s->arena, e.line, &e.json, err) < 0)
		return -1;
	e.kind = json_str(json_get(e.json, "event"));
	e.bot = json_str(json_get(e.json, "bot"));
	e.data = json_get(e.json, "data");
	if (json_i64(json_get(e.json, "turn"), &e.turn) < 0)
		e.turn = 0;
	if (json_i64(json_get(e.json, "cursor"), &cursor) == 0 && cursor > s->cursor)
		s->cursor = cursor;
	*ret = e;
	return 0;
}

int stream_next(struct stream *s, struct pollfd *others, size_t count, struct stream_event *ret,
	struct error *err)
{
	for (;;) {
		int rc = take_ready(s, err);

		if (rc < 0)
			return -1;
		if (rc == 1)
			break;
		rc = wait_any(s, others, count, err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
	}
	line_free(s->now);
	s->now = list_first(&s->waiting, struct stream_line, in_stream);
	list_remove(&s->now->in_stream);
	return read_event(s, ret, err) < 0 ? -1 : 1;
}
