#ifndef HARNESS_ASK_H
#define HARNESS_ASK_H
/*
 * What a model request asks for: which conversation of the script, which of its rounds. All of it
 * is in the request, so that nothing has to be remembered between two of them.
 *
 * A request is refused as a provider would: no model, no messages, a call without its result or a
 * result without its call, an empty text in `messages`, a text that the script says to refuse.
 */
#include "test/harness/script.h"

extern const struct error_kind ASK_INVALID;   /* invalid_request_error */
extern const struct error_kind ASK_NOT_FOUND; /* previous_response_not_found */

struct ask {
	enum model_family family;
	struct str model;
	bool stream;
	bool wants_usage;                               /* of a stream of `chat` */
	bool wants_encrypted;                           /* reasoning, of `responses` */
	const struct script_conversation *conversation; /* NULL: none of the script */
	struct str name;                                /* of the conversation */
	size_t round;
	uint64_t hash;           /* of all that was said so far */
	struct str user, result; /* the text behind the name; the newest result of a tool */
};

/* What it points to lives in the arena, which the body's document was parsed into, or in `s`. */
int ask_read(struct arena *a, const struct script *s, enum model_family family,
	const struct json *body, struct ask *ret, struct error *err);

/* Ids are made from hash, round and index. Their first 12 digits and the round are told apart by
 * ask_id_key, which gives what two ids of one reply have in common; absent for one of another
 * making. */
char *ask_make_id(struct arena *a, const char *prefix, const struct ask *ask, size_t index);
struct str ask_id_key(struct str id);
/* The id of a whole `responses` reply, which a later request may name as the previous one. */
char *ask_response_id(struct arena *a, const struct ask *ask);

#endif
