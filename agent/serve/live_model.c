/* Live turns: the model's answer, and its commit. The context: live_context.c. */
#include "agent/serve/live.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/serve/daemon.h"
#include "agent/serve/round.h"
#include "log/log.h"

static const struct error_kind OUTPUT_LIMIT = {"output_limit", ERROR_CLASS_LIMIT};
static const struct error_kind DUPLICATE_CALL = {"provider_duplicate_call", ERROR_CLASS_IO};
static const struct error_kind INVALID_CALL = {"provider_invalid_call", ERROR_CLASS_IO};

void live_publish_delta(struct live_turn *t, const char *kind, struct str delta)
{
	struct buf data = BUF_INIT(PROVIDER_OUTPUT_MAX_BYTES);
	struct json_out j = JSON_OUT(&data);

	json_open(&j, '{');
	json_put_str(&j, "text", delta);
	json_close(&j, '}');
	if (!data.full)
		publish_passing(t->d, t->bot.id, t->bot.name, t->info.id, kind, buf_str(&data));
	buf_release(&data);
}

static void model_text(void *arg, struct str delta)
{
	live_publish_delta(arg, "text_delta", delta);
}

static void model_thinking(void *arg, struct str delta)
{
	live_publish_delta(arg, "thinking_delta", delta);
}

void live_item_repaired(void *arg, const char *what)
{
	struct live_turn *t = arg;

	log_event(LOG_WARN, "turn.item_repaired", LOG_I64("turn", t->info.id),
		LOG_CSTR("what", what));
}

static struct str keep_round(struct live_turn *t, struct str s)
{
	return s.p ? (struct str){arena_strndup(&t->round, s.p, s.len), s.len} : s;
}

static bool fits_name(struct str s)
{
	return s.len > 0 && s.len <= STORE_CALL_NAME_MAX_BYTES;
}

static int check_reply(const struct provider_reply *r, struct error *err)
{
	size_t bytes = 0;

	if (r->call_count > CALLS_MAX || r->item_count > CALLS_MAX)
		return error_set(err, &OUTPUT_LIMIT, "the reply holds more than %d items or calls",
			CALLS_MAX);
	for (size_t i = 0; i < r->item_count; i++)
		bytes += r->items[i].len;
	if (bytes > PROVIDER_OUTPUT_MAX_BYTES)
		return error_set(err, &OUTPUT_LIMIT, "the reply has %zu bytes, %d are the limit",
			bytes, PROVIDER_OUTPUT_MAX_BYTES);
	for (size_t i = 0; i < r->call_count; i++) {
		if (!fits_name(r->calls[i].call_id) || !fits_name(r->calls[i].name))
			return error_set(err, &INVALID_CALL,
				"call %zu: its id and name must have 1 to %d bytes", i,
				STORE_CALL_NAME_MAX_BYTES);
		for (size_t k = 0; k < i; k++) {
			if (str_eq(r->calls[i].call_id, r->calls[k].call_id))
				return error_set(err, &DUPLICATE_CALL, "two calls have one id");
		}
	}
	return 0;
}

static void keep_reply(struct live_turn *t, const struct provider_reply *r)
{
	struct str *items = arena_alloc(&t->round, (r->item_count + 1) * sizeof(*items));

	for (size_t i = 0; i < r->item_count; i++)
		items[i] = keep_round(t, r->items[i]);
	t->append = (struct store_append){
		.bot = t->bot.id,
		.turn = t->info.id,
		.items = items,
		.item_count = r->item_count,
		.usage = live_usage(&r->usage, r->sent_ms),
	};
	t->append.usage.model = keep_round(t, live_model_name(t));
	t->calls = arena_alloc(&t->round, (r->call_count + 1) * sizeof(*t->calls));
	t->call_count = r->call_count;
	t->at = 0;
	for (size_t i = 0; i < r->call_count; i++) {
		t->calls[i].call_id = keep_round(t, r->calls[i].call_id);
		t->calls[i].name = keep_round(t, r->calls[i].name);
		t->calls[i].arguments = keep_round(t, r->calls[i].arguments);
		t->calls[i].item = r->call_items[i];
	}
}

static void model_done(void *arg, const struct provider_reply *r)
{
	struct live_turn *t = arg;
	struct provider_failure f = {.retry = PROVIDER_RETRY_NEVER,
		.delay_ms = -1,
		.has_usage = true,
		.usage = r->usage};

	t->call = NULL;
	live_context_release(t);
	if (check_reply(r, &f.err) < 0) {
		live_model_failed(t, &f);
		return;
	}
	t->rounds++;
	live_model_answered(t);
	keep_reply(t, r);
	live_step(t, r->call_count > 0 ? EV_REPLY_CALLS : EV_REPLY_FINAL);
}

static void model_failed(void *arg, const struct provider_failure *f)
{
	live_model_failed(arg, f);
}

static void model_paced(void *arg, int64_t until_mono_ms)
{
	struct live_turn *t = arg;

	t->call = NULL;
	live_park_paced(t, until_mono_ms);
}

/* A thousand turns wait for their replies at once: none holds what it said. */
static void model_taken(void *arg)
{
	live_context_release(arg);
}

static void offer_tools(const struct live_turn *t, struct provider_request *r, struct arena *a)
{
	const struct str_list *names = &t->bot.set.tools;
	const struct served_tools *served = &t->bot.set.served;
	struct provider_tool *tools = arena_alloc(
		a, (names->count + served->count + 1) * sizeof(*tools));
	size_t count = 0;

	for (size_t i = 0; tool_table[i]; i++) {
		for (size_t k = 0; k < names->count; k++) {
			if (!str_is(names->items[k], tool_table[i]->name))
				continue;
			tools[count++] = (struct provider_tool){tool_table[i]->name,
				tool_table[i]->description, tool_table[i]->parameters};
			break;
		}
	}
	for (size_t i = 0; i < served->count; i++) /* kept with a NUL behind each text */
		tools[count++] = (struct provider_tool){served->items[i].name.p,
			served->items[i].description.p, served->items[i].parameters.p};
	r->tools = tools;
	r->tool_count = count;
}

void live_fill_request(struct live_turn *t, struct provider_request *r, struct arena *tools,
	struct arena *cache_key)
{
	r->instructions = t->bot.set.instructions;
	r->reasoning = t->bot.set.reasoning;
	r->max_output_tokens = t->bot.set.limits.max_output_tokens;
	r->cache_hours = t->bot.set.limits.cache_hours;
	r->cache_key = str_from(
		arena_printf(cache_key, "%s-%lld", store_identity(t->d->store)->identity,
			(long long)(t->bot.cache_bot ? t->bot.cache_bot : t->bot.id)));
	r->bot = t->bot.id;
	r->turn = t->info.id;
	offer_tools(t, r, tools);
}

void live_set_request(struct live_turn *t)
{
	live_fill_request(t, &t->request, &t->round, &t->context);
}

void live_ask_model(struct live_turn *t)
{
	static const struct provider_callbacks callbacks = {model_text, model_thinking,
		live_item_repaired, model_done, model_failed, model_paced, model_taken};
	struct provider_failure f = {.retry = PROVIDER_RETRY_NEVER, .delay_ms = -1};
	struct provider *p = live_model_provider(t, &t->request.model, &f.err);

	live_set_request(t);
	if (!p || provider_call_start(p, &t->request, &callbacks, t, &t->call, &f.err) < 0)
		live_model_failed(t, &f);
	else
		live_warm_begin(t, p);
	if (t->call && provider_family(p)->copies)
		live_context_release(t); /* a thousand turns wait here at once */
}

/*
 * The commit of a reply.
 */
static int run_append(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;

	return store_append(tx, &t->append, &t->round, &t->nodes, &t->announced_ms, err);
}

static int run_last(struct store_tx *tx, void *arg, struct error *err)
{
	struct live_turn *t = arg;

	t->steers_taken = 0;
	if (run_append(tx, arg, err) < 0)
		return -1;
	/* a steer that came during the last call keeps the turn going (spec 3.3) */
	if (t->rounds < ROUNDS_MAX && live_take_steers(tx, t, err) < 0)
		return -1;
	if (t->steers_taken > 0)
		return 0;
	return store_turn_finish(tx, &t->finish, &t->finished, err);
}

static void appended(struct live_turn *t)
{
	size_t announced[CALLS_MAX], count = 0;

	for (size_t i = 0; i < t->call_count; i++) {
		struct live_call *c = &t->calls[i];

		c->node = t->nodes[c->item];
		if (c->verdicts.count == 0)
			continue;
		live_announced(t, c, 1);
		announced[count++] = i;
	}
	live_push(t, announced, count);
}

void live_commit_append(struct live_turn *t, bool last)
{
	struct store_call *rows = arena_alloc(&t->round, (t->call_count + 1) * sizeof(*rows));

	for (size_t i = 0; i < t->call_count; i++) {
		struct live_call *c = &t->calls[i];
		struct gate *gates;

		live_plan_call(t, c);
		gates = arena_alloc(&t->round, (c->verdicts.count + 1) * sizeof(*gates));
		for (size_t k = 0; k < c->verdicts.count; k++)
			gates[k] = c->verdicts.slots[k].gate;
		rows[i] = (struct store_call){.call_id = c->call_id,
			.name = c->name,
			.arguments = c->arguments,
			.item = c->item,
			.gates = gates,
			.gate_count = c->verdicts.count};
		if (c->verdicts.count > 0)
			rows[i].judged = round_judged(&t->round, &c->judged);
	}
	t->append.calls = rows;
	t->append.call_count = t->call_count;
	t->finish = (struct store_finish){
		.bot = t->bot.id, .turn = t->info.id, .status = TURN_COMPLETED};
	live_commit(t, last ? run_last : run_append, appended);
}
