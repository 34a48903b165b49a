/*
 * Where a path really lies: links are followed here, once, as text; opening follows none.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guard/guard.h"
#include "mem/mem.h"

enum {
	/* A link's text and what is left of the path, twice the kernel's own bound on one. */
	RESOLVE_REST_MAX_BYTES = 2 * PATH_MAX,
};

const struct error_kind GUARD_INVALID_PATH = {"invalid_path", ERROR_CLASS_USAGE};
const struct error_kind GUARD_NOT_FOUND = {"file_not_found", ERROR_CLASS_NOT_FOUND};

/* A walk on its way: `real` holds what is resolved ("" is the root), `rest` what is left. */
struct walk {
	struct buf real, rest;
	unsigned links;
	bool missing; /* from here on nothing exists, so nothing is looked at */
	struct stat st;
};

static void walk_cleanup(struct walk *w)
{
	buf_release(&w->real);
	buf_release(&w->rest);
}

static int too_long(struct error *err)
{
	return error_set(
		err, &GUARD_INVALID_PATH, "the path is longer than %d bytes", PATH_MAX - 1);
}

/* Looks at the folder the walk stands in, after a step that did not. */
static int walk_look(struct walk *w, struct error *err)
{
	const char *at = w->real.len > 0 ? w->real.data : "/";

	if (lstat(at, &w->st) < 0)
		return error_sys_kind(err, &GUARD_INVALID_PATH, "look at '%s'", at);
	return 0;
}

/* Takes the last part of `real` away; the root stays the root. */
static int walk_up(struct walk *w, struct error *err)
{
	const char *slash;

	if (w->missing)
		return error_set(err, &GUARD_INVALID_PATH, "'..' after '%s', which does not exist",
			buf_str(&w->real).p);
	slash = w->real.len > 0 ? strrchr(w->real.data, '/') : NULL;
	if (slash) {
		w->real.len = (size_t)(slash - w->real.data);
		w->real.data[w->real.len] = '\0';
	}
	return walk_look(w, err);
}

/* Puts a link's text before what is left to walk. */
static int walk_link(struct walk *w, const char *link, struct error *err)
{
	_cleanup_(buf) struct buf rest = BUF_INIT(RESOLVE_REST_MAX_BYTES);
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target));

	if (n < 0)
		return error_sys_kind(err, &GUARD_INVALID_PATH, "read the link '%s'", link);
	if (n == 0 || (size_t)n == sizeof(target))
		return too_long(err);
	if (++w->links > GUARD_LINKS_MAX)
		return error_set(err, &GUARD_INVALID_PATH, "more than %d symbolic links at '%s'",
			GUARD_LINKS_MAX, link);
	(void)buf_put(&rest, target, (size_t)n);
	(void)buf_put_str(&rest, buf_str(&w->rest)); /* empty or from a '/' on */
	if (rest.full)
		return too_long(err);
	if (target[0] == '/')
		buf_clear(&w->real);
	buf_clear(&w->rest);
	if (buf_put_str(&w->rest, buf_str(&rest)) < 0)
		return too_long(err);
	return walk_look(w, err);
}

/* What stands at real/part: follows it, steps into it, or notes that it is missing. */
static int walk_into(struct walk *w, struct str part, struct error *err)
{
	size_t before = w->real.len;

	if (part.len > NAME_MAX)
		return error_set(err, &GUARD_INVALID_PATH,
			"a part of the path is longer than %d bytes", NAME_MAX);
	if (buf_putc(&w->real, '/') < 0 || buf_put_str(&w->real, part) < 0)
		return too_long(err);
	if (w->missing)
		return 0;
	if (lstat(w->real.data, &w->st) < 0) {
		if (errno == ENOENT) {
			w->missing = true;
			return 0;
		}
		if (errno == EACCES)
			return error_sys_kind(err, &GUARD_DENIED, "look at '%s'", w->real.data);
		return error_sys_kind(err, &GUARD_INVALID_PATH, "look at '%s'", w->real.data);
	}
	if (S_ISLNK(w->st.st_mode)) {
		_cleanup_(mem) char *link = xstrdup(w->real.data);

		w->real.len = before;
		w->real.data[before] = '\0';
		return walk_link(w, link, err);
	}
	return 0;
}

/* A part that is no folder can only be the last one. */
static int walk_through(struct walk *w, struct error *err)
{
	if (w->missing || S_ISDIR(w->st.st_mode))
		return 0;
	return error_set(err, &GUARD_INVALID_PATH, "'%s' is not a folder", buf_str(&w->real).p);
}

static int walk_step(struct walk *w, struct error *err)
{
	_cleanup_(mem) char *part = NULL;
	struct str rest = buf_str(&w->rest);
	size_t len = 0;

	if (rest.p[0] == '/') { /* before it must stand a folder: "file/" is no name of a file */
		buf_consume(&w->rest, 1);
		return w->real.len > 0 ? walk_through(w, err) : 0;
	}
	while (len < rest.len && rest.p[len] != '/')
		len++;
	part = xstrndup(rest.p, len);
	buf_consume(&w->rest, len);
	if (strcmp(part, ".") == 0)
		return 0;
	if (strcmp(part, "..") == 0)
		return walk_up(w, err);
	return walk_into(w, (struct str){part, len}, err);
}

static int walk_start(struct walk *w, const char *base, struct str path, struct error *err)
{
	if (!path.p || path.len == 0)
		return error_set(err, &GUARD_INVALID_PATH, "the path is empty");
	if (path.len > GUARD_PATH_MAX_BYTES)
		return error_set(err, &GUARD_INVALID_PATH, "the path has %zu bytes, more than %d",
			path.len, GUARD_PATH_MAX_BYTES);
	if (memchr(path.p, '\0', path.len))
		return error_set(err, &GUARD_INVALID_PATH, "the path holds a NUL byte");
	if (walk_look(w, err) < 0)
		return -1;
	if (path.p[0] != '/') {
		must(base && base[0] == '/');
		(void)buf_puts(&w->rest, base);
		(void)buf_putc(&w->rest, '/');
	}
	return buf_put_str(&w->rest, path) < 0 ? too_long(err) : 0;
}

void guard_path_release(struct guard_path *p)
{
	free(p->real);
	p->real = NULL;
}

int guard_resolve(const char *base, struct str path, struct guard_path *ret, struct error *err)
{
	__attribute__((cleanup(walk_cleanup))) struct walk w = {
		.real = BUF_INIT(PATH_MAX - 1),
		.rest = BUF_INIT(RESOLVE_REST_MAX_BYTES),
	};

	if (walk_start(&w, base, path, err) < 0)
		return -1;
	while (w.rest.len > 0) {
		if (walk_step(&w, err) < 0)
			return -1;
	}
	if (w.real.len == 0)
		(void)buf_putc(&w.real, '/'); /* one byte always fits */
	*ret = (struct guard_path){.real = buf_take(&w.real), .exists = !w.missing};
	if (ret->exists) {
		ret->is_dir = S_ISDIR(w.st.st_mode);
		ret->dev = w.st.st_dev;
		ret->ino = w.st.st_ino;
	}
	return 0;
}

bool guard_beneath(const char *root, const char *path)
{
	size_t len = strlen(root);

	if (len == 1 && root[0] == '/')
		return path[0] == '/';
	return strncmp(root, path, len) == 0 && (path[len] == '\0' || path[len] == '/');
}
