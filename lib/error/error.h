#ifndef ERROR_ERROR_H
#define ERROR_ERROR_H
/*
 * error: an error is a value in the caller: a kind, an errno and text. Nothing to free.
 *
 * Functions that can fail return 0 or -1 and take a `struct error *err` last, which may be NULL
 * where the caller acts the same whatever failed. Set it once, where the cause is known; on the way
 * up only error_prefix. A kind belongs to the module that means it, and its code is the name on the
 * wire, kept for ever. The class says how an edge (main, request and tool dispatch) treats it.
 */
#include <stdarg.h>
#include <stdbool.h>

enum error_class {
	ERROR_CLASS_USAGE, /* the caller asked for something malformed */
	ERROR_CLASS_NOT_FOUND,
	ERROR_CLASS_DENIED,
	ERROR_CLASS_CONFLICT,
	ERROR_CLASS_LIMIT,       /* a documented bound was reached */
	ERROR_CLASS_UNAVAILABLE, /* something this needs is not there now */
	ERROR_CLASS_IO,
	ERROR_CLASS_BUG,
};

struct error_kind {
	const char *code; /* snake_case, stable */
	enum error_class class;
};

enum { ERROR_TEXT_MAX = 512 };

struct error {
	const struct error_kind *kind; /* NULL: no error */
	int sys;                       /* errno, or 0 */
	char text[ERROR_TEXT_MAX]; /* UTF-8 cut at a character, never with a control character */
};

#define ERROR_INIT                                                                                 \
	{                                                                                          \
		.kind = NULL                                                                       \
	}

/* Kinds of no single module. */
extern const struct error_kind ERROR_SYS;      /* io_error: a system call failed */
extern const struct error_kind ERROR_INVALID;  /* invalid_value */
extern const struct error_kind ERROR_TOO_LONG; /* too_long */
extern const struct error_kind ERROR_LIMIT;    /* limit_exceeded */
extern const struct error_kind ERROR_BUG;      /* internal_error */

/* Sets kind and text; drops a text that was there. Control characters, those that turn
 * the direction of text and invalid bytes in the result become '?'. Leaves errno as it was. Returns
 * -1, so that `return error_set(...)` is the whole error path. */
int error_set(struct error *err, const struct error_kind *kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ERROR_SYS with the current errno: the text is "FORMATTED: what errno says". Leaves errno as it
 * was. */
int error_sys(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with a kind of the caller's. */
int error_sys_kind(struct error *err, const struct error_kind *kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "FORMATTED: " before the text; where room is short it is cut first. Returns -1. Does nothing
 * to an unset error. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether err holds this kind (by code). NULL err or no error: false. */
bool error_is(const struct error *err, const struct error_kind *kind);

/* The code for the wire; "internal_error" when no kind was set. Static storage. */
const char *error_code(const struct error *err);

/* Back to no error. */
void error_clear(struct error *err);

#endif
