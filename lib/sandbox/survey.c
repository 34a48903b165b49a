/*
 * The survey: which protected names lie deeper in the folders a bot may write (DESIGN 5.1), and
 * what git and the tools would run or be led by in them.
 *
 * The shallow folders are looked at first, so that a bound cuts off what lies deepest. What appears
 * after the look is neither covered nor compared: a command may make a repository of its own, which
 * the next one then finds protected.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

enum {
	SURVEY_FOLDERS_MAX = 8192,   /* ours: 37 µs each, 4 when remembered (a busy machine) */
	SURVEY_ENTRIES_MAX = 262144, /* ours: names read, 0.1 µs each */
	SURVEY_DEPTH_MAX = 16,       /* ours: deeper than what people keep repositories in */
	SURVEY_NAMES_MAX = 128,      /* ours: each costs a command two mounts */
	MARKS_MAX = 8192,            /* ours: files compared; a repository has some 20 */
	MARKS_IN_FOLDER_MAX = 64,    /* ours: of a folder like hooks */
};

/* What a file is known again by. */
struct mark {
	char *path;
	bool there, whole; /* whole: also when it was changed */
	struct stat st;
};
struct todo {
	char *path;
	unsigned depth;
	struct folder_cache *cache;
};
struct sandbox_survey {
	struct sandbox *sandbox;
	const struct host *host;
	struct path_list roots;
	struct folder_cache **caches; /* of the roots; this survey's own while it lives */
	struct path_list names;       /* protected ones below the top of a root */
	struct path_list changed;
	struct mark *marks;
	size_t mark_count;
	struct todo *todo; /* a queue: from `next` on */
	size_t todo_count, next, entries;
	bool cut, ran;
};

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* only read */
}
MEM_CLEANUP(folder, DIR *, close_folder)

/* /tmp and $TMPDIR are everybody's: things come and go there faster than they could be covered. */
static bool is_shared(const struct host *h, const char *root)
{
	return strcmp(root, "/tmp") == 0 || (h->tmpdir && strcmp(root, h->tmpdir) == 0);
}

struct sandbox_survey *sandbox_survey_new(struct sandbox *s, const struct sandbox_policy *p)
{
	struct sandbox_survey *v = xcalloc(1, sizeof(*v));

	v->sandbox = s;
	v->host = &s->host;
	if (p->mode != SANDBOX_WORKSPACE_WRITE)
		return v;
	if (p->workspace)
		path_list_put(&v->roots, xstrdup(p->workspace));
	for (size_t i = 0; p->writable_roots && p->writable_roots[i]; i++)
		path_list_put(&v->roots, xstrdup(p->writable_roots[i]));
	path_list_sort(&v->roots);
	v->caches = xcalloc(v->roots.count + 1, sizeof(struct folder_cache *));
	for (size_t i = 0; i < v->roots.count; i++)
		v->caches[i] = folder_cache_take(&s->folders, v->roots.items[i]);
	return v;
}

void sandbox_survey_free(struct sandbox_survey *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < v->mark_count; i++)
		free(v->marks[i].path);
	for (size_t i = v->next; i < v->todo_count; i++)
		free(v->todo[i].path);
	for (size_t i = 0; i < v->roots.count; i++)
		folder_cache_give(&v->sandbox->folders, v->caches[i]);
	free(v->caches);
	path_list_release(&v->roots);
	path_list_release(&v->names);
	path_list_release(&v->changed);
	free(v->marks);
	free(v->todo);
	free(v);
}

/*
 * Marks.
 */

static void look(struct mark *m)
{
	/* a placeholder of some command is nothing */
	m->there = !placeholder_begun(m->path) && lstat(m->path, &m->st) == 0;
}

static bool is_same(const struct mark *a, const struct mark *b)
{
	if (a->there != b->there)
		return false;
	if (!a->there)
		return true;
	if (a->st.st_dev != b->st.st_dev || a->st.st_ino != b->st.st_ino ||
		(a->st.st_mode & S_IFMT) != (b->st.st_mode & S_IFMT))
		return false;
	return !a->whole || (a->st.st_size == b->st.st_size && a->st.st_mode == b->st.st_mode &&
				    a->st.st_mtim.tv_sec == b->st.st_mtim.tv_sec &&
				    a->st.st_mtim.tv_nsec == b->st.st_mtim.tv_nsec &&
				    a->st.st_ctim.tv_sec == b->st.st_ctim.tv_sec &&
				    a->st.st_ctim.tv_nsec == b->st.st_ctim.tv_nsec);
}

static void mark(struct sandbox_survey *v, char *taken, bool whole)
{
	struct mark m = {.path = taken, .whole = whole};

	if (v->mark_count == MARKS_MAX) {
		v->cut = true;
		free(taken);
		return;
	}
	look(&m);
	v->marks = xrealloc(v->marks, v->mark_count + 1, sizeof(*v->marks));
	v->marks[v->mark_count++] = m;
}

/* A folder and what is in it, one deep. */
static void mark_folder(struct sandbox_survey *v, char *taken)
{
	_cleanup_(mem) char *path = xstrdup(taken);
	_cleanup_(folder) DIR *d = NULL;
	const struct dirent *e;
	size_t count = 0;

	mark(v, taken, true);
	d = placeholder_begun(path) ? NULL : opendir(path);
	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (++count > MARKS_IN_FOLDER_MAX) {
			v->cut = true;
			return;
		}
		mark(v, xasprintf("%s/%s", path, e->d_name), true);
	}
}

static void mark_git(struct sandbox_survey *v, const char *git)
{
	static const char *const files[] = {"config", "config.worktree", "commondir", "gitdir"};

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		mark(v, xasprintf("%s/%s", git, files[i]), true);
	mark_folder(v, xasprintf("%s/hooks", git));
	mark(v, xasprintf("%s/modules", git), false);
}

static void mark_name(struct sandbox_survey *v, const char *folder, const char *name)
{
	_cleanup_(mem) char *path = xasprintf("%s/%s", folder, name);
	_cleanup_(path_list) struct path_list pointed = {0};
	struct stat st;

	if (lstat(path, &st) < 0)
		return;
	if (strcmp(name, ".git") != 0) {
		if (S_ISDIR(st.st_mode))
			mark_folder(v, xstrdup(path));
		else
			mark(v, xstrdup(path), true);
		return;
	}
	mark(v, xstrdup(path), !S_ISDIR(st.st_mode));
	if (S_ISDIR(st.st_mode)) {
		mark_git(v, path);
		return;
	}
	git_pointed(folder, &pointed);
	for (size_t i = 0; i < pointed.count; i++)
		mark_git(v, pointed.items[i]);
}

/*
 * The look.
 */

static void put_todo(
	struct sandbox_survey *v, char *taken, unsigned depth, struct folder_cache *cache)
{
	if (v->todo_count == SURVEY_FOLDERS_MAX || depth > SURVEY_DEPTH_MAX) {
		v->cut = true;
		free(taken);
		return;
	}
	v->todo = xrealloc(v->todo, v->todo_count + 1, sizeof(*v->todo));
	v->todo[v->todo_count++] = (struct todo){taken, depth, cache};
}

/* Hidden or read-only as a whole, or shared: nothing in there is a matter of names. */
static bool is_left_out(const struct sandbox_survey *v, const char *path)
{
	const struct host *h = v->host;

	return path_list_has(&h->kept, path) || path_list_has(&h->walls, path) ||
	       path_list_has(&h->never, path) || path_list_has(&v->roots, path) ||
	       is_shared(h, path);
}

static void met_name(struct sandbox_survey *v, const struct todo *at, const char *name)
{
	char *path = xasprintf("%s/%s", at->path, name);

	if (placeholder_begun(path)) {
		free(path);
		return;
	}
	mark_name(v, at->path, name);
	if (at->depth == 0)
		free(path); /* at the top it is protected whatever is found */
	else
		path_list_put(&v->names, path);
}

static void look_into(struct sandbox_survey *v, const struct todo *at)
{
	const struct folder *f = folder_get(at->cache, at->path);

	v->entries += f->entries;
	v->cut = v->cut || f->cut || v->entries > SURVEY_ENTRIES_MAX;
	for (size_t i = 0; i < f->names.count && v->names.count <= SURVEY_NAMES_MAX; i++)
		met_name(v, at, f->names.items[i]);
	for (size_t i = 0; i < f->folders.count && v->entries <= SURVEY_ENTRIES_MAX; i++) {
		char *path = xasprintf("%s/%s", at->path, f->folders.items[i]);

		if (is_left_out(v, path))
			free(path);
		else
			put_todo(v, path, at->depth + 1, at->cache);
	}
}

void sandbox_survey_run(struct sandbox_survey *v)
{
	must(!v->ran);
	v->ran = true;
	for (size_t i = 0; i < v->roots.count; i++) {
		if (!is_shared(v->host, v->roots.items[i]))
			put_todo(v, xstrdup(v->roots.items[i]), 0, v->caches[i]);
	}
	for (; v->next < v->todo_count; v->next++) {
		_cleanup_(mem) char *path = v->todo[v->next].path;
		const struct todo at = {path, v->todo[v->next].depth, v->todo[v->next].cache};

		look_into(v, &at);
	}
	for (size_t i = 0; i < v->roots.count; i++)
		folder_cache_settle(v->caches[i]);
	path_list_sort(&v->names);
}

void sandbox_survey_compare(struct sandbox_survey *v)
{
	for (size_t i = 0; i < v->mark_count; i++) {
		struct mark now = {.path = v->marks[i].path, .whole = v->marks[i].whole};

		look(&now);
		if (!is_same(&v->marks[i], &now))
			path_list_put(&v->changed, xstrdup(now.path));
	}
	path_list_sort(&v->changed);
}

bool sandbox_survey_has_marks(const struct sandbox_survey *v)
{
	return v->mark_count > 0;
}

bool sandbox_survey_cut(const struct sandbox_survey *v)
{
	return v->cut;
}

const char *sandbox_survey_changed(const struct sandbox_survey *v, size_t i)
{
	return i < v->changed.count ? v->changed.items[i] : NULL;
}

int survey_names(const struct sandbox_survey *v, const struct path_list **ret, struct error *err)
{
	must(v->ran);
	if (v->names.count > SURVEY_NAMES_MAX)
		return error_set(err, &SANDBOX_TOO_MANY,
			"the writable folders hold more than %d repositories and other protected "
			"folders, too many to protect each (the first is '%s'): name a smaller one",
			SURVEY_NAMES_MAX, v->names.items[0]);
	*ret = &v->names;
	return 0;
}
