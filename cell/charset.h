#ifndef CELL_CHARSET_H
#define CELL_CHARSET_H
/*
 * Bytes of an old character set as UTF-8. The tables are made when the suite is built, by iconv:
 * that loads its own from files, which a cell cannot open.
 */
#include <stdbool.h>
#include <stdint.h>

#include "text/text.h"

struct charset {
	const char *name;
	enum {
		CHARSET_UTF8,
		CHARSET_UTF16LE,
		CHARSET_UTF16BE,
		CHARSET_SINGLE,
		CHARSET_DOUBLE
	} form;
	const uint16_t *table; /* SINGLE: of bytes from 0x80; DOUBLE: see charset_make.c */
};
extern const struct charset CHARSET_IS_UTF8;

/* By the name that a header or a document gives (any case); NULL for one that is not known. */
const struct charset *charset_find(struct str label);
/* The value after charset= in a Content-Type; absent when there is none. */
struct str charset_of_type(struct str content_type);
/* What a text is in: by its byte order mark, else `said` (may be NULL), else UTF-8 if it is valid,
 * else windows-1252. *bytes loses the mark. */
const struct charset *charset_choose(struct str *bytes, const struct charset *said);
/* Appends it as UTF-8; what is no character becomes U+FFFD. -1: `to` is full. */
int charset_put(const struct charset *c, struct str bytes, struct buf *to);

#endif
