/*
 * wire: bytes into lines, whatever the chunks.
 */
#include "wire/wire.h"

#include <string.h>

#include "mem/mem.h"

enum {
	PARTIAL_KEPT_BYTES =
		65536, /* ours: memory of a longer line is given back when it was told */
};

void wire_lines_init(struct wire_lines *w, size_t max_bytes)
{
	must(max_bytes > 0);
	*w = (struct wire_lines){.partial = BUF_INIT(max_bytes), .max_bytes = max_bytes};
}

void wire_lines_release(struct wire_lines *w)
{
	buf_release(&w->partial);
}

static int too_long(struct wire_lines *w, struct error *err)
{
	w->broken = true;
	buf_release(&w->partial);
	return error_set(err, &ERROR_LIMIT, "a line is longer than %zu bytes", w->max_bytes);
}

/* The line lent last has been used. */
static void forget_told(struct wire_lines *w)
{
	if (!w->told)
		return;
	w->told = false;
	if (w->partial.cap > PARTIAL_KEPT_BYTES)
		buf_release(&w->partial);
	else
		buf_clear(&w->partial);
}

int wire_lines_next(struct wire_lines *w, struct str *rest, struct str *ret_line, struct error *err)
{
	const char *end;
	size_t len;

	forget_told(w);
	if (w->broken)
		return too_long(w, err);
	if (rest->len == 0)
		return 0;
	end = memchr(rest->p, '\n', rest->len);
	len = end ? (size_t)(end - rest->p) : rest->len;
	if (len >= w->max_bytes - w->partial.len) /* with its newline, there or to come */
		return too_long(w, err);
	if (end && w->partial.len == 0) { /* whole in this chunk: nothing is copied */
		*ret_line = (struct str){rest->p, len};
	} else {
		must(buf_put(&w->partial, rest->p, len) == 0);
		*ret_line = buf_str(&w->partial);
		w->told = end != NULL;
	}
	len += end != NULL;
	rest->p += len;
	rest->len -= len;
	return end != NULL;
}

int wire_lines_put(struct wire_lines *w, const char *p, size_t len,
	bool (*line)(void *arg, struct str line), void *arg, struct error *err)
{
	struct str rest = {p, len}, one = {NULL, 0};
	int got;

	while ((got = wire_lines_next(w, &rest, &one, err)) > 0) {
		if (!line(arg, one))
			return 0;
	}
	return got;
}

size_t wire_lines_pending(const struct wire_lines *w)
{
	return w->told ? 0 : w->partial.len;
}
