#ifndef MODEL_ENCODE_H
#define MODEL_ENCODE_H
/*
 * encode, inside: what the three encoders share.
 */
#include "model/internal.h"

struct encoder_family;
struct model_encoder {
	const struct encoder_family *family;
	uint64_t sequence; /* responses: of the next event */
	int next;          /* the wire's index of the next block, item or call */
	bool started;      /* what begins the reply is written */
	bool counted;      /* a usage was told */
	bool refused, called;
	bool written;          /* the open block has its beginning on the wire */
	enum model_block sort; /* of the open block */
	struct str call_id, name;
	struct str id, model;
	struct model_usage usage;
	enum model_stop stop;
	struct str stop_text;
	struct buf output; /* responses: the items so far, for the last event */
};

struct encoder_family {
	/* May be NULL: nothing is written then. */
	void (*start)(struct model_encoder *e, struct buf *to);
	void (*block)(struct model_encoder *e, struct buf *to);
	void (*delta)(struct model_encoder *e, struct str text, struct buf *to);
	void (*signature)(struct model_encoder *e, struct str text, struct buf *to);
	void (*block_end)(
		struct model_encoder *e, struct str text, struct str item, struct buf *to);
	void (*usage)(struct model_encoder *e, struct buf *to);
	void (*end)(struct model_encoder *e, struct buf *to);
	void (*fault)(struct model_encoder *e, const struct model_event *ev, struct buf *to);
	void (*keepalive)(struct model_encoder *e, struct buf *to);
};
extern const struct encoder_family encode_chat, encode_responses, encode_messages;

/* One event: what stands before its JSON, and after. NULL: without a name of its own. */
void encode_open(struct json_out *j, struct buf *to, const char *name);
void encode_close(struct json_out *j);
/* A token count as a member; what is not known is 0. */
void encode_count(struct json_out *j, const char *name, int64_t count);

#endif
