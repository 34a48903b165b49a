/* Outcomes of turns, now or when they end. */
#include "agent/serve/wait.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/core/item.h"
#include "agent/serve/daemon.h"
#include "agent/serve/session.h"

static const struct error_kind INVALID_HANDLES = {"invalid_handles", ERROR_CLASS_USAGE};
static const struct error_kind INVALID_HANDLE = {"invalid_handle", ERROR_CLASS_USAGE};
static const struct error_kind INVALID_TIMEOUT = {"invalid_timeout", ERROR_CLASS_USAGE};

/* Everybody who waits for one turn. */
struct wait_list {
	struct list waits;
};

struct waited {
	struct wait *wait;
	struct list in_list;
	struct str handle, bot;
	int64_t turn;
	bool known, final; /* as of the last look */
	struct store_turn outcome;
	struct str last_item;
	struct error error; /* kind set: the handle names nothing */
};

struct wait {
	struct request *r;
	struct daemon *d;
	struct loop_timer *timer;
	struct waited *handles;
	size_t count;
	bool any, looking, again, expired;
};

static void look(struct wait *w);

void waiters_init(struct waiters *w)
{
	w->by_turn = table_new();
}

void waiters_release(struct waiters *w)
{
	size_t at = 0;
	struct wait_list *l;

	while (w->by_turn && (l = table_next(w->by_turn, &at)))
		free(l);
	table_free(mem_take(&w->by_turn));
}

static void enlist(struct wait *w, struct waited *h)
{
	struct table *t = w->d->waiters.by_turn;
	struct wait_list *l = table_get_id(t, (uint64_t)h->turn);

	if (!l) {
		l = xcalloc(1, sizeof(*l));
		list_init(&l->waits);
		(void)table_set_id(t, (uint64_t)h->turn, l); /* there was none */
	}
	list_add_tail(&l->waits, &h->in_list);
}

static void delist(struct wait *w, struct waited *h)
{
	struct table *t = w->d->waiters.by_turn;
	struct wait_list *l = table_get_id(t, (uint64_t)h->turn);

	list_remove(&h->in_list);
	if (l && list_empty(&l->waits))
		free(table_remove_id(t, (uint64_t)h->turn));
}

void waiters_notify(struct daemon *d, int64_t turn)
{
	struct wait_list *l = table_get_id(d->waiters.by_turn, (uint64_t)turn);

	if (!l)
		return;
	list_for_each (h, &l->waits, struct waited, in_list)
		look(h->wait); /* reads the store, calls nothing back now */
}

void wait_put_outcome(
	struct json_out *j, const char *name, const struct store_turn *t, struct str last_item)
{
	struct arena a = {.blocks = NULL};
	struct item item = {
		.text = {NULL, 0}
        };
	struct str shown = {NULL, 0};

	if (name)
		json_open_key(j, name, '{');
	else
		json_open(j, '{');
	json_put_i64(j, "turn", t->id);
	json_put_cstr(j, "status", turn_status_names[t->status]);
	if (!turn_status_final(t->status)) {
		json_put_bool(j, "finished", false);
		json_close(j, '}');
		return;
	}
	if (last_item.p && item_read(&a, last_item, &item, NULL) == 0 && item.text.p)
		shown = str_cut(item.text, RESULT_TEXT_MAX_BYTES);
	if (t->checkpoint > 0)
		json_put_i64(j, "checkpoint", t->checkpoint);
	else
		json_put_null(j, "checkpoint");
	json_put_str(j, "error", t->error);
	json_put_str(j, "detail", t->detail);
	json_put_str(j, "text", shown);
	json_put_bool(j, "text_truncated", shown.len < item.text.len);
	json_close(j, '}');
	arena_release(&a);
}

static void wait_free(struct wait *w)
{
	for (size_t i = 0; i < w->count; i++)
		delist(w, &w->handles[i]);
	loop_timer_free(w->timer);
	free(w);
}

static void put_result(struct json_out *j, const struct waited *h)
{
	char key[BOT_NAME_MAX_BYTES + 32];

	(void)snprintf(key, sizeof(key), STR_FMT, STR_ARG(h->handle)); /* a parsed handle fits */
	if (h->error.kind) {
		json_open_key(j, key, '{');
		json_put_cstr(j, "error", error_code(&h->error));
		json_close(j, '}');
	} else if (h->final) {
		wait_put_outcome(j, key, &h->outcome, h->last_item);
	} else {
		json_open_key(j, key, '{');
		json_put_bool(j, "pending", true);
		json_close(j, '}');
	}
}

static void answer(struct wait *w)
{
	struct request *r = w->r;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_open_key(&j, "results", '{');
	for (size_t i = 0; i < w->count; i++)
		put_result(&j, &w->handles[i]);
	json_close(&j, '}');
	json_open_key(&j, "pending", '[');
	for (size_t i = 0; i < w->count; i++) {
		if (!w->handles[i].final && !w->handles[i].error.kind)
			json_put_str(&j, NULL, w->handles[i].handle);
	}
	json_close(&j, ']');
	json_close(&j, '}');
	wait_free(w);
	request_end(r, &j);
}

static bool satisfied(const struct wait *w)
{
	size_t open = 0;

	for (size_t i = 0; i < w->count; i++)
		open += !w->handles[i].final && !w->handles[i].error.kind;
	return open == 0 || (w->any && open < w->count);
}

/* Looks every open handle up. Runs on the reader's thread; the request's arena is this job's
 * meanwhile. */
static int run_look(struct store_view *v, void *arg, struct error *err)
{
	struct wait *w = arg;
	struct arena *a = &w->r->arena;

	for (size_t i = 0; i < w->count; i++) {
		struct waited *h = &w->handles[i];
		_cleanup_(arena) struct arena scratch = {.blocks = NULL};
		struct store_turn turn; /* with its prompt: only a final one is kept */
		struct bot bot;

		if (h->final || h->error.kind)
			continue;
		if (store_bot_get(v, h->bot, &scratch, &bot, &h->error) < 0 ||
			store_turn_get(v, bot.id, h->turn, &scratch, &turn, &h->error) < 0 ||
			!turn_status_final(turn.status))
			continue;
		if (store_turn_get(v, bot.id, h->turn, a, &h->outcome, err) < 0 ||
			store_turn_last_item(v, bot.id, h->turn, a, &h->last_item, err) < 0)
			return -1;
		h->final = true;
	}
	return 0;
}

static void look_done(void *arg, int rc, const struct error *err)
{
	struct wait *w = arg;
	struct request *r = w->r;

	w->looking = false;
	if (rc < 0) {
		wait_free(w);
		request_fail(r, err);
	} else if (!r->session || satisfied(w) || w->expired) {
		answer(w); /* to nobody when the session left */
	} else if (w->again) {
		look(w);
	}
}

static void look(struct wait *w)
{
	w->again = w->looking;
	if (w->looking)
		return;
	w->looking = true;
	store_read(w->d->store, run_look, look_done, w);
}

static void on_timeout(void *arg)
{
	struct wait *w = arg;

	w->expired = true;
	if (!w->looking)
		answer(w);
}

static void on_abandoned(struct request *r)
{
	struct wait *w = r->work;

	if (!w->looking)
		answer(w);
}

/* turn:BOT/N, exactly: no sign, no leading zero (spec 3.7). */
static int read_handle(struct str handle, struct waited *h, struct error *err)
{
	struct str rest = handle;
	ptrdiff_t slash = str_find(handle, STR("/"), 0);
	uint64_t turn;

	h->handle = handle;
	if (!str_starts(handle, STR("turn:")) || slash < 0)
		return error_set(err, &INVALID_HANDLE, "'%.*s' is no handle: turn:BOT/N",
			(int)str_cut(handle, 160).len, handle.p);
	h->bot = (struct str){handle.p + 5, (size_t)slash - 5};
	rest.p += slash + 1;
	rest.len -= (size_t)slash + 1;
	if (bot_check_name(h->bot, "handle", err) < 0 ||
		text_u64(rest, INT64_MAX, "handle", &turn, err) < 0 || turn == 0)
		return error_set(err, &INVALID_HANDLE, "'%.*s' is no handle: turn:BOT/N",
			(int)str_cut(handle, 160).len, handle.p);
	h->turn = (int64_t)turn;
	return 0;
}

static int read_handles(
	struct request *r, const struct wait_args *args, struct waited **ret, struct error *err)
{
	struct waited *handles = arena_alloc(
		&r->arena, (args->handles.count + 1) * sizeof(*handles));

	if (args->handles.count == 0 || args->handles.count > WAIT_HANDLES_MAX)
		return error_set(
			err, &INVALID_HANDLES, "handles: 1 to %d are taken", WAIT_HANDLES_MAX);
	if (args->timeout_ms < 0 || args->timeout_ms > WAIT_MAX_MS)
		return error_set(err, &INVALID_TIMEOUT, "timeout_ms: 0 to %d", WAIT_MAX_MS);
	for (size_t i = 0; i < args->handles.count; i++) {
		if (read_handle(args->handles.items[i], &handles[i], err) < 0)
			return -1;
		for (size_t k = 0; k < i; k++) {
			if (str_eq(handles[i].handle, handles[k].handle))
				return error_set(
					err, &INVALID_HANDLES, "handles: one stands there twice");
		}
	}
	*ret = handles;
	return 0;
}

void op_wait(struct request *r, const void *raw)
{
	const struct wait_args *args = raw;
	struct waited *handles;
	struct error err = ERROR_INIT;
	struct wait *w;

	if (read_handles(r, args, &handles, &err) < 0) {
		request_fail(r, &err);
		return;
	}
	w = xcalloc(1, sizeof(*w));
	w->r = r;
	w->d = r->d;
	w->handles = handles;
	w->count = args->handles.count;
	w->any = args->any;
	w->expired = (r->seen & 2) != 0 && args->timeout_ms == 0; /* 0 polls */
	w->timer = loop_timer_new(r->d->loop, on_timeout, w);
	r->work = w;
	r->abandoned = on_abandoned;
	for (size_t i = 0; i < w->count; i++) {
		handles[i].wait = w;
		list_init(&handles[i].in_list);
		enlist(w, &handles[i]);
	}
	if (args->timeout_ms > 0)
		loop_timer_set(w->timer, args->timeout_ms);
	look(w);
}
