/*
 * Opening and reading regular files by handle, without links.
 *
 * A file is first looked at with O_PATH, which opens nothing: no device is touched, no FIFO waits,
 * and the POSIX locks that SQLite holds on its files survive the close (they would not survive the
 * close of a descriptor that reads). Only then is that same inode opened through /proc/self/fd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"
#include "os/os.h"

enum {
	READ_STEP_BYTES = 65536, /* ours: one read(2); what a pipe holds */
	OPENAT2_TRIES_MAX = 64,  /* ours: EAGAIN means that a rename raced with the walk */
};

static const char cat_program[] = "/bin/cat";

const struct error_kind GUARD_NOT_REGULAR = {"file_not_regular", ERROR_CLASS_USAGE};
const struct error_kind GUARD_TOO_LARGE = {"file_too_large", ERROR_CLASS_LIMIT};
const struct error_kind GUARD_CHANGED = {"path_changed", ERROR_CLASS_CONFLICT};
const struct error_kind GUARD_DENIED = {"permission_denied", ERROR_CLASS_DENIED};

static const struct error_kind *kind_of(int sys)
{
	switch (sys) {
	case ENOENT:
		return &GUARD_NOT_FOUND;
	case ELOOP:
	case ENOTDIR:
		return &GUARD_CHANGED; /* resolved paths hold no link and no file amid */
	case EACCES:
	case EPERM:
	case EROFS:
		return &GUARD_DENIED;
	case ENXIO:
	case EISDIR:
		return &GUARD_NOT_REGULAR;
	case ENAMETOOLONG:
		return &GUARD_INVALID_PATH;
	default:
		return &ERROR_SYS;
	}
}

int guard_sys(struct error *err, const char *doing, const char *path)
{
	return error_sys_kind(err, kind_of(errno), "%s '%s'", doing, path);
}

int guard_openat(int dir, const char *path, int flags, mode_t mode, int *ret_fd, struct error *err)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = mode,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	for (int tries = 0; tries < OPENAT2_TRIES_MAX; tries++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	if (fd < 0)
		return guard_sys(err, "open", path);
	*ret_fd = (int)fd;
	return 0;
}

/* Looks without opening: *ret_fd is O_PATH. */
static int look(const struct guard_path *p, int *ret_fd, struct stat *ret_st, struct error *err)
{
	_cleanup_(fd) int fd = -1;
	struct statfs fs;

	if (guard_openat(AT_FDCWD, p->real, O_PATH, 0, &fd, err) < 0)
		return -1;
	if (fstat(fd, ret_st) < 0 || fstatfs(fd, &fs) < 0)
		return guard_sys(err, "look at", p->real);
	if (!S_ISREG(ret_st->st_mode))
		return error_set(err, &GUARD_NOT_REGULAR, "'%s' is %s, not a regular file", p->real,
			S_ISDIR(ret_st->st_mode) ? "a folder" : "a device, pipe or socket");
	if (fs.f_type == PROC_SUPER_MAGIC) /* AG-176: it would be this process's own */
		return error_set(err, &GUARD_NOT_REGULAR, "'%s' lies on procfs", p->real);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Opens for reading what was looked at: the same inode, whatever its name is now. */
static int reopen(int path_fd, const char *name, int *ret_fd, struct error *err)
{
	char link[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	int fd;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd); /* fits by its size */
	do
		fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return guard_sys(err, "read", name);
	*ret_fd = fd;
	return 0;
}

int guard_open_read(const struct guard_path *p, int *ret_fd, struct stat *ret_st, struct error *err)
{
	_cleanup_(fd) int path_fd = -1;
	struct stat st;

	if (look(p, &path_fd, &st, err) < 0 || reopen(path_fd, p->real, ret_fd, err) < 0)
		return -1;
	*ret_st = st;
	return 0;
}

int guard_open_folder(const char *real, int *ret_fd, struct error *err)
{
	return guard_openat(AT_FDCWD, real, O_PATH | O_DIRECTORY, 0, ret_fd, err);
}

static int too_large(const char *name, size_t max_bytes, struct error *err)
{
	return error_set(err, &GUARD_TOO_LARGE, "'%s' has more than %zu bytes", name, max_bytes);
}

/* Reads to the end; one byte past the limit is enough to know. */
static int drain(int fd, const char *name, size_t max_bytes, struct buf *to, struct error *err)
{
	size_t start = to->len;

	for (;;) {
		size_t left = max_bytes - (to->len - start), room = to->max - to->len;
		char past;
		ssize_t n;

		if (left > room)
			left = room;
		if (left > READ_STEP_BYTES)
			left = READ_STEP_BYTES;
		if (left > 0 && buf_reserve(to, left) < 0)
			return too_large(name, max_bytes, err);
		n = left > 0 ? read(fd, to->data + to->len, left) : read(fd, &past, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return guard_sys(err, "read", name);
		if (n == 0)
			return 0;
		if (left == 0)
			return too_large(name, max_bytes, err);
		to->len += (size_t)n;
		to->data[to->len] = '\0';
	}
}

/* A child that opens the inode behind path_fd and writes it to `out`; its environment is empty. */
static int spawn_cat(int path_fd, int out, pid_t *ret_pid, struct error *err)
{
	static char name[] = "cat", three[] = "/proc/self/fd/3";
	char *const argv[] = {name, three, NULL};
	char *const env[] = {NULL};
	posix_spawn_file_actions_t actions;
	int rc;

	(void)posix_spawn_file_actions_init(
		&actions); /* these allocate or abort nothing on glibc */
	(void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, 1);
	(void)posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, path_fd, 3);
	rc = posix_spawn(ret_pid, cat_program, &actions, NULL, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	errno = rc;
	return rc == 0 ? 0 : error_sys(err, "start %s", cat_program);
}

/* The end of a child: its status, or -1. */
static int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return status;
}

/* DESIGN 5.8: reads a file that this process must not open itself. */
static int read_by_child(
	int path_fd, const char *name, size_t max_bytes, struct buf *to, struct error *err)
{
	_cleanup_(fd) int out = -1;
	_cleanup_(fd) int in = -1;
	int ends[2], rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_sys(err, "make a pipe");
	out = ends[0];
	in = ends[1];
	path_fd = fcntl(path_fd, F_DUPFD_CLOEXEC, 4); /* not 3, which dup2 would leave O_CLOEXEC */
	if (path_fd < 0)
		return error_sys(err, "copy a descriptor");
	rc = spawn_cat(path_fd, in, &pid, err);
	os_close(path_fd);
	if (rc < 0)
		return -1;
	os_close(fd_take(&in)); /* else the end of the output would never come */
	rc = drain(out, name, max_bytes, to, err);
	os_close(fd_take(&out));
	if (rc < 0) {
		(void)kill(pid, SIGKILL); /* not waited for yet, so the number is still its own */
		(void)reap(pid);
		return -1;
	}
	if (reap(pid) != 0)
		return error_set(err, &GUARD_DENIED, "'%s' cannot be read", name);
	return 0;
}

static bool listed(const struct stat *st, const struct guard_id *never, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (never[i].dev == st->st_dev && never[i].ino == st->st_ino)
			return true;
	}
	return false;
}

int guard_read(const struct guard_path *p, size_t max_bytes, const struct guard_id *never,
	size_t never_count, struct buf *to, struct error *err)
{
	_cleanup_(fd) int path_fd = -1;
	_cleanup_(fd) int fd = -1;
	size_t before = to->len;
	struct stat st;
	int rc;

	if (look(p, &path_fd, &st, err) < 0)
		return -1;
	if (st.st_size > 0 && (uint64_t)st.st_size > max_bytes)
		return too_large(p->real, max_bytes, err);
	if (listed(&st, never, never_count)) {
		rc = read_by_child(path_fd, p->real, max_bytes, to, err);
	} else {
		rc = reopen(path_fd, p->real, &fd, err);
		if (rc == 0)
			rc = drain(fd, p->real, max_bytes, to, err);
	}
	if (rc < 0 && to->len > before) {
		to->len = before; /* nothing half-read is left for a caller to take for the whole */
		to->data[before] = '\0';
	}
	return rc;
}
