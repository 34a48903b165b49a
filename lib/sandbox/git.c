/*
 * Where a `.git` file leads: a linked worktree or a submodule keeps its repository elsewhere, and
 * git runs hooks and configuration from there as from a `.git` folder. What of it lies in a
 * writable folder is protected like one.
 */
#include <string.h>

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

void git_pointed(const char *root, struct path_list *to)
{
	_cleanup_(buf) struct buf b = BUF_INIT(POINTER_MAX_BYTES);
	_cleanup_(mem) char *file = xasprintf("%s/.git", root);
	_cleanup_(mem) char *common_file = NULL;
	struct str text = read_line(file, &b), common;
	char *dir, *common_dir;

	if (!str_starts(text, STR("gitdir: ")))
		return;
	dir = resolved(root, (struct str){text.p + 8, text.len - 8});
	if (!dir)
		return;
	common_file = xasprintf("%s/commondir", dir);
	path_list_put(to, dir);
	common = read_line(common_file, &b);
	common_dir = common.len > 0 ? resolved(dir, common) : NULL;
	if (common_dir)
		path_list_put(to, common_dir);
}
