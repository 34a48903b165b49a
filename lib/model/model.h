#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H
/*
 * model: provider streams as events, read and written. Bytes in, events out, and back; no I/O.
 *
 * Three wire families speak one vocabulary: OpenAI's Responses, chat completions, and Anthropic's
 * Messages. A decoder takes a server-sent event stream in pieces of any size, a character or an
 * escape split over two of them included. An encoder writes such a stream.
 *
 * A reply is a series of blocks, one open at a time, numbered from 0: text, refusal, thinking, a
 * tool call, or something opaque that only its provider understands. Where a wire interleaves them,
 * the decoder holds a later block's deltas back until the earlier is over. Opaque state (encrypted
 * reasoning, signatures, thinking of a redacted kind) is kept verbatim; so are a call's arguments,
 * byte for byte.
 */
#include <stdbool.h>
#include <stdint.h>

#include "error/error.h"
#include "text/text.h"

/* The stream itself is at fault; nothing after it can be used. */
extern const struct error_kind MODEL_STREAM; /* model_stream_invalid, io: what, never the bytes */
extern const struct error_kind MODEL_CUT;    /* model_stream_cut, io: it ended before its end */
extern const struct error_kind
	MODEL_MISMATCH;                     /* stream_terminal_mismatch, io: deltas ≠ the whole */
extern const struct error_kind MODEL_LIMIT; /* model_stream_limit, limit */

enum model_family { MODEL_RESPONSES, MODEL_CHAT, MODEL_MESSAGES };

enum {
	MODEL_FRAME_MAX_BYTES = 2 << 20,   /* agent spec 2.6: one server-sent event */
	MODEL_STREAM_MAX_BYTES = 16 << 20, /* agent spec 2.6 */
	MODEL_BLOCKS_MAX = 256,            /* ours: the agent takes 64 */
};

enum model_block { MODEL_TEXT, MODEL_REFUSAL, MODEL_THINKING, MODEL_CALL, MODEL_OPAQUE };

enum model_stop {
	MODEL_STOP_END,      /* it said all it had to */
	MODEL_STOP_CALLS,    /* it wants tools */
	MODEL_STOP_LENGTH,   /* the output limit */
	MODEL_STOP_SEQUENCE, /* a stop sequence of the request */
	MODEL_STOP_REFUSAL,  /* refused, by the model or a filter */
	MODEL_STOP_PAUSE,    /* Messages: pause_turn */
	MODEL_STOP_CONTEXT,  /* Messages: model_context_window_exceeded */
};

/* Tokens; -1: the provider did not say. input counts all of the prompt, cached parts too. */
struct model_usage {
	int64_t input, output;
	int64_t cached;         /* of input: read from a cache */
	int64_t cache_write;    /* of input: written to one */
	int64_t cache_write_1h; /* of cache_write: kept for an hour */
	int64_t reasoning;      /* of output */
};

/* What a provider's error means to whoever asked. */
enum model_fault {
	MODEL_FAULT_OTHER,
	MODEL_FAULT_RATE,       /* too fast: wait */
	MODEL_FAULT_OVERLOADED, /* busy: wait */
	MODEL_FAULT_QUOTA,      /* nothing left to spend: waiting does not help */
	MODEL_FAULT_CONTEXT,    /* the prompt is too long */
	MODEL_FAULT_REQUEST,    /* what was asked is wrong */
	MODEL_FAULT_AUTH,
	MODEL_FAULT_NOT_FOUND, /* previous_response_not_found and the like */
};

enum model_event_kind {
	MODEL_EV_START,     /* text: the reply's id; name: the model as the provider says it */
	MODEL_EV_BLOCK,     /* block begins: sort; MODEL_CALL: call_id, name */
	MODEL_EV_DELTA,     /* text: more of the block (a call: of its arguments' JSON text) */
	MODEL_EV_SIGNATURE, /* text: opaque proof of a thinking block (Messages), or of a call
			       (chat: its extra_content as JSON); to send back verbatim */
	MODEL_EV_BLOCK_END, /* item: the block as the provider's own JSON, to send back verbatim;
			       text: the block's whole text or arguments */
	MODEL_EV_USAGE,     /* usage as known so far; later ones replace */
	MODEL_EV_STOP,      /* stop; text: the stop sequence, where one is named */
	MODEL_EV_END,       /* the reply is whole; nothing follows */
	MODEL_EV_FAULT,     /* the provider failed the reply: fault, name its code, text its words,
			       retry_ms; nothing follows */
	MODEL_EV_KEEPALIVE, /* a sign of life without content: ping, comment, in_progress */
};
struct model_event {
	enum model_event_kind kind;
	int index; /* of the block */
	enum model_block sort;
	struct str text, name, call_id;
	struct str item; /* BLOCK_END: `responses` an output item, `messages` a content block;
			    absent for `chat`, whose message is its text and calls */
	struct model_usage usage;
	enum model_stop stop;
	enum model_fault fault;
	int64_t retry_ms; /* -1: not said */
};
/* What an event points to dies when this returns. */
typedef void (*model_on_event)(void *arg, const struct model_event *e);

/*
 * Decoding. Of `responses` the content is the events' (never response.output, which some leave
 * empty; an item there that was never streamed is told before the end); the text of a finished item
 * must be what was streamed. Call ids of one reply that are empty or double are MODEL_STREAM; where
 * `chat` gives none, one is made ("call_" and 24 letters and digits from the reply's id and index).
 */
struct model_decoder;
struct model_decoder *model_decoder_new(enum model_family f);
void model_decoder_free(struct model_decoder *d); /* NULL does nothing */
/* Feeds bytes of the stream. -1: nothing more is decoded. */
int model_decode(
	struct model_decoder *d, struct str bytes, model_on_event on, void *arg, struct error *err);
/* One event whole, without a stream's framing: a WebSocket message. */
int model_decode_message(
	struct model_decoder *d, struct str json, model_on_event on, void *arg, struct error *err);
/* The body ended. A last event without its blank line counts. MODEL_CUT when no MODEL_EV_END or
 * MODEL_EV_FAULT has come. */
int model_decode_end(struct model_decoder *d, model_on_event on, void *arg, struct error *err);

/* An error body (JSON of any of the families, or anything): its code, message and meaning, beside
 * the HTTP status. `ret` as MODEL_EV_FAULT; texts are appended to `keep` (a few KiB will do). */
void model_read_fault(enum model_family f, int status, struct str body, struct buf *keep,
	struct model_event *ret);

/*
 * What a decoder makes of a reply's odd parts:
 *  - A call without arguments has {}; what is streamed of a call may be cut short by LENGTH.
 *  - `chat`: reasoning_details are an opaque block whose text is their JSON, an array. Calls have
 * no end of their own there: the first is told as it comes, later ones when the reply is over.
 *  - `responses`: a message whose words turn into a refusal is two blocks, its item stands at the
 *    second. A block that was broken off (response.incomplete) may end without an item.
 *  - `messages`: in the item of a call whose arguments are no JSON object the input is {}.
 *  - STOP says CALLS for an end with calls, and END where calls were announced but none came.
 *
 * Encoding: the same events, in order, as the family's stream. The encoder checks nothing that a
 * decoder promises. BLOCK_END needs its text (and for `responses` the item when there is one).
 */
struct model_encoder;
struct model_encoder *model_encoder_new(enum model_family f);
void model_encoder_free(struct model_encoder *e); /* NULL does nothing */
void model_encode(struct model_encoder *e, const struct model_event *ev, struct buf *to);

/*
 * Server-sent events by themselves (WHATWG HTML 9.2): lines end in LF, CRLF or CR; several data:
 * lines are joined with LF; a BOM at the start is passed over. on() gets each event with its name
 * ("message" when none is given) and, for a comment, an absent data.
 */
struct model_sse;
typedef int (*model_on_sse)(void *arg, struct str name, struct str data, struct error *err);
struct model_sse *model_sse_new(size_t frame_max_bytes);
void model_sse_free(struct model_sse *s);
int model_sse_feed(struct model_sse *s, struct str bytes, model_on_sse on, void *arg,
	struct error *err); /* MODEL_LIMIT, MODEL_STREAM (not UTF-8), or on()'s -1 */
int model_sse_end(struct model_sse *s, model_on_sse on, void *arg, struct error *err);

#endif
