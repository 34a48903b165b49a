/*
 * Live turns: the tool `wait`. The store is asked once; what is not there yet is worth a park (spec
 * 3.7). Back from one the same is done again, under the deadline it had.
 */
#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/handles.h"
#include "agent/serve/live.h"

enum {
	RESULTS_MAX_BYTES = 256 * 1024, /* ours: of one result; what has no room is named */
	/* what stands around, and the last outcome that was let in */
	OUTPUT_MAX_BYTES = 4 * 1024 * 1024,
};

/* In memory of its own, since the turn may end before it comes back. */
struct wait_look {
	struct live_turn *turn;
	struct arena arena;
	struct handle *handles;
	size_t count;
	int64_t bot;
};

static int run_look(struct store_view *v, void *arg, struct error *err)
{
	struct wait_look *l = arg;

	return handles_look(v, l->handles, l->count, l->bot, &l->arena, err);
}

static void set_outcomes(struct live_turn *t, const struct wait_look *l)
{
	struct buf text = BUF_INIT(OUTPUT_MAX_BYTES);
	struct json_out j = JSON_OUT(&text);

	json_open(&j, '{');
	handles_put(&j, l->handles, l->count, RESULTS_MAX_BYTES);
	json_close(&j, '}');
	live_set_result(t, buf_str(&text), false);
	buf_release(&text);
}

static bool is_late(const struct live_turn *t)
{
	return t->wait_until_mono_ms > 0 && clock_mono_ms(t->d->clock) >= t->wait_until_mono_ms;
}

static void looked(struct live_turn *t, const struct wait_look *l)
{
	const struct live_call *c = &t->calls[t->at];
	const struct tool_wait *w = c->tool->waits(c->args);

	if (!handles_satisfied(l->handles, l->count, w->any) && !is_late(t)) {
		live_park_handles(t, w);
		return;
	}
	set_outcomes(t, l);
	live_step(t, EV_TOOL_DONE);
}

static void look_done(void *arg, int rc, const struct error *err)
{
	struct wait_look *l = arg;
	struct live_turn *t = l->turn;
	bool wanted = t->look == l && t->state == TURN_TOOL && !t->abandoned;

	if (t->look == l)
		t->look = NULL;
	if (wanted && rc < 0) {
		live_set_error(t, err);
		live_step(t, EV_TOOL_DONE);
	} else if (wanted) {
		looked(t, l);
	}
	arena_release(&l->arena);
	free(l);
	live_read_returned(t);
}

/* A turn cannot wait for itself: it would never end. */
static int check_own(const struct live_turn *t, const struct wait_look *l, struct error *err)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct handle *h = &l->handles[i];

		if (!h->process && h->id == t->info.id && str_eq(h->bot, t->bot.name))
			return error_set(err, &HANDLE_INVALID, "a turn cannot wait for itself");
	}
	return 0;
}

void live_wait(struct live_turn *t)
{
	const struct live_call *c = &t->calls[t->at];
	const struct tool_wait *w = c->tool->waits(c->args);
	struct wait_look *l = xcalloc(1, sizeof(*l));
	struct error err = ERROR_INIT;

	if (!t->wait_resumed)
		t->wait_until_mono_ms = w->timeout_ms > 0
						? clock_mono_ms(t->d->clock) + w->timeout_ms
						: 0;
	t->wait_resumed = false;
	l->turn = t;
	l->bot = t->bot.id;
	l->count = w->handles.count;
	if (handles_read(&l->arena, &w->handles, &l->handles, &err) < 0 ||
		check_own(t, l, &err) < 0) {
		arena_release(&l->arena);
		free(l);
		live_set_error(t, &err);
		live_step(t, EV_TOOL_DONE);
		return;
	}
	for (size_t i = 0; i < l->count; i++) { /* the round may go before the look is back */
		struct str text = w->handles.items[i];

		text.p = arena_strndup(&l->arena, text.p, text.len);
		must(handle_read(text, &l->handles[i], NULL) == 0); /* it was read once */
	}
	t->look = l;
	t->reads_pending++;
	store_read(t->d->store, run_look, look_done, l);
}
