/*
 * consort-probe: one system call at a time, from inside a sandbox. A case starts it by a bot's
 * shell and reads what it prints: `ok`, or the name of an errno. The exit status is 0 for ok.
 *
 * It is static and has no sanitizer, so that it runs where there is nothing but its file.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	ANSWER_MAX_BYTES = 1024 * 1024,
};

/* Prints `what: ok` or `what: ENAME`; the exit status. */
static int say(const char *what, long rc)
{
	const char *name = rc < 0 ? strerrorname_np(errno) : "ok";

	(void)printf("%s: %s\n", what, name ? name : "E?"); /* main flushes */
	return rc < 0;
}

static int type_of(const char *name)
{
	if (strcmp(name, "dgram") == 0)
		return SOCK_DGRAM;
	return strcmp(name, "seqpacket") == 0 ? SOCK_SEQPACKET : SOCK_STREAM;
}

static int probe_socket(char **args)
{
	return say(args[0], socket(AF_UNIX, type_of(args[0]), 0));
}

static socklen_t unix_name(const char *path, struct sockaddr_un *ret)
{
	size_t len = strlen(path);

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (len >= sizeof(ret->sun_path))
		len = sizeof(ret->sun_path) - 1; /* names nothing then */
	memcpy(ret->sun_path, path, len);
	if (path[0] != '@')
		return sizeof(*ret);
	ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int connect_unix(const char *path)
{
	struct sockaddr_un addr;
	socklen_t len = unix_name(path, &addr);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&addr, len) == 0 ? fd : -1;
}

static int probe_connect(char **args)
{
	return say("connect", connect_unix(args[0]));
}

static int probe_bind(char **args)
{
	struct sockaddr_un addr;
	socklen_t len = unix_name(args[0], &addr);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return say("bind", fd < 0 ? -1 : bind(fd, (struct sockaddr *)&addr, len));
}

/* One end of a pair sends to a name that neither has connected to. */
static int probe_pair(char **args)
{
	struct sockaddr_un addr;
	socklen_t len = unix_name(args[1], &addr);
	int ends[2];

	if (socketpair(AF_UNIX, type_of(args[0]), 0, ends) < 0)
		return say("socketpair", -1);
	return say("sendto", sendto(ends[0], "x", 1, 0, (struct sockaddr *)&addr, len));
}

/* What build tools need: a pair of streams that talk to each other. */
static int probe_streams(char **args)
{
	char byte = 0;
	int ends[2];

	(void)args;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return say("socketpair", -1);
	if (send(ends[0], "x", 1, 0) != 1)
		return say("send", -1);
	return say("recv", recv(ends[1], &byte, 1, 0) == 1 && byte == 'x' ? 0 : -1);
}

static struct sockaddr_in loopback(const char *port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int probe_tcp(char **args)
{
	struct sockaddr_in addr = loopback(args[0]);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return say("tcp", fd < 0 ? -1 : connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static int probe_udp(char **args)
{
	struct sockaddr_in addr = loopback(args[0]);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return say(
		"udp", fd < 0 ? -1 : sendto(fd, "x", 1, 0, (struct sockaddr *)&addr, sizeof(addr)));
}

/* Lets its parent trace it, which would then run anything in it. */
static int probe_trace(char **args)
{
	(void)args;
	return say("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

/* With arguments that the kernel refuses, each with another errno than a filter's. */
static int probe_uring(char **args)
{
	int bad = 0;

	(void)args;
	bad |= say("io_uring_setup", syscall(SYS_io_uring_setup, 0, NULL));
	bad |= say("io_uring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
	bad |= say("io_uring_register", syscall(SYS_io_uring_register, -1, 0, NULL, 0));
	return bad;
}

#ifdef __x86_64__
static int say_kernel(const char *what, long rc)
{
	errno = (int)-rc;
	return say(what, rc < 0 ? -1 : rc);
}

/* getpid as a program of 32 bits asks for it */
static int probe_int80(char **args)
{
	long rc = 20; /* __NR_getpid of i386 */

	(void)args;
	__asm__ volatile("int $0x80" : "+a"(rc) : : "memory", "r8", "r9", "r10", "r11");
	return say_kernel("int80", (int)rc);
}

/* and as one of x32 */
static int probe_x32(char **args)
{
	long rc = 0x40000000 | SYS_getpid;

	(void)args;
	__asm__ volatile("syscall" : "+a"(rc) : : "memory", "rcx", "r11");
	return say_kernel("x32", rc);
}
#else
static int probe_int80(char **args)
{
	(void)args;
	(void)printf("no such calls on this machine\n");
	return 1;
}
#define probe_x32 probe_int80
#endif

static int undo(const char *what, const char *mask)
{
	char name[64];
	int bad = 0;

	(void)snprintf(name, sizeof(name), "%s remount", what); /* fits */
	bad |= !say(name, mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	(void)snprintf(name, sizeof(name), "%s umount", what);
	bad |= !say(name, umount2(mask, MNT_DETACH));
	(void)snprintf(name, sizeof(name), "%s mount", what);
	bad |= !say(name, mount("none", "/tmp", "tmpfs", 0, NULL));
	return bad;
}

/* Whether this process has mounts of its own: what follows must never hit anybody else's. */
static int has_own_mounts(const char *outside)
{
	char here[64];
	ssize_t n = readlink("/proc/self/ns/mnt", here, sizeof(here) - 1);

	if (n <= 0 || strncmp(outside, "mnt:[", 5) != 0)
		return 0;
	here[n] = '\0';
	return strcmp(here, outside) != 0;
}

/* Undoes the sandbox, directly and from a user namespace of its own; args: a mask, and the mount
 * namespace of whoever asks. Exits 0 when nothing works. */
static int probe_undo(char **args)
{
	int bad;

	if (!has_own_mounts(args[1])) {
		(void)printf("refused: this is no sandbox, and its mounts are everybody's\n");
		return 2;
	}
	bad = undo("here", args[0]);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		(void)say("unshare", -1);
	else
		bad |= undo("nested", args[0]);
	return bad;
}

static int64_t now_ms(void)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for it */
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Exchanges two names as fast as it can for some time. */
static int probe_swap(char **args)
{
	int64_t until = now_ms() + (int64_t)strtoul(args[2], NULL, 10);
	long swaps = 0;

	for (; now_ms() < until; swaps += 2) {
		/* there and back */
		for (int way = 0; way < 2; way++) {
			if (renameat2(AT_FDCWD, args[0], AT_FDCWD, args[1], RENAME_EXCHANGE) < 0)
				return say("swap", -1);
		}
	}
	(void)printf("%ld swaps\n", swaps);
	return swaps == 0;
}

/* Reads one line; what is longer is cut. */
static int read_line(FILE *from, char *line, size_t size)
{
	return fgets(line, (int)size, from) ? 0 : -1;
}

/* Sends one line to a daemon and prints the answer to it. */
static int converse(int fd, const char *ask)
{
	static char line[ANSWER_MAX_BYTES];
	FILE *daemon = fdopen(fd, "r");

	if (!daemon)
		return say("connect", -1);
	if (read_line(daemon, line, sizeof(line)) < 0 || dprintf(fd, "%s\n", ask) < 0)
		return say("ask", -1);
	while (read_line(daemon, line, sizeof(line)) == 0) {
		if (strncmp(line, "{\"id\":", 6) == 0) {
			(void)printf("%s", line);
			return 0;
		}
	}
	return say("answer", -1);
}

static int probe_ask(char **args)
{
	int fd = connect_unix(args[0]);

	return fd < 0 ? say("connect", -1) : converse(fd, args[1]);
}

/* A session by the door that a confined command inherits: one byte asks, one byte and a descriptor
 * answer. */
static int come_in(void)
{
	const char *number = getenv("AGENT_SOCKET_FD");
	int door = number ? (int)strtoul(number, NULL, 10) : -1;
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control;
	char byte = '\n';
	struct iovec data = {&byte, 1};
	struct msghdr m = {.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int fd = -1;

	if (door < 0) {
		errno = EBADF;
		return -1;
	}
	if (write(door, &byte, 1) != 1 || recvmsg(door, &m, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	if (byte != '+' || !CMSG_FIRSTHDR(&m)) {
		errno = EACCES;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static int probe_door(char **args)
{
	int fd = come_in();

	return fd < 0 ? say("door", -1) : converse(fd, args[0]);
}

static const struct {
	const char *word;
	int args;
	int (*run)(char **args);
} probes[] = {
	{"socket",  1, probe_socket },
	{"connect", 1, probe_connect},
	{"bind",    1, probe_bind   },
	{"pair",    2, probe_pair   },
	{"streams", 0, probe_streams},
	{"tcp",     1, probe_tcp    },
	{"udp",     1, probe_udp    },
	{"trace",   0, probe_trace  },
	{"uring",   0, probe_uring  },
	{"int80",   0, probe_int80  },
	{"x32",     0, probe_x32    },
	{"undo",    2, probe_undo   },
	{"swap",    3, probe_swap   },
	{"ask",     2, probe_ask    },
	{"door",    1, probe_door   },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc >= 2 && i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (strcmp(argv[1], probes[i].word) == 0 && argc - 2 == probes[i].args) {
			int status = probes[i].run(argv + 2);

			return fflush(stdout) == 0 ? status : 2;
		}
	}
	(void)fprintf(stderr, "usage: consort-probe WORD [ARGUMENT...]\n");
	return 2;
}
