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
	LAST_MAX_BYTES = 4 * TAIL_BYTES, /* ours: so that it is seldom moved */
};

static const char *const names[] = {"stdout", "stderr", "page"};

void shell_stream_init(struct shell_stream *s, size_t index, const struct secret_set *secrets,
	struct tool_spill *spill)
{
	*s = (struct shell_stream){
		.name = names[index],
		.filter = secret_filter_new(secrets),
		.kept = BUF_INIT(TOOL_OUTPUT_KEPT_BYTES),
		.last = BUF_INIT(LAST_MAX_BYTES),
		.spill = spill,
		.index = index,
		.spill_err = ERROR_INIT,
	};
}

void shell_stream_release(struct shell_stream *s)
{
	secret_filter_free(s->filter);
	s->filter = NULL;
	buf_release(&s->kept);
	buf_release(&s->last);
}

int64_t shell_stream_limit(const struct shell_stream *s)
{
	return s->spill && !s->spill_err.kind ? TOOL_SPILLED_MAX_BYTES : (int64_t)s->kept.max;
}

int64_t shell_stream_spilled(const struct shell_stream *s)
{
	return !s->spill_err.kind && s->total > (int64_t)s->kept.len ? s->total : 0;
}

/* The end of what was written, behind what is kept: at least a tail of it, whatever came. */
static void keep_last(struct shell_stream *s, struct str text)
{
	if (text.len > LAST_MAX_BYTES)
		text = (struct str){text.p + text.len - LAST_MAX_BYTES, LAST_MAX_BYTES};
	if (s->last.len + text.len > LAST_MAX_BYTES) {
		size_t stay = text.len > TAIL_BYTES ? 0 : TAIL_BYTES;

		memmove(s->last.data, s->last.data + s->last.len - stay, stay);
		s->last.len = stay;
	}
	(void)buf_put_str(&s->last, text); /* fits */
}

static void spill(struct shell_stream *s, struct str text)
{
	if (!s->spill || s->spill_err.kind)
		return;
	if (s->spill->put(s->spill, s->index, text, &s->spill_err) < 0)
		must(s->spill_err.kind);
}

/* Keeps what fits, spills what may be. */
static void keep(struct shell_stream *s, const struct buf *clean)
{
	size_t room = s->kept.max - s->kept.len, first;
	struct str text = buf_str(clean);

	if (clean->full || (int64_t)text.len > shell_stream_limit(s) - s->total)
		s->over = true;
	if ((int64_t)text.len > shell_stream_limit(s) - s->total)
		text.len = (size_t)(shell_stream_limit(s) - s->total);
	spill(s, text);
	first = text.len < room ? text.len : room;
	(void)buf_put(&s->kept, text.p, first); /* fits */
	if (first < text.len && s->spill_err.kind) {
		s->over = true; /* the rest is nowhere */
		text.len = first;
	}
	if (s->last.len == 0 && first < text.len)
		keep_last(s, (struct str){s->kept.data + s->kept.len - TAIL_BYTES, TAIL_BYTES});
	keep_last(s, (struct str){text.p + first, text.len - first});
	s->total += (int64_t)text.len;
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
	return s->total > TOOL_OUTPUT_SHOWN_BYTES;
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

void shell_stream_show(const struct shell_stream *s, const char *artifact, struct buf *to)
{
	struct str all = buf_str(&s->kept);
	struct str head, tail;

	if (!shell_stream_is_cut(s)) {
		(void)buf_put_str(to, all); /* the buffer is larger than what may be shown */
		return;
	}
	head = head_of(all);
	tail = tail_of(s->last.len > 0 ? buf_str(&s->last) : all);
	(void)buf_put_str(to, head); /* … than both and the line */
	(void)buf_printf(to, "\n[%lld bytes are left out here",
		(long long)s->total - (long long)(head.len + tail.len));
	if (artifact)
		(void)buf_printf(to, "; read them in artifact %s", artifact);
	(void)buf_puts(to, "]\n");
	(void)buf_put_str(to, tail);
}

void shell_stream_write(const struct shell_stream *s, struct json_out *j, const char *artifact)
{
	_cleanup_(buf) struct buf shown = BUF_INIT(SHELL_SHOWN_MAX_BYTES);

	shell_stream_show(s, artifact, &shown);
	json_put_str(j, s->name, buf_str(&shown));
}
