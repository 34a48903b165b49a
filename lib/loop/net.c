/*
 * loop: names looked up off the loop's thread, and TCP connections made without waiting.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "internal.h"
#include "os/os.h"

enum {
	NEXT_AFTER_MS = 250, /* RFC 8305 section 8: the connection attempt delay */
};

const struct error_kind LOOP_NO_ADDRESS = {"no_address", ERROR_CLASS_UNAVAILABLE};
const struct error_kind LOOP_NO_CONNECTION = {"no_connection", ERROR_CLASS_UNAVAILABLE};

struct loop_lookup {
	uv_getaddrinfo_t req;
	bool asked; /* the request is with libuv */
	void (*found)(void *arg, const union loop_address *a, size_t count,
		const struct error *err); /* NULL: given up */
	void *arg;
	struct loop_task failed; /* tells of a request that libuv did not take */
	int status;
	char name[]; /* for the error's text */
};

/* One address being tried. */
struct attempt {
	struct list node; /* in its owner's attempts, until it is closed */
	struct loop_connect *owner;
	uv_poll_t poll;
	int fd;
	size_t index;
};

struct loop_connect {
	struct loop *loop;
	uv_timer_t timer;
	struct loop_task failed; /* tells of an end that came inside loop_connect_new */
	struct list attempts;
	void (*done)(void *arg, int fd, const struct error *err);
	void *arg;
	int sys; /* what the last one that failed failed of, and which it was */
	size_t failed_index;
	size_t next, count;
	union loop_address addresses[];
};

/* Addresses */

bool loop_address_parse(const char *text, uint16_t port, union loop_address *ret)
{
	union loop_address a = {.any = {.sa_family = AF_INET}};

	if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1) {
		a.v4.sin_port = htons(port);
	} else {
		a = (union loop_address){
			.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)}
                };
		if (inet_pton(AF_INET6, text, &a.v6.sin6_addr) != 1)
			return false;
	}
	*ret = a;
	return true;
}

static socklen_t address_len(const union loop_address *a)
{
	return a->any.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

/* "127.0.0.1 port 80" */
static void address_text(const union loop_address *a, char *out, size_t size)
{
	bool six = a->any.sa_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "";

	(void)inet_ntop(a->any.sa_family,
		six ? (const void *)&a->v6.sin6_addr : (const void *)&a->v4.sin_addr, host,
		sizeof(host)); /* fails for no family but these two */
	(void)snprintf(out, size, "%s port %u", host,
		(unsigned)ntohs(six ? a->v6.sin6_port : a->v4.sin_port)); /* sized for both */
}

/* Names */

static size_t take_addresses(const struct addrinfo *list, union loop_address out[])
{
	size_t count = 0;

	for (const struct addrinfo *i = list; i && count < LOOP_ADDRESSES_MAX; i = i->ai_next) {
		if (i->ai_family != AF_INET && i->ai_family != AF_INET6)
			continue;
		must(i->ai_addrlen <= sizeof(out[0]));
		memcpy(&out[count++], i->ai_addr, i->ai_addrlen);
	}
	return count;
}

static void tell_found(struct loop_lookup *k, const union loop_address *a, size_t count)
{
	void (*found)(void *, const union loop_address *, size_t, const struct error *) = k->found;
	struct error err = ERROR_INIT;

	k->found = NULL; /* once */
	if (count > 0) {
		found(k->arg, a, count, NULL);
		return;
	}
	(void)error_set(&err, &LOOP_NO_ADDRESS, "no address for '%s': %s", k->name,
		k->status < 0 ? uv_strerror(k->status) : "none of a known kind"); /* always -1 */
	found(k->arg, NULL, 0, &err);
}

/* The request and its memory are libuv's until here. */
static void looked_up(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
	struct loop_lookup *k = req->data;
	union loop_address a[LOOP_ADDRESSES_MAX];
	size_t count = take_addresses(list, a);

	k->asked = false;
	k->status = status;
	uv_freeaddrinfo(list);
	if (!k->found) {
		free(k);
		return;
	}
	tell_found(k, a, count);
}

static void lookup_failed(void *arg)
{
	tell_found(arg, NULL, 0);
}

struct loop_lookup *loop_lookup_new(struct loop *l, const char *name, uint16_t port,
	void (*found)(
		void *arg, const union loop_address *a, size_t count, const struct error *err),
	void *arg)
{
	struct loop_lookup *k = xcalloc(1, sizeof(*k) + strlen(name) + 1);
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	char service[8];

	memcpy(k->name, name, strlen(name));
	k->found = found;
	k->arg = arg;
	k->req.data = k;
	loop_task_init(&k->failed, lookup_failed, k);
	(void)snprintf(service, sizeof(service), "%u", (unsigned)port); /* at most 5 digits */
	k->status = uv_getaddrinfo(&l->uv, &k->req, looked_up, name, service, &hints);
	k->asked = k->status == 0;
	if (!k->asked)
		loop_task_add(l, &k->failed);
	return k;
}

void loop_lookup_free(struct loop_lookup *k)
{
	if (!k)
		return;
	k->found = NULL;
	loop_task_cancel(&k->failed);
	if (k->asked)
		(void)uv_cancel((uv_req_t *)&k->req); /* fails when it runs: looked_up frees */
	else
		free(k);
}

/* Connections */

static void connect_more(struct loop_connect *c);

static void attempt_gone(uv_handle_t *h)
{
	free(h->data);
}

/* Its descriptor is the caller's from here. */
static void attempt_close(struct attempt *t)
{
	list_remove(&t->node);
	uv_close((uv_handle_t *)&t->poll, attempt_gone);
}

static void stop_attempts(struct loop_connect *c)
{
	(void)uv_timer_stop(&c->timer); /* always 0 */
	list_for_each_safe (t, &c->attempts, struct attempt, node) {
		os_close(t->fd);
		attempt_close(t);
	}
}

static void tell_failed(void *arg)
{
	struct loop_connect *c = arg;
	struct error err = ERROR_INIT;
	char where[INET6_ADDRSTRLEN + 16];

	address_text(&c->addresses[c->failed_index], where, sizeof(where));
	errno = c->sys;
	(void)error_sys_kind(&err, &LOOP_NO_CONNECTION, "connect to %s", where); /* always -1 */
	c->done(c->arg, -1, &err);
}

static void note_failure(struct loop_connect *c, size_t index, int sys)
{
	c->sys = sys;
	c->failed_index = index;
}

/* Tells once nothing is tried any more and nothing is left to try. */
static void attempt_ready(uv_poll_t *poll, int status, int events)
{
	struct attempt *t = poll->data;
	struct loop_connect *c = t->owner;
	int sys = 0, fd = t->fd;
	socklen_t len = sizeof(sys);

	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &len) < 0)
		sys = errno;
	if (sys == 0 && status < 0)
		sys = -status;
	attempt_close(t);
	if (sys == 0) {
		stop_attempts(c);
		c->done(c->arg, fd, NULL);
		return;
	}
	note_failure(c, t->index, sys);
	os_close(fd);
	connect_more(c);
	if (list_empty(&c->attempts)) {
		loop_task_cancel(&c->failed);
		tell_failed(c);
	}
}

/* -1 when it failed at once, with errno. */
static int attempt_start(struct loop_connect *c, size_t index)
{
	const union loop_address *a = &c->addresses[index];
	_cleanup_(fd) int fd = -1;
	struct attempt *t;
	int on = 1, status;

	fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* slower without */
	if (connect(fd, &a->any, address_len(a)) < 0 && errno != EINPROGRESS)
		return -1;
	t = xcalloc(1, sizeof(*t));
	status = uv_poll_init(&c->loop->uv, &t->poll, fd);
	if (status < 0) {
		free(t);
		errno = -status;
		return -1;
	}
	t->owner = c;
	t->index = index;
	t->poll.data = t;
	t->fd = fd_take(&fd);
	list_add_tail(&c->attempts, &t->node);
	must(uv_poll_start(&t->poll, UV_WRITABLE, attempt_ready) == 0);
	return 0;
}

static void connect_late(uv_timer_t *timer)
{
	connect_more(timer->data);
}

/* Tries the next address that does not fail at once. */
static void connect_more(struct loop_connect *c)
{
	(void)uv_timer_stop(&c->timer); /* always 0 */
	while (c->next < c->count) {
		size_t index = c->next++;

		if (attempt_start(c, index) == 0) {
			if (c->next < c->count)
				must(uv_timer_start(&c->timer, connect_late, NEXT_AFTER_MS, 0) ==
					0);
			return;
		}
		note_failure(c, index, errno);
	}
	if (list_empty(&c->attempts))
		loop_task_add(c->loop, &c->failed);
}

struct loop_connect *loop_connect_new(struct loop *l, const union loop_address *a, size_t count,
	void (*done)(void *arg, int fd, const struct error *err), void *arg)
{
	struct loop_connect *c;

	must(count > 0 && count <= LOOP_ADDRESSES_MAX);
	c = xcalloc(1, sizeof(*c) + count * sizeof(*a));
	c->loop = l;
	c->done = done;
	c->arg = arg;
	c->count = count;
	memcpy(c->addresses, a, count * sizeof(*a));
	list_init(&c->attempts);
	loop_task_init(&c->failed, tell_failed, c);
	must(uv_timer_init(&l->uv, &c->timer) == 0);
	c->timer.data = c;
	connect_more(c);
	return c;
}

static void connect_gone(uv_handle_t *h)
{
	free(h->data);
}

void loop_connect_free(struct loop_connect *c)
{
	if (!c)
		return;
	loop_task_cancel(&c->failed);
	stop_attempts(c);
	uv_close((uv_handle_t *)&c->timer, connect_gone);
}
