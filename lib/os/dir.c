/*
 * dir: private folders.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "os/internal.h"

enum {
	PRIVATE_MODE = 0700,
	TEMP_TRIES = 64, /* ours: one in 2^30 names is taken by each folder there is */
	TEMP_CHARS = 6,  /* as mkdtemp(3) */
};

/* A umask can take bits that the owner needs. By handle, so that what gets the mode is a folder. */
static int widen_to_private(const char *path, struct error *err)
{
	char through[64];
	_cleanup_(fd) int fd = -1;
	struct stat st;

	fd = os_raw_openat(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0 || os_fault() || fstat(fd, &st) < 0)
		return error_sys(err, "look at '%s'", path);
	if ((st.st_mode & 0777) == PRIVATE_MODE)
		return 0;
	(void)snprintf(
		through, sizeof(through), "/proc/self/fd/%d", fd); /* fchmod takes no O_PATH */
	if (os_fault() || chmod(through, (st.st_mode & 07000) | PRIVATE_MODE) < 0)
		return error_sys(err, "set the mode of '%s'", path);
	return 0;
}

int os_mkdir_private(const char *path, bool *ret_made, struct error *err)
{
	struct stat st;
	bool made = false;

	if (!os_fault() && mkdir(path, PRIVATE_MODE) == 0)
		made = true;
	else if (errno != EEXIST)
		return error_sys(err, "make the folder '%s'", path);
	if (made && widen_to_private(path, err) < 0) {
		(void)rmdir(path); /* rather none than one with a wrong mode */
		return -1;
	}
	if (!made) {
		if (os_fault() || stat(path, &st) < 0)
			return error_sys(err, "look at '%s'", path);
		if (!S_ISDIR(st.st_mode)) {
			errno = ENOTDIR;
			return error_sys(err, "make the folder '%s'", path);
		}
	}
	if (ret_made)
		*ret_made = made;
	return 0;
}

int os_dir_is_private(const char *path, struct error *err)
{
	struct stat st;

	if (os_fault() || lstat(path, &st) < 0)
		return error_sys(err, "look at '%s'", path);
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

int os_temp_dir(const char *prefix, char **ret_path, struct error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char chance[TEMP_CHARS];
	char end[TEMP_CHARS + 1] = "";
	bool made;

	for (int i = 0; i < TEMP_TRIES; i++) {
		_cleanup_(mem) char *path = NULL;
		struct error sub = ERROR_INIT;

		if (os_random(chance, sizeof(chance), err) < 0)
			return -1;
		for (size_t k = 0; k < TEMP_CHARS; k++)
			end[k] = letters[chance[k] % 32];
		path = xasprintf("%s%s", prefix, end);
		if (os_mkdir_private(path, &made, &sub) < 0 && sub.sys != ENOTDIR) {
			if (err)
				*err = sub;
			return -1;
		}
		if (!sub.kind && made) {
			*ret_path = mem_take(&path);
			return 0;
		}
	}
	return error_set(err, &ERROR_LIMIT, "no free name for a folder '%s…'", prefix);
}
