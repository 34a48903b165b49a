#ifndef SECRET_INTERNAL_H
#define SECRET_INTERNAL_H
/*
 * secret, inside: the matcher of known values and the three stages of the filter.
 *
 * A stage takes a stream in pieces of any size and hands pieces to the next one; what it makes of a
 * stream does not depend on where the pieces end. known -> pem -> fields -> the caller's buffer.
 */
#include <stdatomic.h>

#include "secret/secret.h"

#define SECRET_MARK "[REDACTED]"

/* Zeroes and frees; NULL does nothing. */
void wipe_free(void *p, size_t len);

/*
 * Aho-Corasick over all spellings. Nodes are numbered breadth first, so the children of one stand
 * side by side, in order of their bytes. Node 0 is the root.
 */
enum {
	MATCH_LEN_MIN = 6, /* secret.h: shorter values are left out */
	MATCH_GRAMS = MATCH_LEN_MIN - 2,
};
struct match {
	atomic_uint refs; /* of the set that made it, and of filters */
	size_t node_count;
	size_t longest;       /* of the patterns; 0: there is none */
	unsigned char *bytes; /* by which a node is entered */
	uint32_t *first_child;
	uint16_t *child_count;
	uint32_t *fail;
	uint32_t *depth;
	uint32_t *ending;           /* length of the longest pattern that ends here, 0: none */
	uint32_t root[256];         /* child of the root by byte */
	uint32_t grams[65536 / 32]; /* of how patterns begin, hashed, as bits */
};
struct match *match_new(const struct str *patterns, size_t count); /* one reference */
struct match *match_ref(struct match *m);
void match_unref(struct match *m); /* wiped with the last one; NULL does nothing */
/* The node after one more byte. */
uint32_t match_step(const struct match *m, uint32_t node, unsigned char byte);
/* From the root: a place from `at` (below len) up to which no pattern starts, below len. */
size_t match_skip(const struct match *m, const unsigned char *p, size_t at, size_t len);

/* Values in all of their spellings, each once. */
struct patterns {
	struct str *items; /* owned */
	size_t count, room;
};
void patterns_add(struct patterns *s, struct str value);
void patterns_release(struct patterns *s); /* wipes */

/* The matcher of a set as it is now, made when first asked for; safe from several threads. The
 * caller gives its reference back. */
struct match *set_match(const struct secret_set *set);

/* A part of the stream that must not show, by offsets from its start. */
struct span {
	uint64_t start, end;
};

struct known {
	struct match *match; /* a reference */
	uint32_t node;
	uint64_t at;     /* offset of the next byte */
	uint64_t shown;  /* everything before is handed on or dropped */
	uint64_t hidden; /* bytes before this offset belong to a mark already written */
	char *held;      /* bytes [shown, at) are held + held_from … */
	size_t held_from, held_len, held_room;
	struct span *spans; /* found, not yet written: disjoint, in order, from span_head on */
	size_t span_head, span_count, span_room;
};

enum {
	PEM_LABEL_MAX = 64, /* ours: the longest in use has 21, "ENCRYPTED PRIVATE KEY" */
	PEM_DASHES = 5,
	/* Between a header in quotes and the next string of a list; then what only a body looks
	   like. */
	PEM_GAP_MAX = 32,
	PEM_RUN_MIN = 40, /* a line has 64 or 76; longer than most identifiers */
};

/* Reads "-----BEGIN LABEL-----" or the same with END, a byte at a time. */
struct pem_line {
	int state;
	size_t at; /* dashes, or bytes of the word */
	char label[PEM_LABEL_MAX];
	size_t label_len;
};

struct pem {
	int state;
	struct pem_line line;
	bool marked; /* the body's mark is written */
	bool after_newline;
	char held[PEM_GAP_MAX + PEM_RUN_MIN];
	size_t held_len, run_len;
};

enum {
	FIELD_WINDOW =
		128, /* ours: name, quotes and an aligned column of blanks before a separator */
	FIELD_HISTORY = 1024,  /* a multiple, so that moving the window down is rare */
	FIELD_RUN_MIN = 6,     /* agent spec 10.3 (b) */
	FIELD_SLASHES_MAX = 7, /* quotes inside JSON inside JSON inside JSON */
};

/* What stands around a name and its value. */
struct field_place {
	int stop;             /* what ends a bare value */
	char outer;           /* the quote of the string that both stand in */
	unsigned outer_level; /* backslashes before that quote */
};

struct fields {
	int state;
	struct field_place place;
	char separator;
	char quote;       /* around the value */
	unsigned level;   /* backslashes before that quote */
	unsigned slashes; /* backslashes just seen */
	bool marked;
	bool named; /* the bare value so far ends like a name and its separator */
	char held[FIELD_RUN_MIN + FIELD_SLASHES_MAX];
	size_t held_len;
	/* The end of what was scanned since the last value, or of a bare value. */
	char history[FIELD_HISTORY];
	size_t history_len;
};

struct secret_filter {
	struct known known;
	struct pem pem;
	struct fields fields;
	struct buf *out; /* during a call */
};

void known_init(struct known *k, struct match *m); /* takes the reference */
void known_release(struct known *k);
void known_put(struct secret_filter *f, const char *p, size_t len);
void known_end(struct secret_filter *f);
void pem_put(struct secret_filter *f, const char *p, size_t len);
void pem_end(struct secret_filter *f);
void fields_put(struct secret_filter *f, const char *p, size_t len);
void fields_end(struct secret_filter *f);
/* To the caller's buffer; whether it is full is asked once, at the end of a call. */
void filter_out(struct secret_filter *f, const char *p, size_t len);

#endif
