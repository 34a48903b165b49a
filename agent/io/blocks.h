#ifndef AGENT_IO_BLOCKS_H
#define AGENT_IO_BLOCKS_H
/*
 * blocks: bytes deflated in pieces of 64 KiB, each by itself, behind a directory of where they lie,
 * so that a page is read without unpacking what is before it.
 *
 * The form: for each block its end, counted from the beginning of the first one, in four bytes,
 * lowest first; then the blocks, raw deflate streams. How many there are follows from the number of
 * bytes that were packed, which is kept elsewhere.
 */
#include <stdint.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

enum {
	BLOCK_BYTES = 64 * 1024,
	BLOCKS_BYTES_MAX = 64 * 1024 * 1024, /* ours: many times what a stream keeps */
};

/* 1 and the packed form in `to`, 0 it would not be smaller. `bytes`: at most BLOCKS_BYTES_MAX. */
int blocks_pack(struct str bytes, struct buf *to);
/* `limit` bytes from `offset` on, fewer at the end, of the `total` that were packed. ERROR_INVALID
 * when it is no packed form of so many. */
int blocks_read(struct str packed, int64_t total, int64_t offset, int64_t limit, struct arena *a,
	struct str *ret, struct error *err);

#endif
