#ifndef CLIENT_INTERNAL_H
#define CLIENT_INTERNAL_H
/* What the files of this library share. */
#include "client/client.h"
#include "mem/mem.h"
#include "wire/wire.h"

struct client {
	int fd;
	struct arena ready_arena;
	const struct json *ready;
	struct arena line_arena; /* of the line handed out last */
	struct buf in;           /* read, not yet handed out */
	size_t at;               /* start of the next line in `in` */
	int64_t last_id;
	void (*event)(void *arg, const struct json *line); /* may be NULL */
	void *event_arg;
	char remote_code[64];
};

/* Takes a connected descriptor and waits for the ready line on it; `where` is for people. */
int client_of_fd(int fd, const char *where, struct client **ret, struct error *err);

/* Waits for the next whole line: 1, 0 the time is over, -1. *ret is valid until the next call. */
int client_line(struct client *c, int timeout_ms, struct str *ret, struct error *err);

#endif
