/*
 * mem: the allocations that end the process when there is no memory, and broken invariants.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mem/mem.h"

/* Says why on descriptor 2 without allocating, since memory may be what is missing. */
static void __attribute__((noreturn, cold, format(printf, 1, 2))) die(const char *format, ...)
{
	char line[512];
	va_list args;
	ssize_t said;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len >= (int)sizeof(line))
		len = (int)sizeof(line) - 1;
	if (len > 0) {
		said = write(STDERR_FILENO, line, (size_t)len);
		(void)said; /* the process ends whether or not anyone hears why */
	}
	abort();
}

static void __attribute__((noreturn, cold)) no_memory(size_t size)
{
	die("out of memory: %zu bytes\n", size);
}

static size_t product(size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		die("allocation of %zu times %zu bytes overflows\n", count, size);
	return total;
}

void mem_must_failed(const char *cond, const char *file, int line)
{
	die("%s:%d: must hold: %s\n", file, line, cond);
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		no_memory(size);
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	size_t total = product(count, size);
	void *p = calloc(1, total ? total : 1);

	if (!p)
		no_memory(total);
	return p;
}

void *xrealloc(void *p, size_t count, size_t size)
{
	size_t total = product(count, size);
	void *moved = realloc(p, total ? total : 1);

	if (!moved)
		no_memory(total);
	return moved;
}

void *xmemdup(const void *p, size_t len)
{
	void *copy = xmalloc(len);

	if (len)
		memcpy(copy, p, len);
	return copy;
}

char *xstrdup(const char *s)
{
	return s ? xmemdup(s, strlen(s) + 1) : NULL;
}

char *xstrndup(const char *p, size_t len)
{
	char *copy;

	must(len < SIZE_MAX);
	copy = xmalloc(len + 1);
	if (len)
		memcpy(copy, p, len);
	copy[len] = '\0';
	return copy;
}

char *xvasprintf(const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		die("out of memory: a formatted text\n");
	return text;
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	return text;
}
