/*
 * socket: stream sockets with a name in the file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

/* Room for one descriptor and no more. */
union one_fd {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

int os_send_fd(int socket, char word, int fd, struct error *err)
{
	union one_fd control = {
		.header = {.cmsg_len = CMSG_LEN(sizeof(fd)),
			   .cmsg_level = SOL_SOCKET,
			   .cmsg_type = SCM_RIGHTS}
        };
	struct iovec data = {&word, 1};
	struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1};
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		m.msg_control = &control;
		m.msg_controllen = CMSG_LEN(sizeof(fd));
	}
	do {
		n = os_fault() ? -1 : sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : error_sys(err, "send to a peer");
}

/* 1 there is something, 0 the time is over, -1. */
static int wait_to_read(int fd, int64_t end_ms, struct error *err)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t left_ms;
	int rc;

	do {
		left_ms = end_ms - clock_mono_ms(clock_system());
		rc = os_fault() ? -1 : poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? error_sys(err, "wait for a peer") : rc > 0;
}

static ssize_t take_fd(int socket, char *ret_word, int *ret_fd)
{
	union one_fd control = {.room = {0}};
	struct iovec data = {ret_word, 1};
	struct msghdr m = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_LEN(sizeof(int))};
	struct cmsghdr *c;
	ssize_t n;

	n = os_fault() ? -1 : recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n != 1)
		return n;
	c = CMSG_FIRSTHDR(&m);
	*ret_fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return n;
}

int os_receive_fd(int socket, int timeout_ms, char *ret_word, int *ret_fd, struct error *err)
{
	int64_t end_ms = clock_mono_ms(clock_system()) + timeout_ms;

	for (;;) {
		int rc = wait_to_read(socket, end_ms, err);
		ssize_t n;

		if (rc <= 0)
			return rc;
		n = take_fd(socket, ret_word, ret_fd);
		if (n == 1)
			return 1;
		if (n == 0)
			errno = ECONNRESET;
		if (n == 0 || (errno != EAGAIN && errno != EINTR)) /* else another one took it */
			return error_sys(err, "read from a peer");
	}
}
