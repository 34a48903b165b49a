/*
 * gzip and deflate, as far as the limit: what would grow past it is refused, not cut, so that a
 * small answer cannot make a large one.
 */
#include <zlib.h>

#include "mem/mem.h"
#include "reading.h"

enum {
	STEP_BYTES = 64 * 1024,
	WINDOW = 15,         /* zlib.h: the largest */
	ANY_HEADER = 32,     /* added to it: gzip or zlib, as the bytes say */
	GZIP_MAGIC_BYTES = 2 /* RFC 1952 2.3.1 */
};

static bool is_gzip(const z_stream *z)
{
	return z->avail_in >= GZIP_MAGIC_BYTES && z->next_in[0] == 0x1f && z->next_in[1] == 0x8b;
}

/* 0 at the end of the last member; a refusal. */
static int inflate_all(z_stream *z, size_t max, struct buf *room)
{
	int rc = Z_OK;

	while (rc != Z_STREAM_END) {
		/* One byte more than may come: so what is too much shows. */
		size_t left = max + 1 - room->len;
		size_t step = left < STEP_BYTES ? left : STEP_BYTES;

		if (left == 0)
			return CELL_REFUSED_SIZE;
		must(buf_reserve(room, step) == 0);
		z->next_out = (Bytef *)room->data + room->len;
		z->avail_out = (uInt)step;
		rc = inflate(z, Z_NO_FLUSH);
		room->len += step - z->avail_out;
		if (rc == Z_STREAM_END && is_gzip(z))
			rc = inflateReset(z);
		if (rc != Z_OK && rc != Z_STREAM_END)
			return CELL_REFUSED_PACKING; /* Z_BUF_ERROR is an input that is cut */
	}
	return room->len > max ? CELL_REFUSED_SIZE : 0;
}

static int inflate_as(const struct request *q, int window, struct buf *room)
{
	z_stream z = {.next_in = (Bytef *)q->input.p, .avail_in = (uInt)q->input.len};
	int rc;

	buf_clear(room);
	if (inflateInit2(&z, window) != Z_OK)
		return CELL_REFUSED_PACKING;
	rc = inflate_all(&z, q->unpack_max_bytes, room);
	(void)inflateEnd(&z); /* frees, whatever it says */
	return rc;
}

int unpack(const struct request *q, struct buf *room, struct str *ret)
{
	int rc;

	*ret = q->input;
	if (!q->packed.p) {
		if (q->input.len > q->unpack_max_bytes)
			return CELL_REFUSED_SIZE;
		return 0;
	}
	rc = inflate_as(q, WINDOW + ANY_HEADER, room);
	/* "deflate" is zlib's format, and with some servers the bare one (RFC 9110 8.4.1.2). */
	if (rc == CELL_REFUSED_PACKING && str_is(q->packed, "deflate"))
		rc = inflate_as(q, -WINDOW, room);
	*ret = buf_str(room);
	return rc;
}
