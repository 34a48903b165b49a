/*
 * Where a `.git` file leads: a linked worktree or a submodule keeps its repository elsewhere, and
 * git runs hooks and configuration from there as from a `.git` folder. What of it lies in a
 * writable folder is protected like one.
 */
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

enum {
	POINTER_MAX_BYTES = 4096 + 16
}; /* a path and the word before it; git writes no longer ones */

/* The text of a small file without its line end; empty when it is none. */
static struct str read_line(const char *path, struct buf *b)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	struct str text;

	buf_clear(b);
	if (guard_resolve("/", str_from(path), &p, NULL) < 0 || !p.exists || p.is_dir ||
		guard_read(&p, POINTER_MAX_BYTES, NULL, 0, b, NULL) < 0)
		return STR("");
	text = buf_str(b);
	while (text.len > 0 && (text.p[text.len - 1] == '\n' || text.p[text.len - 1] == '\r'))
		text.len--;
	return text;
}

/* Where `text`, relative to `base`, lies. NULL when it is no path. */
static char *resolved(const char *base, struct str text)
{
	struct guard_path p = {0};

	return guard_resolve(base, text, &p, NULL) == 0 ? p.real : NULL;
}

/* Where the line in the file `name` of `folder` leads; NULL when there is none. */
static char *pointed(const char *folder, const char *name, struct str before)
{
	_cleanup_(buf) struct buf b = BUF_INIT(POINTER_MAX_BYTES);
	_cleanup_(mem) char *file = xasprintf("%s/%s", folder, name);
	struct str text = read_line(file, &b);

	if (text.len <= before.len || !str_starts(text, before))
		return NULL;
	return resolved(folder, (struct str){text.p + before.len, text.len - before.len});
}

void git_pointed(const char *root, struct path_list *to)
{
	char *dir = pointed(root, ".git", STR("gitdir: ")), *common;

	if (!dir)
		return;
	path_list_put(to, dir);
	common = pointed(dir, "commondir", STR(""));
	if (common)
		path_list_put(to, common);
}

static bool is_folder_in(const char *dir, const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", dir, name);
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool git_is_repository(const char *dir)
{
	_cleanup_(mem) char *head = xasprintf("%s/HEAD", dir);
	struct stat st;

	return lstat(head, &st) == 0 && is_folder_in(dir, "objects") && is_folder_in(dir, "refs");
}

/* Whether `dir` is COMMON/worktrees/NAME. */
static bool is_worktree_of(const char *common, const char *dir)
{
	_cleanup_(mem) char *folder = xasprintf("%s/worktrees/", common);
	const char *name = dir + strlen(folder);

	return str_starts(str_from(dir), str_from(folder)) && *name && !strchr(name, '/');
}

bool git_linked(const char *root, char **ret_dir, char **ret_common)
{
	_cleanup_(mem) char *dir = pointed(root, ".git", STR("gitdir: "));
	_cleanup_(mem) char *common = dir ? pointed(dir, "commondir", STR("")) : NULL;
	_cleanup_(mem) char *back = dir ? pointed(dir, "gitdir", STR("")) : NULL;
	_cleanup_(mem) char *file = xasprintf("%s/.git", root);

	if (!common || !back || strcmp(back, file) != 0 || !is_worktree_of(common, dir) ||
		!git_is_repository(common))
		return false;
	*ret_dir = mem_take(&dir);
	*ret_common = mem_take(&common);
	return true;
}
