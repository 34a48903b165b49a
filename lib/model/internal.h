#ifndef MODEL_INTERNAL_H
#define MODEL_INTERNAL_H
/*
 * model, inside: what the three families share. A family turns one parsed event of its wire into
 * calls of the block_ and reply_ functions below; these alone tell the caller anything, so that the
 * order of events holds for all of them.
 */
#include "json/json.h"
#include "mem/mem.h"
#include "model/model.h"

enum {
	HELD_MAX_BYTES = 4 * MODEL_STREAM_MAX_BYTES, /* ours: of one block; what is written once
							more as JSON grows by three at most */
};

/* A block of the reply that has not been told to its end. The first in the queue is the open one;
 * the others hold what came for them. */
struct block {
	struct block *next;
	int64_t key;   /* which one it is on the wire */
	int64_t order; /* its place in the reply: lower ones come first */
	enum model_block sort;
	bool ready;                 /* its beginning may be told: a call's id and name are known */
	bool told;                  /* its beginning was */
	bool over;                  /* nothing more comes */
	int64_t part;               /* responses, a reasoning item: the part written last */
	struct str call_id, name;   /* owned copies */
	struct buf text, signature; /* so far */
	struct buf item;            /* its JSON: responses when it is over, messages as it began */
	struct buf aside;           /* messages: citations, as items of an array; responses: the
				       words of the other sort that the item began with */
};

struct chat_state {
	bool finished; /* a finish_reason came */
	enum model_stop stop;
	struct buf stop_text;
	struct buf details; /* reasoning_details that no block holds yet: items of an array */
};

/* An output item that was seen: what the last event repeats is told once. */
struct seen_item {
	int64_t index;
	enum model_block sort; /* a message: always MODEL_TEXT */
	struct str id;         /* owned; absent when there was none */
	bool done;
};

struct responses_state {
	struct seen_item *seen;
	size_t seen_count;
};

struct messages_state {
	bool stopped; /* a stop_reason came */
	enum model_stop stop;
	struct buf stop_text;
	int64_t input, read, written; /* input_tokens without the cached parts, and these */
};

struct dialect;
struct model_decoder {
	const struct dialect *dialect;
	struct model_sse *sse; /* made by the first bytes */
	model_on_event on;     /* of the call that is running */
	void *arg;
	size_t bytes;
	uint64_t events; /* of the wire, so that an error can say which */
	uint64_t told;
	uint64_t id_seed; /* from the reply's id, for the ids of calls that have none */
	bool started, over, failed;
	bool called, refused; /* such a block was told */
	bool usage_news;
	int next_index;
	size_t block_count;
	int64_t next_order;
	struct block *head;
	struct str *call_ids; /* owned, all that were told */
	size_t call_id_count;
	struct model_usage usage;
	union {
		struct chat_state chat;
		struct responses_state responses;
		struct messages_state messages;
	};
};

/* What a family does. Those that return int fail with the stream. */
struct dialect {
	void (*init)(struct model_decoder *d);
	void (*release)(struct model_decoder *d);
	/* `name` is the event's own: its type member, else what the stream called it. */
	int (*event)(struct model_decoder *d, struct str name, const struct json *root,
		struct error *err);
	int (*done)(struct model_decoder *d, struct error *err); /* [DONE]; may be NULL */
	int (*end)(struct model_decoder *d, struct error *err);  /* the body; may be NULL: cut */
};
extern const struct dialect model_chat, model_responses, model_messages;

void model_blocks_release(struct model_decoder *d); /* and the ids of calls */
/* Blocks. Those that return int fail with MODEL_STREAM or MODEL_LIMIT. */
/* A new one in its place by `order`, behind what was told. NULL: failed. */
struct block *block_add(struct model_decoder *d, enum model_block sort, int64_t key, int64_t order,
	struct error *err);
int block_ready(struct model_decoder *d, struct block *b, struct error *err);
int block_put(struct model_decoder *d, struct block *b, struct str text, struct error *err);
/* Nothing more comes. A call without arguments has {}. The block must be ready; it may be gone
 * afterwards. */
int block_end(struct model_decoder *d, struct block *b, struct error *err);
/* Takes one out that was not told, as if it had never been. */
int block_drop(struct model_decoder *d, struct block *b, struct error *err);
struct block *block_last(const struct model_decoder *d); /* NULL: none */
/* Replaces what `to` owns by a copy. */
void keep_str(struct str *to, struct str from);

/* The reply. */
void reply_start(struct model_decoder *d, struct str id, struct str model); /* once */
void reply_usage(struct model_decoder *d);                                  /* if there is news */
void reply_end(struct model_decoder *d, enum model_stop stop, struct str stop_text);
/* The provider failed it. `root` is the event or body that says so. */
void reply_fault(struct model_decoder *d, const struct json *root, int status);
void reply_fault_named(
	struct model_decoder *d, enum model_fault fault, struct str name, struct str text);
void reply_keepalive(struct model_decoder *d);

/* Usage. Of a number that is no whole one, negative, absurdly large, or lower than what was said
 * before, nothing is taken. */
void usage_raise(int64_t *field, int64_t value);
int64_t usage_read(const struct json *object, const char *name); /* -1: nothing usable */
void usage_news(struct model_decoder *d, const struct model_usage *now);
void usage_chat(struct model_decoder *d, const struct json *usage);
void usage_responses(struct model_decoder *d, const struct json *usage);
void usage_messages(struct model_decoder *d, const struct json *usage);

/* Faults. */
struct fault {
	enum model_fault fault;
	struct str name, text; /* never absent */
	int64_t retry_ms;
};
/* What an object of any family says, in itself or in its `error`. Its strings live as the tree. */
void fault_read(const struct json *root, int status, struct fault *ret);
/* What a code means; MODEL_FAULT_OTHER when it is none that is known. */
enum model_fault fault_of_code(struct str code);

/* What is said of a fault: the provider's own code when it means this, else a common one. */
struct str fault_code(enum model_fault fault, struct str name);

/* JSON from outside as a member or item, on one line: line ends between its tokens become blanks,
 * since items are put where a line is a message. */
void put_raw_line(struct json_out *j, const char *name, struct str text);

#endif
