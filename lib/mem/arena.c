/*
 * arena: allocations that end together, carved from blocks that double in size.
 *
 * With the address sanitizer what was not handed out is poisoned and a gap follows each allocation,
 * so that running past one is caught as it would be with malloc.
 */
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "mem/mem.h"

#ifdef CONSORT_SANITIZED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, len)   ((void)(p), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(p, len) ((void)(p), (void)(len))
#endif

enum {
	FIRST_BLOCK_BYTES = 1024,    /* ours: a small request takes one block */
	BLOCK_MAX_BYTES = 64 * 1024, /* ours: below glibc's mmap threshold of 128 KiB */
#ifdef CONSORT_SANITIZED
	GAP_BYTES = 16,
#else
	GAP_BYTES = 0,
#endif
};

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	alignas(max_align_t) char data[];
};

static size_t rounded(size_t size)
{
	size_t align = alignof(max_align_t);
	size_t total;

	must(!__builtin_add_overflow(size ? size : 1, align - 1 + GAP_BYTES, &total));
	return total & ~(align - 1);
}

static struct arena_block *block_new(size_t size)
{
	struct arena_block *b;
	size_t total;

	must(!__builtin_add_overflow(size, sizeof(*b), &total));
	b = xcalloc(1, total);
	b->size = size;
	ASAN_POISON_MEMORY_REGION(b->data, size);
	return b;
}

/* A block with room for need bytes. One made for a single large allocation goes behind the newest,
 * so that the newest goes on being filled. */
static struct arena_block *block_with_room(struct arena *a, size_t need)
{
	struct arena_block *newest = a->blocks;
	struct arena_block *b;
	size_t size = newest ? newest->size * 2 : FIRST_BLOCK_BYTES;

	if (newest && newest->size - newest->used >= need)
		return newest;
	if (size > BLOCK_MAX_BYTES)
		size = BLOCK_MAX_BYTES;
	if (newest && need > size / 4) {
		b = block_new(need);
		b->next = newest->next;
		newest->next = b;
		return b;
	}
	b = block_new(need > size ? need : size);
	b->next = newest;
	a->blocks = b;
	return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t need = rounded(size);
	struct arena_block *b = block_with_room(a, need);
	void *p = b->data + b->used;

	b->used += need;
	a->used_bytes += size;
	ASAN_UNPOISON_MEMORY_REGION(p, size ? size : 1);
	return p; /* blocks are zeroed and nothing is handed out twice */
}

void *arena_dup(struct arena *a, const void *p, size_t len)
{
	void *copy = arena_alloc(a, len);

	if (len)
		memcpy(copy, p, len);
	return copy;
}

char *arena_strndup(struct arena *a, const char *p, size_t len)
{
	char *copy;

	must(len < SIZE_MAX);
	copy = arena_alloc(a, len + 1);
	if (len)
		memcpy(copy, p, len);
	return copy;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list args, again;
	char *text;
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	must(len >= 0);
	text = arena_alloc(a, (size_t)len + 1);
	(void)vsnprintf(text, (size_t)len + 1, format, again); /* measured just above */
	va_end(again);
	return text;
}

void arena_release(struct arena *a)
{
	struct arena_block *next;

	for (struct arena_block *b = a->blocks; b; b = next) {
		next = b->next;
		ASAN_UNPOISON_MEMORY_REGION(b->data, b->size);
		free(b);
	}
	*a = (struct arena){0};
}
