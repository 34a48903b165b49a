/* The daemon's socket by name: lock, stale names, bind, unlink. */
#include "agent/io/listen.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem/mem.h"
#include "os/os.h"

const struct error_kind LISTEN_NOT_SOCKET = {"socket_path_not_socket", ERROR_CLASS_CONFLICT};
const struct error_kind LISTEN_OWNED = {"socket_already_owned", ERROR_CLASS_CONFLICT};

enum { PROBE_MS = 250 }; /* agent spec 1.2 */

struct listen {
	char *path;
	int lock;
	dev_t dev;
	ino_t ino;
};

MEM_CLEANUP(listen, struct listen *, listen_close)

static int lock_socket(const char *path, int *ret_fd, struct error *err)
{
	_cleanup_(mem) char *lock = xasprintf("%s.owner-lock", path);

	if (os_lock_file(lock, ret_fd, err) == 0)
		return 0;
	if (error_is(err, &OS_LOCKED))
		return error_set(err, &LISTEN_OWNED, "another daemon holds '%s'", lock);
	return error_prefix(err, "lock the socket");
}

/* Only a name that refuses connections is stale. */
static int remove_stale(const char *path, struct error *err)
{
	struct stat st;
	int fd = -1;
	struct error probe = ERROR_INIT;

	if (lstat(path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		return error_sys(err, "look at '%s'", path);
	}
	if (!S_ISSOCK(st.st_mode))
		return error_set(err, &LISTEN_NOT_SOCKET, "'%s' is there and is no socket", path);
	if (os_connect_unix(path, PROBE_MS, &fd, &probe) == 0) {
		os_close(fd);
		return error_set(err, &LISTEN_OWNED, "somebody listens on '%s'", path);
	}
	if (probe.sys != ECONNREFUSED)
		return error_set(err, &LISTEN_OWNED, "'%s': %s", path, probe.text);
	if (unlink(path) < 0 && errno != ENOENT)
		return error_sys(err, "remove the stale socket '%s'", path);
	return 0;
}

int listen_open(const char *path, struct listen **ret, int *ret_fd, struct error *err)
{
	_cleanup_(listen) struct listen *l = xcalloc(1, sizeof(*l));
	_cleanup_(fd) int fd = -1;
	struct stat st;

	l->lock = -1;
	if (lock_socket(path, &l->lock, err) < 0)
		return -1;
	if (remove_stale(path, err) < 0)
		return -1;
	if (os_listen_private(path, &fd, err) < 0)
		return -1;
	if (lstat(path, &st) < 0)
		return error_sys(err, "look at '%s'", path);
	l->path = xstrdup(path);
	l->dev = st.st_dev;
	l->ino = st.st_ino;
	*ret_fd = fd_take(&fd);
	*ret = mem_take(&l);
	return 0;
}

void listen_close(struct listen *l)
{
	struct stat st;

	if (!l)
		return;
	if (l->path && lstat(l->path, &st) == 0 && st.st_dev == l->dev && st.st_ino == l->ino)
		(void)unlink(l->path); /* a name that stays is found stale by the next daemon */
	os_close(l->lock);
	free(l->path);
	free(l);
}
