/*
 * replace: a file is the old one or the new one, whole, whenever the power goes.
 *
 * The new content is written beside the old under a name nobody knows, brought to disk, and renamed
 * over it; then the folder is brought to disk. All by the folder's descriptor, so that a folder
 * that is renamed meanwhile still gets its own file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "os/internal.h"

enum {
	TEMP_TRIES = 16, /* ours: a name of 64 random bits is taken once in a lifetime */
	TEMP_NAME_SIZE = 32,
};

int os_open_parent(const char *path, int *ret_dir, const char **ret_name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	_cleanup_(mem) char *folder = NULL;

	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return error_set(err, &ERROR_INVALID, "'%s' does not end in a name", path);
	if (!slash)
		folder = xstrdup(".");
	else
		folder = xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (os_open(folder, O_RDONLY | O_DIRECTORY, 0, ret_dir, err) < 0)
		return -1;
	*ret_name = name;
	return 0;
}

/* Makes the temporary file with no mode but `mode`, from its first moment on. */
static int make_temp(
	int dir, mode_t mode, char name[TEMP_NAME_SIZE], int *ret_fd, struct error *err)
{
	uint64_t chance;
	int fd = -1;

	for (int i = 0; i < TEMP_TRIES; i++) {
		if (os_random(&chance, sizeof(chance), err) < 0)
			return -1;
		(void)snprintf(name, TEMP_NAME_SIZE, ".new-%016llx", (unsigned long long)chance);
		fd = os_raw_openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0)
		return error_sys(err, "make a temporary file");
	*ret_fd = fd;
	return 0;
}

static int fill_temp(int fd, struct str content, mode_t mode, struct error *err)
{
	if (os_fault() || fchmod(fd, mode) < 0) /* what the umask took */
		return error_sys(err, "set the mode");
	if (os_write_all(fd, content.p, content.len, err) < 0)
		return -1;
	if (os_fault() || fsync(fd) < 0)
		return error_sys(err, "fsync");
	return 0;
}

int os_replace_file(const char *path, struct str content, mode_t mode, struct error *err)
{
	_cleanup_(fd) int dir = -1, fd = -1;
	char temp[TEMP_NAME_SIZE];
	const char *name;

	if (os_open_parent(path, &dir, &name, err) < 0 || make_temp(dir, mode, temp, &fd, err) < 0)
		return error_prefix(err, "replace '%s'", path);
	if (fill_temp(fd, content, mode, err) < 0) {
		(void)unlinkat(dir, temp, 0); /* the error that counts is known */
		return error_prefix(err, "replace '%s'", path);
	}
	if (os_fault() || renameat(dir, temp, dir, name) < 0) {
		(void)error_sys(err, "replace '%s'", path);
		(void)unlinkat(dir, temp, 0); /* as above */
		return -1;
	}
	if (os_fault() || fsync(dir) < 0)
		return error_sys(err, "fsync the folder of '%s'", path);
	return 0;
}
