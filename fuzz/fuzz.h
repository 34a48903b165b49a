#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H
/*
 * fuzz: what every target needs. A target ends in a property, stated with must(): it aborts, and
 * the engine keeps the input.
 *
 *	mkdir -p /var/tmp/finds
 *	cmake --preset fuzz && cmake --build build/fuzz --target fuzz_json
 *	build/fuzz/fuzz/fuzz_json -max_total_time=180 /var/tmp/finds fuzz/corpus/json
 *
 * New finds go to the first folder. A crash becomes a file of the corpus, named for its cause.
 */
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

/* The engine's entry, or replay.c's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline struct str fuzz_str(const uint8_t *data, size_t size)
{
	return (struct str){size ? (const char *)data : "", size};
}

/* A copy in a block of just its size, so that the sanitizer sees a look beyond. The owner frees p.
 */
static inline struct str fuzz_exact(struct str s)
{
	return (struct str){xmemdup(s.p, s.len), s.len};
}
static inline void fuzz_exact_cleanup(const struct str *s)
{
	free((char *)s->p);
}

/* A refusal has a kind, and a text fit to be shown. */
static inline void fuzz_check_error(const struct error *err)
{
	const struct str text = str_from(err->text);

	must(err->kind && text.len > 0 && utf8_valid(text));
	for (size_t i = 0; i < text.len; i++)
		must((unsigned char)text.p[i] >= 0x20 && text.p[i] != 0x7f);
}

#endif
