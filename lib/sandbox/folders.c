/*
 * What is in folders, remembered from one survey to the next. A folder whose identity and time of
 * change (ctime) are what they were holds the same names, and asking for those costs a tenth of
 * reading it. Nobody can set that time. One that was young when the folder was read is not trusted:
 * what came right after could bear the same.
 *
 * Where a file system keeps no such times (some of the network's), what a command is to be kept
 * from may be seen late, and is then neither covered nor compared by that command.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "os/os.h"
#include "table/table.h"

enum {
	FOLDER_ENTRIES_MAX = 65536, /* ours: names read of one folder, 0.1 µs each */
	YOUNG_S = 3, /* ours: the coarsest times of a file system are two seconds apart */
};

struct folder_cache {
	struct list list;
	char *root;
	struct table *by_path;
	unsigned round;
};

int64_t folder_clock_ahead_s;

/* An entry of the table. */
struct known {
	struct folder folder; /* what is handed out */
	char *path;
	struct stat st;
	bool trusted;
	unsigned round;
};

static void known_clear(struct known *k)
{
	path_list_release(&k->folder.names);
	path_list_release(&k->folder.folders);
	k->folder = (struct folder){.entries = 0};
	k->trusted = false;
}

static void known_free(struct known *k)
{
	known_clear(k);
	free(k->path);
	free(k);
}

static struct folder_cache *cache_new(const char *root)
{
	struct folder_cache *c = xcalloc(1, sizeof(*c));

	list_init(&c->list);
	c->root = xstrdup(root);
	c->by_path = table_new();
	return c;
}

static void cache_free(struct folder_cache *c)
{
	struct known *k;
	size_t at = 0;

	if (!c)
		return;
	list_remove(&c->list);
	while ((k = table_next(c->by_path, &at)))
		known_free(k);
	table_free(c->by_path);
	free(c->root);
	free(c);
}

struct folder_cache *folder_cache_take(struct list *from, const char *root)
{
	list_for_each (c, from, struct folder_cache, list) {
		if (strcmp(c->root, root) == 0) {
			list_remove(&c->list);
			list_init(&c->list);
			return c;
		}
	}
	return cache_new(root);
}

void folder_cache_give(struct list *to, struct folder_cache *taken)
{
	size_t count = 0;

	cache_free(folder_cache_take(to, taken->root)); /* somebody's older one */
	list_for_each (c, to, struct folder_cache, list)
		count++;
	if (count >= FOLDER_CACHES_MAX)
		cache_free(container_of(to->next, struct folder_cache, list));
	list_add_tail(to, &taken->list);
}

void folder_caches_free(struct list *all)
{
	list_for_each_safe (c, all, struct folder_cache, list)
		cache_free(c);
}

void folder_cache_settle(struct folder_cache *c)
{
	struct known *k;
	size_t at = 0;

	while ((k = table_next(c->by_path, &at))) {
		if (k->round != c->round) {
			(void)table_remove(c->by_path, str_from(k->path)); /* is k */
			known_free(k);
		}
	}
	c->round++;
}

static bool is_unchanged(const struct known *k, const struct stat *st)
{
	return k->trusted && k->st.st_dev == st->st_dev && k->st.st_ino == st->st_ino &&
	       k->st.st_mode == st->st_mode && k->st.st_uid == st->st_uid &&
	       k->st.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       k->st.st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}

static bool is_named(const char *name)
{
	for (size_t n = 0; protected_names[n]; n++) {
		if (strcmp(name, protected_names[n]) == 0)
			return true;
	}
	return false;
}

static bool is_folder(int parent, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_DIR;
	return fstatat(parent, e->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0 &&
	       S_ISDIR(st.st_mode);
}

static void read_names(struct known *k, DIR *d)
{
	const struct dirent *e;

	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (++k->folder.entries > FOLDER_ENTRIES_MAX) {
			k->folder.cut = true;
			return;
		}
		if (is_named(e->d_name))
			path_list_put(&k->folder.names, xstrdup(e->d_name));
		else if (is_folder(dirfd(d), e))
			path_list_put(&k->folder.folders, xstrdup(e->d_name));
	}
}

static void read_folder(struct known *k)
{
	int fd = open(k->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct timespec now;
	DIR *d;

	/* the times before the names: what comes in between is seen, and read again next time */
	if (fd < 0 || fstat(fd, &k->st) < 0 || !(d = fdopendir(fd))) {
		/* it may hold anything, if the command could open it: what is ours we can chmod */
		k->folder.cut = errno != ENOENT && errno != ENOTDIR && errno != ELOOP &&
				k->st.st_uid == geteuid();
		os_close(fd);
		return;
	}
	read_names(k, d);
	(void)closedir(d); /* only read */
	must(clock_gettime(CLOCK_REALTIME, &now) == 0);
	k->trusted = now.tv_sec + folder_clock_ahead_s - k->st.st_ctim.tv_sec >= YOUNG_S;
}

const struct folder *folder_get(struct folder_cache *c, const char *path)
{
	struct known *k = table_get(c->by_path, str_from(path));
	struct stat st = {.st_uid = 0};

	if (!k) {
		k = xcalloc(1, sizeof(*k));
		k->path = xstrdup(path);
		(void)table_set(c->by_path, str_from(path), k); /* there was none */
	}
	k->round = c->round;
	if (lstat(path, &st) == 0 && is_unchanged(k, &st))
		return &k->folder;
	known_clear(k);
	k->st = st;
	read_folder(k);
	return &k->folder;
}
