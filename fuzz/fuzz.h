#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H
/*
 * fuzz: what every target needs. A target ends in a property, stated with must(): it aborts, and
 *the engine keeps the input.
 *
 *	mkdir -p /var/tmp/finds
 *	cmake --preset fuzz && cmake --build build/fuzz --target fuzz_json
 *	build/fuzz/fuzz/fuzz_json -max_total_time=180 /var/tmp/finds fuzz/corpus/json
 *
 * New finds go to the first folder. A crash becomes a file of the corpus, named for its cause.
 */
#include <stddef.h>
#include <stdint.h>

#include "mem/mem.h"
#include "text/text.h"

/* The engine's entry, or replay.c's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline struct str fuzz_str(const uint8_t *data, size_t size)
{
	return (struct str){size ? (const char *)data : "", size};
}

#endif
