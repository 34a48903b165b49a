/*
 * The seccomp filter (agent spec 7.4), made by libseccomp and kept in sealed memory files that
 * bubblewrap reads. Everything is allowed but what stands here; a filter is no list of all that is
 * good, since a bot runs any program, but it closes the ways around the namespaces.
 *
 * A comparison sees 64-bit registers where the kernel takes an int: what must be equal is compared
 * under a mask of the low 32 bits, and what must not be there is refused by "not equal" on all 64,
 * which refuses a value with odd upper bits too.
 *
 * Namespaces of the command's own are refused (unshare and clone with CLONE_NEWUSER; clone3, whose
 * flags a filter cannot see, is not there, and libc then uses clone): inside one a command would
 * have every capability over more of the kernel than a bot has any business with (AG-109). A
 * browser's own sandbox, rootless containers and nested bubblewrap therefore do not work in here.
 * bubblewrap's --disable-userns would do the same, but costs a second user namespace per command
 * and fails where /proc/sys is mounted read-only, as in most containers.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"
#include "os/os.h"

enum {
	SOCKET_TYPE_MASK = 0xf, /* the kernel's SOCK_TYPE_MASK: what is left is the flags */
	SOCKET_TYPES = 16,
};

#define INT_MASK 0xffffffffULL
#define DENY     SCMP_ACT_ERRNO(EPERM)

/* Refused whatever the network. */
static const int always[] = {
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register), /* AG-107 */
	/* keyrings are no namespace's: the person's session keys could be read, changed, revoked */
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	/* of use to no build tool, and the favourite helpers of kernel exploits */
	SCMP_SYS(userfaultfd),
	SCMP_SYS(bpf),
};

/* With the network off: Codex's list, but for what a stream pair needs (node asks for its name). */
static const int offline[] = {
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
};
static const int no_sockets[] = {
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(bind),
	SCMP_SYS(listen),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(recvmmsg),
};

typedef void *scmp_t;
static void scmp_release(scmp_t c)
{
	if (c)
		seccomp_release(c);
}
MEM_CLEANUP(scmp, scmp_t, scmp_release)

/* libseccomp answers a negated errno. */
static int rule_result(int rc, const char *what, struct error *err)
{
	if (rc == 0)
		return 0;
	errno = -rc;
	return error_sys(err, "make the system call filter: %s", what);
}

static int deny_all(scmp_t c, const int *calls, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		int rc = seccomp_rule_add(c, DENY, calls[i], 0);

		if (rule_result(rc, "refuse a call", err) < 0)
			return -1;
	}
	return 0;
}

static int deny_if(scmp_t c, int call, struct scmp_arg_cmp cmp, struct error *err)
{
	return rule_result(seccomp_rule_add(c, DENY, call, 1, cmp), "refuse an argument", err);
}

/* A user namespace of its own, and characters pushed into a terminal as if they were typed. */
static int deny_escapes(scmp_t c, struct error *err)
{
	static const unsigned ioctls[] = {TIOCSTI, TIOCLINUX};

	for (size_t i = 0; i < ARRAY_LEN(ioctls); i++) {
		if (deny_if(c, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, INT_MASK, ioctls[i]),
			    err) < 0)
			return -1;
	}
	if (deny_if(c, SCMP_SYS(unshare), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER),
		    err) < 0 ||
		deny_if(c, SCMP_SYS(clone),
			SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER), err) < 0)
		return -1;
	return rule_result(seccomp_rule_add(c, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0),
		"refuse clone3", err);
}

/* Pairs reach nobody as streams; a datagram end can send to any named socket (trap 6). */
static int deny_pairs(scmp_t c, struct error *err)
{
	if (deny_if(c, SCMP_SYS(socketpair), SCMP_A0(SCMP_CMP_NE, AF_UNIX), err) < 0)
		return -1;
	for (unsigned type = 0; type < SOCKET_TYPES; type++) {
		if (type == SOCK_STREAM || type == SOCK_SEQPACKET)
			continue;
		if (deny_if(c, SCMP_SYS(socketpair),
			    SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE_MASK, type), err) < 0)
			return -1;
	}
	return 0;
}

static int deny_network(scmp_t c, bool any_unix_socket, struct error *err)
{
	if (deny_all(c, offline, ARRAY_LEN(offline), err) < 0)
		return -1;
	if (any_unix_socket) /* every path socket then, of any type (AG-094); no other family */
		return deny_if(c, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_NE, AF_UNIX), err);
	if (deny_all(c, no_sockets, ARRAY_LEN(no_sockets), err) < 0 || deny_pairs(c, err) < 0)
		return -1;
	/* a plain send() is a sendto() without an address */
	return deny_if(c, SCMP_SYS(sendto), SCMP_A4(SCMP_CMP_NE, 0), err);
}

static int fill(scmp_t c, bool network, bool any_unix_socket, struct error *err)
{
	/* AG-108: other architectures, and on x86-64 numbers with the x32 bit */
	if (rule_result(seccomp_attr_set(c, SCMP_FLTATR_ACT_BADARCH, DENY), "foreign calls", err) <
			0 ||
		deny_all(c, always, ARRAY_LEN(always), err) < 0 || deny_escapes(c, err) < 0)
		return -1;
	return network ? 0 : deny_network(c, any_unix_socket, err);
}

int sandbox_filter_export(bool network, bool any_unix_socket, int *ret_fd, struct error *err)
{
	_cleanup_(scmp) scmp_t c = seccomp_init(SCMP_ACT_ALLOW);
	_cleanup_(fd) int fd = -1;

	if (!c)
		return error_set(
			err, &ERROR_SYS, "make the system call filter: libseccomp refuses");
	if (fill(c, network, any_unix_socket, err) < 0)
		return -1;
	fd = memfd_create("consort-filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return error_sys(err, "make a memory file for the filter");
	if (rule_result(seccomp_export_bpf(c, fd), "export it", err) < 0)
		return -1;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return error_sys(err, "seal the filter");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_sys(err, "rewind the filter");
	*ret_fd = fd_take(&fd);
	return 0;
}
