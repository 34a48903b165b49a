#ifndef TABLE_TABLE_H
#define TABLE_TABLE_H
/*
 * table: a hash map from byte strings, or from 64-bit numbers, to pointers.
 *
 * Keys are hashed with a seed drawn per process (getrandom), so that names chosen by strangers
 * cannot pile up in one bucket. The table copies string keys and owns the copies; values are the
 * caller's.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text.h"

struct table;

struct table *table_new(void);
void table_free(struct table *t); /* not the values; NULL does nothing */
size_t table_count(const struct table *t);

/* NULL when absent. Values are never NULL. */
void *table_get(const struct table *t, struct str key);
/* Sets and returns the value that was there, or NULL. */
void *table_set(struct table *t, struct str key, void *value);
/* Removes and returns the value, or NULL. */
void *table_remove(struct table *t, struct str key);

/* The same with numbers. One table holds one sort of key only. */
void *table_get_id(const struct table *t, uint64_t key);
void *table_set_id(struct table *t, uint64_t key, void *value);
void *table_remove_id(struct table *t, uint64_t key);

/* Walk: `size_t at = 0; while ((v = table_next(t, &at)))`. In the order keys were first set.
 * Between calls the current entry may be removed, nothing be added. */
void *table_next(const struct table *t, size_t *at);

#endif
