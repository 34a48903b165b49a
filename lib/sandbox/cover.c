/*
 * Placeholders: a protected name that does not exist is covered by an empty folder of that name,
 * or a file where git expects one, which a mount then makes read-only (trap 4). It is seen on the
 * host while a command runs.
 *
 * Nothing is remembered on disk about them, and yet no daemon removes what is not a placeholder:
 *  - it is an empty folder whose time of change is a fixed moment long ago, which putting something
 * in, or taking it out, alters; and rmdir(2) removes nothing that is not empty. A file has no more
 * in it than we put there, and was not written to since that moment;
 *  - it is sticky until it is given that moment, so that one whose maker died in between is known,
 * as long as it is empty;
 *  - every process that uses one holds flock(2) in shared mode on it, and only who gets the lock
 * alone may remove it. Two daemons count each other so, and a killed one holds nothing any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "os/os.h"

enum {
	/* ours: each try is lost to somebody else who makes or removes it in that moment. They need
	 * microseconds, unless a busy machine lets them wait in the middle: then a tenth of a
	 * second. */
	COVER_YIELDS = 16,
	COVER_TRIES_MAX = COVER_YIELDS + 100,
};

static const char here_text[] = ".\n"; /* git: the common folder is this one */

struct placeholder {
	struct list list;
	struct closer **closer; /* whose it was counted for */
	unsigned refs;
	char *path;
	const char *name; /* its last part */
	int parent, fd;
	enum cover_kind kind;
	struct stat st;
};

static void placeholder_free(struct placeholder *h)
{
	if (!h)
		return;
	list_remove(&h->list);
	os_close(h->parent);
	os_close(h->fd);
	free(h->path);
	free(h);
}
MEM_CLEANUP(placeholder, struct placeholder *, placeholder_free)

static bool may_be_ours(const struct stat *st)
{
	return S_ISDIR(st->st_mode) ||
	       (S_ISREG(st->st_mode) && st->st_size < (off_t)sizeof(here_text));
}

static bool is_as_made(const struct stat *st)
{
	return may_be_ours(st) && st->st_mtim.tv_sec == COVER_MOMENT_S && st->st_mtim.tv_nsec == 0;
}

/* Made, and not yet given its moment. Only a dead maker leaves it so for more than that. */
static bool is_half_made(const struct stat *st)
{
	return may_be_ours(st) && (st->st_mode & S_ISVTX) && !is_as_made(st);
}

/* Whether the name still stands for the folder that was opened. */
static bool has_name(const struct placeholder *h)
{
	struct stat st;

	return fstatat(h->parent, h->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == h->st.st_dev && st.st_ino == h->st.st_ino;
}

static struct placeholder *placeholder_at(const char *path, enum cover_kind kind, struct error *err)
{
	_cleanup_(placeholder) struct placeholder *h = xcalloc(1, sizeof(*h));
	_cleanup_(mem) char *folder = NULL;

	list_init(&h->list);
	h->parent = h->fd = -1;
	h->path = xstrdup(path);
	h->kind = kind;
	h->name = strrchr(h->path, '/') + 1;
	must(h->name[0] != '\0');
	folder = xstrndup(path, h->name - h->path > 1 ? (size_t)(h->name - h->path - 1) : 1);
	if (guard_open_folder(folder, &h->parent, err) < 0)
		return NULL;
	return mem_take(&h);
}

static int open_name(const struct placeholder *h)
{
	int type = h->kind == COVER_FOLDER ? O_DIRECTORY : O_NONBLOCK;

	return openat(h->parent, h->name, O_RDONLY | type | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_of_kind(const struct placeholder *h, const struct stat *st)
{
	return h->kind == COVER_FOLDER ? S_ISDIR(st->st_mode) : S_ISREG(st->st_mode);
}

/* 1 made, with a descriptor; 0 the name is taken; -1 it cannot be made. */
static int make_name(const struct placeholder *h, int *ret_fd)
{
	const char *text = strcmp(h->name, "commondir") == 0 ? here_text : "";
	int rc = 0;

	if (h->kind == COVER_FOLDER) {
		if (mkdirat(h->parent, h->name, 0755 | S_ISVTX) == 0)
			*ret_fd = open_name(h); /* -1: swept away or replaced meanwhile */
		else
			rc = -1;
	} else {
		*ret_fd = openat(h->parent, h->name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644 | S_ISVTX);
		if (*ret_fd < 0 || write(*ret_fd, text, strlen(text)) != (ssize_t)strlen(text))
			rc = -1;
	}
	if (rc < 0 && errno == EEXIST)
		return 0;
	return rc < 0 ? -1 : 1;
}

/* Makes it, or finds that the name is taken. 1 made, 0 taken, -1 cannot be made. */
static int make(struct placeholder *h)
{
	const struct timespec times[2] = {
		{COVER_MOMENT_S, 0},
                {COVER_MOMENT_S, 0}
        };

	_cleanup_(fd) int fd = -1;
	struct stat st;
	int rc = make_name(h, &fd);

	if (rc <= 0 || fd < 0)
		return rc < 0 ? -1 : 0; /* take() sees what is there now */
	if (fstat(fd, &st) < 0 || futimens(fd, times) < 0 || fchmod(fd, st.st_mode & 0777) < 0)
		return -1;
	return 1;
}

/* Opens and locks it. 1 it is ours to use; 0 something else stands there; -1 it went away: again.
 */
static int take(struct placeholder *h)
{
	struct stat st;

	if (fstatat(h->parent, h->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!is_as_made(&st) || !is_of_kind(h, &st))
		return 0;
	h->fd = open_name(h);
	if (h->fd < 0)
		return errno == ENOENT ? -1 : 0;
	if (flock(h->fd, LOCK_SH | LOCK_NB) == 0 && fstat(h->fd, &h->st) == 0 && has_name(h))
		return 1;
	os_close(fd_take(&h->fd)); /* somebody was about to remove it */
	return -1;
}

/* Errors that mean: the command, which has no more rights than we have, could not make it either.
 */
static bool nobody_can(int sys)
{
	return sys == EACCES || sys == EPERM || sys == EROFS;
}

static struct placeholder *find(struct sandbox *s, const char *path)
{
	list_for_each (h, &s->placeholders, struct placeholder, list) {
		struct stat st;

		if (strcmp(h->path, path) == 0 && has_name(h) && fstat(h->fd, &st) == 0 &&
			is_as_made(&st))
			return h;
	}
	return NULL;
}

/* Whether what stands there is on its way to become one (its maker may also have died), has become
 * one, or has gone since it was looked at: then it is worth another try. */
static bool is_being_made(const struct placeholder *h)
{
	struct stat st;

	return fstatat(h->parent, h->name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       (is_of_kind(h, &st) && (is_half_made(&st) || is_as_made(&st)));
}

static void let_others_on(int tries)
{
	if (tries < COVER_YIELDS)
		(void)sched_yield();
	else
		(void)poll(NULL, 0, 1); /* a signal only shortens it */
}

static int cover(struct placeholder *h, bool *ret_exists, struct error *err)
{
	for (int tries = 0; tries < COVER_TRIES_MAX; tries++) {
		int made = make(h), taken;

		if (made < 0 && nobody_can(errno))
			return 0;
		if (made < 0)
			return error_sys(err, "cover '%s' for the sandbox", h->path);
		taken = take(h);
		if (taken > 0)
			return 1;
		if (taken == 0 && (tries + 1 == COVER_TRIES_MAX || !is_being_made(h))) {
			*ret_exists = true;
			return 0;
		}
		let_others_on(tries);
	}
	return error_set(err, &ERROR_SYS, "cover '%s' for the sandbox: it comes and goes", h->path);
}

int placeholder_ref(struct sandbox *s, const char *path, enum cover_kind kind,
	struct placeholder **ret, bool *ret_exists, struct error *err)
{
	_cleanup_(placeholder) struct placeholder *h = NULL;
	struct placeholder *known = find(s, path);
	int rc;

	*ret_exists = false;
	*ret = known;
	if (known) {
		known->refs++;
		return 0;
	}
	h = placeholder_at(path, kind, err);
	if (!h)
		return -1;
	rc = cover(h, ret_exists, err);
	if (rc <= 0)
		return rc;
	h->refs = 1;
	h->closer = &s->closer;
	list_add_tail(&s->placeholders, &h->list);
	*ret = mem_take(&h);
	return 0;
}

static int unlink_name(const struct placeholder *h)
{
	return unlinkat(h->parent, h->name, h->kind == COVER_FOLDER ? AT_REMOVEDIR : 0);
}

/* Who holds the lock alone is the last one; what was put in meanwhile is not ours, and a full one
 * stays. True: it is removed. */
static bool remove_unused(struct placeholder *h)
{
	struct stat st;

	return flock(h->fd, LOCK_EX | LOCK_NB) == 0 && fstat(h->fd, &st) == 0 && is_as_made(&st) &&
	       has_name(h) && unlink_name(h) == 0;
}

void placeholder_unref(struct placeholder *h)
{
	if (!h || --h->refs > 0)
		return;
	if (remove_unused(h))
		closer_give(h->closer, fd_take(&h->fd));
	placeholder_free(h);
}

bool placeholder_may(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 || is_as_made(&st);
}

bool placeholder_begun(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 || is_as_made(&st) || is_half_made(&st);
}

void placeholder_sweep(const char *path)
{
	_cleanup_(placeholder) struct placeholder *h = NULL;
	struct stat st;

	if (lstat(path, &st) < 0 || (!is_as_made(&st) && !is_half_made(&st)))
		return;
	h = placeholder_at(path, S_ISDIR(st.st_mode) ? COVER_FOLDER : COVER_FILE, NULL);
	if (h && is_half_made(&st))
		(void)unlink_name(h); /* a full folder stays: not ours */
	else if (h && take(h) > 0)
		(void)remove_unused(h); /* somebody uses it, or it is full */
}
