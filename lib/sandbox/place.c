/*
 * Where a write would fall, before anything is started for it (agent spec 7.6). It says the same as
 * the mounts of a command would: both ask roots_collect and the same lists.
 */
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

/* The first part of `path` below `root`, which it lies beneath; empty for the root itself. */
static struct str first_part(const char *root, const char *path)
{
	const char *from = path + strlen(root), *end;

	while (*from == '/')
		from++;
	end = strchr(from, '/');
	return (struct str){from, end ? (size_t)(end - from) : strlen(from)};
}

/* Whether the path is one of the names that git, agents and AWS run things from, or lies below it.
 */
static bool is_protected_name(const char *root, const char *path)
{
	struct str part = first_part(root, path);

	for (size_t n = 0; protected_names[n]; n++) {
		_cleanup_(mem) char *named = NULL;
		struct stat st;

		if (!str_is(part, protected_names[n]))
			continue;
		named = xasprintf("%s/%s", root, protected_names[n]);
		return protected_when_missing(protected_names[n]) || lstat(named, &st) == 0;
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

static enum sandbox_place place_in(const struct sandbox *s, const struct roots *r, const char *real)
{
	if (!path_list_covers(&r->top, real) || path_list_covers(&s->host.walls, real))
		return SANDBOX_OUTSIDE;
	if (path_list_covers(&s->host.kept, real) || path_list_covers(&r->git, real))
		return SANDBOX_PROTECTED;
	for (size_t i = 0; i < r->all.count; i++) {
		if (guard_beneath(r->all.items[i], real) &&
			is_protected_name(r->all.items[i], real))
			return SANDBOX_PROTECTED;
	}
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
	*ret = is_never(&s->host, path) ? SANDBOX_NEVER : place_in(s, &r, path->real);
	return 0;
}
