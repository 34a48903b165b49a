/*
 * log: one event is one line and one write(2).
 *
 * A value of letters, digits and a few marks stands bare; any other is quoted, with quotes and
 * backslashes escaped, so that a line can be taken apart again. An absent string is a bare "-".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <unistd.h>

#include "clock/clock.h"
#include "log/log.h"
#include "mem/mem.h"

enum {
	VALUE_MAX_BYTES = 512, /* log.h; of the string before it is escaped */
	LINE_MAX_BYTES = 4096, /* PIPE_BUF on Linux: more would mix with other writers in a pipe */
};

static const char CUT[] = " cut=1\n"; /* ends a line that had no room for all fields */

static _Atomic int to_fd = STDERR_FILENO;
static _Atomic int from_level = LOG_INFO;

void log_to(int fd, enum log_level least)
{
	atomic_store(&to_fd, fd);
	atomic_store(&from_level, (int)least);
}

static const char *level_name(enum log_level level)
{
	switch (level) {
	case LOG_DEBUG:
		return "debug";
	case LOG_INFO:
		return "info";
	case LOG_WARN:
		return "warn";
	case LOG_ERROR:
		return "error";
	}
	return "error";
}

static bool is_bare(struct str s)
{
	static const char marks[] = "_./:@+,-%";

	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];
		bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9');

		if (!word && (!c || !strchr(marks, c)))
			return false;
	}
	return s.len > 0 && !str_is(s, "-");
}

static void put_quoted(struct buf *b, struct str s)
{
	size_t from = 0;

	(void)buf_putc(b, '"'); /* the one check of a full buffer is put_field's, here and below */
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] != '"' && s.p[i] != '\\')
			continue;
		(void)text_put_line(b, (struct str){s.p + from, i - from});
		(void)buf_putc(b, '\\');
		(void)buf_putc(b, s.p[i]);
		from = i + 1;
	}
	(void)text_put_line(b, (struct str){s.p + from, s.len - from});
}

static void put_str(struct buf *b, const char *name, struct str s)
{
	struct str part = s.len > VALUE_MAX_BYTES ? str_cut(s, VALUE_MAX_BYTES) : s;

	(void)buf_printf(b, " %s=", name);
	if (!s.p) {
		(void)buf_putc(b, '-');
		return;
	}
	if (part.len == s.len && is_bare(s)) {
		(void)buf_put_str(b, s);
		return;
	}
	put_quoted(b, part);
	(void)buf_puts(b, part.len < s.len ? "…\"" : "\"");
}

static void put_error(struct buf *b, const char *name, const struct error *err)
{
	put_str(b, name, str_from(error_code(err)));
	put_str(b, "detail", str_from(err ? err->text : NULL));
}

/* Puts a field or, when there is no room, nothing; -1 then. */
static int put_field(struct buf *b, const struct log_field *f)
{
	size_t start = b->len;

	switch (f->sort) {
	case LOG_FIELD_I64:
		(void)buf_printf(b, " %s=%" PRId64, f->name, f->i64);
		break;
	case LOG_FIELD_STR:
		put_str(b, f->name, f->str);
		break;
	case LOG_FIELD_ERROR:
		put_error(b, f->name, f->error);
		break;
	case LOG_FIELD_END:
		break;
	}
	if (!b->full)
		return 0;
	b->len = start;
	b->full = false;
	b->data[start] = '\0';
	return -1;
}

void log_fields(enum log_level level, const char *name, const struct log_field *fields)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LINE_MAX_BYTES - (sizeof(CUT) - 1));
	char time[CLOCK_TEXT_SIZE];
	int saved = errno;
	bool cut = false;
	ssize_t said;

	if ((int)level < atomic_load(&from_level))
		return;
	clock_text(clock_real_ms(clock_system()), time);
	(void)buf_printf(
		&b, "%s %s %s", time, level_name(level), name); /* names are literals of ours */
	for (const struct log_field *f = fields; f->sort != LOG_FIELD_END; f++)
		if (put_field(&b, f) < 0)
			cut = true;
	b.max = LINE_MAX_BYTES;
	(void)buf_puts(&b, cut ? CUT : "\n");
	do
		said = write(atomic_load(&to_fd), b.data, b.len);
	while (said < 0 && errno == EINTR);
	errno = saved;
}
