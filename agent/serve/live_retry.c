/*
 * Live turns: a model call that failed. What it cost is put on the account; then it is made anew,
 * or another model is asked, or the turn fails (agent spec 8.3, 8.4).
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "log/log.h"
#include "os/os.h"

enum { EVENT_MAX_BYTES = 16 * 1024 /* ours: several times what names, codes and a detail need */ };

/*
 * The account. A job with memory of its own: it outlives a turn that is stopped meanwhile, and
 * stands before that turn's end in the store's line.
 */
struct charge {
	struct store_charge c;
	struct arena arena;
};

static int run_charge(struct store_tx *tx, void *arg, struct error *err)
{
	struct charge *g = arg;

	return store_charge(tx, &g->c, err);
}

static void charged(void *arg, int rc, const struct error *err)
{
	struct charge *g = arg;

	if (rc < 0)
		log_event(LOG_ERROR, "turn.charge_failed", LOG_I64("turn", g->c.turn),
			LOG_I64("input_tokens", g->c.usage.input_tokens),
			LOG_I64("output_tokens", g->c.usage.output_tokens), LOG_ERR(err));
	arena_release(&g->arena);
	free(g);
}

static void charge(struct live_turn *t, const struct provider_failure *f, bool again)
{
	struct str model = live_model_name(t);
	struct charge *g;

	if (!f->has_usage && !again)
		return;
	g = xcalloc(1, sizeof(*g));
	g->c = (struct store_charge){
		.bot = t->bot.id, .turn = t->info.id, .retries = again, .has_usage = f->has_usage};
	if (f->has_usage) {
		t->rounds++;
		g->c.usage = live_usage(&f->usage, 0);
		g->c.usage.sent_ms = clock_real_ms(t->d->clock);
		g->c.usage.model = (struct str){
			arena_strndup(&g->arena, model.p, model.len), model.len};
	}
	store_write(t->d->store, run_charge, charged, g);
}

/*
 * Which model is asked: the turn's own, or one of the bot's fallbacks.
 */
struct str live_model_name(const struct live_turn *t)
{
	/* configure may have shortened the list meanwhile */
	if (t->fallback == 0 || t->fallback > t->bot.set.fallbacks.count)
		return t->info.model;
	return t->bot.set.fallbacks.items[t->fallback - 1];
}

struct provider *live_model_provider(
	const struct live_turn *t, struct str *ret_model, struct error *err)
{
	struct provider *p;
	struct str name;

	if (bot_split_model(live_model_name(t), &name, ret_model, err) < 0)
		return NULL;
	p = providers_find(t->d->providers, name);
	if (!p) {
		(void)error_set(err, &PROVIDER_UNAVAILABLE,
			"this daemon has no provider '" STR_FMT "'", STR_ARG(name));
		return NULL;
	}
	if (!str_is(t->bot.family, provider_family(p)->name)) {
		(void)error_set(err, &PROVIDER_UNAVAILABLE,
			"provider '" STR_FMT
			"' is of family %s; the bot's conversation is of " STR_FMT,
			STR_ARG(name), provider_family(p)->name, STR_ARG(t->bot.family));
		return NULL;
	}
	return p;
}

/* A reply that is no use is the model's answer; another model is asked where this one could not
 * be. */
static bool could_not_be_asked(const struct error *err)
{
	static const char *const answers[] = {"provider_refusal", "provider_incomplete",
		"provider_response_limit", "provider_http_400", "provider_http_413",
		"provider_http_422"};

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		if (str_is(str_from(error_code(err)), answers[i]))
			return false;
	}
	return true;
}

static void publish(struct live_turn *t, const char *kind, const struct buf *data)
{
	if (!data->full)
		publish_passing(t->d, t->bot.id, t->bot.name, t->info.id, kind, buf_str(data));
}

static bool fall_back(struct live_turn *t)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);
	struct str from = live_model_name(t);

	if (t->fallback >= t->bot.set.fallbacks.count || !could_not_be_asked(&t->fault))
		return false;
	t->fallback++;
	t->retry = (struct retry){.failures = 0};
	json_open(&j, '{');
	json_put_str(&j, "from", from);
	json_put_str(&j, "to", live_model_name(t));
	json_put_cstr(&j, "error", error_code(&t->fault));
	json_put_cstr(&j, "detail", t->fault.text);
	json_close(&j, '}');
	publish(t, "model_fallback", &data);
	log_event(LOG_WARN, "turn.model_fallback", LOG_I64("turn", t->info.id),
		LOG_STR("from", from), LOG_STR("to", live_model_name(t)),
		LOG_CSTR("error", error_code(&t->fault)));
	return true;
}

static void publish_retry(struct live_turn *t, int64_t delay_ms)
{
	_cleanup_(buf) struct buf data = BUF_INIT(EVENT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_i64(&j, "attempt", t->retry.failures);
	json_put_cstr(&j, "error", error_code(&t->fault));
	json_put_cstr(&j, "detail", t->fault.text);
	json_put_i64(&j, "delay_ms", delay_ms);
	json_close(&j, '}');
	publish(t, "retry", &data);
	log_event(LOG_WARN, "turn.model_retry", LOG_I64("turn", t->info.id),
		LOG_I64("attempt", t->retry.failures), LOG_I64("delay_ms", delay_ms),
		LOG_ERR(&t->fault));
}

/* A service's words may repeat the key it was given (AG-187): the detail goes to the store, to
 * events, to the log and to clients. */
void live_clean_error(const struct daemon *d, struct error *err)
{
	_cleanup_(buf) struct buf clean = BUF_INIT(8 * ERROR_TEXT_MAX);
	struct str text = STR("(the detail is withheld)");

	if (secret_redact(d->secrets, str_from(err->text), &clean) == 0)
		text = str_cut(buf_str(&clean), sizeof(err->text) - 1);
	(void)snprintf(err->text, sizeof(err->text), STR_FMT, STR_ARG(text)); /* fits */
}

/* Asked anew from the loop, its context read again. */
static void again(struct live_turn *t, int64_t delay_ms)
{
	error_clear(&t->fault);
	loop_timer_set(t->timer, delay_ms);
}

static enum retry_class class_of(enum provider_retry r)
{
	if (r == PROVIDER_RETRY_NEVER)
		return RETRY_NEVER;
	return r == PROVIDER_RETRY_PACE ? RETRY_PACE : RETRY_BACKOFF;
}

static bool try_again(struct live_turn *t, const struct provider_failure *f, int64_t *ret_delay_ms)
{
	struct retry_failure failure = {.class = class_of(f->retry),
		.delay_ms = f->delay_ms,
		.now_ms = clock_mono_ms(t->d->clock)};

	if (os_random(&failure.chance, sizeof(failure.chance), NULL) < 0)
		failure.chance = 0; /* without it many come back at once, no more */
	return retry_next(&t->retry, &failure, ret_delay_ms);
}

void live_model_failed(struct live_turn *t, const struct provider_failure *f)
{
	int64_t delay_ms;
	bool once_more;

	t->call = NULL;
	live_context_release(t);
	t->fault = f->err;
	live_clean_error(t->d, &t->fault);
	once_more = try_again(t, f, &delay_ms);
	charge(t, f, once_more);
	if (once_more) {
		publish_retry(t, f->delay_ms > delay_ms ? f->delay_ms : delay_ms);
		again(t, delay_ms);
		return;
	}
	if (fall_back(t)) {
		again(t, 0);
		return;
	}
	/* a family may make its kinds up as it goes (rehearsal): keep the code itself */
	t->fault_code = str_from(
		arena_strndup(&t->arena, error_code(&f->err), strlen(error_code(&f->err))));
	live_step(t, EV_MODEL_FAILED);
}

void live_model_answered(struct live_turn *t)
{
	t->retry = (struct retry){.failures = 0};
}

struct store_usage live_usage(const struct provider_usage *u, int64_t sent_ms)
{
	return (struct store_usage){
		.input_tokens = u->input_tokens,
		.output_tokens = u->output_tokens,
		.cached_input_tokens = u->cached_input_tokens,
		.cache_write_tokens = u->cache_write_tokens,
		.cache_write_1h_tokens = u->cache_write_1h_tokens,
		.sent_ms = sent_ms,
	};
}
