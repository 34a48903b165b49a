#ifndef MODEL_TEST_STREAM_TESTING_H
#define MODEL_TEST_STREAM_TESTING_H
/*
 * rows of streams, as test/streams/FAMILY.txt has them: a line "== NAME", the stream, a line "--",
 * and what is told. In the stream U+240D at a line's end stands for a carriage return, and U+2404
 * says that no line feed follows. Blank lines behind what is told are not part of it.
 */
#include "testing.h"
#include "test/model/tape.h"

enum { ROWS_MAX = 256, ROWS_FILE_MAX_BYTES = 1 << 20 };

struct stream_row {
	char *name;
	struct buf stream, tape;
};

struct stream_rows {
	struct stream_row rows[ROWS_MAX];
	size_t count;
};

static inline void stream_rows_free(struct stream_rows *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->count; i++) {
		free(all->rows[i].name);
		buf_release(&all->rows[i].stream);
		buf_release(&all->rows[i].tape);
	}
	free(all);
}
MEM_CLEANUP(stream_rows, struct stream_rows *, stream_rows_free)

static inline void stream_read_file(const char *path, struct buf *to)
{
	FILE *f = fopen(path, "rbe");
	size_t got;

	if (!f)
		fail_msg("%s cannot be read", path);
	assert_int_equal(buf_reserve(to, to->max), 0);
	got = fread(to->data, 1, to->max, f);
	must(feof(f) || got < to->max);
	to->len = got;
	(void)fclose(f); /* only read from */
}

/* One line of a stream, with its marks as what they stand for. */
static inline void stream_put_line(struct buf *to, struct str line)
{
	const struct str cr = STR("\xe2\x90\x8d"), cut = STR("\xe2\x90\x84");

	for (size_t i = 0; i < line.len; i++) {
		const struct str rest = {line.p + i, line.len - i};

		if (str_starts(rest, cut))
			return;
		if (str_starts(rest, cr)) {
			(void)buf_putc(to, '\r');
			i += cr.len - 1;
		} else {
			(void)buf_putc(to, line.p[i]);
		}
	}
	(void)buf_putc(to, '\n');
}

static inline struct stream_rows *stream_rows_read(const char *family)
{
	_cleanup_(buf) struct buf file = BUF_INIT(ROWS_FILE_MAX_BYTES);
	_cleanup_(mem) char *path = xasprintf("test/streams/%s.txt", family);
	struct stream_rows *all = xcalloc(1, sizeof(*all));
	struct stream_row *row = NULL;
	bool told = false;
	struct str rest, line;

	stream_read_file(path, &file);
	rest = buf_str(&file);
	while (str_next(&rest, '\n', &line)) {
		if (str_starts(line, STR("== "))) {
			must(all->count < ROWS_MAX);
			row = &all->rows[all->count++];
			row->name = xstrndup(line.p + 3, line.len - 3);
			row->stream.max = row->tape.max = ROWS_FILE_MAX_BYTES;
			told = false;
		} else if (row && str_is(line, "--")) {
			told = true;
		} else if (row && !told) {
			stream_put_line(&row->stream, line);
		} else if (row && line.len > 0) {
			(void)buf_put_str(&row->tape, line);
			(void)buf_putc(&row->tape, '\n');
		}
	}
	assert_true(all->count > 0);
	return all;
}

#endif
