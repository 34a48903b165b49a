#ifndef HARNESS_SCRIPT_H
#define HARNESS_SCRIPT_H
/*
 * The script of the loopback provider: conversations made of rounds, read once from JSON. Its
 * format is described in README.md beside this file.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error/error.h"
#include "json/json.h"
#include "model/model.h"
#include "text/text.h"

enum {
	SCRIPT_FILE_MAX_BYTES = 16 << 20,
	SCRIPT_TEXT_MAX_BYTES = 64 << 20, /* one text, its repetitions carried out */
	SCRIPT_NAME_MAX = 64,
};

/* A text of a reply: pieces in a row. */
enum script_source { SCRIPT_LITERAL, SCRIPT_USER, SCRIPT_RESULT };
struct script_piece {
	enum script_source from;
	struct str text; /* LITERAL */
	int64_t times;
};
struct script_text {
	struct script_piece *pieces;
	size_t count; /* 0: there is no such text; an empty one has an empty piece */
};

/* A header of an answer; its value may be a moment that lies after_s behind now. */
enum script_moment { SCRIPT_PLAIN, SCRIPT_SECONDS, SCRIPT_UNIX, SCRIPT_HTTP_DATE, SCRIPT_RFC3339 };
struct script_header {
	struct str name, value;
	enum script_moment as;
	int64_t after_s;
};
struct script_headers {
	struct script_header *items;
	size_t count;
};

struct script_call {
	struct str tool, id;  /* id absent: one is made */
	struct str arguments; /* JSON text, when there is no raw */
	struct script_text raw;
};

enum script_fault_kind {
	FAULT_STATUS,
	FAULT_REDIRECT,
	FAULT_HTML,
	FAULT_JSON,
	FAULT_EMPTY_BODY,
	FAULT_EMPTY_REPLY,
	FAULT_GARBAGE,
	FAULT_LENGTH,
	FAULT_RESET,
	FAULT_CUT,
	FAULT_TRUNCATE,
	FAULT_SILENCE,
	FAULT_ENDLESS,
	FAULT_ERROR_EVENT,
	FAULT_DUPLICATE_IDS,
	FAULT_EMPTY_IDS,
	FAULT_UNKNOWN,
	FAULT_USAGE_BACKWARDS,
	FAULT_INVALID_UTF8,
	FAULT_NO_END,
	FAULT_NONE,
};
/* Where a stream breaks off. */
enum script_place { SCRIPT_HALF, SCRIPT_HEAD, SCRIPT_CALL, SCRIPT_BYTES };
enum script_flood { SCRIPT_DELTAS, SCRIPT_COMMENTS, SCRIPT_LINE };
struct script_fault {
	enum script_fault_kind kind;
	int64_t status, bytes, by, after_bytes;
	enum script_place after;
	enum script_flood as;
	bool html;
	struct str code, message, body, location;
};

/* What a request must hold, or it is answered with 400. */
struct script_expect {
	struct str_list contains, lacks; /* in the body's bytes */
	struct script_headers headers;   /* each must hold its text */
};

struct script_round {
	struct script_text think, say, refuse;
	struct script_call *calls;
	size_t call_count;
	int64_t delay_ms, chunk_bytes, chunk_delay_ms;
	struct model_usage usage; /* -1: estimated */
	int stop;                 /* enum model_stop, -1: as the content says */
	struct script_fault fault;
	int64_t times; /* the fault only for so many tries; 0: always */
	struct script_headers headers;
	struct script_expect expect;
	int64_t status;          /* of a page */
	struct script_text body; /* of a page */
};

struct script_conversation {
	struct str name;
	struct script_round *rounds;
	size_t count;
};

struct script;

/* `text` may die afterwards. An empty text is a script that only ever says "done". */
int script_read(struct str text, struct script **ret, struct error *err);
void script_free(struct script *s); /* NULL does nothing */

/* NULL when there is none of that name. */
const struct script_conversation *script_find(const struct script *s, struct str name);
/* The round, or the one that says "done" behind the last and for NULL. */
const struct script_round *script_round(const struct script_conversation *c, size_t round);
/* The page at this path, or NULL. */
const struct script_round *script_page(const struct script *s, struct str path);

/* How it is spoken to over WebSocket. */
struct script_socket {
	bool bad_accept, extension; /* of the handshake */
	bool pings;                 /* before each frame */
	bool forgets;               /* every previous response */
	int64_t responses;          /* … on one connection, then it is closed; 0: no end */
	int64_t status;             /* there is no WebSocket, but this answer; 0: there is */
};

/* What holds for all requests. */
struct script_settings {
	struct str_list refuse_text, models, keys;
	struct script_headers headers;
	bool lenient;
	struct script_socket socket;
};
const struct script_settings *script_settings(const struct script *s);

/* Appends the text; a piece from the request is `user` or `result`. */
void script_put_text(
	struct buf *to, const struct script_text *t, struct str user, struct str result);

#endif
