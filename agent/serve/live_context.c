/* Live turns: the context of the next model call, and where its window begins. */
#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "log/log.h"

static const struct error_kind ROUND_LIMIT = {"round_limit", ERROR_CLASS_LIMIT};

/* A read of the context: in memory of its own, since the turn may end before it comes back. */
struct context {
	struct live_turn *turn;
	struct store_ask ask;
	int64_t turn_id; /* whose tokens are asked for; 0: nobody's */
	int64_t turn_tokens;
	struct arena arena;
	struct store_window window;
};

static int run_context(struct store_view *v, void *arg, struct error *err)
{
	struct context *c = arg;

	struct store_turn row;

	if (store_window(v, &c->ask, &c->arena, &c->window, err) < 0)
		return -1;
	if (!c->turn_id)
		return 0;
	if (store_turn_get(v, c->ask.bot, c->turn_id, &c->arena, &row, err) < 0)
		return -1;
	c->turn_tokens = row.input_tokens + row.output_tokens;
	return 0;
}

void live_context_release(struct live_turn *t)
{
	struct provider_request *r = &t->request;

	r->summary = r->note = r->omitted = r->cache_key = (struct str){NULL, 0};
	r->items = r->whole = NULL;
	r->item_count = r->whole_count = 0;
	t->window = (struct store_window){.need = STORE_FITS};
	arena_release(&t->context);
}

/* The items move by moving their arena itself. */
static void take_context(struct live_turn *t, struct context *c)
{
	struct provider_request *r = &t->request;

	live_round_release(t);
	live_context_release(t);
	t->context = c->arena;
	c->arena = (struct arena){.blocks = NULL};
	t->window = c->window;
	r->summary = t->window.summary;
	r->note = t->window.note;
	r->omitted = t->window.omitted;
	r->items = t->window.items;
	r->item_count = t->window.item_count;
	r->whole = t->window.whole;
	r->whole_count = t->window.whole_count;
	t->bot.tokens_used = t->window.now.tokens_used;
	t->tokens_used = c->turn_tokens;
	t->bot.head = t->window.now.head;
}

static bool limit_reached(struct live_turn *t)
{
	int64_t budget = t->bot.set.budget_tokens;

	if (t->rounds >= ROUNDS_MAX) {
		(void)error_set(
			&t->fault, &ROUND_LIMIT, "the turn made %d model calls", ROUNDS_MAX);
		return true;
	}
	if (budget > 0 && t->bot.tokens_used >= budget) {
		(void)error_set(&t->fault, &STORE_BUDGET, "%lld of %lld tokens are used",
			(long long)t->bot.tokens_used, (long long)budget);
		return true;
	}
	if (t->info.budget_tokens > 0 && t->tokens_used >= t->info.budget_tokens) {
		(void)error_set(&t->fault, &STORE_BUDGET,
			"the turn has used %lld of its %lld tokens", (long long)t->tokens_used,
			(long long)t->info.budget_tokens);
		return true;
	}
	return false;
}

static enum turn_event what_next(struct live_turn *t)
{
	if (limit_reached(t))
		return EV_LIMIT_REACHED;
	switch (t->window.need) {
	case STORE_BEGIN:
	case STORE_ELIDE:
		return EV_CONTEXT_GREW;
	case STORE_COMPACT:
		return EV_COMPACT_DUE;
	case STORE_FITS:
		break;
	}
	return EV_CONTEXT_READ;
}

static void context_came(void *arg, int rc, const struct error *err)
{
	struct context *c = arg;
	struct live_turn *t = c->turn;
	bool wanted = t->state == TURN_LOADING && !t->abandoned;

	if (wanted && rc == 0)
		take_context(t, c);
	arena_release(&c->arena);
	free(c);
	live_read_returned(t);
	if (!wanted)
		return;
	if (rc < 0) {
		t->fault = *err;
		live_step(t, EV_CONTEXT_FAILED);
	} else {
		live_step(t, what_next(t));
	}
}

/* A script finds its place by all that was said. */
static bool goes_by_place(const struct live_turn *t)
{
	struct str name, model;
	const struct provider *p;

	if (bot_split_model(t->info.model, &name, &model, NULL) < 0)
		return false;
	p = providers_find(t->d->providers, name);
	return p && provider_family(p)->by_place;
}

void live_read_context(struct live_turn *t)
{
	struct context *c = xcalloc(1, sizeof(*c));

	c->turn = t;
	c->ask = (struct store_ask){
		.bot = t->bot.id,
		.whole = goes_by_place(t),
		.compact_from_bytes = t->compact_from_bytes,
	};
	c->turn_id = t->info.budget_tokens > 0 ? t->info.id : 0;
	t->reads_pending++;
	store_read(t->d->store, run_context, context_came, c);
}

/*
 * Moving its beginning, or letting results go as stubs: read again afterwards.
 */
static int run_window(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;

	return store_window_set(tx, t->info.id, &t->window, err);
}

void live_commit_window(struct live_turn *t)
{
	log_event(LOG_INFO, "turn.window", LOG_I64("turn", t->info.id),
		LOG_I64("bytes", t->window.bytes), LOG_I64("stubs", (int64_t)t->window.stub_count),
		LOG_I64("left_out", t->window.omitted_turns));
	live_commit(t, run_window, NULL);
}
