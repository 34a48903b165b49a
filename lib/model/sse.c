/*
 * sse: server-sent events out of bytes. Lines are used where they lie; only one that a chunk cuts
 * is kept, and the data of the event that is being read.
 */
#include "mem/mem.h"
#include "model/model.h"

enum {
	KEPT_BYTES = 1024, /* ours: memory of a longer event or line is given back after it */
};

struct model_sse {
	size_t max;
	struct buf line; /* what came of a line that has not ended */
	struct buf data; /* of the event, lines joined */
	struct buf name;
	bool has_data;
	bool after_cr; /* a line feed now belongs to the line end before */
	bool started;  /* the first line is over, and with it a byte order mark */
};

/* Where an event goes. */
struct listener {
	model_on_sse on;
	void *arg;
	struct error *err;
};

struct model_sse *model_sse_new(size_t frame_max_bytes)
{
	struct model_sse *s = xcalloc(1, sizeof(*s));

	must(frame_max_bytes > 0 && frame_max_bytes < SIZE_MAX);
	s->max = frame_max_bytes;
	s->line.max = s->data.max = s->name.max = frame_max_bytes;
	return s;
}

void model_sse_free(struct model_sse *s)
{
	if (!s)
		return;
	buf_release(&s->line);
	buf_release(&s->data);
	buf_release(&s->name);
	free(s);
}

static void forget(struct buf *b)
{
	if (b->cap > KEPT_BYTES)
		buf_release(b);
	else
		buf_clear(b);
}

static int too_long(const struct model_sse *s, struct error *err)
{
	return error_set(err, &MODEL_LIMIT, "an event is longer than %zu bytes", s->max);
}

static int dispatch(struct model_sse *s, const struct listener *to)
{
	int rc = 0;

	if (s->has_data)
		rc = to->on(to->arg, s->name.len > 0 ? buf_str(&s->name) : STR("message"),
			buf_str(&s->data), to->err);
	forget(&s->data);
	forget(&s->name);
	s->has_data = false;
	return rc;
}

static int take_field(struct model_sse *s, struct str field, struct str value, struct error *err)
{
	if (str_is(field, "data")) {
		if (s->has_data && buf_putc(&s->data, '\n') < 0)
			return too_long(s, err);
		s->has_data = true;
		return buf_put_str(&s->data, value) < 0 ? too_long(s, err) : 0;
	}
	if (str_is(field, "event")) {
		buf_clear(&s->name);
		return buf_put_str(&s->name, value) < 0 ? too_long(s, err) : 0;
	}
	return 0; /* id and retry are for those who reconnect */
}

static int take_line(struct model_sse *s, struct str line, const struct listener *to)
{
	static const struct str mark = {"\xef\xbb\xbf", 3};
	struct str field = line, value = STR("");
	const char *colon;

	if (line.len > s->max - s->data.len) /* with its mark, which a piece may not show yet */
		return too_long(s, to->err);
	if (!s->started && str_starts(line, mark))
		line = field = (struct str){line.p + mark.len, line.len - mark.len};
	s->started = true;
	if (line.len == 0)
		return dispatch(s, to);
	if (!utf8_valid(line))
		return error_set(to->err, &MODEL_STREAM, "the event stream is not UTF-8");
	if (line.p[0] == ':')
		return to->on(to->arg, STR(""), (struct str){NULL, 0}, to->err);
	colon = memchr(line.p, ':', line.len);
	if (colon) {
		field.len = (size_t)(colon - line.p);
		value = (struct str){colon + 1, line.len - field.len - 1};
		if (value.len > 0 && value.p[0] == ' ')
			value = (struct str){value.p + 1, value.len - 1};
	}
	return take_field(s, field, value, to->err);
}

/* Where the line that begins at p ends, or NULL. */
static const char *line_end(const char *p, size_t len)
{
	const char *feed = memchr(p, '\n', len);
	const char *back = memchr(p, '\r', feed ? (size_t)(feed - p) : len);

	return back ? back : feed;
}

int model_sse_feed(
	struct model_sse *s, struct str bytes, model_on_sse on, void *arg, struct error *err)
{
	const struct listener to = {on, arg, err};
	const char *at = bytes.p, *const end = bytes.p + bytes.len;

	while (at != end) {
		const char *stop;
		struct str line;
		int rc;

		if (s->after_cr && *at == '\n')
			at++;
		s->after_cr = false;
		if (at == end)
			return 0;
		stop = line_end(at, (size_t)(end - at));
		line = (struct str){at, (size_t)((stop ? stop : end) - at)};
		if (!stop || s->line.len > 0) {
			if (buf_put_str(&s->line, line) < 0)
				return too_long(s, err);
			line = buf_str(&s->line);
		}
		if (!stop)
			return 0;
		s->after_cr = *stop == '\r';
		at = stop + 1;
		rc = take_line(s, line, &to);
		if (s->line.len > 0)
			forget(&s->line);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int model_sse_end(struct model_sse *s, model_on_sse on, void *arg, struct error *err)
{
	const struct listener to = {on, arg, err};

	if (s->line.len > 0 && take_line(s, buf_str(&s->line), &to) < 0)
		return -1;
	forget(&s->line);
	return dispatch(s, &to);
}
