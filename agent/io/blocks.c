/* Bytes packed in blocks. */
#include "agent/io/blocks.h"

#include <stdbool.h>
#include <zlib.h>

enum {
	END_BYTES = 4,
	RAW_DEFLATE = -15, /* zlib's window bits, negative: without header and checksum */
	PACK_LEVEL = 6,    /* zlib's default */
	PACK_MEMORY = 8,   /* zlib's default */
};

static size_t count_blocks(int64_t total)
{
	return ((size_t)total + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

static void put_end(char *at, size_t end)
{
	for (int i = 0; i < END_BYTES; i++)
		at[i] = (char)(end >> 8 * i & 0xff);
}

static size_t get_end(const char *at)
{
	size_t end = 0;

	for (int i = 0; i < END_BYTES; i++)
		end |= (size_t)(unsigned char)at[i] << 8 * i;
	return end;
}

/* One block at the end of `to`; false: there is no room, so it would not be smaller. */
static bool pack_block(z_stream *z, struct str block, struct buf *to)
{
	char packed[BLOCK_BYTES];
	int rc;

	must(deflateReset(z) == Z_OK);
	z->next_in = (Bytef *)block.p; /* zlib reads it only */
	z->avail_in = (uInt)block.len;
	z->next_out = (Bytef *)packed;
	z->avail_out = sizeof(packed);
	rc = deflate(z, Z_FINISH);
	if (rc != Z_STREAM_END)
		return false;
	return buf_put(to, packed, sizeof(packed) - z->avail_out) == 0;
}

int blocks_pack(struct str bytes, struct buf *to)
{
	size_t count = count_blocks((int64_t)bytes.len);
	_cleanup_(buf) struct buf out = BUF_INIT(bytes.len > 0 ? bytes.len - 1 : 0);
	z_stream z = {.zalloc = Z_NULL};
	bool good = true;

	must(bytes.len <= BLOCKS_BYTES_MAX);
	must(deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, RAW_DEFLATE, PACK_MEMORY,
		     Z_DEFAULT_STRATEGY) == Z_OK);
	for (size_t i = 0; good && i < count; i++)
		good = buf_put(&out, "\0\0\0\0", END_BYTES) == 0;
	for (size_t i = 0; good && i < count; i++) {
		size_t at = i * BLOCK_BYTES;
		size_t len = bytes.len - at < BLOCK_BYTES ? bytes.len - at : BLOCK_BYTES;

		good = pack_block(&z, (struct str){bytes.p + at, len}, &out);
		if (good)
			put_end(out.data + i * END_BYTES, out.len - count * END_BYTES);
	}
	(void)deflateEnd(&z); /* says Z_DATA_ERROR of a block that was given up */
	if (!good || count == 0)
		return 0;
	(void)buf_put_str(to, buf_str(&out)); /* full is the caller's to see */
	return 1;
}

static int damaged(size_t block, struct error *err)
{
	return error_set(err, &ERROR_INVALID, "block %zu cannot be unpacked", block);
}

/* The packed bytes of block i of count. */
static int find_block(struct str packed, size_t count, size_t i, struct str *ret, struct error *err)
{
	size_t start, end;

	if (packed.len / END_BYTES < count)
		return damaged(i, err);
	start = i ? get_end(packed.p + (i - 1) * END_BYTES) : 0;
	end = get_end(packed.p + i * END_BYTES);
	packed.p += count * END_BYTES;
	packed.len -= count * END_BYTES;
	if (start > end || end > packed.len)
		return damaged(i, err);
	*ret = (struct str){packed.p + start, end - start};
	return 0;
}

/* Exactly `size` bytes to `to`. */
static int unpack(struct str block, char *to, size_t size)
{
	z_stream z = {.zalloc = Z_NULL};
	int rc;

	must(inflateInit2(&z, RAW_DEFLATE) == Z_OK);
	z.next_in = (Bytef *)block.p; /* zlib reads it only */
	z.avail_in = (uInt)block.len;
	z.next_out = (Bytef *)to;
	z.avail_out = (uInt)size;
	rc = inflate(&z, Z_FINISH);
	must(inflateEnd(&z) == Z_OK);
	return rc == Z_STREAM_END && z.avail_out == 0 && z.avail_in == 0 ? 0 : -1;
}

/* NOLINTNEXTLINE(readability-function-size): what is asked for, and where it goes */
int blocks_read(struct str packed, int64_t total, int64_t offset, int64_t limit, struct arena *a,
	struct str *ret, struct error *err)
{
	size_t count, first, last, from;
	char *bytes;

	if (total < 0 || total > BLOCKS_BYTES_MAX)
		return error_set(
			err, &ERROR_INVALID, "no packed form has %lld bytes", (long long)total);
	if (offset >= total || limit <= 0) {
		*ret = STR("");
		return 0;
	}
	if (limit > total - offset)
		limit = total - offset;
	count = count_blocks(total);
	first = (size_t)(offset / BLOCK_BYTES);
	last = (size_t)((offset + limit - 1) / BLOCK_BYTES);
	bytes = arena_alloc(a, (last - first + 1) * BLOCK_BYTES);
	for (size_t i = first; i <= last; i++) {
		size_t size = i + 1 < count ? BLOCK_BYTES : (size_t)total - i * BLOCK_BYTES;
		struct str block = {NULL, 0};

		if (find_block(packed, count, i, &block, err) < 0)
			return -1;
		if (unpack(block, bytes + (i - first) * BLOCK_BYTES, size) < 0)
			return damaged(i, err);
	}
	from = (size_t)offset - first * BLOCK_BYTES;
	*ret = (struct str){bytes + from, (size_t)limit};
	return 0;
}
