/*
 * db errors: what SQLite's codes mean to a caller. The text holds codes and an errno and never the
 * SQL, a value or SQLite's own message, which can quote both.
 */
#include <errno.h>

#include "db/internal.h"

const struct error_kind DB_ERROR = {"storage_error", ERROR_CLASS_IO};
const struct error_kind DB_FULL = {"storage_error", ERROR_CLASS_UNAVAILABLE};
const struct error_kind DB_SCHEMA_NEWER = {"store_schema_newer", ERROR_CLASS_UNAVAILABLE};
const struct error_kind DB_SCHEMA_UNSUPPORTED = {
	"store_schema_unsupported", ERROR_CLASS_UNAVAILABLE};
const struct error_kind DB_UNSAFE_FILE = {"unsafe_store_file", ERROR_CLASS_DENIED};

/* No room, or no writing here: what a person can mend and then try again. */
static bool is_no_room(int sys)
{
	return sys == ENOSPC || sys == EDQUOT || sys == EFBIG || sys == EROFS;
}

static const struct error_kind *kind_of(int code, int sys)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
	case SQLITE_READONLY:
		return &DB_FULL;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return is_no_room(sys) ? &DB_FULL : &DB_ERROR;
	default:
		return &DB_ERROR;
	}
}

int db_error(struct error *err, int code, int sys)
{
	const struct error_kind *kind = kind_of(code, sys);

	if (kind == &DB_FULL)
		error_set(err, kind, "the store has no room or is read-only (code %d/%d, errno %d)",
			code & 0xff, code, sys);
	else
		error_set(err, kind, "the store failed (code %d/%d, errno %d)", code & 0xff, code,
			sys);
	if (err)
		err->sys = sys;
	return -1;
}

int db_error_last(struct error *err, int code)
{
	return db_error(err, code, db_sys_of(code));
}

/* SQLite remembers an errno itself, but not that of a failed COMMIT: there it keeps an older one.
 */
int db_sys_of(int code)
{
	int primary = code & 0xff;

	return primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN ? errno : 0;
}
