/* Listings of models, kept and shared. */
#include "agent/serve/models.h"

#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "agent/serve/op.h"
#include "log/log.h"

enum {
	KEEP_MS = 5 * 60 * 1000,          /* agent spec 2.3 */
	ENTRY_MAX_BYTES = 4 * 1024 * 1024 /* ours: a reply's limit is below */
};

struct entry {
	struct list node;
	struct daemon *d;
	struct provider *provider;
	struct provider_list_call *call; /* being asked */
	int64_t asked_mono_ms;
	bool good;           /* json is a list, not an error */
	struct buf json;     /* its members of the reply, without braces */
	struct list waiting; /* struct waiter */
};

/* A request waits for one entry by this. */
struct waiter {
	struct list in_entry;
	struct asking *asking;
};
struct asking {
	struct request *r;
	size_t pending;
	struct provider *only; /* NULL: all */
};

void models_init(struct models *m)
{
	list_init(&m->entries);
}

static void entry_free(struct entry *e)
{
	provider_list_cancel(e->call);
	list_remove(&e->node);
	buf_release(&e->json);
	free(e);
}

void models_release(struct models *m)
{
	list_for_each_safe (e, &m->entries, struct entry, node)
		entry_free(e);
}

static struct entry *find(struct daemon *d, const struct provider *p)
{
	list_for_each (e, &d->models.entries, struct entry, node) {
		if (e->provider == p)
			return e;
	}
	return NULL;
}

static struct entry *find_or_add(struct daemon *d, struct provider *p)
{
	struct entry *e = find(d, p);

	if (e)
		return e;
	e = xcalloc(1, sizeof(*e));
	e->d = d;
	e->provider = p;
	e->json = (struct buf)BUF_INIT(ENTRY_MAX_BYTES);
	list_init(&e->waiting);
	list_add_tail(&d->models.entries, &e->node);
	return e;
}

static void put_list(struct json_out *j, const struct provider_listing *l, int64_t now_ms)
{
	json_open_key(j, "models", '[');
	for (size_t i = 0; i < l->count; i++)
		json_put_str(j, NULL, l->models[i]);
	json_close(j, ']');
	json_put_i64(j, "fetched_ms", now_ms);
}

static void put_error(struct json_out *j, const struct error *err)
{
	json_put_cstr(j, "error", error_code(err));
	json_put_cstr(j, "detail", err->text);
}

static void keep(struct entry *e, const struct provider_listing *l, const struct error *err)
{
	struct json_out j = JSON_OUT(&e->json);
	struct error clean = ERROR_INIT;

	buf_clear(&e->json);
	e->good = l != NULL;
	json_open(&j, '{');
	if (err || !l) {
		if (err)
			clean = *err;
		live_clean_error(e->d, &clean);
		put_error(&j, &clean);
		log_event(LOG_WARN, "models.failed",
			LOG_STR("provider", provider_name(e->provider)), LOG_ERR(&clean));
	} else {
		put_list(&j, l, clock_real_ms(e->d->clock));
	}
	json_close(&j, '}');
}

static void answer(struct asking *a)
{
	struct json_out j = request_begin(a->r);
	struct daemon *d = a->r->d;

	json_open_key(&j, "result", '{');
	json_open_key(&j, "providers", '{');
	for (size_t i = 0; i < providers_count(d->providers); i++) {
		struct provider *p = providers_at(d->providers, i);
		_cleanup_(mem) char *name = NULL;
		struct entry *e = find(d, p);

		if (!e || (a->only && a->only != p))
			continue;
		name = xstrndup(provider_name(p).p, provider_name(p).len);
		json_put_raw(&j, name, buf_str(&e->json));
	}
	json_close(&j, '}');
	json_close(&j, '}');
	request_end(a->r, &j);
}

static void listed(void *arg, const struct provider_listing *l, const struct error *err)
{
	struct entry *e = arg;

	e->call = NULL;
	keep(e, l, err);
	list_for_each_safe (w, &e->waiting, struct waiter, in_entry) {
		list_remove(&w->in_entry);
		if (--w->asking->pending == 0)
			answer(w->asking); /* w goes with its request */
	}
}

static bool is_fresh(const struct entry *e)
{
	return e->good && clock_mono_ms(e->d->clock) - e->asked_mono_ms < KEEP_MS;
}

/* The request waits for this one unless it is known. */
static void want(struct asking *a, struct entry *e)
{
	struct waiter *w;
	struct error err = ERROR_INIT;

	if (!e->call && is_fresh(e))
		return;
	if (!e->call) {
		e->asked_mono_ms = clock_mono_ms(e->d->clock);
		if (provider_list(e->provider, listed, e, &e->call, &err) < 0) {
			keep(e, NULL, &err);
			return;
		}
	}
	w = arena_alloc(&a->r->arena, sizeof(*w));
	w->asking = a;
	list_add_tail(&e->waiting, &w->in_entry);
	a->pending++;
}

void op_models(struct request *r, const void *raw)
{
	const struct models_args *args = raw;
	struct asking *a = arena_alloc(&r->arena, sizeof(*a));
	struct daemon *d = r->d;
	struct error err = ERROR_INIT;

	*a = (struct asking){.r = r};
	if (args->provider.p) {
		a->only = providers_find(d->providers, args->provider);
		if (!a->only) {
			(void)error_set(&err, &PROVIDER_UNAVAILABLE,
				"provider: this daemon has no provider of that name");
			request_fail(r, &err);
			return;
		}
	}
	for (size_t i = 0; i < providers_count(d->providers); i++) {
		struct provider *p = providers_at(d->providers, i);

		if (!a->only || a->only == p)
			want(a, find_or_add(d, p));
	}
	if (a->pending == 0)
		answer(a);
}

/* A request that waits for several entries is refused once. */
static void refuse(struct daemon *d, struct asking *a)
{
	struct error err = ERROR_INIT;

	list_for_each (e, &d->models.entries, struct entry, node) {
		list_for_each_safe (w, &e->waiting, struct waiter, in_entry) {
			if (w->asking == a)
				list_remove(&w->in_entry);
		}
	}
	(void)error_set(&err, &DAEMON_DRAINING, "the daemon ends");
	request_fail(a->r, &err);
}

void models_stop(struct daemon *d)
{
	list_for_each (e, &d->models.entries, struct entry, node) {
		provider_list_cancel(mem_take(&e->call));
		while (!list_empty(&e->waiting))
			refuse(d, list_first(&e->waiting, struct waiter, in_entry)->asking);
	}
}
