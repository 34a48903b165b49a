#ifndef LOG_LOG_H
#define LOG_LOG_H
/*
 * log: events with fields, one line each: "TIME LEVEL NAME field=value …", on a descriptor.
 *
 * Names are stable and stand in the man page. Strings from outside are escaped (text_put_line) and
 * cut at 512 bytes. There is no way to log a struct secret. A line is one write(2), so lines of
 * threads do not mix; a line that cannot be written is dropped. Values that are not a plain word
 * are quoted; an absent string is a bare "-". Fields for which 4096 bytes have no room are left
 * out, and the line ends in cut=1. Leaves errno as it was.
 */
#include <stdint.h>

#include "error/error.h"
#include "text/text.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

struct log_field {
	const char *name;
	enum { LOG_FIELD_END, LOG_FIELD_I64, LOG_FIELD_STR, LOG_FIELD_ERROR } sort;
	int64_t i64;
	struct str str;
	const struct error *error;
};
#define LOG_I64(name_, value)                                                                      \
	((struct log_field){.name = (name_), .sort = LOG_FIELD_I64, .i64 = (value)})
#define LOG_STR(name_, value)                                                                      \
	((struct log_field){.name = (name_), .sort = LOG_FIELD_STR, .str = (value)})
#define LOG_CSTR(name_, value) LOG_STR(name_, str_from(value))
/* Two fields: error=CODE detail="…". */
#define LOG_ERR(err_)                                                                              \
	((struct log_field){.name = "error", .sort = LOG_FIELD_ERROR, .error = (err_)})

/* Where lines go (not owned) and from which level on. Default: descriptor 2, LOG_INFO. Once, at
 * start. */
void log_to(int fd, enum log_level least);

void log_fields(enum log_level level, const char *name, const struct log_field *fields);
#define log_event(level, name, ...)                                                                \
	log_fields(level, name,                                                                    \
		(const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){.sort = LOG_FIELD_END}})

#endif
