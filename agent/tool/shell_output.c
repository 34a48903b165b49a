/*
 * What a command wrote: redacted before anything is cut, so that no cut can split a secret.
 */
#include "agent/tool/shell_output.h"

#include "agent/core/limits.h"

enum {
	HEAD_BYTES = TOOL_OUTPUT_SHOWN_BYTES / 2,
	TAIL_BYTES = TOOL_OUTPUT_SHOWN_BYTES / 2,
	UTF8_MAX_BYTES = 4,
	/* ours: what a filter may let go at once: a chunk, what it held back, and the marks put in
	 */
	FILTERED_MAX_BYTES = 8 * 1024 * 1024,
};

void shell_stream_init(struct shell_stream *s, const char *name, const struct secret_set *secrets)
{
	*s = (struct shell_stream){
		.name = name,
		.filter = secret_filter_new(secrets),
		.kept = BUF_INIT(TOOL_OUTPUT_KEPT_BYTES),
	};
}

void shell_stream_release(struct shell_stream *s)
{
	secret_filter_free(s->filter);
	s->filter = NULL;
	buf_release(&s->kept);
}

/* Keeps what fits. */
static void keep(struct shell_stream *s, const struct buf *clean)
{
	size_t room = TOOL_OUTPUT_KEPT_BYTES - s->kept.len;
	struct str text = buf_str(clean);

	if (clean->full || text.len > room)
		s->over = true;
	(void)buf_put(&s->kept, text.p, text.len < room ? text.len : room); /* fits */
}

bool shell_stream_put(struct shell_stream *s, const char *p, size_t len)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(FILTERED_MAX_BYTES);

	if (s->over)
		return false;
	if (secret_filter_put(s->filter, p, len, &clean) < 0)
		s->over = true;
	keep(s, &clean);
	return !s->over;
}

void shell_stream_end(struct shell_stream *s)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(FILTERED_MAX_BYTES);

	if (s->over)
		return; /* what it holds back lies past the limit */
	if (secret_filter_end(s->filter, &clean) < 0)
		s->over = true;
	keep(s, &clean);
}

bool shell_stream_is_cut(const struct shell_stream *s)
{
	return s->kept.len > TOOL_OUTPUT_SHOWN_BYTES;
}

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The first HEAD_BYTES, less a character that the cut would split. */
static struct str head_of(struct str all)
{
	size_t end = HEAD_BYTES, back = 0;

	while (back < UTF8_MAX_BYTES && continues(all.p[end - back]))
		back++;
	/* Four continuation bytes in a row are no character: then there is nothing to keep whole.
	 */
	if (back < UTF8_MAX_BYTES)
		end -= back;
	return (struct str){all.p, end};
}

static struct str tail_of(struct str all)
{
	size_t start = all.len - TAIL_BYTES, on = 0;

	while (on < UTF8_MAX_BYTES && continues(all.p[start + on]))
		on++;
	if (on < UTF8_MAX_BYTES)
		start += on;
	return (struct str){all.p + start, all.len - start};
}

void shell_stream_write(const struct shell_stream *s, struct json_out *j, const char *artifact)
{
	_cleanup_(buf) struct buf shown = BUF_INIT(2 * TOOL_OUTPUT_SHOWN_BYTES);
	struct str all = buf_str(&s->kept);
	struct str head, tail;

	if (!shell_stream_is_cut(s)) {
		json_put_str(j, s->name, all);
		return;
	}
	head = head_of(all);
	tail = tail_of(all);
	(void)buf_put_str(&shown, head); /* the buffer is larger than both and the line */
	(void)buf_printf(&shown, "\n[%zu bytes are left out here", all.len - head.len - tail.len);
	if (artifact)
		(void)buf_printf(&shown, "; read them in artifact %s", artifact);
	(void)buf_puts(&shown, "]\n");
	(void)buf_put_str(&shown, tail);
	json_put_str(j, s->name, buf_str(&shown));
}
