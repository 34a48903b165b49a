/*
 * What is mounted where, and in which order:
 *
 *   writable folders, then the folders between them and whatever is protected below, bound onto
 * themselves so that none of them can be renamed away with it (trap 3); then what stays read-only;
 * then the masks of sockets (trap 2); then the empty folders, so that nothing shows through a wall.
 *
 * Within each step parents come before children. A folder below another writable one needs no mount
 * of its own; a protected one below another protected one neither.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "os/os.h"

enum {
	PLAN_MOUNTS_MAX =
		512, /* ours: each costs the kernel 20 µs, and an argument list has its bound */
};

/* The plan on its way. */
struct draft {
	struct sandbox *s;
	struct roots roots;
	struct path_list pins, kept, null, empty;
	struct path_list missing, missing_files; /* by what is to stand for them */
};

MEM_CLEANUP(survey, struct sandbox_survey *, sandbox_survey_free)

static void draft_release(struct draft *d)
{
	roots_release(&d->roots);
	path_list_release(&d->pins);
	path_list_release(&d->kept);
	path_list_release(&d->missing);
	path_list_release(&d->missing_files);
	path_list_release(&d->null);
	path_list_release(&d->empty);
}

static void plan_put_mount(struct plan *p, enum mount_kind kind, const char *path, int taken_fd)
{
	p->mounts = xrealloc(p->mounts, p->count + 1, sizeof(*p->mounts));
	p->mounts[p->count++] = (struct mount){kind, xstrdup(path), taken_fd, NULL};
}

void plan_release(struct plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		os_close(p->mounts[i].fd);
		free(p->mounts[i].path);
		free(p->mounts[i].shown);
	}
	for (size_t i = 0; i < p->placeholder_count; i++)
		placeholder_unref(p->placeholders[i]);
	free(p->mounts);
	free(p->placeholders);
	*p = (struct plan){0};
}

static void draft_names(struct draft *d)
{
	for (size_t i = 0; i < d->roots.all.count; i++) {
		for (size_t n = 0; protected_names[n]; n++) {
			char *path = xasprintf("%s/%s", d->roots.all.items[i], protected_names[n]);
			bool covered = protected_when_missing(protected_names[n]);

			if (path_list_has(&d->roots.open, path)) {
				free(path); /* draft_commit says what is kept in it */
				continue;
			}
			/* one look each: between two a placeholder of another daemon may be done */
			if (covered ? !placeholder_begun(path) : !placeholder_may(path))
				path_list_put(&d->kept, path);
			else if (covered)
				path_list_put(&d->missing, path);
			else
				free(path);
		}
	}
}

/* The first part of a path that does not exist, or is a placeholder; NULL: all of it does. */
static char *first_missing(const char *path)
{
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		char *part = xstrndup(path, (size_t)(slash - path));

		if (placeholder_may(part))
			return part;
		free(part);
	}
	return placeholder_may(path) ? xstrdup(path) : NULL;
}

/* A path of the daemon's that stays read-only: of interest only below a writable folder. */
static int draft_kept(struct draft *d, const char *path, struct error *err)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};
	char *missing;

	if (!path_list_covers(&d->roots.top, path))
		return 0;
	if (guard_resolve("/", str_from(path), &p, err) < 0)
		return error_prefix(err, "keep '%s' read-only", path);
	if (strcmp(p.real, path) != 0)
		return error_set(err, &SANDBOX_PROTECTED_LINK,
			"'%s' is a symbolic link or lies below one", path);
	missing = first_missing(path);
	if (missing)
		path_list_put(&d->missing, missing);
	else
		path_list_put(&d->kept, mem_take(&p.real));
	return 0;
}

/* A path that is hidden if it is there. host_make_folders has made what can be. */
static int draft_hidden(struct draft *d, const char *path, struct error *err)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path p = {0};

	if (guard_resolve("/", str_from(path), &p, err) < 0)
		return error_prefix(err, "hide '%s'", path);
	if (strcmp(p.real, path) != 0 && path_list_covers(&d->roots.top, path))
		return error_set(err, &SANDBOX_PROTECTED_LINK,
			"'%s' is a symbolic link or lies below one", path);
	if (p.exists)
		path_list_put(p.is_dir ? &d->empty : &d->null, mem_take(&p.real));
	return 0;
}

static int draft_host(struct draft *d, struct error *err)
{
	const struct host *h = &d->s->host;

	host_make_folders(h);
	for (size_t i = 0; i < h->kept.count; i++) {
		if (draft_kept(d, h->kept.items[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < d->roots.git.count; i++) {
		if (draft_kept(d, d->roots.git.items[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < h->walls.count; i++) {
		if (draft_hidden(d, h->walls.items[i], err) < 0)
			return -1;
	}
	if (h->bot_sockets && draft_hidden(d, h->bot_sockets, err) < 0)
		return -1;
	return h->socket ? draft_hidden(d, h->socket, err) : 0;
}

/* The folders strictly between the writable one and `path`, but for those a later mount covers. */
static void draft_pins(struct draft *d, const char *path)
{
	const char *root = NULL;

	for (size_t i = 0; !root && i < d->roots.top.count; i++) {
		if (guard_beneath(d->roots.top.items[i], path))
			root = d->roots.top.items[i];
	}
	if (!root || strcmp(root, path) == 0)
		return;
	for (const char *slash = strchr(path + strlen(root) + 1, '/'); slash;
		slash = strchr(slash + 1, '/')) {
		char *part = xstrndup(path, (size_t)(slash - path));

		if (path_list_covers(&d->kept, part) || path_list_covers(&d->empty, part))
			free(part);
		else
			path_list_put(&d->pins, part);
	}
}

static void draft_all_pins(struct draft *d)
{
	const struct path_list *lists[] = {
		&d->kept, &d->missing, &d->missing_files, &d->null, &d->empty};

	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		for (size_t i = 0; i < lists[l]->count; i++)
			draft_pins(d, lists[l]->items[i]);
	}
	path_list_sort(&d->pins);
}

/* With leave to commit: what stays closed in the git folders that are open. */
static int draft_commit(struct draft *d, struct error *err)
{
	struct commit_parts parts = {.kept = d->kept, d->missing, d->missing_files};
	int rc = 0;

	for (size_t i = 0; i < d->roots.open.count && rc == 0; i++)
		rc = commit_put(&d->roots.open, d->roots.open.items[i], &parts, err);
	d->kept = parts.kept;
	d->missing = parts.folders;
	d->missing_files = parts.files;
	return rc;
}

/* A repository below: its .git, and where that leads if it is a file. */
static void draft_below_git(
	struct draft *d, const struct sandbox_policy *p, const char *path, const char *folder)
{
	_cleanup_(path_list) struct path_list pointed = {0};

	if (p->git_commit)
		roots_open_git(d->s, &d->roots, folder);
	git_pointed(folder, &pointed); /* says nothing where .git is a folder */
	for (size_t i = 0; i < pointed.count; i++) {
		const char *git = pointed.items[i];

		if (path_list_covers(&d->roots.top, git) && !roots_is_around(&d->roots, git) &&
			!path_list_has(&d->roots.open, git))
			path_list_put(&d->roots.git, xstrdup(git));
	}
	if (!path_list_has(&d->roots.open, path))
		path_list_put(&d->kept, xstrdup(path));
}

/* One that has gone since the survey needs nothing. */
static int draft_below(
	struct draft *d, const struct sandbox_policy *p, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	_cleanup_(mem) char *folder = xstrndup(path, (size_t)(slash - path));
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (S_ISLNK(st.st_mode))
		return error_set(err, &SANDBOX_PROTECTED_LINK,
			"'%s' is a symbolic link; the sandbox can protect only a real folder of "
			"that name",
			path);
	if (strcmp(slash, "/.git") == 0)
		draft_below_git(d, p, path, folder);
	else
		path_list_put(&d->kept, xstrdup(path));
	return 0;
}

static int draft_survey(struct draft *d, const struct sandbox_policy *p, struct error *err)
{
	_cleanup_(survey) struct sandbox_survey *own = NULL;
	const struct path_list *names;

	if (p->mode != SANDBOX_WORKSPACE_WRITE)
		return 0;
	if (!p->survey) {
		own = sandbox_survey_new(d->s, p);
		sandbox_survey_run(own);
	}
	if (survey_names(own ? own : p->survey, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names->count; i++) {
		if (draft_below(d, p, names->items[i], err) < 0)
			return -1;
	}
	path_list_sort(&d->roots.open);
	path_list_sort(&d->roots.git);
	return 0;
}

static int draft_make(struct draft *d, const struct sandbox_policy *p, struct error *err)
{
	if (roots_collect(d->s, p, &d->roots, err) < 0 || roots_check_links(&d->roots, err) < 0)
		return -1;
	draft_names(d);
	if (draft_survey(d, p, err) < 0)
		return -1;
	/* a sandbox has a /dev of its own: what lies there and is needed is shown again */
	if (p->workspace && guard_beneath("/dev/shm", p->workspace) && d->roots.all.count == 0)
		path_list_put(&d->kept, xstrdup(p->workspace));
	if (draft_host(d, err) < 0 || draft_commit(d, err) < 0)
		return -1;
	path_list_sort(&d->kept);
	path_list_sort(&d->missing);
	path_list_sort(&d->missing_files);
	path_list_sort(&d->null);
	path_list_sort(&d->empty);
	draft_all_pins(d);
	return 0;
}

/* What is missing gets its cover, or is kept like the rest when something stands there by now. */
static int plan_cover(struct plan *p, struct draft *d, const struct path_list *missing,
	enum cover_kind kind, struct error *err)
{
	for (size_t i = 0; i < missing->count; i++) {
		const char *path = missing->items[i];
		struct placeholder *h = NULL;
		bool exists = false;

		if (path_list_covers(&d->kept, path))
			continue;
		if (placeholder_ref(d->s, path, kind, &h, &exists, err) < 0)
			return -1;
		if (h) {
			p->placeholders = xrealloc(p->placeholders, p->placeholder_count + 1,
				sizeof(struct placeholder *));
			p->placeholders[p->placeholder_count++] = h;
		}
		if (h || exists)
			path_list_put(&d->kept, xstrdup(path));
	}
	path_list_sort(&d->kept);
	return 0;
}

static int plan_writable(struct plan *p, const struct path_list *l, struct error *err)
{
	for (size_t i = 0; i < l->count; i++) {
		int fd = -1;

		if (guard_open_folder(l->items[i], &fd, err) < 0)
			return error_prefix(err, "the sandbox's writable folder");
		plan_put_mount(p, MOUNT_WRITABLE, l->items[i], fd);
	}
	return 0;
}

static void plan_others(struct plan *p, enum mount_kind kind, const struct path_list *l)
{
	const char *above = NULL;

	for (size_t i = 0; i < l->count; i++) {
		if (above && guard_beneath(above, l->items[i]))
			continue; /* covered with it */
		above = l->items[i];
		plan_put_mount(p, kind, above, -1);
	}
}

/* The bot's own socket shows in the folder of all, which stays as it is otherwise. */
static int plan_show(struct plan *p, const char *path, struct error *err)
{
	__attribute__((cleanup(guard_path_cleanup))) struct guard_path own = {0};

	if (guard_resolve("/", str_from(path), &own, err) < 0)
		return error_prefix(err, "show '%s'", path);
	for (size_t i = 0; i < p->count; i++) {
		struct mount *m = &p->mounts[i];

		if (m->kind == MOUNT_EMPTY && guard_beneath(m->path, own.real) &&
			strcmp(m->path, own.real) != 0) {
			m->shown = mem_take(&own.real);
			return 0;
		}
	}
	return error_set(err, &ERROR_BUG, "'%s' lies in no folder of sockets", path);
}

int plan_make(
	struct sandbox *s, const struct sandbox_policy *p, struct plan *ret, struct error *err)
{
	__attribute__((cleanup(draft_release))) struct draft d = {.s = s};
	__attribute__((cleanup(plan_release))) struct plan plan = {0};
	_cleanup_(path_list) struct path_list writable = {0};

	if (draft_make(&d, p, err) < 0 ||
		plan_cover(&plan, &d, &d.missing, COVER_FOLDER, err) < 0 ||
		plan_cover(&plan, &d, &d.missing_files, COVER_FILE, err) < 0)
		return -1;
	for (size_t i = 0; i < d.roots.top.count; i++)
		path_list_put(&writable, xstrdup(d.roots.top.items[i]));
	for (size_t i = 0; i < d.pins.count; i++)
		path_list_put(&writable, xstrdup(d.pins.items[i]));
	path_list_sort(&writable);
	if (writable.count + d.kept.count + d.null.count + d.empty.count > PLAN_MOUNTS_MAX)
		return error_set(err, &ERROR_LIMIT, "the sandbox needs more than %d mounts",
			PLAN_MOUNTS_MAX);
	if (plan_writable(&plan, &writable, err) < 0)
		return -1;
	plan_others(&plan, MOUNT_READ_ONLY, &d.kept);
	plan_others(&plan, MOUNT_NULL, &d.null);
	plan_others(&plan, MOUNT_EMPTY, &d.empty);
	if (p->own_socket && plan_show(&plan, p->own_socket, err) < 0)
		return -1;
	*ret = plan;
	plan = (struct plan){0};
	return 0;
}
