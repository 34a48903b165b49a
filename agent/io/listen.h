#ifndef AGENT_IO_LISTEN_H
#define AGENT_IO_LISTEN_H
/*
 * The daemon's socket: one owner per path, the name never there with a looser mode (spec 1.2).
 */
#include "error/error.h"

extern const struct error_kind LISTEN_NOT_SOCKET; /* socket_path_not_socket */
extern const struct error_kind LISTEN_OWNED;      /* socket_already_owned */

struct listen;
/* Takes PATH.owner-lock, removes a stale name (only one that refuses connections), binds 0600 and
 * listens. *ret_fd: the caller's to use and close. */
int listen_open(const char *path, struct listen **ret, int *ret_fd, struct error *err);
/* Unlinks the name if it is still the one that was bound, and lets the lock go. NULL does nothing.
 */
void listen_close(struct listen *l);

#endif
