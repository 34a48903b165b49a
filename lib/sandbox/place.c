/*
 * Where a write would fall, before anything is started for it (agent spec 7.6). It says the same as
 * the mounts of a command would: both ask roots_collect and the same lists.
 */
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

static bool is_named(struct str part)
{
	for (size_t n = 0; protected_names[n]; n++) {
		if (str_is(part, protected_names[n]))
			return true;
	}
	return false;
}

/* Whether `named`, which ends in a protected name, is protected: at the top of a writable folder as
 * draft_names says, deeper where it is there and no temporary folder. */
static bool is_protected(const struct roots *r, const char *named)
{
	const char *slash = strrchr(named, '/');
	_cleanup_(mem) char *folder = xstrndup(named, (size_t)(slash - named));
	struct stat st;

	if (lstat(named, &st) < 0)
		return path_list_has(&r->all, folder) && protected_when_missing(slash + 1);
	return path_list_has(&r->all, folder) || path_list_covers(&r->named, folder);
}

/* Whether a part of the path is one of the names that git, agents and AWS run things from; a git
 * folder that leave to commit opens is put into r->open instead. */
static bool is_protected_name(
	const struct sandbox *s, const struct sandbox_policy *p, struct roots *r, const char *path)
{
	const char *slash = path, *end;

	for (; slash; slash = end) {
		struct str part;
		_cleanup_(mem) char *named = NULL, *folder = NULL;

		end = strchr(slash + 1, '/');
		part = (struct str){slash + 1, end ? (size_t)(end - slash - 1) : strlen(slash + 1)};
		named = xstrndup(path, (size_t)(part.p - path) + part.len);
		if (!is_named(part) || !path_list_covers(&r->top, named) || !is_protected(r, named))
			continue;
		folder = xstrndup(path, (size_t)(slash - path));
		if (p->git_commit && path_list_covers(&r->named, folder))
			roots_open_git(s, r, folder);
		if (!path_list_has(&r->open, named))
			return true;
	}
	return false;
}

static bool is_file(const char *path, const struct guard_path *p)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_dev == p->dev && st.st_ino == p->ino;
}

/* The store under another name: a hard link. SQLite's own names beside it count too. */
static bool is_store_file(const struct host *h, const struct guard_path *p)
{
	static const char *const beside[] = {"", "-wal", "-shm", "-journal"};

	for (size_t i = 0; h->store && p->exists && i < ARRAY_LEN(beside); i++) {
		_cleanup_(mem) char *path = xasprintf("%s%s", h->store, beside[i]);

		if (is_file(path, p))
			return true;
	}
	return false;
}

static bool is_never(const struct host *h, const struct guard_path *p)
{
	if (path_list_covers(&h->never, p->real) || is_store_file(h, p))
		return true;
	return h->socket &&
	       (strcmp(h->socket, p->real) == 0 || (p->exists && is_file(h->socket, p)));
}

static enum sandbox_place place_in(
	const struct sandbox *s, const struct sandbox_policy *p, struct roots *r, const char *real)
{
	if (!path_list_covers(&r->top, real) || path_list_covers(&s->host.walls, real))
		return SANDBOX_OUTSIDE;
	if (path_list_covers(&s->host.kept, real) || path_list_covers(&r->git, real) ||
		is_protected_name(s, p, r, real) || commit_keeps(&r->open, real))
		return SANDBOX_PROTECTED;
	return SANDBOX_INSIDE;
}

int sandbox_place(const struct sandbox *s, const struct sandbox_policy *p,
	const struct guard_path *path, enum sandbox_place *ret, struct error *err)
{
	__attribute__((cleanup(roots_cleanup))) struct roots r = {0};

	if (p->mode == SANDBOX_FULL_ACCESS) {
		*ret = SANDBOX_INSIDE;
		return 0;
	}
	if (roots_collect(s, p, &r, err) < 0 || roots_check_links(&r, err) < 0)
		return -1;
	*ret = is_never(&s->host, path) ? SANDBOX_NEVER : place_in(s, p, &r, path->real);
	return 0;
}
