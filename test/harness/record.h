#ifndef HARNESS_RECORD_H
#define HARNESS_RECORD_H
/* The record: a row of JSON for each request, in the file before anything is answered. */
#include "http/http.h"
#include "test/harness/ask.h"

struct record;
int record_open(const char *path, struct record **ret, struct error *err);
void record_free(struct record *r); /* NULL does nothing */

struct record_request {
	int64_t now_ms;
	uint64_t connection;
	bool tls;
	bool socket; /* a message over WebSocket */
	const struct http_head *head;
	struct str body;
	bool body_is_json;
	struct str conversation; /* absent: it was no request to a model */
	size_t round;
	struct str fault; /* why it was refused, or absent */
};
/* Both return the row's number; a NULL record counts nothing. */
void record_request(struct record *r, uint64_t n, const struct record_request *q);
void record_left(struct record *r, uint64_t n, uint64_t after_bytes);
/* Bytes that were no request. */
void record_bad(struct record *r, uint64_t n, uint64_t connection, const char *why);

#endif
