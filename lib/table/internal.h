#ifndef TABLE_INTERNAL_H
#define TABLE_INTERNAL_H
/*
 * table, inside: the hash. Words are read in the machine's order; the values stay in this process.
 */
#include <stddef.h>
#include <stdint.h>

/* With this process's key. */
uint64_t table_hash(const void *p, size_t len);

/* With a given key, so that a test can compare with the published values. */
uint64_t table_sip13(uint64_t k0, uint64_t k1, const void *p, size_t len);

#endif
