#ifndef AGENT_IO_BODY_H
#define AGENT_IO_BODY_H
/*
 * The body of a model request, for each family over HTTP (agent spec 8.2). Pure.
 *
 * It comes as pieces: what is written here, and between it the items as the store gave them, which
 * are not copied. The order is always the same (settings, instructions, tools, then what stands
 * before the items, then the items), so that a provider's cache finds the beginning it knows.
 */
#include <stdbool.h>
#include <stdint.h>

#include "agent/io/provider.h"
#include "agent/io/transcript.h"
#include "json/json.h"
#include "mem/mem.h"
#include "text/text.h"

struct body_options {
	bool drop_thinking; /* the provider refused what it had written */
	bool full_openai;   /* `chat`: the provider is OpenAI itself */
	bool socket;        /* `responses`: a message over WebSocket, not the body of a POST */
	void (*repaired)(void *arg, const char *what);
	void *arg;
};

struct body_splice {
	size_t at; /* where in the text it stands */
	struct str piece;
};
/* Which message of the request holds which item. */
struct body_origin {
	size_t message;
	ptrdiff_t item;
};
struct body {
	struct arena arena;
	struct buf text;
	struct json_out json;
	struct body_splice *splices;
	size_t splice_count, splice_room;
	struct str *pieces;
	size_t piece_count;
	size_t bytes;       /* of all pieces */
	size_t text_bytes;  /* … without pictures' data */
	int64_t output_cap; /* tokens that were asked for at most; 0: none was named */
	struct body_origin *origins;
	size_t origin_count;
	size_t messages; /* so far */
	/* `responses`: where in the text its input is, from its key and from its first value. */
	size_t input_key_at, input_at;
};

/* What the families' files export. */
void body_responses(struct body *b, const struct provider_request *r, const struct transcript *t,
	const struct body_options *o);
void body_chat(struct body *b, const struct provider_request *r, const struct transcript *t,
	const struct body_options *o);
void body_messages(struct body *b, const struct provider_request *r, const struct transcript *t,
	const struct body_options *o);

/* The request's items must live as long as the body. */
void body_init(struct body *b, enum item_family f, const struct provider_request *r,
	const struct body_options *o);
void body_release(struct body *b);
/* It is sent: the pieces go, what body_blamed needs stays. */
void body_sent(struct body *b);
/* The item that an error's words mean by "messages.3", "input[3]": its index among the request's,
 * -1 when they name none. */
ptrdiff_t body_blamed(const struct body *b, struct str words);

/* For the families' files. */
void body_splice(struct body *b, struct str piece); /* in place of a value in an array */
/* The item belongs to the message that is open, or becomes one. */
void body_item(struct body *b, const struct transcript_entry *e, bool opens);
/* A tool's parameters: its schema, or that of nothing when it is no JSON. */
void body_schema(struct body *b, const char *name, const char *schema);

#endif
