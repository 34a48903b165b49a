#include "wall.h"

#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mem/mem.h"

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH 0
#endif
_Static_assert(OUR_ARCH != 0, "say which AUDIT_ARCH_ this machine has");

enum {
	FIRST_UNUSED_FD = 2, /* the input and the answer are all that stays */
	/* Bits of Landlock's interface that the headers of Debian 12 do not know yet: truncate,
	 * devices; the network; abstract sockets and signals. Asked for where the kernel has them.
	 */
	LANDLOCK_FS_V1 = (1 << 13) - 1,
	LANDLOCK_FS_V2 = (1 << 14) - 1,
	LANDLOCK_FS_V3 = (1 << 15) - 1,
	LANDLOCK_FS_V5 = (1 << 16) - 1,
	LANDLOCK_NET_V4 = 3,
	LANDLOCK_SCOPE_V6 = 3,
};

/* As the kernel has it since version 6; earlier ones take a shorter one. */
struct ruleset {
	uint64_t handled_fs, handled_net, scoped;
};

static int limit(int what, size_t most)
{
	const struct rlimit l = {most, most};

	return setrlimit((__rlimit_resource_t)what, &l);
}

static int limit_all(const struct cell_kind *kind)
{
	const struct rlimit cpu = {(rlim_t)kind->cpu_s, (rlim_t)kind->cpu_s + 1};

	if (setrlimit(RLIMIT_CPU, &cpu) < 0 || limit(RLIMIT_CORE, 0) < 0 ||
		limit(RLIMIT_FSIZE, 0) < 0 || limit(RLIMIT_NOFILE, 0) < 0 ||
		limit(RLIMIT_MEMLOCK, 0) < 0)
		return -1;
	return limit(RLIMIT_AS, kind->memory_max_bytes);
}

/* A domain in which nothing is allowed. Landlock that is not there, or switched off, is no fault:
 * the filter refuses the same calls. */
static int enter_landlock(void)
{
	struct ruleset r = {.handled_fs = LANDLOCK_FS_V1};
	size_t size = sizeof(r.handled_fs);
	long version = syscall(
		SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	long fd;

	if (version < 1)
		return 0;
	if (version >= 2)
		r.handled_fs = LANDLOCK_FS_V2;
	if (version >= 3)
		r.handled_fs = LANDLOCK_FS_V3;
	if (version >= 5)
		r.handled_fs = LANDLOCK_FS_V5;
	if (version >= 4) {
		r.handled_net = LANDLOCK_NET_V4;
		size += sizeof(r.handled_net);
	}
	if (version >= 6) {
		r.scoped = LANDLOCK_SCOPE_V6;
		size += sizeof(r.scoped);
	}
	fd = syscall(SYS_landlock_create_ruleset, &r, size, 0);
	if (fd < 0 || syscall(SYS_landlock_restrict_self, (int)fd, 0) < 0)
		return -1;
	(void)close((int)fd); /* nothing was written */
	return (int)(version < 255 ? version : 255);
}

/*
 * The filter. Each call that is allowed with conditions on its arguments is a block of its own; a
 * comparison sees the low 32 bits, which is all that the kernel takes of a descriptor, of mmap's
 * protection and of its flags.
 */
#define ARG(n)                (offsetof(struct seccomp_data, args) + 8 * (n)) /* little-endian: the low half */
#define LOAD(at)              BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (at))
#define ALLOW                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL                  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define IF_NOT(value, skip)   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define IF_NO_BIT(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, (skip))
#define IF_BIT(bits, skip)    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (skip), 0)
/* clang-format off: one call a line */
#define MAY(call)             IF_NOT(__NR_##call, 1), ALLOW
#define MAY_ON(call, fd)      IF_NOT(__NR_##call, 4), LOAD(ARG(0)), IF_NOT((fd), 1), ALLOW, KILL
/* clang-format on */

static int filter_calls(void)
{
	static struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
		KILL,
		LOAD(offsetof(struct seccomp_data, nr)), /* x32's numbers are none of these */
		MAY_ON(read, STDIN_FILENO),
		MAY_ON(write, STDOUT_FILENO),
		MAY(brk),
		MAY(munmap),
		MAY(mremap),
		MAY(madvise),
		MAY(exit),
		MAY(exit_group),
		/* mmap: memory alone, and none that runs */
		IF_NOT(__NR_mmap, 6),
		LOAD(ARG(2)),
		IF_BIT(PROT_EXEC, 3),
		LOAD(ARG(3)),
		IF_NO_BIT(MAP_ANONYMOUS, 1),
		ALLOW,
		KILL,
		KILL,
	};
	static const struct sock_fprog program = {.len = ARRAY_LEN(code), .filter = code};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int wall_up(const struct cell_kind *kind, int parent, int *ret_landlock)
{
	int landlock;

	/* In this order: a parent that dies before the first line is seen by the second. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
		close_range(FIRST_UNUSED_FD, ~0U, 0) < 0 || clearenv() != 0)
		return -1;
	/* The allocator asks for random bytes the first time. */
	free(xmalloc(1));
	landlock = enter_landlock();
	if (landlock < 0 || limit_all(kind) < 0 || filter_calls() < 0)
		return -1;
	*ret_landlock = landlock;
	return 0;
}
