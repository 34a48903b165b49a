#ifndef TOML_TOML_H
#define TOML_TOML_H
/*
 * toml: configuration files (TOML 1.0) read as json values.
 *
 * A table becomes an object, an array an array, a string a string; numbers keep their value, dates
 * and times become strings as TOML writes them, and so do inf and nan, which JSON has no numbers
 * for. Members come in the order of their names' bytes, not in the file's. json_decode reads them
 * like any other; its errors name the key, toml_line says where it stands.
 *
 * The parser is toml++, C++ behind a plain C interface (plain.h). It is given a text only after
 * bounds.c has looked it over: a key of many thousand parts would make it run out of stack.
 */
#include <stdint.h>

#include "error/error.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

enum {
	TOML_BYTES_MAX = 256 * 1024, /* ours: hundreds of times a person's file */
	TOML_DEPTH_MAX = 32,         /* ours: tables and arrays in each other */
	TOML_KEY_PARTS_MAX = 32,     /* ours: a.b.c, and in [headers] */
};

/* The text names line and column and repeats nothing of the document, which may hold what is
 * secret. */
extern const struct error_kind TOML_SYNTAX; /* invalid_toml, usage */
extern const struct error_kind TOML_LIMIT;  /* toml_limit, limit */

/* Parses one whole document into the arena: an object. The text may die afterwards. */
int toml_parse(struct arena *a, struct str text, const struct json **ret, struct error *err);
/* The line (from 1) that a value of toml_parse stands in. */
uint32_t toml_line(const struct json *value);

#endif
