/*
 * loop: timers, signals, listeners and children.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "internal.h"
#include "os/os.h"

enum {
	ACCEPTS_A_ROUND = 16, /* ours: a burst of connections must not starve the ones there are */
	ACCEPT_REST_MS = 100, /* loop.h: how long to wait when out of descriptors */
};

struct loop_timer {
	uv_timer_t uv;
	struct loop *loop;
	struct loop_task now; /* "next round" without a detour through the clock */
	void (*fn)(void *arg);
	void *arg;
};

struct loop_signal {
	uv_signal_t uv;
	void (*fn)(void *arg, int signum);
	void *arg;
};

struct loop_listener {
	uv_poll_t poll;
	uv_timer_t rest;
	int fd;
	int open_handles;
	bool closed;
	void (*accepted)(void *arg, int fd);
	void *arg;
};

struct loop_child {
	struct list node; /* in orphans once let go */
	uv_poll_t poll;
	int pidfd;
	bool telling; /* inside exited() */
	void (*exited)(void *arg, int code, int signal);
	void *arg;
};

/* Timers */

static void timer_fired(uv_timer_t *uv)
{
	struct loop_timer *t = uv->data;

	t->fn(t->arg);
}

static void timer_now(void *arg)
{
	struct loop_timer *t = arg;

	t->fn(t->arg);
}

static void timer_closed(uv_handle_t *h)
{
	free(h->data);
}

struct loop_timer *loop_timer_new(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct loop_timer *t = xcalloc(1, sizeof(*t));

	t->loop = l;
	t->fn = fn;
	t->arg = arg;
	loop_task_init(&t->now, timer_now, t);
	must(uv_timer_init(&l->uv, &t->uv) == 0);
	t->uv.data = t;
	return t;
}

void loop_timer_set(struct loop_timer *t, int64_t after_ms)
{
	/* libuv counts from the start of the round, which may be some time ago. */
	uint64_t late_ms = uv_hrtime() / 1000000 - uv_now(&t->loop->uv);

	loop_timer_stop(t);
	if (after_ms <= 0)
		loop_task_add(t->loop, &t->now);
	else
		must(uv_timer_start(&t->uv, timer_fired, (uint64_t)after_ms + late_ms, 0) == 0);
}

void loop_timer_stop(struct loop_timer *t)
{
	loop_task_cancel(&t->now);
	(void)uv_timer_stop(&t->uv); /* always 0 */
}

bool loop_timer_active(const struct loop_timer *t)
{
	return loop_task_due(&t->now) || uv_is_active((const uv_handle_t *)&t->uv);
}

void loop_timer_unref(struct loop_timer *t)
{
	uv_unref((uv_handle_t *)&t->uv);
}

void loop_timer_free(struct loop_timer *t)
{
	if (!t)
		return;
	loop_timer_stop(t);
	uv_close((uv_handle_t *)&t->uv, timer_closed);
}

/* Signals */

static void signal_came(uv_signal_t *uv, int signum)
{
	struct loop_signal *s = uv->data;

	s->fn(s->arg, signum);
}

static void signal_closed(uv_handle_t *h)
{
	free(h->data);
}

struct loop_signal *loop_signal_new(
	struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg)
{
	struct loop_signal *s = xcalloc(1, sizeof(*s));

	s->fn = fn;
	s->arg = arg;
	must(uv_signal_init(&l->uv, &s->uv) == 0);
	must(uv_signal_start(&s->uv, signal_came, signum) == 0);
	s->uv.data = s;
	return s;
}

void loop_signal_free(struct loop_signal *s)
{
	if (s)
		uv_close((uv_handle_t *)&s->uv, signal_closed);
}

/* Listeners */

static void listener_rested(uv_timer_t *rest);

/* 1 a connection, 0 none waits, -1 none can be taken now. */
static int listener_accept(struct loop_listener *s, int *ret_fd)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		*ret_fd = fd;
		return 1;
	}
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return 0; /* still readable if another one waits */
	return -1;
}

static void listener_ready(uv_poll_t *poll, int status, int events)
{
	struct loop_listener *s = poll->data;
	int fd, got = 1;

	(void)status;
	(void)events;
	for (int i = 0; i < ACCEPTS_A_ROUND && !s->closed; i++) {
		got = listener_accept(s, &fd);
		if (got <= 0)
			break;
		s->accepted(s->arg, fd);
	}
	if (s->closed)
		return;
	if (got < 0 || status < 0) {
		(void)uv_poll_stop(&s->poll); /* always 0 */
		must(uv_timer_start(&s->rest, listener_rested, ACCEPT_REST_MS, 0) == 0);
	}
}

static void listener_rested(uv_timer_t *rest)
{
	struct loop_listener *s = rest->data;

	must(uv_poll_start(&s->poll, UV_READABLE, listener_ready) == 0);
}

static void listener_gone(uv_handle_t *h)
{
	struct loop_listener *s = h->data;

	if (--s->open_handles == 0)
		free(s);
}

int loop_listen(struct loop *l, int fd, void (*accepted)(void *arg, int fd), void *arg,
	struct loop_listener **ret, struct error *err)
{
	struct loop_listener *s = xcalloc(1, sizeof(*s));
	int status = uv_poll_init(&l->uv, &s->poll, fd);

	if (status < 0) {
		free(s);
		return loop_uv_error(err, status, "wait for connections");
	}
	must(uv_timer_init(&l->uv, &s->rest) == 0);
	s->poll.data = s->rest.data = s;
	s->open_handles = 2;
	s->fd = fd;
	s->accepted = accepted;
	s->arg = arg;
	must(uv_poll_start(&s->poll, UV_READABLE, listener_ready) == 0);
	*ret = s;
	return 0;
}

void loop_listener_close(struct loop_listener *s)
{
	if (!s)
		return;
	s->closed = true;
	uv_close((uv_handle_t *)&s->poll, listener_gone);
	uv_close((uv_handle_t *)&s->rest, listener_gone);
	os_close(s->fd);
}

/* Children */

static void child_gone(uv_handle_t *h)
{
	free(h->data);
}

static void child_close(struct loop_child *c)
{
	list_remove(&c->node);
	uv_close((uv_handle_t *)&c->poll, child_gone);
	os_close(c->pidfd);
	c->pidfd = -1;
}

static int child_wait(const struct loop_child *c, siginfo_t *ret_info, int flags)
{
	int rc;

	do {
		ret_info->si_pid = 0; /* stays so when it has not ended */
		rc = waitid(P_PIDFD, (id_t)c->pidfd, ret_info, WEXITED | WNOHANG | flags);
	} while (rc < 0 && errno == EINTR);
	return rc;
}

/* Tells first and reaps then, so that the pid and the group of that number are surely the child's
 * while exited() runs. */
static void child_ready(uv_poll_t *poll, int status, int events)
{
	struct loop_child *c = poll->data;
	siginfo_t info;
	int rc = child_wait(c, &info, WNOWAIT);
	bool by_signal;

	(void)status;
	(void)events;
	if (rc == 0 && info.si_pid == 0)
		return;
	/* Someone else reaped it, which no code of ours does: nothing is known of its end. */
	by_signal = rc == 0 && info.si_code != CLD_EXITED;
	if (rc < 0)
		info.si_status = 255;
	(void)uv_poll_stop(poll); /* always 0 */
	c->telling = true;
	if (c->exited)
		c->exited(c->arg, by_signal ? 128 + info.si_status : info.si_status,
			by_signal ? info.si_status : 0);
	c->telling = false;
	(void)child_wait(c, &info, 0); /* reaps: it has ended */
	if (!c->exited)
		child_close(c);
}

struct loop_child *loop_child_watch(struct loop *l, int pidfd,
	void (*exited)(void *arg, int code, int signal), void *arg, struct error *err)
{
	struct loop_child *c = xcalloc(1, sizeof(*c));
	int status = uv_poll_init(&l->uv, &c->poll, pidfd);

	if (status < 0) {
		free(c);
		(void)loop_uv_error(err, status, "wait for a process");
		return NULL;
	}
	list_init(&c->node);
	c->poll.data = c;
	c->pidfd = pidfd;
	c->exited = exited;
	c->arg = arg;
	must(uv_poll_start(&c->poll, UV_READABLE, child_ready) == 0);
	return c;
}

void loop_child_free(struct loop_child *c)
{
	if (!c)
		return;
	c->exited = NULL;
	if (c->telling)
		return; /* child_ready goes on with it */
	if (!uv_is_active((uv_handle_t *)&c->poll)) {
		child_close(c);
		return;
	}
	uv_unref((uv_handle_t *)&c->poll);
	list_add_tail(&((struct loop *)c->poll.loop->data)->orphans, &c->node);
}

void loop_orphans_close(struct loop *l)
{
	list_for_each_safe (c, &l->orphans, struct loop_child, node)
		child_close(c);
}
