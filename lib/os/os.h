#ifndef OS_OS_H
#define OS_OS_H
/*
 * os: the system calls that can fail: files, locks, sockets, time limits. Every descriptor is born
 * O_CLOEXEC; EINTR is retried. In `dev` builds the nth call can be made to fail (os_fault_*), which
 * is how callers are tortured; a release holds no such hook.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

static inline void os_close(int fd)
{
	if (fd >= 0)
		(void)close(fd); /* nothing to do about a failed close */
}
MEM_CLEANUP(fd, int, os_close) /* _cleanup_(fd) int fd = -1; */
static inline int fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

enum { OS_BACKLOG = 1024 };

/* The first thing in main(): whichever of the descriptors 0, 1 and 2 is closed is given something
 * that reads as empty and takes no writes. Else a socket or a store would get the number, and what
 * is printed would be said there. */
int os_hold_standard_fds(struct error *err);

/* open(2) with O_CLOEXEC added. */
int os_open(const char *path, int flags, mode_t mode, int *ret_fd, struct error *err);
/* openat(2), the same. `path` is named in errors. */
int os_openat(int dir, const char *path, int flags, mode_t mode, int *ret_fd, struct error *err);

/* Exactly len bytes, or -1. */
int os_write_all(int fd, const void *p, size_t len, struct error *err);
/* At most len bytes into p; short only at the end of file. */
int os_read_full(int fd, void *p, size_t len, size_t *ret_len, struct error *err);
/* All of a regular file, appended to b up to its ceiling (ERROR_LIMIT beyond, ERROR_INVALID when it
 * is no regular file). Opened O_NONBLOCK so that a FIFO cannot hang it. */
int os_read_file(const char *path, struct buf *b, struct error *err);
/* Replaces path through an exclusive temporary file beside it, fsync, rename, fsync of the folder:
 * the file is the old or the new one, whole, and `mode` from its first moment whatever the umask.
 */
int os_replace_file(const char *path, struct str content, mode_t mode, struct error *err);
int os_fsync_dir(const char *path, struct error *err);

/* 1 a regular file this user may execute, 0 not, -1 could not tell. */
int os_is_program(const char *path, struct error *err);
/* 1 path exists (links followed), 0 not, -1 could not tell. */
int os_exists(const char *path, struct error *err);

/* Makes a folder 0700 whatever the umask. One that is there keeps its mode (AG-031). Parents must
 * be there. *ret_made may be NULL. */
int os_mkdir_private(const char *path, bool *ret_made, struct error *err);
/* lstat says: a real folder, owned by this user, no group or other bits (AG-033). 1, 0, -1 (also
 * when nothing is there). */
int os_dir_is_private(const char *path, struct error *err);
/* Opens or makes a 0600 regular file (O_NOFOLLOW), tightens a looser one, and takes flock(2) on it
 * without waiting. OS_LOCKED when it is held already, here or elsewhere. The lock lives as long as
 * *ret_fd. */
extern const struct error_kind OS_LOCKED; /* locked, conflict */
int os_lock_file(const char *path, int *ret_fd, struct error *err);

/* An AF_UNIX stream listener bound 0600 whatever the umask (AG-027, AG-028), non-blocking. */
int os_listen_private(const char *path, int *ret_fd, struct error *err);
/* Connects, waiting at most timeout_ms. err->sys says ECONNREFUSED, ENOENT, … ; ETIMEDOUT at the
 * limit. *ret_fd is blocking. */
int os_connect_unix(const char *path, int timeout_ms, int *ret_fd, struct error *err);
/* One byte to the peer of a connected AF_UNIX stream and with it, unless it is -1, a descriptor.
 * Without waiting: err->sys is EAGAIN when there is no room. */
int os_send_fd(int socket, char word, int fd, struct error *err);
/* The next byte and the descriptor that came with it, O_CLOEXEC; *ret_fd -1: none did. 1, 0 when
 * nothing came within timeout_ms, -1; the end of the stream is ECONNRESET. Others may read from the
 * same end: what they take is theirs. */
int os_receive_fd(int socket, int timeout_ms, char *ret_word, int *ret_fd, struct error *err);
/* The room of sun_path with its terminator: 108 on Linux. */
size_t os_socket_path_max(void);

int os_random(void *p, size_t len, struct error *err);
/* The folder this program lies in, from /proc/self/exe. The caller frees. */
int os_program_dir(char **ret_dir, struct error *err);
/* Programs of the suite, never by PATH; the caller frees. A helper lies beside this program (as
 * built), in the libexec folder beside its bin, or where it was installed to; a command beside this
 * program, in the bin beside its libexec folder, or where it was installed to. */
extern const struct error_kind OS_HELPER_MISSING; /* helper_missing, unavailable */
int os_helper(const char *name, char **ret_path, struct error *err);
int os_command(const char *name, char **ret_path, struct error *err);
/*
 * Descriptors. A daemon with many peers raises its soft limit to the hard one, at most OS_FDS_MAX;
 * its children get what it was started with (os_fd_limit_given), since programs that use select(2)
 * rely on it. Before the first thread.
 */
enum { OS_FDS_MAX = 65536 }; /* ours: several for each of 4,096 turns and their peers */
void os_fd_limit_raise(void);
struct rlimit os_fd_limit_given(void);
/* HOME when it is absolute, else the password entry's. The caller frees. */
extern const struct error_kind OS_NO_HOME; /* no_home, unavailable */
int os_home(char **ret_home, struct error *err);
/* realpath(3) of the longest prefix that exists, the rest appended as it is: stable before a file
 * is there. Relative paths start at the working folder. ".." in the missing part and a link to
 * nothing, which is neither there nor missing, are ERROR_INVALID. The caller frees. */
int os_canonical(const char *path, char **ret_path, struct error *err);
/* A new 0700 folder PREFIXxxxxxx (prefix with its folder). The caller frees. */
int os_temp_dir(const char *prefix, char **ret_path, struct error *err);
/* Removes a tree by handle, never following a link or entering a mount (EXDEV). Folders their owner
 * cannot read are made readable first. A tree that is not there is no error; a file or link is a
 * tree of one. Ends at the first thing that cannot be removed. */
int os_remove_tree(const char *path, struct error *err);

#ifdef CONSORT_SANITIZED
/* The nth system call that os makes from now on fails with errno `sys`, once; 0 turns it off. Per
 * thread. */
void os_fault_at(unsigned nth, int sys);
/* Calls made since os_fault_at. */
unsigned os_fault_calls(void);
#endif

#endif
