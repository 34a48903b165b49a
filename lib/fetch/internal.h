#ifndef FETCH_INTERNAL_H
#define FETCH_INTERNAL_H
/*
 * What the files of lib/fetch share.
 *
 * A call (call.c) belongs to an origin's line (pool.c) until it has a connection (conn.c), which it
 * keeps to its end. A connection knows nothing of HTTP but a proxy's CONNECT; tls.c nothing but
 * bytes. Downwards are calls, upwards the conn_ and call_ functions named below.
 *
 * Memory that a callback may still be looking at goes back after the round.
 */
#include "fetch/fetch.h"

/* The forward proxy for one of the two schemes; in use when its port is not 0. */
struct fetch_proxy {
	struct url_authority at;
	char *authorization; /* "Basic …", or NULL; wiped when freed */
};
/* "http://[USER:PASSWORD@]HOST[:PORT]"; NULL and "" are none. `what` names the variable. */
int proxy_init(struct fetch_proxy *p, const char *url, const char *what, struct error *err);
void proxy_forget_login(struct fetch_proxy *p);
void proxy_release(struct fetch_proxy *p);
/* Whether NO_PROXY's list takes this host out, or it is loopback. */
bool proxy_is_bypassed(const char *no_proxy, const struct url *u);

struct conn;
struct tls;
struct tls_shared; /* one SSL_CTX and what goes with it */
struct fetch {
	struct loop *loop;
	struct fetch_proxy https_proxy, http_proxy;
	char *no_proxy, *ca_file;
	bool refuse_private;
	int64_t connect_ms, idle_keep_ms;
	size_t per_origin_max; /* 0: no limit */
	struct list origins;
	struct loop_timer *idle_timer; /* for the connection that is unused the longest */
	struct tls_shared *tls;        /* made at the first https call */
	struct fetch_counts counts;
	size_t calls;
};

/* Where connections of one kind lead. Lives while it has any, or calls in line, or a session. */
struct origin {
	struct list node;
	struct fetch *fetch;
	struct url url; /* without path and query */
	const struct fetch_proxy *proxy;
	bool tunnel; /* through the proxy by CONNECT */
	struct list idle, waiting;
	size_t connections;
	bool serving;  /* its line is being looked at: not again from inside, and no end */
	void *session; /* SSL_SESSION of the last handshake, or NULL */
};

/* pool.c */
struct fetch_call;
/* Gives the call a connection, at once or when one is free. */
void pool_ask(struct fetch_call *c);
void pool_unused(struct origin *o); /* ends it if nothing needs it */
struct origin *pool_origin(struct fetch *f, const struct url *u, bool upgrade);
/* The connection is whole and unused: to the next in line, or kept. */
void pool_keep(struct conn *n);
/* One more, or one less. The origin may be gone after pool_left. */
void pool_joined(struct conn *n);
void pool_left(struct conn *n);
/* A call goes to the front of the line, or leaves it. */
void pool_ask_first(struct fetch_call *c);
void pool_give_up(struct fetch_call *c);
void pool_free(struct fetch *f);
void pool_timer(void *fetch); /* closes what is unused too long */

/* conn.c */
enum conn_state { CONN_FINDING, CONN_CONNECTING, CONN_PROXY, CONN_TLS, CONN_OPEN, CONN_CLOSED };
struct conn {
	struct list node; /* among the idle ones of its origin */
	struct fetch *fetch;
	struct origin *origin;
	struct fetch_call *call; /* NULL: idle */
	enum conn_state state;
	bool reused; /* its call is not its first */
	bool paused;
	struct loop_lookup *lookup;
	struct loop_connect *connect;
	struct loop_stream *stream;
	struct tls *tls;
	struct http_reader *reader; /* of the proxy's answer, then of its call's */
	struct buf held;            /* read, but not taken by a paused call */
	int64_t idle_since_ms;
};
/* Starts one for the call. Tells call_connected or call_failed, later. */
void conn_open(struct origin *o, struct fetch_call *c);
/* Nothing is told any more; memory goes back after the round. The next in line gets its place. */
void conn_close(struct conn *n);
void conn_write(struct conn *n, struct str bytes);
size_t conn_queued(const struct conn *n);
void conn_pause(struct conn *n);
/* Gives its call what was held (call_input, also when that is nothing), then reads on. */
void conn_resume(struct conn *n);
/* Whether nothing was read beyond what its call took: only then may another one use it. */
bool conn_is_quiet(struct conn *n);
/* Reads now what is there. */
void conn_look(struct conn *n);
/* Looks at an idle one before it is used again: false when its peer is gone. */
bool conn_is_usable(struct conn *n);
/* What tls.c hands up: bytes for the state the connection is in, and ends. */
void conn_plain(struct conn *n, struct str bytes);
void conn_secured(struct conn *n);
void conn_ended(struct conn *n, bool clean, const struct error *err);
void conn_fail(struct conn *n, const struct error *err);

/* tls.c */
int tls_start(struct conn *n, struct error *err);
void tls_close(struct tls *t); /* says goodbye if it can */
void tls_free(struct tls *t);
void tls_input(struct tls *t, struct str bytes); /* all of it is taken */
void tls_continue(struct tls *t);                /* after a pause */
void tls_write(struct tls *t, struct str bytes);
bool tls_is_quiet(struct tls *t);
void tls_shared_free(void *shared);
void tls_session_free(void *session);

/* call.c */
enum call_phase { CALL_WAITING, CALL_CONNECTING, CALL_HEAD, CALL_BODY, CALL_RAW, CALL_OVER };
struct fetch_call {
	struct list node; /* in its origin's line while it waits */
	struct fetch *fetch;
	struct origin *origin;
	struct conn *conn;
	struct fetch_callbacks cb;
	void *arg;
	struct loop_timer *timer;
	enum call_phase phase;
	bool fresh, upgrade, last; /* last: the request says close */
	bool repeatable;           /* may be sent again over another connection */
	bool sent, paused, resuming;
	bool heard;      /* a byte of the answer came */
	bool keep_alive; /* what its head said */
	char method[16];
	struct buf first;  /* the head, and the body when it is small */
	struct str *body;  /* what follows `first` */
	size_t body_count; /* with body_next: which piece, body_at: where in it */
	size_t body_next, body_at;
	bool first_written;
	int64_t head_ms, idle_ms;
	int64_t total_ms, total_at_ms, phase_at_ms; /* when the limit is reached; 0: none */
	int64_t heard_at_ms;
};
void call_begin(struct fetch_call *c);
void call_discard(struct fetch_call *c); /* one that never began */
void call_connecting(struct fetch_call *c, struct conn *n);
void call_connected(struct fetch_call *c, struct conn *n);
void call_drained(struct fetch_call *c);
size_t call_input(struct fetch_call *c, struct str bytes); /* how much was taken */
void call_ended(struct fetch_call *c, bool clean, const struct error *why);
/* The end with an error; its connection is closed. */
void call_fail(struct fetch_call *c, const struct error *err);

/* "'example.com' port 443", for error texts. */
struct place_text {
	char s[URL_HOST_MAX_BYTES + 32];
};
struct place_text place_text(const struct url *u);

#endif
