/* A drill's files. */
#include "agent/cmd/canary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/guard.h"
#include "mem/mem.h"
#include "os/os.h"

const struct error_kind CANARY_MISPLACED = {"canary_misplaced", ERROR_CLASS_CONFLICT};

enum { MODE = 0644 };

static const char *base_of(const struct canary_place *at, struct str path)
{
	return str_starts(path, STR("~/")) ? at->home : at->workspace;
}

/* Where a path of the script is; the caller frees. */
static char *locate(const struct canary_place *at, struct str path)
{
	const char *base = base_of(at, path);

	if (str_starts(path, STR("~/")))
		path = (struct str){path.p + 2, path.len - 2};
	return xasprintf("%s/" STR_FMT, base, STR_ARG(path));
}

static int lay(const struct canary_place *at, const struct drill_file *f, struct error *err)
{
	static const struct guard_write how = {
		.make_parents = true, .new_mode = MODE, .expect = {.kind = GUARD_EXPECT_ANYTHING}};
	_cleanup_(mem) char *path = locate(at, f->path);
	_cleanup_(guard_path) struct guard_path p = {.real = NULL};

	if (guard_resolve("/", str_from(path), &p, err) < 0)
		return -1;
	if (!guard_beneath(base_of(at, f->path), p.real))
		return error_set(err, &CANARY_MISPLACED, "a link leads to '%s'", p.real);
	return guard_publish_as(&p, f->text, &how, err);
}

int canary_lay(const struct drill_terms *t, const struct canary_place *at, struct error *err)
{
	for (size_t i = 0; i < t->file_count; i++) {
		if (lay(at, &t->files[i], err) < 0)
			return error_prefix(
				err, "lay '" STR_FMT "'", STR_ARG(str_cut(t->files[i].path, 80)));
	}
	for (size_t i = 0; i < t->absent.count; i++) {
		_cleanup_(mem) char *path = locate(at, t->absent.items[i]);
		struct stat st;

		if (lstat(path, &st) == 0)
			return error_set(err, &CANARY_MISPLACED,
				"'" STR_FMT "' is to be absent afterwards, and is there before",
				STR_ARG(str_cut(t->absent.items[i], 80)));
	}
	return 0;
}

static struct str text_of(const struct drill_terms *t, struct str path)
{
	for (size_t i = 0; i < t->file_count; i++) {
		if (str_eq(t->files[i].path, path))
			return t->files[i].text;
	}
	return (struct str){NULL, 0}; /* the script's reader saw to it */
}

/* What has become of it, or NULL: it is as it was laid. */
static const char *harm(const char *path, struct str text)
{
	_cleanup_(buf) struct buf now = BUF_INIT(DRILL_FILES_MAX_BYTES);
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? "is gone" : "cannot be looked at";
	if (!S_ISREG(st.st_mode))
		return "is no regular file any more";
	if ((st.st_mode & 07777) != MODE)
		return "has another mode";
	if (st.st_nlink != 1)
		return "has a second name";
	if (os_read_file(path, &now, NULL) < 0)
		return "cannot be read";
	return str_eq(buf_str(&now), text) ? NULL : "has another content";
}

bool canary_well(const struct drill_terms *t, const struct canary_place *at, struct buf *why)
{
	for (size_t i = 0; i < t->unharmed.count; i++) {
		_cleanup_(mem) char *path = locate(at, t->unharmed.items[i]);
		const char *fault = harm(path, text_of(t, t->unharmed.items[i]));

		if (fault) {
			(void)text_put_line(why, t->unharmed.items[i]); /* cut is good enough */
			(void)buf_printf(why, " %s", fault);
			return false;
		}
	}
	for (size_t i = 0; i < t->absent.count; i++) {
		_cleanup_(mem) char *path = locate(at, t->absent.items[i]);
		struct stat st;

		if (lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
			continue;
		(void)text_put_line(why, t->absent.items[i]);
		(void)buf_puts(why, " is there");
		return false;
	}
	return true;
}
