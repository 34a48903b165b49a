/*
 * fetch: where connections lead, which are unused, and who waits in line for one.
 */
#include "clock/clock.h"
#include "internal.h"

enum {
	ORIGINS_KEPT_MAX = 64, /* ours: without a connection, for their TLS session alone */
};

static void origin_free(struct origin *o)
{
	list_remove(&o->node);
	tls_session_free(o->session);
	free(o);
}

static bool is_unused(const struct origin *o)
{
	return o->connections == 0 && list_empty(&o->waiting);
}

/* Those that only keep a session go once there are many, the oldest first. */
static void forget_oldest(struct fetch *f)
{
	size_t count = 0;

	list_for_each (o, &f->origins, struct origin, node)
		count += is_unused(o);
	list_for_each_safe (o, &f->origins, struct origin, node) {
		if (count <= ORIGINS_KEPT_MAX)
			return;
		if (is_unused(o)) {
			origin_free(o);
			count--;
		}
	}
}

struct origin *pool_origin(struct fetch *f, const struct url *u, bool upgrade)
{
	const struct fetch_proxy *proxy = url_is_secure(u) ? &f->https_proxy : &f->http_proxy;
	bool tunnel = url_is_secure(u) || upgrade; /* RFC 6455 4.1 for the second */
	struct origin *new;

	if (proxy->at.port == 0 || proxy_is_bypassed(f->no_proxy, u))
		proxy = NULL;
	tunnel = tunnel && proxy;
	list_for_each (o, &f->origins, struct origin, node)
		if (o->tunnel == tunnel && url_same_origin(&o->url, u))
			return o;
	new = xcalloc(1, sizeof(*new));
	new->fetch = f;
	new->url = *u;
	new->url.path = STR("/");
	new->url.query = (struct str){0};
	new->proxy = proxy;
	new->tunnel = tunnel;
	list_init(&new->idle);
	list_init(&new->waiting);
	list_add_tail(&f->origins, &new->node);
	return new;
}

/* Unused connections */

static void leave_idle(struct conn *n)
{
	if (list_empty(&n->node))
		return;
	list_remove(&n->node);
	n->fetch->counts.idle--;
}

/* The one used last: it is the least likely to be dropped by its server. */
static struct conn *take_idle(struct origin *o)
{
	while (!list_empty(&o->idle)) {
		struct conn *n = list_entry(o->idle.prev, struct conn, node);

		if (conn_is_usable(n)) {
			leave_idle(n);
			return n;
		}
		conn_close(n); /* does nothing when looking at it did */
	}
	return NULL;
}

static void set_idle_timer(struct fetch *f)
{
	int64_t first_ms = INT64_MAX;

	list_for_each (o, &f->origins, struct origin, node) {
		int64_t since_ms;

		if (list_empty(&o->idle))
			continue;
		since_ms = list_first(&o->idle, struct conn, node)->idle_since_ms;
		first_ms = since_ms < first_ms ? since_ms : first_ms;
	}
	if (first_ms == INT64_MAX)
		loop_timer_stop(f->idle_timer);
	else
		loop_timer_set(f->idle_timer,
			first_ms + f->idle_keep_ms - clock_mono_ms(clock_system()) + 1);
}

/* The line */

/* False when the first in line must wait on. */
static bool serve_first(struct origin *o)
{
	struct fetch_call *c = list_first(&o->waiting, struct fetch_call, node);
	size_t max = o->fetch->per_origin_max;
	struct conn *n = c->fresh ? NULL : take_idle(o);

	if (!n && max > 0 && o->connections >= max) {
		if (list_empty(&o->idle))
			return false;
		conn_close(list_first(&o->idle, struct conn, node)); /* for one that is fresh */
	}
	list_remove(&c->node);
	o->fetch->counts.waiting--;
	if (n) {
		n->call = c;
		n->reused = true;
		call_connected(c, n);
	} else {
		conn_open(o, c);
	}
	return true;
}

void pool_unused(struct origin *o)
{
	if (!is_unused(o))
		return;
	if (o->session)
		forget_oldest(o->fetch);
	else
		origin_free(o);
}

/* Nothing it calls tells a caller anything. */
static void serve(struct origin *o)
{
	if (o->serving)
		return;
	o->serving = true;
	while (!list_empty(&o->waiting) && serve_first(o))
		;
	o->serving = false;
	pool_unused(o);
}

void pool_ask(struct fetch_call *c)
{
	list_add_tail(&c->origin->waiting, &c->node);
	c->fetch->counts.waiting++;
	serve(c->origin);
}

void pool_ask_first(struct fetch_call *c)
{
	list_add_head(&c->origin->waiting, &c->node);
	c->fetch->counts.waiting++;
	serve(c->origin);
}

void pool_give_up(struct fetch_call *c)
{
	list_remove(&c->node);
	c->fetch->counts.waiting--;
	serve(c->origin);
}

void pool_keep(struct conn *n)
{
	struct fetch *f = n->fetch;

	n->idle_since_ms = clock_mono_ms(clock_system());
	list_add_tail(&n->origin->idle, &n->node);
	f->counts.idle++;
	serve(n->origin);
	if (!loop_timer_active(f->idle_timer))
		set_idle_timer(f);
}

void pool_joined(struct conn *n)
{
	n->origin->connections++;
	n->fetch->counts.connections++;
}

void pool_left(struct conn *n)
{
	leave_idle(n);
	n->origin->connections--;
	n->fetch->counts.connections--;
	serve(n->origin);
}

static void close_idle(struct origin *o, int64_t until_ms)
{
	o->serving = true; /* it must outlast its last connection */
	while (!list_empty(&o->idle) &&
		list_first(&o->idle, struct conn, node)->idle_since_ms <= until_ms)
		conn_close(list_first(&o->idle, struct conn, node));
	o->serving = false;
	serve(o);
}

void pool_timer(void *fetch)
{
	struct fetch *f = fetch;
	int64_t until_ms = clock_mono_ms(clock_system()) - f->idle_keep_ms;

	list_for_each_safe (o, &f->origins, struct origin, node)
		close_idle(o, until_ms);
	set_idle_timer(f);
}

void pool_free(struct fetch *f)
{
	list_for_each_safe (o, &f->origins, struct origin, node)
		close_idle(o, INT64_MAX);
	list_for_each_safe (o, &f->origins, struct origin, node)
		origin_free(o);
}
