#ifndef MEM_MEM_H
#define MEM_MEM_H
/*
 * mem: allocation that aborts, arenas, cleanup at the end of a scope, intrusive lists.
 *
 * A bounded allocation that fails ends the process: nothing sensible could go on. A size that came
 * from outside is checked against a limit by the caller before it gets here.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Holds in release builds too: a broken invariant aborts with its place. Never checks input. */
#define must(cond)                                                                                 \
	do {                                                                                       \
		if (__builtin_expect(!(cond), 0))                                                  \
			mem_must_failed(#cond, __FILE__, __LINE__);                                \
	} while (0)
void mem_must_failed(const char *cond, const char *file, int line) __attribute__((noreturn, cold));

/*
 * _cleanup_(T) runs T_cleanup(&variable) at the end of the scope. MEM_CLEANUP(T, type, release)
 * defines T_cleanup for a variable of that type; release must take NULL (or -1 for descriptors).
 */
#define _cleanup_(T) __attribute__((cleanup(T##_cleanup)))
#define MEM_CLEANUP(T, type, release)                                                              \
	static inline void T##_cleanup(type *p)                                                    \
	{                                                                                          \
		release(*p);                                                                       \
	}

static inline void mem_free(void *p)
{
	free(p);
}

/* _cleanup_(mem) char *p: freed at the end of the scope. */
static inline void mem_cleanup(void *p)
{
	mem_free(*(void **)p);
}

/* Gives the pointer away and leaves NULL, so that a cleanup does nothing. */
#define mem_take(pp)                                                                               \
	({                                                                                         \
		__typeof__(*(pp)) taken_ = *(pp);                                                  \
		*(pp) = NULL;                                                                      \
		taken_;                                                                            \
	})

/* Never NULL. The caller owns what they return and gives it to free(). A zero size gives a pointer
 * that can be freed. xcalloc zeroes; it and xrealloc refuse an overflowing product by aborting.
 * xstrndup copies exactly len bytes, NULs too, and adds one. */
void *xmalloc(size_t size) __attribute__((malloc, warn_unused_result));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, warn_unused_result));
void *xrealloc(void *p, size_t count, size_t size) __attribute__((warn_unused_result));
void *xmemdup(const void *p, size_t len) __attribute__((warn_unused_result));
char *xstrdup(const char *s) __attribute__((malloc, warn_unused_result)); /* NULL gives NULL */
char *xstrndup(const char *p, size_t len) __attribute__((malloc, warn_unused_result));
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2), warn_unused_result));
char *xvasprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/*
 * An arena: allocations that all end together. Zero-initialised is empty; the first block comes
 * with the first allocation. Pointers are aligned for any type and stay valid until arena_release.
 */
struct arena_block;
struct arena {
	struct arena_block *blocks;
	size_t used_bytes; /* handed out so far */
};
void *arena_alloc(struct arena *a, size_t size)
	__attribute__((malloc, warn_unused_result)); /* zeroed */
void *arena_dup(struct arena *a, const void *p, size_t len);
char *arena_strndup(struct arena *a, const char *p, size_t len); /* adds the NUL */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_release(struct arena *a); /* empty again and reusable */
static inline void arena_cleanup(struct arena *a)
{
	arena_release(a);
}

/* An intrusive doubly linked ring. A head and an unlinked node point at themselves. */
struct list {
	struct list *prev, *next;
};
#define LIST_INIT(head)                                                                            \
	{                                                                                          \
		&(head), &(head)                                                                   \
	}
static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}
static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}
static inline void list_add_tail(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}
static inline void list_add_head(struct list *head, struct list *node)
{
	node->next = head->next;
	node->prev = head;
	head->next->prev = node;
	head->next = node;
}
/* Unlinking an unlinked node does nothing. */
static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}
#define list_entry(node, type, member) container_of(node, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)
#define list_for_each(pos, head, type, member)                                                     \
	for (type *pos = list_entry((head)->next, type, member); &pos->member != (head);           \
		pos = list_entry(pos->member.next, type, member))
/* Allows the body to unlink or free pos, nothing else. */
#define list_for_each_safe(pos, head, type, member)                                                \
	for (type *pos = list_entry((head)->next, type, member),                                   \
		  *pos##_next = list_entry(pos->member.next, type, member);                        \
		&pos->member != (head);                                                            \
		pos = pos##_next, pos##_next = list_entry(pos->member.next, type, member))

#endif
