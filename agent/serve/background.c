/* Commands in the background. */
#include "agent/serve/background.h"

#include <stdlib.h>

#include "agent/core/item.h"
#include "agent/io/spill.h"
#include "agent/io/store_processes.h"
#include "agent/serve/daemon.h"
#include "log/log.h"

static const struct error_kind COMMAND_CANCELLED = {"cancelled", ERROR_CLASS_CONFLICT};

enum {
	BACKOFF_FIRST_MS = 10, /* agent spec 3.4: 10 ms to 1 s */
	BACKOFF_MAX_MS = 1000,
};

/* What a worker has while it sees that spilled output is on disk. */
struct settling {
	struct background *b; /* NULL: it was let go meanwhile */
	struct spill *spill;
	struct error err;
	int rc;
};

struct background {
	struct daemon *d;
	struct tool_spill into; /* the tool's way to `spill` */
	struct spill *spill;    /* NULL while a worker has it */
	struct settling *settling;
	struct list in_daemon;
	struct arena arena;
	struct bot bot;
	struct tool_context context;
	struct tool_judgement judged;
	const struct tool *tool;
	const void *args;
	struct tool_run *run;
	struct process_claim claim;
	bool slot, abandoned;
	struct loop_timer *timer; /* the next try of its commit */
	int64_t backoff_ms;
	struct store_process row;
	struct store_artifact artifacts[ARRAY_LEN(((struct tool_result *)0)->artifacts)];
	size_t artifact_count;
};

static void granted(struct process_claim *c);
static void submit_result(void *arg);

static struct str keep(struct background *b, struct str s)
{
	return s.p ? (struct str){arena_strndup(&b->arena, s.p, s.len), s.len} : s;
}

struct background *background_new(const struct live_turn *t, const struct live_call *c)
{
	struct background *b = xcalloc(1, sizeof(*b));

	b->d = t->d;
	list_init(&b->in_daemon);
	list_init(&b->claim.in_queue);
	b->claim.granted = granted;
	live_keep_bot(&b->arena, &t->bot, &b->bot);
	b->judged.reach = c->judged.reach;
	b->judged.free = c->judged.free;
	b->tool = c->tool;
	/* it was prepared once: the same text again cannot fail */
	must(tool_prepare(c->tool, &b->arena, keep(b, c->arguments), &b->args, NULL) == 0);
	b->context = (struct tool_context){
		.host = &b->d->host,
		.bot = &b->bot,
		.workspace = keep(b, t->workspace),
		.model = keep(b, t->info.model),
		.turn = t->info.id,
		.call_id = keep(b, c->call_id),
		.judged = &b->judged,
	};
	b->row = (struct store_process){
		.bot = t->bot.id, .turn = t->info.id, .call_id = b->context.call_id};
	return b;
}

void background_free(struct background *b)
{
	if (!b)
		return;
	if (b->settling)
		b->settling->b = NULL;
	spill_free(b->spill);
	if (b->run)
		b->tool->free(mem_take(&b->run));
	schedule_process_forget(b->d, &b->claim);
	loop_timer_free(b->timer);
	list_remove(&b->in_daemon);
	arena_release(&b->arena);
	free(b);
}

int background_insert(struct store_tx *tx, struct background *b, struct arena *a,
	struct store_result *ret, struct error *err)
{
	struct str output;

	if (store_process_insert(tx, b->row.bot, b->row.turn, b->row.call_id, &b->row.id, err) < 0)
		return -1;
	output = str_from(arena_printf(a, "{\"handle\":\"proc:%lld\"}", (long long)b->row.id));
	*ret = (struct store_result){.call_id = b->row.call_id,
		.item = item_result(
			a, item_family(b->bot.family), b->row.call_id, output, NULL, 0)};
	return 0;
}

/*
 * The end.
 */
static int run_result(struct store_tx *tx, void *arg, struct error *err)
{
	const struct background *b = arg;

	return store_process_finish(tx, &b->row, b->artifacts, b->artifact_count, err);
}

/* Whether a stream's file is its artifact. */
static bool is_spilled(const struct background *b, size_t stream)
{
	for (size_t i = 0; i < b->artifact_count; i++) {
		if (b->artifacts[i].spilled &&
			str_is(b->artifacts[i].stream, spill_streams[stream]))
			return true;
	}
	return false;
}

/* `recorded`: rows say what there is. Files that no row knows go. */
static void let_go(struct background *b, bool recorded)
{
	struct daemon *d = b->d;
	int64_t id = b->row.id;

	for (size_t i = 0; b->spill && i < SPILL_STREAMS; i++) {
		if (!recorded || !is_spilled(b, i))
			spill_discard(b->spill, i);
	}
	log_event(LOG_INFO, "process.done", LOG_I64("bot", b->row.bot), LOG_I64("process", id));
	background_free(b);
	d->background_count--;
	waiters_notify_process(d, id);
	daemon_look_idle(d);
}

static void result_done(void *arg, int rc, const struct error *err)
{
	struct background *b = arg;

	if (b->abandoned)
		return;
	if (rc == 0 || !error_is(err, &DB_ERROR)) {
		if (rc < 0)
			log_event(LOG_ERROR, "process.store_failed", LOG_I64("process", b->row.id),
				LOG_ERR(err));
		let_go(b, rc == 0);
		return;
	}
	log_event(LOG_WARN, "process.store_refused", LOG_I64("process", b->row.id), LOG_ERR(err));
	b->backoff_ms = b->backoff_ms == 0 ? BACKOFF_FIRST_MS : b->backoff_ms * 2;
	if (b->backoff_ms > BACKOFF_MAX_MS)
		b->backoff_ms = BACKOFF_MAX_MS;
	loop_timer_set(b->timer, b->backoff_ms);
}

static void submit_result(void *arg)
{
	struct background *b = arg;

	store_write(b->d->store, run_result, result_done, b);
}

static void release_slot(struct background *b)
{
	if (!b->slot)
		return;
	b->slot = false;
	schedule_process_done(b->d);
}

static void fail(struct background *b, const struct error *err)
{
	b->row.result = tool_error_output(&b->d->host, &b->arena, err);
	release_slot(b);
	submit_result(b);
}

/* On a worker: a row must not be older than the file it speaks of. */
static void sync_spill(void *arg)
{
	struct settling *s = arg;

	s->rc = spill_sync(s->spill, &s->err);
}

static void spill_synced(void *arg)
{
	struct settling *s = arg;

	if (s->rc < 0)
		log_event(LOG_WARN, "process.spill_not_synced", LOG_ERR(&s->err));
	if (s->b) {
		s->b->spill = mem_take(&s->spill);
		s->b->settling = NULL;
		if (!s->b->abandoned)
			submit_result(s->b);
	}
	spill_free(s->spill);
	free(s);
}

static void settle(struct background *b)
{
	b->settling = xcalloc(1, sizeof(*b->settling));
	b->settling->b = b;
	b->settling->spill = mem_take(&b->spill);
	loop_work(b->d->loop, sync_spill, spill_synced, b->settling);
}

static struct spill_place place_of(const struct background *b)
{
	return (struct spill_place){.root = store_spill(b->d->store),
		.bot = b->row.bot,
		.turn = b->row.turn,
		.process = b->row.id,
		.call_id = b->row.call_id};
}

static void keep_artifact(struct background *b, const struct tool_artifact *a)
{
	struct store_artifact *to = &b->artifacts[b->artifact_count++];
	const struct spill_place place = place_of(b);

	*to = (struct store_artifact){.stream = keep(b, a->stream), .spilled = a->spilled};
	if (!a->spilled)
		to->bytes = keep(b, a->bytes);
	for (size_t i = 0; a->spilled && i < SPILL_STREAMS; i++) {
		if (str_is(a->stream, spill_streams[i]))
			to->name = str_from(spill_name(&b->arena, &place, i));
	}
}

static int put(struct tool_spill *k, size_t stream, struct str bytes, struct error *err)
{
	struct background *b = container_of(k, struct background, into);

	return spill_put(b->spill, stream, bytes, err);
}

static void finished(void *arg, const struct tool_result *r)
{
	struct background *b = arg;

	b->row.result = keep(b, r->output);
	for (size_t i = 0; i < r->artifact_count; i++)
		keep_artifact(b, &r->artifacts[i]);
	b->tool->free(mem_take(&b->run));
	release_slot(b);
	if (is_spilled(b, 0) || is_spilled(b, 1))
		settle(b);
	else
		submit_result(b);
}

/*
 * The start.
 */
static void run(struct background *b)
{
	const struct tool_order order = {b->judged.reach == TOOL_LEAVES, finished, b};
	struct error err = ERROR_INIT;

	b->slot = true;
	if (b->tool->start(&b->context, &b->arena, b->args, &order, &b->run, &err) < 0)
		fail(b, &err);
}

static void granted(struct process_claim *c)
{
	run(container_of(c, struct background, claim));
}

void background_start(struct background *b, bool stopped)
{
	struct error err = ERROR_INIT;

	const struct spill_place place = place_of(b);

	b->spill = spill_new(&place);
	b->into.put = put;
	b->context.spill = &b->into;
	list_add_tail(&b->d->backgrounds, &b->in_daemon);
	b->d->background_count++;
	b->timer = loop_timer_new(b->d->loop, submit_result, b);
	log_event(LOG_INFO, "process.started", LOG_I64("bot", b->row.bot),
		LOG_I64("turn", b->row.turn), LOG_I64("process", b->row.id));
	if (stopped) {
		(void)error_set(&err, &COMMAND_CANCELLED,
			"the turn was stopped before the command started");
		fail(b, &err);
	} else if (schedule_process(b->d, &b->claim)) {
		run(b);
	}
}

void backgrounds_cancel(struct daemon *d)
{
	struct error err = ERROR_INIT;

	(void)error_set(&err, &COMMAND_CANCELLED, "the command was ended before it started");
	list_for_each_safe (b, &d->backgrounds, struct background, in_daemon) {
		if (b->run) {
			b->tool->cancel(b->run);
		} else if (!list_empty(&b->claim.in_queue)) {
			schedule_process_forget(d, &b->claim);
			fail(b, &err);
		}
	}
}

void backgrounds_abandon(struct daemon *d)
{
	list_for_each (b, &d->backgrounds, struct background, in_daemon) {
		b->abandoned = true;
		if (b->run)
			b->tool->free(mem_take(&b->run));
		schedule_process_forget(d, &b->claim);
		loop_timer_stop(b->timer);
	}
}

void backgrounds_release(struct daemon *d)
{
	list_for_each_safe (b, &d->backgrounds, struct background, in_daemon)
		background_free(b);
}
