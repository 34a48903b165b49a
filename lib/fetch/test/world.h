#ifndef FETCH_TEST_WORLD_H
#define FETCH_TEST_WORLD_H
/*
 * world: a client and a small HTTP server on one loop, and what a call told.
 */
#include "fetch/fetch.h"
#include "testing.h"

/* The server: it reads requests and lets the test answer. */

struct server;
struct peer { /* one connection to it */
	struct list node;
	struct server *server;
	struct loop_stream *stream; /* NULL: closed */
	int fd;                     /* of the stream, which owns it */
	struct loop_timer *timer;   /* for what is said byte by byte */
	struct http_reader *reader;
	struct buf raw;  /* all it sent */
	struct buf body; /* of the last request */
	struct buf slow;
	size_t slow_at;
	bool slow_close;
	int requests, answered; /* the second one is the test's to count */
};
struct server_rules {
	/* A whole request; or, when at_head, its head. NULL: silence. */
	void (*request)(struct peer *p, const struct http_head *h);
	void (*raw)(struct peer *p, struct str bytes); /* after peer_go_raw */
	bool raw_only;                                 /* no requests: all of it comes to raw */
	bool at_head; /* asked at the head, and reads no further by itself */
};
struct server {
	struct loop *loop;
	struct loop_listener *listener;
	struct server_rules rules;
	struct list peers;
	uint16_t port;
	int accepted, requests, ended; /* connections, requests, peers that left */
	void *of_test;
};
void server_open(struct server *s, struct loop *l, const struct server_rules *rules);
void server_close(struct server *s);
void peer_say(struct peer *p, const char *text);
void peer_say_slowly(struct peer *p, const char *text, bool then_close); /* byte by byte */
void peer_close(struct peer *p);                                         /* after what was said */
void peer_reset(struct peer *p);
void peer_go_raw(struct peer *p); /* what follows comes to rules.raw */
struct peer *server_last_peer(struct server *s);
/* A port of 127.0.0.1 whose connections are never accepted: the descriptors to close are in fds. */
uint16_t silent_port(int fds[8]);

/* The client and its calls. */

struct world {
	struct loop *loop;
	struct fetch *fetch;
	struct server server;
	int running; /* calls that are not over */
};
/* o may be NULL; its loop is filled in. */
void world_open(struct world *w, const struct server_rules *rules, const struct fetch_options *o);
void world_close(struct world *w);
void world_run(struct world *w); /* until no call runs */
void world_wait(struct world *w, int64_t ms);
int open_descriptors(void);

enum moment { AT_NONE, AT_SENT, AT_HEAD, AT_BODY, AT_DONE };
struct call {
	struct world *world;
	struct fetch_call *call; /* NULL: over */
	int status;
	char header[64]; /* X-Test of the answer */
	struct buf body;
	char told[32]; /* s, h, b (once a run of them), d or e: in the order they came */
	struct error err;
	enum moment cancel_at, pause_at, resume_at;
	bool free_too;                   /* frees the fetch with the cancel */
	void (*then)(struct call *c);    /* in done() */
	void (*in_body)(struct call *c); /* in body(), before the bytes are taken */
	void *of_test;
};
struct request {
	const char *method, *path; /* GET and / when NULL */
	const char *url;           /* instead of path: whole */
	const struct url *parsed;  /* instead of url */
	struct http_header headers[8];
	struct str body[4];
	int64_t head_ms, idle_ms, total_ms;
	bool fresh, upgrade;
};
void call_init(struct call *c, struct world *w);
void call_start(struct call *c, const struct request *r);
void call_do(struct call *c, const struct request *r); /* starts it and runs to its end */
void call_release(struct call *c);
void assert_done(const struct call *c, int status, const char *body);
void assert_failed(const struct call *c, const struct error_kind *kind, const char *says);

#endif
