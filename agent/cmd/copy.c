/* A copy of a folder for a rehearsal to work on. */
#include "agent/cmd/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem/mem.h"
#include "os/os.h"

const struct error_kind COPY_TOO_LARGE = {"folder_too_large", ERROR_CLASS_LIMIT};

enum {
	DEPTH_MAX = 128, /* ours: three descriptors a level stay below the usual 1024 */
	CHUNK_BYTES = 1024 * 1024,
};

struct copying {
	const struct copy_limits *limits;
	int64_t bytes, entries;
	char *chunk;
	struct error *err;
};

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
MEM_CLEANUP(folder, DIR *, close_folder)

static int count(struct copying *c, int64_t bytes)
{
	c->bytes += bytes;
	c->entries++;
	if (c->bytes > c->limits->bytes || c->entries > c->limits->entries)
		return error_set(c->err, &COPY_TOO_LARGE,
			"the folder holds more than %lld bytes or %lld files",
			(long long)c->limits->bytes, (long long)c->limits->entries);
	return 0;
}

static int copy_bytes(struct copying *c, int from, int to, const char *name)
{
	ssize_t n;

	while ((n = read(from, c->chunk, CHUNK_BYTES)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(c->err, "read '%s'", name);
		if (os_write_all(to, c->chunk, (size_t)n, c->err) < 0)
			return error_prefix(c->err, "copy '%s'", name);
	}
	return 0;
}

static int copy_file(struct copying *c, int from, int to, const char *name)
{
	_cleanup_(fd) int source = -1, made = -1;
	struct stat st;

	if (os_openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &source, c->err) < 0)
		return -1;
	if (fstat(source, &st) < 0)
		return error_sys(c->err, "look at '%s'", name);
	if (!S_ISREG(st.st_mode))
		return 0; /* it has become something else */
	if (count(c, st.st_size) < 0 ||
		os_openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &made, c->err) <
			0 ||
		copy_bytes(c, source, made, name) < 0)
		return -1;
	if (fchmod(made, st.st_mode & 0777) < 0) /* no setuid: the copy is for trying things */
		return error_sys(c->err, "set the mode of '%s'", name);
	return 0;
}

static int copy_link(struct copying *c, int from, int to, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(from, name, target, sizeof(target));

	if (len < 0 || (size_t)len == sizeof(target))
		return error_sys(c->err, "read the link '%s'", name);
	target[len] = '\0';
	if (count(c, len) < 0)
		return -1;
	if (symlinkat(target, to, name) < 0)
		return error_sys(c->err, "make the link '%s'", name);
	return 0;
}

static int copy_folder(struct copying *c, int from, int to, int depth);

static int copy_subfolder(struct copying *c, int from, int to, const char *name, int depth)
{
	_cleanup_(fd) int source = -1, made = -1;

	if (depth >= DEPTH_MAX)
		return error_set(c->err, &COPY_TOO_LARGE, "folders lie deeper than %d", DEPTH_MAX);
	if (count(c, 0) < 0)
		return -1;
	if (mkdirat(to, name, 0700) < 0)
		return error_sys(c->err, "make '%s'", name);
	if (os_openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &source, c->err) < 0 ||
		os_openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &made, c->err) < 0)
		return -1;
	return copy_folder(c, source, made, depth + 1);
}

static int copy_entry(struct copying *c, int from, int to, const char *name, int depth)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_sys(c->err, "look at '%s'", name);
	if (S_ISDIR(st.st_mode))
		return copy_subfolder(c, from, to, name, depth);
	if (S_ISLNK(st.st_mode))
		return copy_link(c, from, to, name);
	return S_ISREG(st.st_mode) ? copy_file(c, from, to, name) : 0;
}

static int copy_folder(struct copying *c, int from, int to, int depth)
{
	_cleanup_(folder) DIR *d = NULL;
	int own = fcntl(from, F_DUPFD_CLOEXEC, 0);
	const struct dirent *e;

	if (own < 0)
		return error_sys(c->err, "read a folder");
	d = fdopendir(own);
	if (!d) {
		os_close(own);
		return error_sys(c->err, "read a folder");
	}
	for (;;) {
		errno = 0;
		e = readdir(d);
		if (!e)
			return errno ? error_sys(c->err, "read a folder") : 0;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (copy_entry(c, from, to, e->d_name, depth) < 0)
			return -1;
	}
}

int copy_tree(const char *from, const char *to, const struct copy_limits *limits, struct error *err)
{
	_cleanup_(fd) int source = -1, made = -1;
	_cleanup_(mem) char *chunk = xmalloc(CHUNK_BYTES);
	struct copying c = {.limits = limits, .chunk = chunk, .err = err};

	if (os_open(from, O_RDONLY | O_DIRECTORY, 0, &source, err) < 0 ||
		os_mkdir_private(to, NULL, err) < 0 ||
		os_open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &made, err) < 0)
		return -1;
	if (copy_folder(&c, source, made, 0) < 0)
		return error_prefix(err, "copy '%s'", from);
	return 0;
}
