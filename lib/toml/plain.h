#ifndef TOML_PLAIN_H
#define TOML_PLAIN_H
/*
 * toml, inside: the parser as C sees it. No header of the suite is included, for this one is C++
 * too.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A document, depth first. The key is NULL in arrays and of the document itself; strings are UTF-8
 * and may hold NUL. All of it dies when the call returns. */
struct toml_place {
	const char *key;
	size_t key_len;
	uint32_t line;
};
struct toml_sink {
	void (*open)(void *arg, const struct toml_place *at, bool table);
	void (*close)(void *arg);
	void (*string)(void *arg, const struct toml_place *at, const char *p, size_t len);
	void (*number)(void *arg, const struct toml_place *at, const char *p, size_t len);
	void (*boolean)(void *arg, const struct toml_place *at, bool value);
};

enum toml_plain { TOML_PLAIN_OK, TOML_PLAIN_SYNTAX, TOML_PLAIN_TOO_DEEP };
struct toml_fault {
	uint32_t line, column; /* 0: not known */
};
/* depth: how many tables and arrays may be open at once. Nothing is thrown; out of memory ends the
 * process, as everywhere. */
enum toml_plain toml_plain_parse(const char *p, size_t len, unsigned depth,
	const struct toml_sink *sink, void *arg, struct toml_fault *ret_fault);

#ifdef __cplusplus
}
#endif
#endif
