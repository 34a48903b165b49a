#ifndef OS_INTERNAL_H
#define OS_INTERNAL_H
/*
 * os, inside: the fault point before each system call, and the folder a path's last name lies in.
 */
#include <stdbool.h>

#include "os/os.h"

/* True with errno set when this call is the one that is to fail. Stands before a system call whose
 * failure the caller handles, never before one that only cleans up. */
#ifdef CONSORT_SANITIZED
bool os_fault(void);
#else
static inline bool os_fault(void)
{
	return false;
}
#endif

/* Splits path and opens the folder of its last name; *ret_name points into path. ERROR_INVALID when
 * there is no such name: "", "/", "." or "..", or a slash at the end. */
int os_open_parent(const char *path, int *ret_dir, const char **ret_name, struct error *err);

/* openat(2) with O_CLOEXEC, EINTR retried and the fault point; -1 and errno. */
int os_raw_openat(int dir, const char *path, int flags, mode_t mode);

#endif
