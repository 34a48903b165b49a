#ifndef HARNESS_SERVER_H
#define HARNESS_SERVER_H
/*
 * The loopback server: what all connections share, and how a request gets its answer.
 */
#include "http/http.h"
#include "loop/loop.h"
#include "table/table.h"
#include "test/harness/answer.h"
#include "test/harness/record.h"
#include "test/harness/tls.h"

/* How often a round was asked for whose fault passes. */
struct tries {
	uint64_t count;
};

struct server {
	struct loop *loop;
	struct script *script;
	struct record *record; /* NULL: none is kept */
	struct tls_context *tls;
	int64_t latency_ms;
	struct list conns;
	struct table *tries; /* struct tries by hash */
	struct arena arena;  /* of these */
	uint64_t requests, connections;
	struct buf plain, sealed; /* lent to one connection at a time */
};

/* A request, whole. */
struct request {
	const struct http_head *head;
	struct str path; /* of the target, without the query */
	struct str body;
	struct answer_frame frame;
	struct arena *arena;
	struct record_request row; /* what the record will hold; routes fill in what they find */
};

/* Makes the answer: finds the route, looks at the key, and calls its handler. */
void route_request(struct server *s, struct request *r, struct answer *a);

/* Takes an accepted descriptor. */
void conn_new(struct server *s, int fd);
/* Closes every connection there is. */
void conn_close_all(struct server *s);

#endif
