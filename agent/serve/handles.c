/* Handles: reading, looking up, showing, watching. */
#include "agent/serve/handles.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/core/item.h"
#include "agent/io/store_processes.h"
#include "agent/serve/daemon.h"

const struct error_kind HANDLE_INVALID = {"invalid_handle", ERROR_CLASS_USAGE};
const struct error_kind HANDLES_INVALID = {"invalid_handles", ERROR_CLASS_USAGE};
const struct error_kind HANDLE_UNKNOWN = {"unknown_handle", ERROR_CLASS_NOT_FOUND};

enum {
	SHOWN_MAX_BYTES = 160, /* ours: of a text that is no handle */
};

/*
 * Reading.
 */
static int refuse(struct str text, struct error *err)
{
	struct str shown = str_cut(text, SHOWN_MAX_BYTES);

	return error_set(err, &HANDLE_INVALID, "'" STR_FMT "' is no handle: turn:BOT/N or proc:N",
		STR_ARG(shown));
}

static int read_number(struct str text, int64_t *ret)
{
	uint64_t n;

	if (text_u64(text, INT64_MAX, "handle", &n, NULL) < 0 || n == 0)
		return -1;
	*ret = (int64_t)n;
	return 0;
}

int handle_read(struct str text, struct handle *ret, struct error *err)
{
	struct handle h = {.text = text};
	ptrdiff_t slash = str_find(text, STR("/"), 0);
	size_t at;

	if (str_starts(text, STR("proc:"))) {
		h.process = true;
		at = 5;
	} else if (str_starts(text, STR("turn:")) && slash >= 5) {
		h.bot = (struct str){text.p + 5, (size_t)slash - 5};
		at = (size_t)slash + 1;
		if (bot_check_name(h.bot, "handle", NULL) < 0)
			return refuse(text, err);
	} else {
		return refuse(text, err);
	}
	if (read_number((struct str){text.p + at, text.len - at}, &h.id) < 0)
		return refuse(text, err);
	*ret = h;
	return 0;
}

int handles_read(
	struct arena *a, const struct str_list *texts, struct handle **ret, struct error *err)
{
	struct handle *list = arena_alloc(a, (texts->count + 1) * sizeof(*list));

	if (texts->count == 0 || texts->count > WAIT_HANDLES_MAX)
		return error_set(
			err, &HANDLES_INVALID, "handles: 1 to %d are taken", WAIT_HANDLES_MAX);
	for (size_t i = 0; i < texts->count; i++) {
		if (handle_read(texts->items[i], &list[i], err) < 0)
			return -1;
		for (size_t k = 0; k < i; k++) {
			if (str_eq(list[i].text, list[k].text))
				return error_set(
					err, &HANDLES_INVALID, "handles: one stands there twice");
		}
	}
	*ret = list;
	return 0;
}

/*
 * Looking up.
 */
static int look_turn(struct store_view *v, struct handle *h, struct arena *a, struct error *err)
{
	_cleanup_(arena) struct arena scratch = {.blocks = NULL};
	struct store_turn turn; /* with its prompt: only a final one is kept */
	struct bot bot;

	if (store_bot_get(v, h->bot, &scratch, &bot, &h->error) < 0 ||
		store_turn_get(v, bot.id, h->id, &scratch, &turn, &h->error) < 0 ||
		!turn_status_final(turn.status))
		return 0;
	if (store_turn_get(v, bot.id, h->id, a, &h->outcome, err) < 0 ||
		store_turn_last_item(v, bot.id, h->id, a, &h->last_item, err) < 0)
		return -1;
	h->final = true;
	return 0;
}

static int look_process(
	struct store_view *v, struct handle *h, int64_t bot, struct arena *a, struct error *err)
{
	struct store_process p;
	int found = store_process_get(v, h->id, a, &p, err);

	if (found < 0)
		return -1;
	if (!found || (bot && p.bot != bot)) {
		(void)error_set(&h->error, &HANDLE_UNKNOWN, "no command of this bot has it");
		return 0;
	}
	h->final = p.finished;
	h->result = p.result;
	return 0;
}

int handles_look(struct store_view *v, struct handle *list, size_t count, int64_t bot,
	struct arena *a, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct handle *h = &list[i];
		int rc;

		if (h->final || h->error.kind)
			continue;
		rc = h->process ? look_process(v, h, bot, a, err) : look_turn(v, h, a, err);
		if (rc < 0)
			return -1;
	}
	return 0;
}

bool handles_satisfied(const struct handle *list, size_t count, bool any)
{
	size_t open = 0;

	for (size_t i = 0; i < count; i++)
		open += !list[i].final && !list[i].error.kind;
	return open == 0 || (any && open < count);
}

/*
 * Showing.
 */
void handle_put_turn(
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
	if (t->status == TURN_STEERED) {
		json_put_i64(j, "into", t->into_turn);
		json_put_i64(j, "node", t->steered_node);
	}
	json_close(j, '}');
	arena_release(&a);
}

static void put_one(struct json_out *j, const struct handle *h, bool room)
{
	char key[BOT_NAME_MAX_BYTES + 32];

	(void)snprintf(key, sizeof(key), STR_FMT, STR_ARG(h->text)); /* a parsed handle fits */
	if (h->final && room && h->process) {
		json_put_raw(j, key, h->result);
		return;
	}
	if (h->final && room) {
		handle_put_turn(j, key, &h->outcome, h->last_item);
		return;
	}
	json_open_key(j, key, '{');
	if (h->error.kind)
		json_put_cstr(j, "error", error_code(&h->error));
	else if (h->final)
		json_put_cstr(j, "omitted", "the results together are too long: wait for it alone");
	else
		json_put_bool(j, "pending", true);
	json_close(j, '}');
}

void handles_put(struct json_out *j, const struct handle *list, size_t count, size_t max_bytes)
{
	size_t start = j->to->len;

	json_open_key(j, "results", '{');
	for (size_t i = 0; i < count; i++)
		put_one(j, &list[i], max_bytes == 0 || j->to->len - start < max_bytes);
	json_close(j, '}');
	json_open_key(j, "pending", '[');
	for (size_t i = 0; i < count; i++) {
		if (!list[i].final && !list[i].error.kind)
			json_put_str(j, NULL, list[i].text);
	}
	json_close(j, ']');
}

/*
 * Watching.
 */
struct watch_list {
	struct list watches;
};

void waiters_init(struct waiters *w)
{
	w->turns = table_new();
	w->processes = table_new();
}

static void release(struct table *t)
{
	size_t at = 0;
	struct watch_list *l;

	while (t && (l = table_next(t, &at)))
		free(l);
	table_free(t);
}

void waiters_release(struct waiters *w)
{
	release(mem_take(&w->turns));
	release(mem_take(&w->processes));
}

static struct table *table_of(struct daemon *d, const struct handle_watch *w)
{
	return w->process ? d->waiters.processes : d->waiters.turns;
}

void handle_watch(struct daemon *d, const struct handle *h, struct handle_watch *w)
{
	struct watch_list *l;

	w->id = h->id;
	w->process = h->process;
	l = table_get_id(table_of(d, w), (uint64_t)w->id);
	if (!l) {
		l = xcalloc(1, sizeof(*l));
		list_init(&l->watches);
		(void)table_set_id(table_of(d, w), (uint64_t)w->id, l); /* there was none */
	}
	list_add_tail(&l->watches, &w->in_list);
}

void handle_unwatch(struct daemon *d, struct handle_watch *w)
{
	struct watch_list *l = table_get_id(table_of(d, w), (uint64_t)w->id);

	list_remove(&w->in_list);
	if (l && list_empty(&l->watches))
		free(table_remove_id(table_of(d, w), (uint64_t)w->id));
}

/* None that is told calls back now: they ask the store first. */
static void notify(struct table *t, int64_t id)
{
	struct watch_list *l = table_get_id(t, (uint64_t)id);

	if (!l)
		return;
	list_for_each (w, &l->watches, struct handle_watch, in_list)
		w->ended(w);
}

void waiters_notify(struct daemon *d, int64_t turn)
{
	notify(d->waiters.turns, turn);
}

void waiters_notify_process(struct daemon *d, int64_t process)
{
	notify(d->waiters.processes, process);
}
