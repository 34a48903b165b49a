/*
 * socket: stream sockets with a name in the file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "clock/clock.h"
#include "os/internal.h"

enum { NO_WAIT_MS = 1 }; /* SO_SNDTIMEO: 0 would be for ever */

size_t os_socket_path_max(void)
{
	return sizeof(((struct sockaddr_un *)0)->sun_path);
}

static int address_of(const char *path, struct sockaddr_un *ret_addr, struct error *err)
{
	size_t len = strlen(path);

	*ret_addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (len >= sizeof(ret_addr->sun_path))
		return error_set(err, &ERROR_TOO_LONG, "socket path '%s' is over %zu bytes", path,
			sizeof(ret_addr->sun_path) - 1);
	if (len == 0) /* would be the abstract name space, open to everybody */
		return error_set(err, &ERROR_INVALID, "a socket path is empty");
	memcpy(ret_addr->sun_path, path, len + 1);
	return 0;
}

int os_listen_private(const char *path, int *ret_fd, struct error *err)
{
	_cleanup_(fd) int fd = -1;
	struct sockaddr_un addr;
	mode_t old_mask;
	int rc;

	if (address_of(path, &addr, err) < 0)
		return -1;
	fd = os_fault() ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_sys(err, "make a socket for '%s'", path);
	old_mask = umask(0177); /* AG-027, AG-028: the name never exists with a looser mode */
	rc = os_fault() ? -1 : bind(fd, (const struct sockaddr *)&addr, sizeof(addr));
	(void)umask(old_mask); /* cannot fail, leaves errno alone */
	if (rc < 0)
		return error_sys(err, "bind '%s'", path);
	if (os_fault() || listen(fd, OS_BACKLOG) < 0) {
		(void)error_sys(err, "listen on '%s'", path);
		(void)unlink(path); /* ours since the bind; a name nobody answers helps no one */
		return -1;
	}
	*ret_fd = fd_take(&fd);
	return 0;
}

static int limit_connect(int fd, int64_t ms, struct error *err)
{
	struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	if (os_fault() || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0)
		return error_sys(err, "set a time limit");
	return 0;
}

/* A connect(2) on AF_UNIX waits only while the listener's queue is full, and for SO_SNDTIMEO at
 * most, which it tells by EAGAIN. An interrupted one has done nothing and is made again. */
static int connect_within(int fd, const struct sockaddr_un *addr, int timeout_ms, struct error *err)
{
	const struct clock *clock = clock_system();
	int64_t end_ms = clock_mono_ms(clock) + timeout_ms, left_ms;
	int rc;

	do {
		left_ms = end_ms - clock_mono_ms(clock);
		if (limit_connect(fd, left_ms > 0 ? left_ms : NO_WAIT_MS, err) < 0)
			return -1;
		rc = os_fault() ? -1 : connect(fd, (const struct sockaddr *)addr, sizeof(*addr));
	} while (rc < 0 && errno == EINTR && clock_mono_ms(clock) < end_ms);
	if (rc < 0 && (errno == EAGAIN || errno == EINTR))
		errno = ETIMEDOUT;
	if (rc < 0)
		return error_sys(err, "connect to '%s'", addr->sun_path);
	return limit_connect(fd, 0, err); /* for ever again: the limit was the connection's only */
}

int os_connect_unix(const char *path, int timeout_ms, int *ret_fd, struct error *err)
{
	_cleanup_(fd) int fd = -1;
	struct sockaddr_un addr;

	if (address_of(path, &addr, err) < 0)
		return -1;
	fd = os_fault() ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_sys(err, "make a socket for '%s'", path);
	if (connect_within(fd, &addr, timeout_ms, err) < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}
