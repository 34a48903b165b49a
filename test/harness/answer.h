#ifndef HARNESS_ANSWER_H
#define HARNESS_ANSWER_H
/*
 * An answer as it will go out: its head, its body, how fast, and how it ends. Made whole before the
 * first byte is sent, but for floods, which are made as they go.
 */
#include "test/harness/ask.h"

/* How an answer ends, once stop_at bytes of its body are out. */
enum answer_end {
	ANSWER_WHOLE,  /* as HTTP has it */
	ANSWER_CUT,    /* the connection is closed, whatever HTTP says */
	ANSWER_RESET,  /* the same with a reset */
	ANSWER_SILENT, /* nothing comes any more */
};

struct flood;

struct answer {
	struct buf head; /* start line and headers; empty: none is sent */
	struct buf body;
	struct flood *flood; /* more of the body, made when the body is used up; or NULL */
	size_t stop_at;      /* of the body; what lies behind is not sent */
	enum answer_end end;
	bool chunked;
	bool close; /* the connection, after the answer */
	int64_t delay_ms, chunk_bytes, chunk_delay_ms;
};

/* What an answer is made with. */
struct answer_frame {
	int64_t now_ms; /* real time */
	bool old;       /* HTTP/1.0 */
	bool close;     /* the client wants it closed */
	const struct script_headers *always;
};

void answer_init(struct answer *a);
void answer_release(struct answer *a);

/* Begins the head, with the headers that are asked for. The family's `claude` names are its own. */
void answer_head(struct answer *a, const struct answer_frame *f, int status,
	const struct script_headers *headers);
/* Ends a head: for a body of the length it has now, or for one in chunks. */
void answer_with_length(struct answer *a, const struct answer_frame *f, int64_t wrong_by);
void answer_in_chunks(struct answer *a, const struct answer_frame *f);

/* An error in the shape of the family; code and message absent: the usual ones of that status. */
struct answer_error {
	int status;
	struct str code, message;
};
void answer_put_error(struct buf *to, enum model_family family, const struct answer_error *e);
void answer_error(struct answer *a, const struct answer_frame *f, enum model_family family,
	const struct answer_error *e);
void answer_html(struct answer *a, const struct answer_frame *f, int status,
	const struct script_headers *headers);

/* A model's reply by the script. `fault` is NULL where the round's is used up. `body_bytes` is the
 * request's size, by which usage is estimated. */
struct answer_reply {
	const struct ask *ask;
	const struct script_round *round;
	const struct script_fault *fault;
	size_t body_bytes;
};
void answer_reply(struct answer *a, const struct answer_frame *f, const struct answer_reply *r);
/* A page: its body under its faults. */
void answer_page(struct answer *a, const struct answer_frame *f, const struct script_round *page,
	const struct script_fault *fault);

/* Makes more of the body, in place of what is there; false: it is over. */
bool flood_more(struct flood *f, struct buf *body);
void flood_free(struct flood *f); /* NULL does nothing */

#endif
