/*
 * The files of a store, before SQLite has them.
 *
 * What is there is looked at through O_PATH descriptors: they cannot hang on a FIFO, follow no
 * link, and closing one drops no lock, should another connection of this process have the file. A
 * looser mode is tightened through the same descriptor (by way of /proc/self/fd, since fchmod
 * refuses O_PATH), so the file that was checked is the file that is changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "db/internal.h"
#include "mem/mem.h"
#include "os/os.h"

enum {
	PRIVATE_MODE = 0600,
	/* A name made and removed by turns is somebody's play; one retry covers an honest race. */
	MAKE_TRIES_MAX = 2,
};

/* The log first. SQLite derives these names itself; the rollback journal exists before WAL mode is
 * on. */
static const char *const sidecars[] = {"-wal", "-shm", "-journal"};

/* Kinds a caller acts on: a full disk is DB_FULL here too. */
static int fail_on(struct error *err, const struct error *cause, const char *what, const char *path)
{
	if (cause->sys == ENOSPC || cause->sys == EDQUOT || cause->sys == EROFS) {
		error_set(err, &DB_FULL, "%s '%s': errno %d", what, path, cause->sys);
		if (err)
			err->sys = cause->sys;
		return -1;
	}
	if (err)
		*err = *cause;
	return error_prefix(err, "%s", what);
}

/* Mode bits are only ever taken away: a file its owner made read-only stays so. */
static int tighten(int fd, const char *path, const struct stat *st, struct error *err)
{
	char name[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	mode_t mode = st->st_mode & 07777;

	if (!(mode & ~(mode_t)PRIVATE_MODE))
		return 0;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd); /* the room is enough */
	if (chmod(name, mode & PRIVATE_MODE) < 0)
		return error_sys(err, "make '%s' private", path);
	return 0;
}

/* 1 there and now private, 0 not there, -1. */
static int check(const char *path, struct stat *ret_st, struct error *err)
{
	struct error cause = ERROR_INIT;
	_cleanup_(fd) int fd = -1;
	struct stat st;

	if (os_open(path, O_PATH | O_NOFOLLOW, 0, &fd, &cause) < 0) {
		if (cause.sys == ENOENT)
			return 0;
		return fail_on(err, &cause, "look at the store", path);
	}
	if (fstat(fd, &st) < 0)
		return error_sys(err, "look at '%s'", path);
	if (S_ISLNK(st.st_mode))
		return error_set(err, &DB_UNSAFE_FILE, "'%s' is a symbolic link", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, &DB_UNSAFE_FILE, "'%s' is not a regular file", path);
	if (st.st_nlink != 1)
		return error_set(err, &DB_UNSAFE_FILE, "'%s' has %ju names (hard links)", path,
			(uintmax_t)st.st_nlink);
	if (tighten(fd, path, &st, err) < 0)
		return -1;
	*ret_st = st;
	return 1;
}

/* 1 made, 0 somebody else was first, -1. */
static int make(const char *path, struct stat *ret_st, struct error *err)
{
	struct error cause = ERROR_INIT;
	_cleanup_(fd) int fd = -1;

	/* AG-191: the name never exists with a looser mode, and no chmod follows. */
	if (os_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, PRIVATE_MODE, &fd, &cause) < 0) {
		if (cause.sys == EEXIST)
			return 0;
		return fail_on(err, &cause, "make the store", path);
	}
	if (fstat(fd, ret_st) < 0)
		return error_sys(err, "look at '%s'", path);
	return 1;
}

static int check_or_make(const char *path, bool may_make, struct stat *ret_st, struct error *err)
{
	for (int i = 0; i < MAKE_TRIES_MAX; i++) {
		int found = check(path, ret_st, err);

		if (found)
			return found < 0 ? -1 : 0;
		if (!may_make)
			return error_set(err, &DB_ERROR, "there is no store at '%s'", path);
		found = make(path, ret_st, err);
		if (found)
			return found < 0 ? -1 : 0;
	}
	return error_set(err, &DB_UNSAFE_FILE, "'%s' comes and goes", path);
}

static int check_sidecars(const char *path, bool *ret_wal, struct error *err)
{
	bool wal = false;

	for (size_t i = 0; i < ARRAY_LEN(sidecars); i++) {
		_cleanup_(mem) char *name = xasprintf("%s%s", path, sidecars[i]);
		struct stat st;
		int found = check(name, &st, err);

		if (found < 0)
			return -1;
		if (found && i == 0 && st.st_size > 0)
			wal = true;
	}
	*ret_wal = wal;
	return 0;
}

/* The folder's real path and the name as it stands: SQLite is told to refuse every link on the way.
 */
static int canonical(const char *path, char **ret_path, struct error *err)
{
	_cleanup_(mem) char *for_dir = xstrdup(path);
	_cleanup_(mem) char *for_base = xstrdup(path);
	_cleanup_(mem) char *dir = NULL;
	const char *base = basename(for_base);

	if (!path[0] || path[strlen(path) - 1] == '/' || !strcmp(base, ".") || !strcmp(base, ".."))
		return error_set(err, &DB_UNSAFE_FILE, "'%s' is no name for a store", path);
	if (os_canonical(dirname(for_dir), &dir, err) < 0)
		return error_prefix(err, "find the store's folder");
	*ret_path = xasprintf("%s/%s", strcmp(dir, "/") ? dir : "", base);
	return 0;
}

int db_file_prepare(const char *path, bool may_make, struct db_file *ret_file, struct error *err)
{
	_cleanup_(mem) char *real = NULL;
	struct stat st;
	bool wal = false;

	if (canonical(path, &real, err) < 0 || check_sidecars(real, &wal, err) < 0 ||
		check_or_make(real, may_make, &st, err) < 0)
		return -1;
	*ret_file = (struct db_file){
		.path = mem_take(&real), .dev = st.st_dev, .ino = st.st_ino, .has_wal = wal};
	return 0;
}

int db_file_same(const struct db_file *file, struct error *err)
{
	struct stat st;

	if (lstat(file->path, &st) < 0)
		return error_sys(err, "look at '%s'", file->path);
	if (st.st_dev != file->dev || st.st_ino != file->ino || !S_ISREG(st.st_mode))
		return error_set(
			err, &DB_UNSAFE_FILE, "'%s' was replaced while it was opened", file->path);
	return 0;
}

void db_file_release(struct db_file *file)
{
	free(mem_take(&file->path));
}
