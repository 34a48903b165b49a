/*
 * Live turns: the provider's cache of what the model was asked (agent spec 8.5). It forgets after
 * five minutes what nobody reads. Where a reply or a tool takes longer, the same request goes out
 * again, for no reply at all: the next call finds its beginning still there, at a tenth of the
 * price.
 *
 * The request was let go once the provider had it. It is read from the store again, and cut back to
 * the items it had: what was said meanwhile is not in the cache yet.
 */
#include <stdlib.h>

#include "agent/io/claude.h"
#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "log/log.h"

static const struct error_kind WARM_PACED = {"keep_warm_paced", ERROR_CLASS_UNAVAILABLE};

enum { LOOK_AGAIN_MS = 1000 /* ours: when a turn is between a reply and its tool */ };

struct live_warm {
	struct live_turn *t; /* NULL: the turn needs it no more */
	struct loop_timer *timer;
	struct arena arena; /* of the try under way */
	struct store_ask ask;
	struct store_window window;
	struct provider_request request;
	struct provider_call *call;
	size_t item_count; /* of the request that is in the cache */
	bool reading;
};

static void warm_free(void *arg)
{
	struct live_warm *w = arg;

	loop_timer_free(w->timer);
	arena_release(&w->arena);
	free(w);
}

static int64_t period_ms(const struct live_turn *t)
{
	return t->bot.set.limits.keep_warm * 1000;
}

static void try_over(struct live_warm *w)
{
	arena_release(&w->arena);
	w->arena = (struct arena){.blocks = NULL};
}

/*
 * What it cost.
 */
struct warm_charge {
	struct store_charge c;
	struct arena arena;
};

static int run_charge(struct store_tx *tx, void *arg, struct error *err)
{
	struct warm_charge *g = arg;

	return store_charge(tx, &g->c, err);
}

static void charged(void *arg, int rc, const struct error *err)
{
	struct warm_charge *g = arg;

	if (rc < 0)
		log_event(LOG_ERROR, "turn.charge_failed", LOG_I64("turn", g->c.turn),
			LOG_I64("input_tokens", g->c.usage.input_tokens), LOG_ERR(err));
	arena_release(&g->arena);
	free(g);
}

static void charge(const struct live_turn *t, const struct provider_usage *u, int64_t sent_ms)
{
	struct warm_charge *g = xcalloc(1, sizeof(*g));
	struct str model = live_model_name(t);

	g->c = (struct store_charge){.bot = t->bot.id, .turn = t->info.id, .has_usage = true};
	g->c.usage = live_usage(u, sent_ms);
	g->c.usage.purpose = "keep_warm";
	g->c.usage.model = (struct str){arena_strndup(&g->arena, model.p, model.len), model.len};
	store_write(t->d->store, run_charge, charged, g);
}

/*
 * What became of it. After a failure no other is tried before the model is asked again.
 */
static void tell_failed(struct live_warm *w, const struct error *failed)
{
	_cleanup_(buf) struct buf data = BUF_INIT(8 * ERROR_TEXT_MAX + 1024);
	struct json_out j = JSON_OUT(&data);
	struct live_turn *t = w->t;
	struct error err = *failed;

	live_clean_error(t->d, &err);
	json_open(&j, '{');
	json_put_cstr(&j, "error", error_code(&err));
	json_put_cstr(&j, "detail", err.text);
	json_close(&j, '}');
	if (!data.full)
		publish_passing(t->d, t->bot.id, t->bot.name, t->info.id, "keep_warm_failed",
			buf_str(&data));
	log_event(LOG_INFO, "turn.keep_warm_failed", LOG_I64("turn", t->info.id), LOG_ERR(&err));
	try_over(w);
}

static void warm_text(void *arg, struct str delta)
{
	(void)arg;
	(void)delta; /* none is wanted, and none is shown */
}

static void warm_repaired(void *arg, const char *what)
{
	(void)arg;
	(void)what; /* it was said when the request went out first */
}

static void warm_done(void *arg, const struct provider_reply *r)
{
	struct live_warm *w = arg;

	w->call = NULL;
	charge(w->t, &r->usage, r->sent_ms);
	try_over(w);
	loop_timer_set(w->timer, period_ms(w->t));
}

static void warm_failed(void *arg, const struct provider_failure *f)
{
	struct live_warm *w = arg;

	w->call = NULL;
	if (f->has_usage)
		charge(w->t, &f->usage, clock_real_ms(w->t->d->clock));
	tell_failed(w, &f->err);
}

static void warm_paced(void *arg, int64_t until_mono_ms)
{
	struct live_warm *w = arg;
	struct error err = ERROR_INIT;

	(void)until_mono_ms;
	w->call = NULL;
	(void)error_set(&err, &WARM_PACED, "calls to the model are held by its provider");
	tell_failed(w, &err);
}

/*
 * The request, once more.
 */
static void fill(struct live_warm *w)
{
	struct provider_request *r = &w->request;

	live_fill_request(w->t, r, &w->arena, &w->arena);
	r->warm = true;
	r->summary = w->window.summary;
	r->note = w->window.note;
	r->omitted = w->window.omitted;
	r->items = w->window.items;
	r->item_count = w->window.item_count < w->item_count ? w->window.item_count : w->item_count;
}

static void resend(struct live_warm *w)
{
	static const struct provider_callbacks callbacks = {
		warm_text, warm_text, warm_repaired, warm_done, warm_failed, warm_paced};
	struct error err = ERROR_INIT;
	struct provider *p = live_model_provider(w->t, &w->request.model, &err);

	fill(w);
	if (!p || provider_call_start(p, &w->request, &callbacks, w, &w->call, &err) < 0)
		tell_failed(w, &err);
}

static int run_read(struct store_view *v, void *arg, struct error *err)
{
	struct live_warm *w = arg;

	return store_window(v, &w->ask, &w->arena, &w->window, err);
}

static void read_came(void *arg, int rc, const struct error *err)
{
	struct live_warm *w = arg;

	w->reading = false;
	if (!w->t)
		warm_free(w);
	else if (rc < 0)
		tell_failed(w, err);
	else if (w->window.need != STORE_FITS)
		try_over(w); /* the next call begins otherwise: its beginning is of no use */
	else
		resend(w);
}

static bool is_busy(const struct live_turn *t)
{
	return (t->state == TURN_MODEL && t->call) || (t->state == TURN_TOOL && t->run);
}

static void on_timer(void *arg)
{
	struct live_warm *w = arg;

	if (!is_busy(w->t)) {
		loop_timer_set(w->timer, LOOK_AGAIN_MS);
		return;
	}
	w->ask = (struct store_ask){.bot = w->t->bot.id, .compact_from_bytes = INT64_MAX};
	w->window = (struct store_window){.need = STORE_FITS};
	w->request = (struct provider_request){.warm = true};
	w->reading = true;
	store_read(w->t->d->store, run_read, read_came, w);
}

/* Bedrock's cache is not kept by reading it, and a thinking budget needs tokens to think in. */
static bool has_use(const struct live_turn *t, const struct provider *p)
{
	bool budgeted = t->bot.set.reasoning.p &&
			claude_model(t->request.model)->thinking == CLAUDE_BUDGET;

	return period_ms(t) > 0 && strcmp(provider_family(p)->name, "anthropic") == 0 &&
	       !provider_region(p).p && !budgeted;
}

void live_warm_begin(struct live_turn *t, const struct provider *p)
{
	live_warm_end(t);
	if (!has_use(t, p))
		return;
	t->warm = xcalloc(1, sizeof(*t->warm));
	t->warm->t = t;
	t->warm->item_count = t->request.item_count;
	t->warm->timer = loop_timer_new(t->d->loop, on_timer, t->warm);
	loop_timer_set(t->warm->timer, period_ms(t));
}

void live_warm_end(struct live_turn *t)
{
	struct live_warm *w = mem_take(&t->warm);

	if (!w)
		return;
	provider_call_cancel(mem_take(&w->call));
	loop_timer_stop(w->timer);
	w->t = NULL;
	if (!w->reading)
		loop_defer(t->d->loop, warm_free, w);
}
