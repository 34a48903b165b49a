/*
 * Leave to commit (agent spec 7.2): which git folders it opens, and what stays closed in them.
 *
 * Closed is what git runs or is led by: hooks, the files of configuration (a filter, an alias, an
 * editor or a pager there is a program), modules (repositories of their own with both) and
 * commondir (names the folder that both are taken from). info/attributes stays open: it can only
 * name what configuration defines, as can .gitattributes in the work tree. So do refs, objects with
 * info/alternates, the index and what a rebase keeps (TRUST.md says what that means to whoever
 * continues one).
 *
 * Of linked worktrees only those are open that a writable folder is the work tree of.
 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "os/os.h"

enum { WORKTREES_MAX = 128 /* ours: each costs a mount */ };

static const struct {
	const char *name;
	enum cover_kind cover;
} parts[] = {
	{"hooks",           COVER_FOLDER},
	{"config",          COVER_FILE  },
	{"config.worktree", COVER_FILE  },
	{"modules",         COVER_FOLDER},
	{"commondir",       COVER_FILE  },
};
static const char worktrees[] = "worktrees";

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* only read */
}
MEM_CLEANUP(folder, DIR *, close_folder)

/* The first part of a path and what follows its slash. */
static struct str cut_part(struct str *rest)
{
	struct str part = {NULL, 0};

	(void)str_next(rest, '/', &part);
	return part;
}

static bool is_part(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (str_is(name, parts[i].name))
			return true;
	}
	return false;
}

/* `rest` is a path in the git folder `git`. */
static bool keeps(const struct path_list *open, const char *git, struct str rest)
{
	_cleanup_(mem) char *linked = NULL;
	struct str first = cut_part(&rest), id;
	struct stat st;

	if (first.len == 0 || is_part(first))
		return true;
	if (!str_is(first, worktrees))
		return false;
	id = cut_part(&rest);
	if (id.len == 0)
		return true;
	linked = xasprintf("%s/%s/" STR_FMT, git, worktrees, STR_ARG(id));
	return !path_list_has(open, linked) && lstat(linked, &st) == 0;
}

bool commit_keeps(const struct path_list *open, const char *path)
{
	for (size_t i = 0; i < open->count; i++) {
		const char *git = open->items[i], *rest = path + strlen(git);

		if (!guard_beneath(git, path))
			continue;
		if (keeps(open, git, str_from(*rest == '/' ? rest + 1 : rest)))
			return true;
	}
	return false;
}

static int refuse_link(const char *path, const struct stat *st, struct error *err)
{
	if (!S_ISLNK(st->st_mode))
		return 0;
	return error_set(err, &SANDBOX_PROTECTED_LINK,
		"'%s' is a symbolic link; with leave to commit it must be a real one to be "
		"protected",
		path);
}

static int put_part(const char *git, size_t i, struct commit_parts *to, struct error *err)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", git, parts[i].name);
	struct stat st;

	if (lstat(path, &st) == 0 && refuse_link(path, &st, err) < 0)
		return -1;
	if (!placeholder_begun(path))
		path_list_put(&to->kept, mem_take(&path));
	else if (parts[i].cover == COVER_FOLDER)
		path_list_put(&to->folders, mem_take(&path));
	else
		path_list_put(&to->files, mem_take(&path));
	return 0;
}

static int put_linked(const struct path_list *open, const char *path_of, struct commit_parts *to,
	struct error *err)
{
	_cleanup_(folder) DIR *d = NULL;
	const struct dirent *e;
	struct stat st;
	size_t count = 0;

	if (lstat(path_of, &st) < 0)
		return 0;
	if (refuse_link(path_of, &st, err) < 0)
		return -1;
	d = opendir(path_of);
	while (d && (e = readdir(d))) {
		_cleanup_(mem) char *path = xasprintf("%s/%s", path_of, e->d_name);

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (++count > WORKTREES_MAX)
			return error_set(err, &ERROR_LIMIT,
				"'%s' holds more than %d linked worktrees: too many to protect",
				path_of, WORKTREES_MAX);
		if (lstat(path, &st) == 0 && refuse_link(path, &st, err) < 0)
			return -1;
		if (!path_list_has(open, path))
			path_list_put(&to->kept, mem_take(&path));
	}
	return 0;
}

int commit_put(
	const struct path_list *open, const char *git, struct commit_parts *to, struct error *err)
{
	_cleanup_(mem) char *linked = xasprintf("%s/%s", git, worktrees);

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (put_part(git, i, to, err) < 0)
			return -1;
	}
	return put_linked(open, linked, to, err);
}

void commit_sweep(const char *git)
{
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		_cleanup_(mem) char *path = xasprintf("%s/%s", git, parts[i].name);

		placeholder_sweep(path);
	}
}
