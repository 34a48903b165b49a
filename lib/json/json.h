#ifndef JSON_JSON_H
#define JSON_JSON_H
/*
 * json: parse, build, decode into structs by table. The one reader of JSON in the suite.
 *
 * Strict RFC 8259: UTF-8 only, no lone surrogates, no duplicate keys, no text after the value. The
 * text of a number is kept and written back byte for byte. Depth, node count and bytes are bounded.
 * Errors name the byte (counted from 0) and repeat nothing of the document but a doubled key.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "mem/mem.h"
#include "text/text.h"

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

enum {
	JSON_DEPTH_MAX = 64,          /* agent spec 2.1: nesting depth at most 64 */
	JSON_NODES_MAX = 1024 * 1024, /* ours: what 1 MiB of "[[[…" or "0,0,0…" can hold */
	JSON_BYTES_MAX = 32 << 20,    /* ours: twice the largest response stream (agent spec 4) */
};

extern const struct error_kind JSON_SYNTAX; /* invalid_json, usage: the text says at which byte */
extern const struct error_kind JSON_LIMIT;  /* json_limit, limit */
extern const struct error_kind JSON_FIELD;  /* invalid_field, usage: the text names the path */

/* A value of a parsed document. Lives in the arena it was parsed into; strings are decoded, may
 * hold NUL (from \u0000) and are followed by a NUL that does not count. */
struct json {
	enum json_type type;
	uint32_t count;           /* members of an object, items of an array */
	struct str text;          /* string: the decoded bytes; number: its text */
	struct str key;           /* as a member: its name */
	const struct json *child; /* first item or member */
	const struct json *next;  /* next sibling */
};
#define json_for_each(item, parent)                                                                \
	for (const struct json *item = (parent)->child; item; item = item->next)

/* Parses one whole document. The text may die afterwards. A document that fails leaves its memory
 * to the arena all the same. */
int json_parse(struct arena *a, struct str text, const struct json **ret, struct error *err);

/* NULL when absent or when the parent is NULL or no object. */
const struct json *json_get(const struct json *object, const char *name);
/* Absent string when the value is NULL or no string. */
struct str json_str(const struct json *value);
/* 0 when it is a whole number that fits; "1e3" and "1.0" do not count as whole, "-0" is 0.
 * Otherwise -1. */
int json_i64(const struct json *value, int64_t *ret);
static inline bool json_is_true(const struct json *value)
{
	return value && value->type == JSON_TRUE;
}

/*
 * Writing. Values go to a buffer; commas and quotes are the writer's business. A key stands before
 * each value in an object and nowhere else: the writer aborts otherwise. Strings should be valid
 * UTF-8 (other bytes are written as U+FFFD). Errors stick in the buffer's full flag.
 *
 *	struct json_out j = JSON_OUT(&buf);
 *	json_open(&j, '{');
 *	json_put_str(&j, "op", STR("stats"));
 *	json_close(&j, '}');
 */
struct json_out {
	struct buf *to;
	uint8_t depth;
	bool comma;       /* something stands before in this container */
	uint64_t objects; /* bit i: level i is an object */
};
#define JSON_OUT(buffer)                                                                           \
	{                                                                                          \
		.to = (buffer)                                                                     \
	}
/* name is NULL in arrays and at the top. kind: '{' or '['. */
void json_open(struct json_out *j, char kind);                       /* in an array or at the top */
void json_open_key(struct json_out *j, const char *name, char kind); /* as a member */
void json_close(struct json_out *j, char kind);                      /* '}' or ']' */
void json_put_str(struct json_out *j, const char *name, struct str value);   /* absent: null */
void json_put_cstr(struct json_out *j, const char *name, const char *value); /* NULL: null */
void json_put_i64(struct json_out *j, const char *name, int64_t value);
void json_put_u64(struct json_out *j, const char *name, uint64_t value);
/* Fixed point with 0 to 17 places, a point in any locale; not a finite number: null. */
void json_put_double(struct json_out *j, const char *name, double value, int places);
void json_put_bool(struct json_out *j, const char *name, bool value);
void json_put_null(struct json_out *j, const char *name);
/* JSON text already (a stored item, a kept number): written as it is. Absent: null. */
void json_put_raw(struct json_out *j, const char *name, struct str text);
/* A parsed value, written compactly, number texts kept; NULL: null. What was JSON_DEPTH_MAX deep
 * and is written inside something else is deeper than json_parse reads. */
void json_put(struct json_out *j, const char *name, const struct json *value);
/* A member whose name came from outside. */
void json_put_member(struct json_out *j, struct str name, const struct json *value);

/*
 * Decoding by table. A field row says name, sort, place in the struct and bounds. Unknown members,
 * wrong types, missing required members and values out of bounds fail with JSON_FIELD; its text
 * names the path ("create.keep_turns: 200001 is over 100000") and repeats no string of the document
 * (it may be a key in the wrong place). Fields that are absent leave the struct as it was (zero it
 * first). `null` is wrong unless the row says .nullable, then it counts as seen and leaves the
 * struct as it was. Strings borrow from the document's arena.
 */
enum json_sort {
	JSON_FIELD_STR,  /* struct str; min, max in bytes */
	JSON_FIELD_I64,  /* int64_t; min (0, so not negative, unless the row says otherwise), max */
	JSON_FIELD_BOOL, /* bool */
	JSON_FIELD_ENUM, /* int: index into .names, NULL-terminated */
	JSON_FIELD_STRS, /* struct str_list; min, max items; item_max bytes each */
	JSON_FIELD_NODE, /* const struct json *: any value, looked at by its owner */
	JSON_FIELD_OBJECT /* a struct in place, by .fields and .field_count */
};
struct json_field {
	const char *name;
	enum json_sort sort;
	size_t offset;
	bool required, nullable;
	bool cstr;        /* strings: with no NUL inside, so that their p is a C string */
	int64_t min, max; /* max 0: no bound for strings, lists and integers */
	int64_t item_max;
	const char *const *names;
	const struct json_field *fields;
	size_t field_count;
};
#define JSON_STR(S, m, ...)                                                                        \
	{                                                                                          \
		.name = #m, .sort = JSON_FIELD_STR, .offset = offsetof(S, m), __VA_ARGS__          \
	}
#define JSON_I64(S, m, ...)                                                                        \
	{                                                                                          \
		.name = #m, .sort = JSON_FIELD_I64, .offset = offsetof(S, m), __VA_ARGS__          \
	}
#define JSON_BOOL(S, m, ...)                                                                       \
	{                                                                                          \
		.name = #m, .sort = JSON_FIELD_BOOL, .offset = offsetof(S, m), __VA_ARGS__         \
	}
#define JSON_ENUM(S, m, names_, ...)                                                               \
	{                                                                                          \
		.name = #m, .sort = JSON_FIELD_ENUM, .offset = offsetof(S, m), .names = (names_),  \
		__VA_ARGS__                                                                        \
	}
#define JSON_STRS(S, m, ...)                                                                       \
	{                                                                                          \
		.name = #m, .sort = JSON_FIELD_STRS, .offset = offsetof(S, m), __VA_ARGS__         \
	}
#define JSON_NODE(S, m, ...)                                                                       \
	{                                                                                          \
		.name = #m, .sort = JSON_FIELD_NODE, .offset = offsetof(S, m), __VA_ARGS__         \
	}
#define JSON_OBJ(S, m, table, ...)                                                                 \
	{                                                                                          \
		.name = #m, .sort = JSON_FIELD_OBJECT, .offset = offsetof(S, m),                   \
		.fields = (table), .field_count = ARRAY_LEN(table), __VA_ARGS__                    \
	}
/* What an object may hold. Members of the struct that is filled must have the wire's names. */
struct json_table {
	const struct json_field *fields;
	size_t count;            /* at most 64 */
	const char *where;       /* starts the path in errors; may be NULL */
	const char *const *skip; /* members that are not looked at ("id", "op"), NULL-terminated;
				    may be NULL */
};
/* Fills `out` from an object (NULL: it is missing) by the table. *ret_seen (may be NULL): bit i is
 * set when field i was present. List items are allocated in `a`. */
int json_decode(struct arena *a, const struct json *object, const struct json_table *table,
	void *out, uint64_t *ret_seen, struct error *err);

#endif
