/*
 * Every rule of the filter, put on a child of this process without any namespace: what each call
 * answers under each of the three filters.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "os/os.h"
#include "sandbox/sandbox.h"
#include "testing.h"

/* An int argument whose upper register half is not what a libc would leave there. */
#define ODD(value) ((long)(0x5a5a5a5a00000000ULL | (unsigned)(value)))

enum { OTHER = 1000 }; /* expected: anything but EPERM */

static int result(long rc)
{
	return rc < 0 ? errno : 0;
}
static int try_call(long nr, long a, long b, long c, long d)
{
	return result(syscall(nr, a, b, c, d, 0L, 0L));
}

static int unix_stream(void)
{
	return try_call(SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0);
}
static int unix_datagram(void)
{
	return try_call(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0);
}
static int unix_seqpacket(void)
{
	return try_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0, 0);
}
static int inet_stream(void)
{
	return try_call(SYS_socket, AF_INET, SOCK_STREAM, 0, 0);
}
static int inet_odd(void)
{
	return try_call(SYS_socket, ODD(AF_INET), SOCK_STREAM, 0, 0);
}
static int inet6_datagram(void)
{
	return try_call(SYS_socket, AF_INET6, SOCK_DGRAM, 0, 0);
}
static int netlink(void)
{
	return try_call(SYS_socket, AF_NETLINK, SOCK_RAW, 0, 0);
}
static int vsock(void)
{
	return try_call(SYS_socket, AF_VSOCK, SOCK_STREAM, 0, 0);
}

static int pair(long domain, long type)
{
	int fds[2];

	return try_call(SYS_socketpair, domain, type, 0, (long)fds);
}
static int pair_stream(void)
{
	return pair(AF_UNIX, SOCK_STREAM);
}
static int pair_stream_flags(void)
{
	return pair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
}
static int pair_seqpacket(void)
{
	return pair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC);
}
static int pair_datagram(void)
{
	return pair(AF_UNIX, SOCK_DGRAM);
}
static int pair_datagram_flags(void)
{
	return pair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
}
static int pair_datagram_odd(void)
{
	return pair(AF_UNIX, ODD(SOCK_DGRAM));
}
static int pair_raw(void) /* the kernel makes a datagram socket of it */
{
	return pair(AF_UNIX, SOCK_RAW);
}
static int pair_inet(void)
{
	return pair(AF_INET, SOCK_STREAM);
}

/* What programs do with the ends of a pair. */
static int pair_in_use(void)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	struct msghdr msg = {0};
	int fds[2], one = 1;
	char byte = 'x';

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return errno;
	if (send(fds[0], &byte, 1, MSG_NOSIGNAL) != 1 || recv(fds[1], &byte, 1, 0) != 1)
		return errno;
	if (sendmsg(fds[0], &msg, 0) < 0 || write(fds[1], &byte, 1) != 1)
		return errno;
	if (getsockname(fds[0], (struct sockaddr *)&name, &len) < 0 ||
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &one, sizeof(one)) < 0)
		return errno;
	return result(shutdown(fds[0], SHUT_RDWR));
}
static int send_to_a_name(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/nowhere"};
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return errno;
	return result(sendto(fds[0], "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof(to)));
}
static int bind_an_end(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/proc/nowhere"};
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return errno;
	return result(bind(fds[0], (struct sockaddr *)&to, sizeof(to)));
}
static int connect_nothing(void)
{
	return try_call(SYS_connect, -1, 0, 0, 0);
}
static int accept_nothing(void)
{
	return try_call(SYS_accept4, -1, 0, 0, 0);
}

static int uring_setup(void)
{
	return try_call(SYS_io_uring_setup, 1, 0, 0, 0);
}
static int uring_enter(void)
{
	return try_call(SYS_io_uring_enter, -1, 0, 0, 0);
}
static int uring_register(void)
{
	return try_call(SYS_io_uring_register, -1, 0, 0, 0);
}
static int keyctl(void) /* KEYCTL_GET_KEYRING_ID of the session keyring */
{
	return try_call(SYS_keyctl, 0, -3, 0, 0);
}
static int add_key(void)
{
	return try_call(SYS_add_key, (long)"user", (long)"x", (long)"x", 1);
}
static int request_key(void)
{
	return try_call(SYS_request_key, (long)"user", (long)"x", 0, 0);
}
static int userfaultfd(void)
{
	return try_call(SYS_userfaultfd, 1, 0, 0, 0);
}
static int bpf(void)
{
	return try_call(SYS_bpf, 0, 0, 0, 0);
}
static int tiocsti(void)
{
	return try_call(SYS_ioctl, -1, TIOCSTI, (long)"x", 0);
}
static int tiocsti_odd(void)
{
	return try_call(SYS_ioctl, -1, ODD(TIOCSTI), (long)"x", 0);
}
static int tioclinux(void)
{
	return try_call(SYS_ioctl, -1, ODD(TIOCLINUX), 0, 0);
}
static int other_ioctl(void)
{
	return try_call(SYS_ioctl, -1, FIONREAD, 0, 0);
}
static int unshare_user(void)
{
	return try_call(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS, 0, 0, 0);
}
static int unshare_files(void)
{
	return try_call(SYS_unshare, CLONE_FILES, 0, 0, 0);
}
static int clone_user(void)
{
	long pid = syscall(SYS_clone, ODD(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L);

	if (pid == 0)
		_exit(0);
	return result(pid);
}
static int clone3(void)
{
	struct clone_args args = {.exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return result(pid);
}
static int fork_and_wait(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return result(waitpid(pid, NULL, 0));
}
static int trace_me(void)
{
	return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}
static int read_memory(void)
{
	return try_call(SYS_process_vm_readv, getpid(), 0, 0, 0);
}

#if defined(__x86_64__)
static int i386_getpid(void)
{
	long rc;

	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
	return rc < 0 ? (int)-rc : 0;
}
static int x32_getpid(void)
{
	return try_call(0x40000000L | SYS_getpid, 0, 0, 0, 0);
}
#endif

/* Expected errno with the network off, with it off and Unix sockets on, and with it on. A row
 * marked `maybe` is skipped where the kernel does not know the call without a filter either. */
static const struct row {
	const char *name;
	int (*call)(void);
	int expected[3];
	bool maybe;
} rows[] = {
	{"socket unix stream",         unix_stream,         {EPERM, 0, 0},            false},
	{"socket unix datagram",       unix_datagram,       {EPERM, 0, 0},            false},
	{"socket unix seqpacket",      unix_seqpacket,      {EPERM, 0, 0},            false},
	{"socket inet stream",         inet_stream,         {EPERM, EPERM, 0},        false},
	{"socket inet, odd register",  inet_odd,            {EPERM, EPERM, 0},        false},
	{"socket inet6 datagram",      inet6_datagram,      {EPERM, EPERM, OTHER},    false},
	{"socket netlink",             netlink,             {EPERM, EPERM, 0},        false},
	{"socket vsock",               vsock,               {EPERM, EPERM, OTHER},    false},
	{"pair of streams",            pair_stream,         {0, 0, 0},                false},
	{"pair of streams with flags", pair_stream_flags,   {0, 0, 0},                false},
	{"pair of seqpackets",         pair_seqpacket,      {0, 0, 0},                false},
	{"pair of datagrams",          pair_datagram,       {EPERM, 0, 0},            false},
	{"pair of datagrams, flags",   pair_datagram_flags, {EPERM, 0, 0},            false},
	{"pair of datagrams, odd",     pair_datagram_odd,   {EPERM, 0, 0},            false},
	{"pair of raw",                pair_raw,            {EPERM, 0, 0},            false},
	{"pair of inet",               pair_inet,           {EPERM, OTHER, OTHER},    false},
	{"a pair in use",              pair_in_use,         {0, 0, 0},                false},
	{"sendto with a name",         send_to_a_name,      {EPERM, OTHER, OTHER},    false},
	{"bind an end of a pair",      bind_an_end,         {EPERM, ENOENT, ENOENT},  false},
	{"connect",		    connect_nothing,     {EPERM, EBADF, EBADF},    false},
	{"accept",		     accept_nothing,      {EPERM, EBADF, EBADF},    false},
	{"io_uring_setup",             uring_setup,         {EPERM, EPERM, EPERM},    true },
	{"io_uring_enter",             uring_enter,         {EPERM, EPERM, EPERM},    true },
	{"io_uring_register",          uring_register,      {EPERM, EPERM, EPERM},    true },
	{"keyctl",		     keyctl,              {EPERM, EPERM, EPERM},    false},
	{"add_key",		    add_key,             {EPERM, EPERM, EPERM},    false},
	{"request_key",                request_key,         {EPERM, EPERM, EPERM},    false},
	{"userfaultfd",                userfaultfd,         {EPERM, EPERM, EPERM},    false},
	{"bpf",			bpf,                 {EPERM, EPERM, EPERM},    false},
	{"ioctl TIOCSTI",              tiocsti,             {EPERM, EPERM, EPERM},    false},
	{"ioctl TIOCSTI, odd",         tiocsti_odd,         {EPERM, EPERM, EPERM},    false},
	{"ioctl TIOCLINUX, odd",       tioclinux,           {EPERM, EPERM, EPERM},    false},
	{"another ioctl",              other_ioctl,         {EBADF, EBADF, EBADF},    false},
	{"unshare a user namespace",   unshare_user,        {EPERM, EPERM, EPERM},    false},
	{"unshare files",              unshare_files,       {0, 0, 0},                false},
	{"clone a user namespace",     clone_user,          {EPERM, EPERM, EPERM},    false},
	{"clone3",		     clone3,              {ENOSYS, ENOSYS, ENOSYS}, false},
	{"fork",		       fork_and_wait,       {0, 0, 0},                false},
	{"ptrace",		     trace_me,            {EPERM, EPERM, OTHER},    false},
	{"process_vm_readv",           read_memory,         {EPERM, EPERM, OTHER},    false},
#if defined(__x86_64__)
	{"getpid of i386",             i386_getpid,         {EPERM, EPERM, EPERM},    true },
	{"getpid of x32",              x32_getpid,          {EPERM, EPERM, EPERM},    false},
#endif
};

static void apply(int filter_fd)
{
	static struct sock_filter code[4096];
	ssize_t len = pread(filter_fd, code, sizeof(code), 0);
	struct sock_fprog program = {
		.len = (unsigned short)((size_t)len / sizeof(code[0])), .filter = code};

	must(len > 0 && (size_t)len < sizeof(code) && (size_t)len % sizeof(code[0]) == 0);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* What the call answers in a child under this filter; -1: none. */
static int answer(int (*call)(void), int filter_fd)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (filter_fd >= 0)
			apply(filter_fd);
		_exit(call());
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void each_call_answers_as_the_rules_say(void **state)
{
	static const struct {
		const char *name;
		bool network, any_unix_socket;
	} variants[3] = {
		{"off",              false, false},
		{"off but for unix", false, true },
		{"on",               true,  false},
	};

	(void)state;
	for (size_t v = 0; v < ARRAY_LEN(variants); v++) {
		_cleanup_(fd) int fd = -1;
		struct error err = ERROR_INIT;

		assert_ok(sandbox_filter_export(
				  variants[v].network, variants[v].any_unix_socket, &fd, &err),
			&err);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			int expected = rows[i].expected[v], got = answer(rows[i].call, fd);

			if (rows[i].maybe) {
				int outside = answer(rows[i].call, -1);

				if (outside == ENOSYS || outside == EPERM || outside < 0)
					continue; /* not here: this kernel refuses it anyway */
			}
			if (expected == OTHER ? got == EPERM : got != expected)
				fail_msg("network %s, %s: %s instead of %s", variants[v].name,
					rows[i].name, strerrorname_np(got),
					expected == OTHER ? "another" : strerrorname_np(expected));
		}
	}
}

static void the_filter_cannot_be_changed(void **state)
{
	_cleanup_(fd) int fd = -1;
	struct error err = ERROR_INIT;
	struct stat st;

	(void)state;
	assert_ok(sandbox_filter_export(false, false, &fd, &err), &err);
	must(fstat(fd, &st) == 0);
	assert_true(st.st_size > 0 && st.st_size % (off_t)sizeof(struct sock_filter) == 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_true(mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_answers_as_the_rules_say),
		cmocka_unit_test(the_filter_cannot_be_changed),
	};

	return cmocka_run_group_tests_name("sandbox.filter", tests, NULL, NULL);
}
