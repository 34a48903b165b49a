#ifndef GUARD_INTERNAL_H
#define GUARD_INTERNAL_H
/*
 * guard, inside: opening by handle without links.
 */
#include "guard/guard.h"

/* openat2 with O_CLOEXEC and no links of any kind; the errno of a failure decides the kind. */
int guard_openat(int dir, const char *path, int flags, mode_t mode, int *ret_fd, struct error *err);
/* The kind that an errno of a path operation means. */
int guard_sys(struct error *err, const char *doing, const char *path);

#endif
