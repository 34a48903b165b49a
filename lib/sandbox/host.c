/*
 * The daemon's own paths: what every sandbox hides or keeps read-only, and lists of paths.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "os/os.h"

#define AGENT_FOLDER "/.agent"

void path_list_put(struct path_list *l, char *taken)
{
	l->items = xrealloc(l->items, l->count + 1, sizeof(*l->items));
	l->items[l->count++] = taken;
}

void path_list_release(struct path_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct path_list){NULL, 0};
}

/* As strcmp, with '/' before every other byte, so that what lies below a folder follows it at once.
 */
static int compare(const void *a, const void *b)
{
	const unsigned char *x = *(unsigned char *const *)a, *y = *(unsigned char *const *)b;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	if (*x == *y)
		return 0;
	if (*x == '\0' || *y == '\0')
		return *x ? 1 : -1;
	if (*x == '/' || *y == '/')
		return *y == '/' ? 1 : -1;
	return *x < *y ? -1 : 1;
}

void path_list_sort(struct path_list *l)
{
	size_t kept = 0;

	if (l->count < 2)
		return;
	qsort(l->items, l->count, sizeof(*l->items), compare);
	for (size_t i = 0; i < l->count; i++) {
		if (kept > 0 && strcmp(l->items[kept - 1], l->items[i]) == 0)
			free(l->items[i]);
		else
			l->items[kept++] = l->items[i];
	}
	l->count = kept;
}

bool path_list_has(const struct path_list *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->items[i], path) == 0)
			return true;
	}
	return false;
}

bool path_list_covers(const struct path_list *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++) {
		if (guard_beneath(l->items[i], path))
			return true;
	}
	return false;
}

/* The folder a path lies in. The caller frees. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	must(slash);
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

/* AG-224: ~/.agent is nobody's in a sandbox, wherever the store is; and where a link leads. */
static void keep_agent_folder(struct host *h)
{
	_cleanup_(mem) char *home = NULL;
	_cleanup_(mem) char *real_home = NULL;
	char *named, *real;

	if (os_home(&home, NULL) < 0 || os_canonical(home, &real_home, NULL) < 0)
		return;
	named = xasprintf("%s" AGENT_FOLDER, strcmp(real_home, "/") == 0 ? "" : real_home);
	path_list_put(&h->kept, named);
	path_list_put(&h->never, xstrdup(named));
	if (os_canonical(named, &real, NULL) < 0)
		return;
	path_list_put(&h->kept, real);
	path_list_put(&h->never, xstrdup(real));
}

/* The socket may lie in the folder made for sockets alone (agent spec 1.2): that one is kept whole.
 */
static void keep_socket_folder(struct host *h)
{
	_cleanup_(mem) char *folder = folder_of(h->socket);
	_cleanup_(mem) char *made = xasprintf("/agent-%u", (unsigned)geteuid());

	if (str_ends(str_from(folder), str_from(made)))
		path_list_put(&h->kept, mem_take(&folder));
}

static void copy_list(struct path_list *to, const char *const *from)
{
	for (size_t i = 0; from && from[i]; i++)
		path_list_put(to, xstrdup(from[i]));
}

void host_init(struct host *h, const struct sandbox_host *from)
{
	*h = (struct host){
		.store = xstrdup(from->store),
		.socket = xstrdup(from->socket),
		.bot_sockets = xstrdup(from->bot_sockets),
		.tmpdir = xstrdup(from->tmpdir),
	};
	copy_list(&h->walls, from->walls);
	copy_list(&h->kept, from->protected_paths);
	keep_agent_folder(h);
	if (h->store) {
		h->store_dir = folder_of(h->store);
		path_list_put(&h->kept, xstrdup(h->store_dir));
		path_list_put(&h->never, xstrdup(h->store_dir));
	}
	if (h->socket)
		keep_socket_folder(h);
	if (h->bot_sockets)
		path_list_put(&h->never, xstrdup(h->bot_sockets));
	path_list_sort(&h->walls);
	path_list_sort(&h->kept);
	path_list_sort(&h->never);
}

void host_release(struct host *h)
{
	free(h->store);
	free(h->store_dir);
	free(h->socket);
	free(h->bot_sockets);
	free(h->tmpdir);
	path_list_release(&h->walls);
	path_list_release(&h->kept);
	path_list_release(&h->never);
}

/* A folder and the missing ones above it. What cannot be made is not there to be hidden either. */
static void make_private(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		return;
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		_cleanup_(mem) char *part = xstrndup(path, (size_t)(slash - path));

		if (lstat(part, &st) < 0 && os_mkdir_private(part, NULL, NULL) < 0)
			return;
	}
	(void)os_mkdir_private(path, NULL, NULL);
}

void host_make_folders(const struct host *h)
{
	for (size_t i = 0; i < h->walls.count; i++)
		make_private(h->walls.items[i]);
	if (h->bot_sockets)
		make_private(h->bot_sockets);
}
