/*
 * tree: removes a folder with all that is in it, by handle.
 *
 * What is removed may have been made by a program that means harm and still runs. So no step
 * follows a link, goes up by name or leaves the file system (openat2 with RESOLVE_NO_XDEV; by
 * device number where a kernel or a filter refuses openat2). Depth costs 16 bytes a level and no
 * descriptor: the way back is "..", taken only when it leads to the very folder we came from.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "os/internal.h"

enum {
	DEPTH_MAX = 1000000,   /* ours: a million folders in each other take 16 MB here */
	ENTRIES_BYTES = 32768, /* as glibc's readdir(3) */
	STACK_FIRST = 32,
};

struct place {
	dev_t dev;
	ino_t ino;
};

struct walk {
	int fd; /* of the folder being emptied */
	struct place here;
	struct place *above; /* the folders it lies in, from the top */
	size_t depth, room;
	struct place emptied; /* the one left last */
	char *entries;        /* ENTRIES_BYTES, aligned by malloc */
};

static inline void walk_cleanup(struct walk *w)
{
	os_close(w->fd);
	free(w->above);
	free(w->entries);
}

static bool same_place(struct place a, struct place b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

/* The folder `name` of dir, on the same file system, no link. -1 and errno. */
static int open_below(int dir, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	do
		fd = os_fault() ? -1 : (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN)); /* EAGAIN: a rename came between */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = os_raw_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	return fd;
}

/* A folder its owner cannot read is made readable first, by handle. -1 and errno. */
static int open_unreadable(int dir, const char *name)
{
	_cleanup_(fd) int handle = -1;
	char through[64];

	handle = os_raw_openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	if (handle < 0)
		return -1;
	(void)snprintf(through, sizeof(through), "/proc/self/fd/%d", handle);
	if (os_fault() || chmod(through, 0700) < 0)
		return -1;
	return open_below(dir, name);
}

/* Makes fd the folder being emptied and sees to it that entries can be removed. */
static int stand_in(struct walk *w, int fd, struct error *err)
{
	struct stat st;

	os_close(w->fd);
	w->fd = fd;
	if (os_fault() || fstat(fd, &st) < 0)
		return error_sys(err, "look at a folder");
	w->here = (struct place){st.st_dev, st.st_ino};
	if ((st.st_mode & 0700) != 0700)
		(void)fchmod(
			fd, 0700); /* if that is refused, so is the next removal, which says why */
	return 0;
}

static int push_here(struct walk *w, struct error *err)
{
	if (w->depth == DEPTH_MAX)
		return error_set(err, &ERROR_LIMIT, "folders lie over %d deep", DEPTH_MAX);
	if (w->depth == w->room) {
		w->room = w->room ? w->room * 2 : STACK_FIRST;
		w->above = xrealloc(w->above, w->room, sizeof(*w->above));
	}
	w->above[w->depth++] = w->here;
	return 0;
}

static int go_down(struct walk *w, const char *name, struct error *err)
{
	struct place top = w->depth ? w->above[0] : w->here;
	int fd = open_below(w->fd, name);

	if (fd < 0 && errno == EACCES)
		fd = open_unreadable(w->fd, name);
	if (fd < 0)
		return error_sys(err, "open the folder '%s'", name);
	if (push_here(w, err) < 0) {
		os_close(fd);
		return -1;
	}
	if (stand_in(w, fd, err) < 0)
		return -1;
	if (w->here.dev != top.dev) {
		errno = EXDEV;
		return error_sys(err, "open the folder '%s'", name);
	}
	if (same_place(w->here, w->emptied)) {
		errno = ENOTEMPTY; /* it was emptied a moment ago: somebody fills it, or it hides
				      something */
		return error_sys(err, "remove the folder '%s'", name);
	}
	return 0;
}

static int go_up(struct walk *w, struct error *err)
{
	struct place left = w->here;
	int fd = open_below(w->fd, "..");

	if (fd < 0)
		return error_sys(err, "go back up");
	if (stand_in(w, fd, err) < 0)
		return -1;
	if (!same_place(w->here, w->above[w->depth - 1]))
		return error_set(err, &ERROR_INVALID, "a folder was moved while it was removed");
	w->depth--;
	w->emptied = left;
	return 0;
}

/* 1 removed or gone, 0 a folder that is not empty, -1 with err. */
static int remove_entry(int dir, const char *name, bool is_folder, struct error *err)
{
	if (!is_folder) {
		if (!os_fault() && unlinkat(dir, name, 0) == 0)
			return 1;
		if (errno == ENOENT)
			return 1;
		if (errno != EISDIR)
			return error_sys(err, "remove '%s'", name);
	}
	if (!os_fault() && unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 1;
	if (errno == ENOENT)
		return 1;
	if (errno == ENOTEMPTY || errno == EEXIST ||
		errno == EBUSY) /* EBUSY: a mount, refused later */
		return 0;
	if (errno == ENOTDIR && is_folder)
		return remove_entry(dir, name, false, err);
	return error_sys(err, "remove the folder '%s'", name);
}

/* Goes through the entries just read: removes what it can, enters the first folder it cannot. 1
 * entered one, 0 got through all, -1. */
static int remove_entries(struct walk *w, size_t len, bool *ret_removed, struct error *err)
{
	size_t at = 0;
	int rc;

	while (at < len) {
		const struct dirent64 *d = (const struct dirent64 *)(w->entries + at);

		at += d->d_reclen;
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		rc = remove_entry(w->fd, d->d_name, d->d_type == DT_DIR, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			return go_down(w, d->d_name, err) < 0 ? -1 : 1;
		*ret_removed = true;
	}
	return 0;
}

/* Reads the folder w stands in from its start. 1 removed or entered something, 0 found nothing, -1.
 */
static int pass(struct walk *w, struct error *err)
{
	bool removed = false;
	ssize_t len;
	int rc;

	if (os_fault() || lseek(w->fd, 0, SEEK_SET) < 0)
		return error_sys(err, "read a folder");
	for (;;) {
		len = os_fault() ? -1 : getdents64(w->fd, w->entries, ENTRIES_BYTES);
		if (len < 0)
			return error_sys(err, "read a folder");
		if (len == 0)
			return removed;
		rc = remove_entries(w, (size_t)len, &removed, err);
		if (rc != 0)
			return rc;
	}
}

/* Empties the folder w stands in, to any depth, and stands in it again. A file system may pass over
 * entries when others go while it is read: a folder is done when a whole pass finds nothing. */
static int empty(struct walk *w, struct error *err)
{
	int rc;

	for (;;) {
		rc = pass(w, err);
		if (rc < 0)
			return -1;
		if (rc > 0)
			continue;
		if (w->depth == 0)
			return 0;
		if (go_up(w, err) < 0)
			return -1;
	}
}

static int remove_folder(int parent, const char *name, struct error *err)
{
	_cleanup_(walk) struct walk w = {.fd = -1};
	int fd = os_raw_openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd < 0 && errno == EACCES)
		fd = open_unreadable(parent, name);
	if (fd < 0)
		return error_sys(err, "open the folder");
	w.entries = xmalloc(ENTRIES_BYTES);
	if (stand_in(&w, fd, err) < 0 || empty(&w, err) < 0)
		return -1;
	if (os_fault() || unlinkat(parent, name, AT_REMOVEDIR) < 0)
		return error_sys(err, "remove the folder");
	return 0;
}

int os_remove_tree(const char *path, struct error *err)
{
	_cleanup_(fd) int parent = -1;
	struct error sub = ERROR_INIT;
	const char *name;
	int rc;

	rc = os_open_parent(path, &parent, &name, &sub);
	if (rc < 0 && sub.sys == ENOENT)
		return 0;
	if (rc == 0)
		rc = remove_entry(parent, name, true, &sub);
	if (rc == 0)
		rc = remove_folder(parent, name, &sub) < 0 ? -1 : 1;
	if (rc > 0)
		return 0;
	if (err)
		*err = sub;
	return error_prefix(err, "remove '%s'", path);
}
