/*
 * What a hostile command would try, one per word, run inside the sandbox by test_confined. Prints
 * the name of the error of each, or OK. Built static and without sanitizers, which do not work in
 * there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int result(long rc)
{
	return rc < 0 ? errno : 0;
}

static int connect_path(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t len = strlen(path);

	if (fd < 0)
		return errno;
	if (len >= sizeof(addr.sun_path))
		return ENAMETOOLONG;
	memcpy(addr.sun_path, path, len);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	return result(connect(fd, (struct sockaddr *)&addr,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] != '@'))));
}

static int bind_path(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		return errno;
	if (strlen(path) >= sizeof(addr.sun_path))
		return ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	return result(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static int connect_port(const char *port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_port = htons((in_port_t)strtol(port, NULL, 10))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return errno;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return result(connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static int write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	return fd < 0 ? errno : result(write(fd, "x", 1));
}

static int remount_root(const char *unused)
{
	(void)unused;
	return result(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int unmount(const char *path)
{
	return result(umount2(path, MNT_DETACH));
}

static int shared_memory(const char *key)
{
	return result(shmget((key_t)strtol(key, NULL, 10), 1, 0));
}

static int new_privileges(const char *unused)
{
	(void)unused;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0;
}

/* Is any descriptor open that the command was not given? */
static int descriptors(const char *unused)
{
	(void)unused;
	for (int fd = 3; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			return 0;
	}
	return EBADF;
}

static int push_input(const char *unused)
{
	(void)unused;
	return result(ioctl(0, TIOCSTI, "x"));
}

static int uring(const char *unused)
{
	(void)unused;
	return result(syscall(SYS_io_uring_setup, 1, NULL));
}

static int send_signal(const char *pid)
{
	return result(syscall(SYS_kill, strtol(pid, NULL, 10), 0));
}

static const struct {
	const char *name;
	int (*call)(const char *argument);
} tries[] = {
	{"connect",        connect_path  },
	{"bind",           bind_path     },
	{"port",           connect_port  },
	{"write",          write_file    },
	{"remount",        remount_root  },
	{"unmount",        unmount       },
	{"shared-memory",  shared_memory },
	{"new-privileges", new_privileges},
	{"descriptors",    descriptors   },
	{"push-input",     push_input    },
	{"uring",          uring         },
	{"signal",         send_signal   },
};

int main(int argc, char **argv)
{
	const char *argument = argc > 2 ? argv[2] : "";

	for (size_t i = 0; argc > 1 && i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (strcmp(tries[i].name, argv[1]) == 0) {
			int rc = tries[i].call(argument);

			(void)puts(rc == 0 ? "OK" : strerrorname_np(rc));
			return 0;
		}
	}
	(void)fprintf(stderr, "no such try\n");
	return 2;
}
