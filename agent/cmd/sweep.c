/* Folders that killed rehearsals left. */
#include "agent/cmd/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mem/mem.h"
#include "os/os.h"
#include "text/text.h"

#define STORE_LOCK "home/.agent/state.sqlite.owner-lock" /* of the rehearsal's daemon */

enum {
	YOUNG_S = 60,    /* ours: a folder without a lock may be about to get it */
	SWEPT_MAX = 100, /* ours: at once; the next rehearsal goes on */
};

static void close_folder(DIR *d)
{
	if (d)
		(void)closedir(d); /* it was only read */
}
MEM_CLEANUP(folder, DIR *, close_folder)

int sweep_make(char **ret_path, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *path = NULL, *lock = NULL;

	if (os_temp_dir(SWEEP_PARENT "/" SWEEP_PREFIX, &path, err) < 0)
		return -1;
	lock = xasprintf("%s/" SWEEP_LOCK, path);
	if (os_lock_file(lock, ret_fd, err) < 0) {
		(void)os_remove_tree(path, NULL); /* the error is the one to tell */
		return -1;
	}
	*ret_path = mem_take(&path);
	return 0;
}

/* 1: held by this process now, *ret_fd; 0: by another one; -1: there is none. */
static int take_lock(const char *path, const char *name, int *ret_fd)
{
	_cleanup_(mem) char *lock = xasprintf("%s/%s", path, name);
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;

	if (os_open(lock, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, &fd, &err) < 0)
		return err.sys == ENOENT ? -1 : 0;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	*ret_fd = fd_take(&fd);
	return 1;
}

/* Whether neither a rehearsal nor its daemon has it any more. A daemon that lost its rehearsal goes
 * by itself when what it runs has ended. */
static bool is_left(const char *path, int *ret_fd)
{
	_cleanup_(fd) int store = -1;
	struct stat st;
	int owner;

	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return false;
	owner = take_lock(path, SWEEP_LOCK, ret_fd);
	if (owner < 0)
		return st.st_ctime + YOUNG_S < time(NULL);
	return owner > 0 && take_lock(path, STORE_LOCK, &store) != 0;
}

static void sweep(const char *path)
{
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;

	if (!is_left(path, &fd))
		return;
	if (os_remove_tree(path, &err) < 0)
		(void)fprintf(stderr, "agent rehearse: %s: '%s' is left: %s\n", error_code(&err),
			path, err.text); /* nobody else to tell */
	else
		(void)fprintf(stderr,
			"agent rehearse: removed '%s', which a rehearsal that was killed left\n",
			path);
}

void sweep_left(void)
{
	_cleanup_(folder) DIR *d = opendir(SWEEP_PARENT);
	char *found[SWEPT_MAX];
	const struct dirent *e;
	size_t count = 0;

	while (d && count < SWEPT_MAX && (e = readdir(d))) {
		if (strncmp(e->d_name, SWEEP_PREFIX, strlen(SWEEP_PREFIX)) == 0)
			found[count++] = xasprintf(SWEEP_PARENT "/%s", e->d_name);
	}
	for (size_t i = 0; i < count; i++) {
		sweep(found[i]);
		free(found[i]);
	}
}
