#ifndef AGENT_SERVE_REQUEST_H
#define AGENT_SERVE_REQUEST_H
/*
 * The request table: one row says all that can be said about an operation before it runs.
 */
#include <stdbool.h>
#include <stddef.h>

#include "error/error.h"
#include "json/json.h"

struct request;
struct session;

extern const struct error_kind REQUEST_INVALID;          /* invalid_request */
extern const struct error_kind REQUEST_TOO_LONG;         /* input_line_limit_or_truncation */
extern const struct error_kind REQUEST_REPLY_LIMIT;      /* response_size_limit */
extern const struct error_kind REQUEST_NOT_PERMITTED;    /* not_permitted */
extern const struct error_kind REQUEST_INVALID_PAGE;     /* invalid_event_page */
extern const struct error_kind REQUEST_INVALID_BOT_PAGE; /* invalid_bot_page */

/* Who may ask for it beside the person (agent spec 7.7). What a row does not say is the owner's. */
enum request_access {
	REQUEST_OWNER,  /* the daemon's own socket alone */
	REQUEST_READS,  /* a bot's socket too: it changes nothing */
	REQUEST_AS_BOT, /* a bot's socket too: its handler looks at request.session->as */
};

struct request_row {
	const char *op;
	const struct json_field *fields;
	size_t field_count;
	size_t args_size;
	void (*handle)(struct request *r, const void *args);
	enum request_access access;
	bool unordered; /* its reply may overtake and be overtaken */
};

const struct request_row *request_find(struct str op); /* NULL */
/* For `ready`: the names of all operations. */
void request_put_names(struct json_out *j, const char *name);
/* Parses a line and runs it; answers what cannot be run. */
void request_take(struct session *s, struct str line);

/* One table per file of operations, ended by a row without a name. */
extern const struct request_row bot_requests[];
extern const struct request_row turn_requests[];
extern const struct request_row life_requests[];
extern const struct request_row read_requests[];
extern const struct request_row artifact_requests[];
extern const struct request_row follow_requests[];
extern const struct request_row approval_requests[];
extern const struct request_row receipt_requests[];
extern const struct request_row pause_requests[];
extern const struct request_row served_requests[];
extern const struct request_row companion_requests[];
extern const struct request_row daemon_requests[];

#endif
