#ifndef ATTEST_SPACE_H
#define ATTEST_SPACE_H
/*
 * A case in namespaces of its own: a /tmp that nobody else sees, a network with nothing but
 * loopback. Whatever the case starts afterwards lives there too, as the same user. Rows need
 * NEEDS_NAMESPACE.
 */
#include "attest/attest.h"

enum space_part { SPACE_TMP = 1, SPACE_NET = 2 };

void space_enter(struct attest *t, unsigned parts);
/* Only after space_enter: mounts a folder or file over another. */
void space_bind(struct attest *t, const char *from, const char *to);
void space_unbind(struct attest *t, const char *path);

#endif
