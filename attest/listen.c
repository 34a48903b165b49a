/* Sockets that a bot may try to reach. They stay open until the case's process ends. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attest/drill.h"
#include "attest/internal.h"

enum { ARRIVES_MS = 100 /* a packet of a connection whose other end has gone already */ };

static socklen_t name_socket(struct attest *t, const char *path, struct sockaddr_un *ret)
{
	size_t len = strlen(path);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	attest_true(t, len < sizeof(ret->sun_path), "attest: '%s' is too long for a socket", path);
	memcpy(ret->sun_path, path, len + 1);
	if (path[0] != '@')
		return sizeof(*ret);
	ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int listen_on(struct attest *t, const char *what, int family, int type,
	const struct sockaddr *addr, socklen_t len)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, addr, len) < 0 || (type == SOCK_STREAM && listen(fd, 64) < 0))
		attest_broken(t, "attest: listen on %s: %s", what, strerror(errno));
	return fd;
}

int drill_listen_unix(struct attest *t, const char *path)
{
	struct sockaddr_un addr;
	socklen_t len = name_socket(t, path, &addr);

	return listen_on(t, path, AF_UNIX, SOCK_STREAM, (struct sockaddr *)&addr, len);
}

int drill_listen_datagram(struct attest *t, const char *path)
{
	struct sockaddr_un addr;
	socklen_t len = name_socket(t, path, &addr);

	return listen_on(t, path, AF_UNIX, SOCK_DGRAM, (struct sockaddr *)&addr, len);
}

static int listen_inet(struct attest *t, int type, int *ret_port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int fd = listen_on(t, "loopback", AF_INET, type, (struct sockaddr *)&addr, len);

	must(getsockname(fd, (struct sockaddr *)&addr, &len) == 0);
	*ret_port = ntohs(addr.sin_port);
	return fd;
}

int drill_listen_tcp(struct attest *t, int *ret_port)
{
	return listen_inet(t, SOCK_STREAM, ret_port);
}

int drill_listen_udp(struct attest *t, int *ret_port)
{
	return listen_inet(t, SOCK_DGRAM, ret_port);
}

bool drill_was_reached(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;
	int conn;

	if (poll(&p, 1, ARRIVES_MS) <= 0)
		return false;
	conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (conn >= 0)
		(void)close(conn); /* nobody waits for it */
	else
		(void)recv(fd, &byte, 1, MSG_DONTWAIT); /* a datagram: all of it goes */
	return true;
}
