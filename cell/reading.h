#ifndef CELL_READING_H
#define CELL_READING_H
/*
 * What a reader of a format is given and what it makes of it: pure, bytes in and bytes out, so that
 * tests and fuzzers call the same as the program does.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cell/cell.h"
#include "text/text.h"

/* The request's parameters (absent: not given) and its input. */
struct request {
	struct str packed, charset, url;
	size_t unpack_max_bytes;
	bool xml;
	struct str input;
};

enum { TITLE_MAX_BYTES = 512 /* ours: one line */ };

/* The answer. The text holds no more than the ceiling it was born with, and `cut` says that there
 * was more. */
struct reading {
	struct buf text, title;
	const char *charset;
	bool cut;
};
void reading_init(struct reading *r, size_t output_max_bytes);
void reading_release(struct reading *r);

/* 0, or an enum cell_refusal. */
int read_html(const struct request *q, struct reading *r);
int read_text(const struct request *q, struct reading *r);

/* One character of clean text; what may not stand in one is left out. What goes past the ceiling
 * sets *cut. */
void put_point(struct buf *to, uint32_t point, bool *cut);

/* Unpacks what `packed` says ("gzip", "deflate" or absent): *ret is q->input or in `room`. */
int unpack(const struct request *q, struct buf *room, struct str *ret);

#endif
