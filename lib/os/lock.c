/*
 * lock: one owner of a file, told by flock(2), which ends with the process that holds it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "os/internal.h"

enum {
	LOCK_MODE = 0600,
	LOCK_TRIES =
		8, /* ours: how often the file may be swapped under us before that is an error */
};

const struct error_kind OS_LOCKED = {"locked", ERROR_CLASS_CONFLICT};

static int open_lock(const char *path, int *ret_fd, struct stat *ret_st, struct error *err)
{
	_cleanup_(fd) int fd = -1;
	struct stat st;

	fd = os_raw_openat(
		AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, LOCK_MODE);
	if (fd < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO))
		return error_set(err, &ERROR_INVALID, "'%s' is not a regular file", path);
	if (fd < 0)
		return error_sys(err, "open '%s'", path);
	if (os_fault() || fstat(fd, &st) < 0)
		return error_sys(err, "look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, &ERROR_INVALID, "'%s' is not a regular file", path);
	if ((st.st_mode & 07777) != LOCK_MODE && (os_fault() || fchmod(fd, LOCK_MODE) < 0))
		return error_sys(err, "set the mode of '%s'", path);
	*ret_st = st;
	*ret_fd = fd_take(&fd);
	return 0;
}

/* 1 the lock is ours, -1 not. */
static int lock_now(int fd, const char *path, struct error *err)
{
	int rc;

	do
		rc = os_fault() ? -1 : flock(fd, LOCK_EX | LOCK_NB);
	while (rc < 0 && errno == EINTR);
	if (rc < 0 && errno == EWOULDBLOCK)
		return error_set(err, &OS_LOCKED, "'%s' is locked already", path);
	if (rc < 0)
		return error_sys(err, "lock '%s'", path);
	return 1;
}

int os_lock_file(const char *path, int *ret_fd, struct error *err)
{
	struct stat opened = {0}, named = {0};

	/* A file that was removed and made again between open and lock would give two owners. */
	for (int i = 0; i < LOCK_TRIES; i++) {
		_cleanup_(fd) int fd = -1;

		if (open_lock(path, &fd, &opened, err) < 0 || lock_now(fd, path, err) < 0)
			return -1;
		if (os_fault() || lstat(path, &named) < 0) {
			if (errno != ENOENT)
				return error_sys(err, "look at '%s'", path);
			continue;
		}
		if (named.st_dev == opened.st_dev && named.st_ino == opened.st_ino) {
			*ret_fd = fd_take(&fd);
			return 0;
		}
	}
	return error_set(err, &OS_LOCKED, "'%s' is made again and again", path);
}
