/*
 * Live turns: a summary of what is old (spec 4.4). One model call; whatever becomes of it is billed
 * and the turn goes on, with a shorter context or with the one it had. The conversation itself is
 * not touched (AG-203).
 */
#include <stdio.h>

#include "agent/serve/daemon.h"
#include "agent/serve/live.h"
#include "log/log.h"

static const struct error_kind COMPACTION_EMPTY = {"compaction_empty", ERROR_CLASS_IO};
static const struct error_kind COMPACTION_TOO_LARGE = {"compaction_too_large", ERROR_CLASS_LIMIT};
static const struct error_kind COMPACTION_NOT_SMALLER = {
	"compaction_not_smaller", ERROR_CLASS_LIMIT};
static const struct error_kind COMPACTION_PACED = {"compaction_paced", ERROR_CLASS_UNAVAILABLE};

enum {
	SUMMARY_MAX_BYTES = 64 * 1024, /* spec 4.4 … */
	SUMMARY_BUDGET_PARTS = 3,      /* … or this part of the budget, whichever is less */
	AGAIN_PARTS = 8, /* ours: after a failure not before the context grew by this part */
};

static int64_t budget(const struct live_turn *t)
{
	return t->window.now.set.limits.context_bytes;
}

/* It did not work: followers hear why; the next try is some growth away. */
static void tell_failed(struct live_turn *t, const struct error *err)
{
	_cleanup_(buf) struct buf data = BUF_INIT(8 * ERROR_TEXT_MAX + 1024);
	_cleanup_(buf) struct buf clean = BUF_INIT(8 * ERROR_TEXT_MAX);
	struct json_out j = JSON_OUT(&data);
	struct str detail = STR("(the detail is withheld)");

	/* A service's words may repeat the key it was given (AG-187). */
	if (secret_redact(t->d->secrets, str_from(err->text), &clean) == 0)
		detail = str_cut(buf_str(&clean), sizeof(err->text) - 1);
	t->compact_from_bytes = t->window.bytes + budget(t) / AGAIN_PARTS;
	json_open(&j, '{');
	json_put_cstr(&j, "error", error_code(err));
	json_put_str(&j, "detail", detail);
	json_close(&j, '}');
	if (!data.full)
		publish_passing(t->d, t->bot.id, t->bot.name, t->info.id, "compaction_failed",
			buf_str(&data));
	log_event(LOG_WARN, "turn.compaction_failed", LOG_I64("turn", t->info.id),
		LOG_CSTR("error", error_code(err)));
}

static void fail(struct live_turn *t, const struct error *err)
{
	t->call = NULL;
	tell_failed(t, err);
	live_step(t, t->compaction.has_usage ? EV_SUMMED_UP : EV_MODEL_FAILED);
}

static void summary_text(void *arg, struct str delta)
{
	live_publish_delta(arg, "compaction_text_delta", delta);
}

static void summary_thinking(void *arg, struct str delta)
{
	live_publish_delta(arg, "compaction_thinking_delta", delta);
}

static int check_summary(const struct live_turn *t, struct str text, struct error *err)
{
	int64_t max = budget(t) / SUMMARY_BUDGET_PARTS;

	if (max > SUMMARY_MAX_BYTES)
		max = SUMMARY_MAX_BYTES;
	if (text.len == 0)
		return error_set(err, &COMPACTION_EMPTY, "the summary is empty");
	if ((int64_t)text.len > max)
		return error_set(err, &COMPACTION_TOO_LARGE,
			"the summary has %zu bytes, %lld are the limit", text.len, (long long)max);
	if ((int64_t)text.len + t->window.prompt_bytes >= t->window.covered_bytes)
		return error_set(err, &COMPACTION_NOT_SMALLER,
			"the summary has %zu bytes, what it would replace %lld", text.len,
			(long long)(t->window.covered_bytes - t->window.prompt_bytes));
	return 0;
}

static void summary_done(void *arg, const struct provider_reply *r)
{
	struct live_turn *t = arg;
	struct store_compaction *c = &t->compaction;
	struct str text = str_trim(r->text.p ? r->text : STR(""));
	struct error err = ERROR_INIT;

	t->call = NULL;
	c->has_usage = true;
	c->usage = live_usage(&r->usage, r->sent_ms);
	if (check_summary(t, text, &err) < 0) {
		fail(t, &err);
		return;
	}
	c->text = (struct str){arena_strndup(&t->context, text.p, text.len), text.len};
	c->context_after = c->context_before - t->window.covered_bytes + t->window.prompt_bytes +
			   (int64_t)text.len;
	live_step(t, EV_SUMMED_UP);
}

static void summary_failed(void *arg, const struct provider_failure *f)
{
	struct live_turn *t = arg;

	t->compaction.has_usage = f->has_usage;
	if (f->has_usage)
		t->compaction.usage = live_usage(&f->usage, clock_real_ms(t->d->clock));
	fail(t, &f->err);
}

/* The turn goes on with what it has, and waits for its own call if it must. */
static void summary_paced(void *arg, int64_t until_mono_ms)
{
	struct error err = ERROR_INIT;

	(void)until_mono_ms;
	(void)error_set(&err, &COMPACTION_PACED, "calls to the summarising model are held");
	fail(arg, &err);
}

/* What the bot's own call would begin with, so that the provider's cache serves both, and then a
 * user's message: the bot's compaction instructions. */
static void fill_request(struct live_turn *t)
{
	struct str *items = arena_alloc(&t->context, (t->window.item_count + 1) * sizeof(*items));
	struct str *whole = arena_alloc(&t->context, (t->window.whole_count + 1) * sizeof(*whole));
	struct str ask = item_user(&t->context, item_family(t->bot.family),
		t->window.now.set.compaction_instructions, NULL, 0);

	memcpy(items, t->window.items, t->window.item_count * sizeof(*items));
	items[t->window.item_count] = ask;
	t->request.items = items;
	t->request.item_count = t->window.item_count + 1;
	live_set_request(t);
	if (t->window.whole_count == 0)
		return;
	memcpy(whole, t->window.whole, t->window.whole_count * sizeof(*whole));
	whole[t->window.whole_count] = ask;
	t->request.whole = whole;
	t->request.whole_count = t->window.whole_count + 1;
}

void live_ask_summary(struct live_turn *t)
{
	static const struct provider_callbacks callbacks = {summary_text, summary_thinking,
		live_item_repaired, summary_done, summary_failed, summary_paced};
	const struct bot_settings *set = &t->window.now.set;
	struct str model = set->compaction_model.p ? set->compaction_model : t->info.model, name;
	struct error err = ERROR_INIT;
	struct provider *p = NULL;

	t->compaction = (struct store_compaction){.bot = t->bot.id,
		.turn = t->info.id,
		.model = model,
		.coverage = t->window.coverage,
		.context_before = t->window.bytes};
	if (bot_split_model(model, &name, &t->request.model, &err) < 0) {
		fail(t, &err);
		return;
	}
	p = providers_find(t->d->providers, name);
	if (!p) {
		(void)error_set(&err, &PROVIDER_UNAVAILABLE,
			"this daemon has no provider '" STR_FMT "'", STR_ARG(name));
		fail(t, &err);
		return;
	}
	fill_request(t);
	if (provider_call_start(p, &t->request, &callbacks, t, &t->call, &err) < 0)
		fail(t, &err);
}

static int run_summary(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;

	return store_compact(tx, &t->compaction, err);
}

void live_commit_summary(struct live_turn *t)
{
	if (t->compaction.text.p)
		log_event(LOG_INFO, "turn.compacted", LOG_I64("turn", t->info.id),
			LOG_I64("before", t->compaction.context_before),
			LOG_I64("after", t->compaction.context_after));
	live_commit(t, run_summary, NULL);
}
