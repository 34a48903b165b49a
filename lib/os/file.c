/*
 * file: opening, reading and writing, and what a path is.
 */
#include <errno.h>
#include <fcntl.h>

#include "os/internal.h"

enum { READ_STEP_BYTES = 65536 }; /* ours: few calls for a file, little room for a small one */

int os_raw_openat(int dir, const char *path, int flags, mode_t mode)
{
	int fd;

	do
		fd = os_fault() ? -1 : openat(dir, path, flags | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	return fd;
}

int os_openat(int dir, const char *path, int flags, mode_t mode, int *ret_fd, struct error *err)
{
	int fd = os_raw_openat(dir, path, flags, mode);

	if (fd < 0)
		return error_sys(err, "open '%s'", path);
	*ret_fd = fd;
	return 0;
}

int os_open(const char *path, int flags, mode_t mode, int *ret_fd, struct error *err)
{
	return os_openat(AT_FDCWD, path, flags, mode, ret_fd, err);
}

int os_hold_standard_fds(struct error *err)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY); /* no O_CLOEXEC: 0 to 2 are for children too */
		if (fd < 0)
			return error_sys(err, "open '/dev/null'");
	} while (fd <= STDERR_FILENO);
	os_close(fd);
	return 0;
}

int os_write_all(int fd, const void *p, size_t len, struct error *err)
{
	const char *at = p;
	ssize_t done;

	while (len) {
		done = os_fault() ? -1 : write(fd, at, len);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return error_sys(err, "write");
		at += done;
		len -= (size_t)done;
	}
	return 0;
}

int os_read_full(int fd, void *p, size_t len, size_t *ret_len, struct error *err)
{
	size_t have = 0;
	ssize_t got;

	while (have < len) {
		got = os_fault() ? -1 : read(fd, (char *)p + have, len - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_sys(err, "read");
		if (got == 0)
			break;
		have += (size_t)got;
	}
	*ret_len = have;
	return 0;
}

/* Reads on to the end. The size a file says it has may be 0 (/proc) or out of date. */
static int read_to_end(int fd, const char *path, struct buf *b, struct error *err)
{
	size_t step, got;
	char beyond;

	for (;;) {
		step = b->max - b->len < READ_STEP_BYTES ? b->max - b->len : READ_STEP_BYTES;
		if (step == 0)
			break;
		if (buf_reserve(b, step) < 0)
			return error_set(err, &ERROR_LIMIT, "'%s' is over %zu bytes", path, b->max);
		if (os_read_full(fd, b->data + b->len, step, &got, err) < 0)
			return error_prefix(err, "'%s'", path);
		b->len += got;
		b->data[b->len] = '\0';
		if (got < step)
			return 0;
	}
	if (os_read_full(fd, &beyond, 1, &got, err) < 0)
		return error_prefix(err, "'%s'", path);
	if (got)
		return error_set(err, &ERROR_LIMIT, "'%s' is over %zu bytes", path, b->max);
	return 0;
}

int os_read_file(const char *path, struct buf *b, struct error *err)
{
	size_t start = b->len;
	_cleanup_(fd) int fd = -1;
	struct stat st;

	fd = os_raw_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0 && errno == ENXIO) /* a socket, or a device that is not there */
		return error_set(err, &ERROR_INVALID, "'%s' is not a regular file", path);
	if (fd < 0)
		return error_sys(err, "open '%s'", path);
	if (os_fault() || fstat(fd, &st) < 0)
		return error_sys(err, "look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, &ERROR_INVALID, "'%s' is not a regular file", path);
	if (read_to_end(fd, path, b, err) < 0) {
		b->len = start; /* nothing, rather than a part */
		if (b->data)
			b->data[start] = '\0';
		return -1;
	}
	return 0;
}

int os_fsync_dir(const char *path, struct error *err)
{
	_cleanup_(fd) int fd = -1;

	if (os_open(path, O_RDONLY | O_DIRECTORY, 0, &fd, err) < 0)
		return -1;
	if (os_fault() || fsync(fd) < 0)
		return error_sys(err, "fsync '%s'", path);
	return 0;
}

int os_exists(const char *path, struct error *err)
{
	struct stat st;

	if (!os_fault() && stat(path, &st) == 0)
		return 1;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	return error_sys(err, "look at '%s'", path);
}

int os_is_program(const char *path, struct error *err)
{
	struct stat st;

	if (os_fault() || stat(path, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP)
			return 0; /* whatever it is, this user cannot start it */
		return error_sys(err, "look at '%s'", path);
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	if (!os_fault() && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
		return 1;
	if (errno == EACCES || errno == ENOENT)
		return 0;
	return error_sys(err, "look at '%s'", path);
}
