/*
 * client: a session by an inherited descriptor. Where a command may make no socket, the daemon
 * hands it connected ones through the one that it was started with.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "internal.h"
#include "os/os.h"

static const char variable[] = "AGENT_SOCKET_FD";

enum { FD_MAX = 65535 /* ours: several times the number any program gives */ };

/* Another program between may have closed it, and something else may have its number since. */
static bool is_stream(int fd)
{
	struct sockaddr_storage peer;
	socklen_t peer_size = sizeof(peer), type_size = sizeof(int);
	struct stat st;
	int type = 0;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 &&
	       peer.ss_family == AF_UNIX;
}

/* The end of the door: -1 when there is none. */
static int find_door(void)
{
	const char *given = getenv(variable);
	int64_t fd;

	if (!given || text_i64(str_from(given), 0, FD_MAX, variable, &fd, NULL) < 0)
		return -1;
	return is_stream((int)fd) ? (int)fd : -1;
}

static int ask(int door, int *ret_fd, struct error *err)
{
	char word = 0;
	int rc;

	if (os_send_fd(door, '\n', -1, err) < 0)
		rc = -1;
	else
		rc = os_receive_fd(door, CLIENT_START_MS, &word, ret_fd, err);
	if (rc < 0) {
		(void)error_prefix(err, "ask for a session by %s", variable);
		if (err)
			err->kind = &CLIENT_LOST;
		return -1;
	}
	if (rc == 0)
		return error_set(err, &CLIENT_LOST, "no session came by %s", variable);
	if (*ret_fd < 0)
		return error_set(
			err, &CLIENT_REFUSED, "the daemon gives this bot no more sessions");
	return 0;
}

int client_open_inherited(struct client **ret, struct error *err)
{
	int door = find_door();
	int fd = -1;

	if (door < 0)
		return 0;
	if (ask(door, &fd, err) < 0)
		return -1;
	return client_of_fd(fd, variable, ret, err) < 0 ? -1 : 1;
}
