/*
 * The folders a bot may write: resolved anew for each command, since a folder can vanish or become
 * a link between two.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

const char *const sandbox_mode_names[] = {
	[SANDBOX_FULL_ACCESS] = "danger-full-access",
	[SANDBOX_READ_ONLY] = "read-only",
	[SANDBOX_WORKSPACE_WRITE] = "workspace-write",
	NULL,
};

const struct error_kind SANDBOX_ROOT_MISSING = {"writable_root_missing", ERROR_CLASS_NOT_FOUND};
const struct error_kind SANDBOX_ROOT_IN_WALL = {"writable_root_in_wall", ERROR_CLASS_DENIED};
const struct error_kind SANDBOX_ROOT_IN_STORE = {"writable_root_in_store", ERROR_CLASS_DENIED};
const struct error_kind SANDBOX_ROOT_REFUSED = {"writable_root_refused", ERROR_CLASS_DENIED};
const struct error_kind SANDBOX_PROTECTED_LINK = {"protected_path_is_symlink", ERROR_CLASS_DENIED};
const struct error_kind SANDBOX_TOO_MANY = {"too_many_protected", ERROR_CLASS_LIMIT};

/* agent spec 7.2. The last is covered only where it is there. */
const char *const protected_names[] = {".git", ".agents", ".codex", ".aws", NULL};

bool protected_when_missing(const char *name)
{
	return strcmp(name, ".aws") != 0;
}

/* Places that are no folders of files: a sandbox has its own, or they are the kernel's. */
static bool is_system(const char *real)
{
	if (strcmp(real, "/") == 0 || guard_beneath("/proc", real) || guard_beneath("/sys", real))
		return true;
	return guard_beneath("/dev", real) &&
	       (!guard_beneath("/dev/shm", real) || strcmp(real, "/dev/shm") == 0);
}

/* Whether a resolved folder may be written at all. */
static int root_allowed(const struct sandbox *s, const char *real, struct error *err)
{
	if (path_list_covers(&s->host.walls, real))
		return error_set(err, &SANDBOX_ROOT_IN_WALL, "'%s' lies in a walled folder", real);
	if (path_list_covers(&s->host.never, real))
		return error_set(err, &SANDBOX_ROOT_IN_STORE,
			"'%s' lies in a folder of the daemon's own", real);
	if (path_list_covers(&s->host.kept, real))
		return error_set(err, &SANDBOX_ROOT_REFUSED,
			"'%s' lies in a path that is kept read-only", real);
	if (is_system(real))
		return error_set(err, &SANDBOX_ROOT_REFUSED,
			"'%s' cannot be a writable folder of a sandbox", real);
	return 0;
}

/* One that the policy names: it must be what it was. */
static int add_configured(
	const struct sandbox *s, const char *path, struct path_list *to, struct error *err)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};

	if (!path || path[0] != '/')
		return error_set(
			err, &SANDBOX_ROOT_MISSING, "a writable folder is no absolute path");
	if (guard_resolve("/", str_from(path), &p, err) < 0)
		return error_set(err, &SANDBOX_ROOT_MISSING, "'%s' is no folder", path);
	if (root_allowed(s, p.real, err) < 0)
		return -1;
	if (!p.exists || !p.is_dir)
		return error_set(err, &SANDBOX_ROOT_MISSING, "'%s' %s", path,
			p.exists ? "is no folder" : "does not exist");
	if (strcmp(p.real, path) != 0) /* the caller gave a resolved one */
		return error_set(err, &SANDBOX_ROOT_MISSING,
			"'%s' has become a symbolic link or lies below one", path);
	path_list_put(to, mem_take(&p.real));
	return 0;
}

/* The first protected name in the folder that is a symbolic link; NULL: none is. */
static char *protected_link(const char *root)
{
	for (size_t n = 0; protected_names[n]; n++) {
		char *path = xasprintf("%s/%s", root, protected_names[n]);
		struct stat st;

		if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
			return path;
		free(path);
	}
	return NULL;
}

/* AG-232: /tmp and $TMPDIR, where they are folders that may be written. One that holds a protected
 * name as a link is left out: everybody puts things there, any bot and on a shared machine any
 * user, and one link must not keep every bot from running anything. */
static void add_temporary(const struct sandbox *s, const char *path, struct path_list *to)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	_cleanup_(mem) char *link = NULL;

	if (!path || guard_resolve("/", str_from(path), &p, NULL) < 0 || !p.is_dir)
		return;
	link = protected_link(p.real);
	if (!link && root_allowed(s, p.real, NULL) == 0)
		path_list_put(to, mem_take(&p.real));
}

static int add_all_configured(const struct sandbox *s, const struct sandbox_policy *p,
	struct path_list *to, struct error *err)
{
	if (p->workspace && add_configured(s, p->workspace, to, err) < 0)
		return -1;
	for (size_t i = 0; p->writable_roots && p->writable_roots[i]; i++) {
		if (add_configured(s, p->writable_roots[i], to, err) < 0)
			return -1;
	}
	return 0;
}

int roots_check(const struct sandbox *s, const struct sandbox_policy *p, struct error *err)
{
	_cleanup_(path_list) struct path_list l = {0};

	return p->mode == SANDBOX_WORKSPACE_WRITE ? add_all_configured(s, p, &l, err) : 0;
}

/* A repository that has a writable folder inside it is none to protect as a whole. */
bool roots_is_around(const struct roots *r, const char *folder)
{
	for (size_t i = 0; i < r->all.count; i++) {
		if (guard_beneath(folder, r->all.items[i]))
			return true;
	}
	return false;
}

/* A linked worktree commits into a repository elsewhere: that becomes a writable folder too. */
static void open_linked(const struct sandbox *s, struct roots *r, const char *root)
{
	char *dir, *common;

	if (!git_linked(root, &dir, &common))
		return;
	if (roots_is_around(r, common) || root_allowed(s, common, NULL) < 0) {
		free(dir);
		free(common);
		return;
	}
	if (!path_list_covers(&r->top, common))
		path_list_put(&r->top, xstrdup(common));
	path_list_put(&r->open, dir);
	path_list_put(&r->open, common);
}

/* The git folder of a folder that holds a .git, if leave to commit opens it. */
void roots_open_git(const struct sandbox *s, struct roots *r, const char *root)
{
	_cleanup_(mem) char *path = xasprintf("%s/.git", root);
	_cleanup_(path_list) struct path_list found = {0};
	struct stat st;

	if (lstat(path, &st) < 0 || roots_is_around(r, path))
		return;
	if (S_ISDIR(st.st_mode)) {
		if (git_is_repository(path))
			path_list_put(&r->open, mem_take(&path));
		return;
	}
	open_linked(s, r, root);
	git_pointed(root, &found); /* git init --separate-git-dir */
	for (size_t i = 0; i < found.count; i++) {
		const char *git = found.items[i];

		if (path_list_covers(&r->top, git) && !roots_is_around(r, git) &&
			git_is_repository(git) && !path_list_covers(&r->open, git))
			path_list_put(&r->open, xstrdup(git));
	}
}

static void add_git(const struct sandbox *s, const struct sandbox_policy *p, struct roots *r)
{
	_cleanup_(path_list) struct path_list found = {0};

	for (size_t i = 0; p->git_commit && i < r->named.count; i++)
		roots_open_git(s, r, r->named.items[i]);
	path_list_sort(&r->open);
	path_list_sort(&r->top);
	for (size_t i = 0; i < r->all.count; i++)
		git_pointed(r->all.items[i], &found);
	for (size_t i = 0; i < found.count; i++) {
		const char *git = found.items[i];

		if (path_list_covers(&r->top, git) && !roots_is_around(r, git) &&
			!path_list_has(&r->open, git))
			path_list_put(&r->git, xstrdup(git));
	}
	path_list_sort(&r->git);
}

int roots_collect(const struct sandbox *s, const struct sandbox_policy *p, struct roots *ret,
	struct error *err)
{
	__attribute__((cleanup(roots_cleanup))) struct roots r = {0};

	if (p->mode == SANDBOX_WORKSPACE_WRITE) {
		if (add_all_configured(s, p, &r.named, err) < 0)
			return -1;
		for (size_t i = 0; i < r.named.count; i++)
			path_list_put(&r.all, xstrdup(r.named.items[i]));
		add_temporary(s, "/tmp", &r.all);
		add_temporary(s, s->host.tmpdir, &r.all);
	}
	path_list_sort(&r.named);
	path_list_sort(&r.all);
	for (size_t i = 0; i < r.all.count; i++) {
		if (!path_list_covers(&r.top, r.all.items[i])) /* parents come first */
			path_list_put(&r.top, xstrdup(r.all.items[i]));
	}
	add_git(s, p, &r);
	*ret = r;
	r = (struct roots){0};
	return 0;
}

void roots_release(struct roots *r)
{
	path_list_release(&r->all);
	path_list_release(&r->named);
	path_list_release(&r->open);
	path_list_release(&r->top);
	path_list_release(&r->git);
}

int roots_check_links(const struct roots *r, struct error *err)
{
	for (size_t i = 0; i < r->all.count; i++) {
		_cleanup_(mem) char *path = protected_link(r->all.items[i]);

		if (path)
			return error_set(err, &SANDBOX_PROTECTED_LINK,
				"'%s' is a symbolic link; the sandbox can protect only a real "
				"folder of that name",
				path);
	}
	return 0;
}
