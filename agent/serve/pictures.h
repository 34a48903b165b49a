#ifndef AGENT_SERVE_PICTURES_H
#define AGENT_SERVE_PICTURES_H
/*
 * The pictures of a prompt (agent spec 5.6): files read for `submit`, and what the store keeps of
 * them until the turn starts.
 */
#include "agent/core/item.h"
#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

struct request;

enum { PICTURES_MAX = 8 /* ours: with PICTURE_MAX_BYTES each, below what an item may hold */ };

struct pictures {
	struct str list;   /* JSON [{"media_type","base64"}] */
	struct str digest; /* SHA-256 of it, in hex */
};
/* Reads the files on a worker, through guard. done() comes on the loop, with an error that names
 * the file, or what it was all read to, in the request's arena. The daemon's store may be gone by
 * then. */
void pictures_read(struct request *r, const struct str *paths, size_t count,
	void (*done)(struct request *r, const struct pictures *p, const struct error *err));

/* A list as pictures, in the arena; how many. Absent: none. */
size_t pictures_take(struct arena *a, struct str list, struct item_picture **ret);

#endif
