#ifndef CELL_CELL_H
#define CELL_CELL_H
/*
 * cell: a file format that strangers made, read by a process without rights.
 *
 * consort-cell is a small program that is given the bytes of one input, may allocate memory, read
 * its input and write its answer, and nothing else: no file, no socket, no process, no signal. A
 * parser's bug then costs one refused call. Whoever starts it believes nothing it says: the answer
 * comes in frames, and what is larger, of another kind, not UTF-8 or not in the order below ends
 * the cell, as a crash, a hang and a flood do. All of them are CELL_FAILED.
 *
 * What a kind of cell may be given, use and answer is one row of the table in kinds.c.
 *
 * The cell's walls: no new privileges, a system call allow-list (seccomp; a call that is not on it
 * kills the process), limits of memory, CPU time, descriptors and file size, no environment, no
 * descriptor but the two, not dumpable, dead when whoever started it dies; and a Landlock domain
 * that allows nothing, where the kernel has Landlock: struct cell_end says whether.
 *
 *	static const struct cell_callbacks cb = {on_field, on_text, on_done};
 *	struct cell_job job = {.program = path, .kind = &CELL_HTML, .input = bytes};
 *
 *	rc = cell_start(loop, &job, &cb, x, &cell, &err);
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "text/text.h"

struct loop;

/* The cell broke off, or broke its word: the input cannot be read. */
extern const struct error_kind CELL_FAILED; /* cell_failed, io */
/* The cell read the input and says what is wrong with it, see enum cell_refusal. */
extern const struct error_kind CELL_REFUSED; /* cell_refused, io */

enum {
	CELL_FIELDS_MAX = 8,         /* ours: of one kind */
	CELL_NAME_MAX_BYTES = 32,    /* ours: of a parameter or a field */
	CELL_VALUE_MAX_BYTES = 8192, /* ours: as URL_MAX_BYTES, the longest that is passed */
	CELL_TEXT_MAX_BYTES = 65536, /* ours: of one frame */
};

/* What one sort of cell is called, may be given, may use, may answer. */
struct cell_kind {
	const char *name;
	size_t input_max_bytes;  /* as it comes, packed or not */
	size_t unpack_max_bytes; /* of an input that was packed */
	size_t output_max_bytes; /* of text; what goes past it is cut, and the field "cut" says so
				  */
	size_t memory_max_bytes; /* its whole address space */
	int cpu_s;
	int64_t time_ms;                         /* from start to end */
	const char *params[CELL_FIELDS_MAX + 1]; /* names it takes, NULL-terminated */
	const char *fields[CELL_FIELDS_MAX + 1]; /* names it may answer, each once */
};
/* Every kind, NULL-terminated. */
extern const struct cell_kind *const cell_kinds[];
/* HTML to text with links. Parameters: "packed" (gzip, deflate), "unpack_max" (bytes, less than the
 * kind's), "charset" as the Content-Type had it, "url", which links are relative to. Fields:
 * "title", "charset" that was used, "cut". */
extern const struct cell_kind CELL_HTML;
/* Text of any charset to UTF-8 without control characters. "xml": look for a declaration. */
extern const struct cell_kind CELL_TEXT;

/*
 * The frames. Both sides use this part alone, without a loop.
 *
 * A frame is its type, its length (32 bits, little-endian) and as many bytes. A request is PARAM
 * frames, then one INPUT: the rest is the input itself. An answer is HELLO, then FIELD and TEXT
 * frames, then END or REFUSED, then nothing.
 */
enum cell_frame {
	CELL_FRAME_PARAM = 'P',   /* NAME, a NUL, the value */
	CELL_FRAME_INPUT = 'I',   /* its length is the input's */
	CELL_FRAME_HELLO = 'H',   /* the version of Landlock's interface in one byte; 0: none */
	CELL_FRAME_FIELD = 'F',   /* as PARAM; the value is one line of clean text */
	CELL_FRAME_TEXT = 'T',    /* clean text: cell_text_is_clean */
	CELL_FRAME_END = 'E',     /* nothing in it: the answer is whole */
	CELL_FRAME_REFUSED = 'R', /* enum cell_refusal, one byte */
};
enum { CELL_FRAME_HEAD_BYTES = 5 };
/* Why a cell does not read an input: enough for a caller to tell its user. */
enum cell_refusal {
	CELL_REFUSED_SIZE = 1, /* unpacked it is over the limit */
	CELL_REFUSED_PACKING,  /* it is not packed as said, or is cut */
	CELL_REFUSED_BINARY,   /* it is no text */
	CELL_REFUSAL_LAST = CELL_REFUSED_BINARY,
};

void cell_put_head(char to[CELL_FRAME_HEAD_BYTES], enum cell_frame type, uint32_t len);
/* The length that a head says. */
uint32_t cell_head_length(const char head[CELL_FRAME_HEAD_BYTES]);
/* UTF-8 without control characters but newline and tab: no C0, DEL, C1, and none of the characters
 * that turn the direction of text or are invisible tags. */
bool cell_text_is_clean(struct str s);
/* Whether a character may stand in clean text. */
bool cell_point_is_clean(uint32_t point);

struct cell_end {
	int refusal;  /* enum cell_refusal, of CELL_REFUSED */
	int landlock; /* the version of Landlock's interface that it had; 0: none, or never known */
};
struct cell_callbacks {
	/* As they come, checked. What they said is worth nothing when done() then has an error. */
	void (*field)(void *arg, struct str name, struct str value);
	void (*text)(void *arg, struct str text);
	void (*done)(void *arg, const struct error *err, const struct cell_end *end);
};

/* Reads an answer in pieces of any size, and checks it. */
struct cell_reader;
struct cell_reader *cell_reader_new(
	const struct cell_kind *kind, const struct cell_callbacks *cb, void *arg);
void cell_reader_free(struct cell_reader *r); /* NULL does nothing */
/* CELL_FAILED for what is no answer; it is of no more use then. */
int cell_reader_put(struct cell_reader *r, struct str bytes, struct error *err);
/* Nothing more comes: CELL_FAILED unless the answer is whole, CELL_REFUSED if it is a refusal. */
int cell_reader_end(struct cell_reader *r, struct cell_end *ret, struct error *err);

/*
 * A cell at work.
 */
struct cell_param {
	const char *name;
	struct str value;
};
struct cell_job {
	const char *program; /* absolute path of consort-cell */
	const struct cell_kind *kind;
	const struct cell_param *params;
	size_t param_count;
	struct str input; /* copied */
};
struct cell;
/* ERROR_LIMIT for an input or a parameter over its limit. done() comes once, never inside. */
int cell_start(struct loop *l, const struct cell_job *job, const struct cell_callbacks *cb,
	void *arg, struct cell **ret, struct error *err);
/* No callback afterwards; ends what still runs. May be called inside done(), not inside field() and
 * text(). NULL does nothing. */
void cell_free(struct cell *c);

#endif
