#ifndef AGENT_TEST_STORE_H
#define AGENT_TEST_STORE_H
/*
 * What the store's tests share: a store in a private folder on a loop and a clock that stands
 * still, and each operation as one call that waits for its commit.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "agent/core/item.h"
#include "agent/io/store_internal.h"
#include "os/os.h"
#include "testing.h"

enum { START_MS = 1700000000000 };

struct seen {
	int64_t id, bot, turn;
	char *bot_name, *kind, *data;
};

struct bench {
	char *dir, *path;
	struct loop *loop;
	struct clock_fake clock;
	struct store *store;
	struct store_recovery recovery;
	struct arena a; /* what operations return */
	struct seen *events;
	size_t event_count;
	int told_count; /* calls of interrupted(), and the last one's */
	int64_t told_bot, told_turn;
	struct error err;
	int rc;
	int dones;
};

static inline void bench_published(void *arg, const struct store_event *e)
{
	struct bench *b = arg;

	b->events = xrealloc(b->events, b->event_count + 1, sizeof(*b->events));
	b->events[b->event_count++] = (struct seen){
		.id = e->id,
		.bot = e->bot,
		.turn = e->turn,
		.bot_name = xstrndup(e->bot_name.p, e->bot_name.len),
		.kind = xstrndup(e->kind.p, e->kind.len),
		.data = xstrndup(e->data.p, e->data.len),
	};
}

/* Notes the turn that was interrupted, and whose. */
static inline void bench_interrupted(void *arg, const struct bot *bot, const struct store_turn *t)
{
	struct bench *b = arg;

	b->told_count++;
	b->told_bot = bot->id;
	b->told_turn = t->id;
}

static inline void bench_forget(struct bench *b)
{
	for (size_t i = 0; i < b->event_count; i++) {
		free(b->events[i].bot_name);
		free(b->events[i].kind);
		free(b->events[i].data);
	}
	free(mem_take(&b->events));
	b->event_count = 0;
}

static inline int bench_try_open(struct bench *b, struct error *err)
{
	const struct store_options o = {
		.path = b->path,
		.loop = b->loop,
		.clock = &b->clock.clock,
		.published = bench_published,
		.interrupted = bench_interrupted,
		.arg = b,
	};

	return store_open(&o, &b->store, &b->recovery, err);
}

static inline void bench_open(struct bench *b)
{
	struct error err = ERROR_INIT;

	assert_ok(bench_try_open(b, &err), &err);
}

static inline void bench_close(struct bench *b)
{
	store_close(mem_take(&b->store));
}

static inline void bench_reopen(struct bench *b)
{
	bench_close(b);
	bench_open(b);
}

/* Without a store yet. */
static inline struct bench *bench_new(void)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	b->dir = testing_dir();
	b->path = xasprintf("%s/state.sqlite", b->dir);
	b->loop = loop_new();
	clock_fake_init(&b->clock, START_MS, 0);
	return b;
}

static inline struct bench *bench_start(void)
{
	struct bench *b = bench_new();

	bench_open(b);
	return b;
}

static inline void bench_end(struct bench *b)
{
	if (!b)
		return;
	if (b->store)
		bench_close(b);
	loop_free(b->loop);
	bench_forget(b);
	arena_release(&b->a);
	assert_int_equal(os_remove_tree(b->dir, NULL), 0);
	free(b->dir);
	free(b->path);
	free(b);
}
MEM_CLEANUP(bench, struct bench *, bench_end)

static inline void bench_done(void *arg, int rc, const struct error *err)
{
	struct bench *b = arg;

	b->rc = rc;
	error_clear(&b->err);
	if (err)
		b->err = *err;
	b->dones++;
}

/* One job's run with all it needs; the bench is the done()'s arg, so that it stands first. */
struct bench_job {
	struct bench *bench;
	int (*write)(struct store_tx *tx, struct bench *b, void *arg, struct error *err);
	int (*read)(struct store_view *v, struct bench *b, void *arg, struct error *err);
	void *arg;
	struct error *err;
	int rc;
};

static inline int bench_run_write(struct store_tx *tx, void *arg, struct error *err)
{
	struct bench_job *j = arg;

	return j->write(tx, j->bench, j->arg, err);
}

static inline int bench_run_read(struct store_view *v, void *arg, struct error *err)
{
	struct bench_job *j = arg;

	return j->read(v, j->bench, j->arg, err);
}

static inline void bench_job_done(void *arg, int rc, const struct error *err)
{
	struct bench_job *j = arg;

	bench_done(j->bench, rc, err);
	j->rc = rc;
	if (err)
		*j->err = *err;
}

/* Runs a job to its done(): the loop ends when nothing is outstanding. */
static inline int bench_write(struct bench *b,
	int (*run)(struct store_tx *tx, struct bench *b, void *arg, struct error *err), void *arg,
	struct error *err)
{
	struct bench_job j = {.bench = b, .write = run, .arg = arg, .err = err, .rc = 1};

	store_write(b->store, bench_run_write, bench_job_done, &j);
	loop_run(b->loop);
	assert_int_not_equal(j.rc, 1);
	return j.rc;
}

static inline int bench_read(struct bench *b,
	int (*run)(struct store_view *v, struct bench *b, void *arg, struct error *err), void *arg,
	struct error *err)
{
	struct bench_job j = {.bench = b, .read = run, .arg = arg, .err = err, .rc = 1};

	store_read(b->store, bench_run_read, bench_job_done, &j);
	loop_run(b->loop);
	assert_int_not_equal(j.rc, 1);
	return j.rc;
}

/* Bots */

struct op_create {
	struct store_create c;
	struct bot ret;
};

static inline int op_create(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_create *op = arg;

	return store_bot_create(tx, &op->c, &b->a, &op->ret, err);
}

static inline struct store_create plain_bot(const char *name)
{
	static struct str tools[] = {
		{"shell", 5},
                {"read",  4}
        };

	return (struct store_create){
		.name = str_from(name),
		.provider = STR("drill"),
		.family = STR("rehearsal"),
		.set =
			{
                              .model = STR("drill/one"),
                              .instructions = STR("Be brief."),
                              .tools = {tools, ARRAY_LEN(tools)},
                              .workspace = STR("/srv/project"),
                              .limits = {.approval_hold_ms = 2000},
			      },
	};
}

static inline struct bot make_bot_of(struct bench *b, const struct store_create *c)
{
	struct op_create op = {.c = *c};
	struct error err = ERROR_INIT;

	if (op.c.set.limits.context_bytes == 0)
		bot_limits_init(&op.c.set.limits);

	assert_ok(bench_write(b, op_create, &op, &err), &err);
	return op.ret;
}

static inline struct bot make_bot(struct bench *b, const char *name)
{
	struct store_create c = plain_bot(name);

	return make_bot_of(b, &c);
}

struct op_bot {
	int64_t id;
	struct bot ret;
};

static inline int op_bot_id(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_bot *op = arg;

	return store_bot_get_id(v, op->id, &b->a, &op->ret, err);
}

static inline struct bot get_bot(struct bench *b, int64_t id)
{
	struct op_bot op = {.id = id};
	struct error err = ERROR_INIT;

	assert_ok(bench_read(b, op_bot_id, &op, &err), &err);
	return op.ret;
}

/* Turns */

static inline struct str user_item(struct arena *a, const struct store_turn *t)
{
	return item_user(a, ITEM_CHAT, t->prompt, NULL, 0);
}

struct op_submit {
	struct store_submit s;
	struct store_submitted ret;
};

static inline int op_submit(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_submit *op = arg;

	return store_turn_submit(tx, &op->s, &b->a, &op->ret, err);
}

static inline struct store_submit plain_submit(const char *bot, const char *request)
{
	return (struct store_submit){
		.bot = str_from(bot),
		.request_id = str_from(request),
		.prompt = STR("please mend it"),
		.delivery = DELIVERY_QUEUE,
		.may_start = true,
		.user_item = user_item,
	};
}

static inline int try_submit(struct bench *b, const struct store_submit *s,
	struct store_submitted *ret, struct error *err)
{
	struct op_submit op = {.s = *s};
	int rc = bench_write(b, op_submit, &op, err);

	*ret = op.ret;
	return rc;
}

static inline struct store_submitted submit(struct bench *b, const char *bot, const char *request)
{
	struct store_submit s = plain_submit(bot, request);
	struct store_submitted ret;
	struct error err = ERROR_INIT;

	assert_ok(try_submit(b, &s, &ret, &err), &err);
	return ret;
}

struct op_ready {
	struct store_turn turn;
	struct bot bot;
	bool found;
};

static inline int op_ready(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_ready *op = arg;

	return store_turn_start_ready(tx, user_item, &b->a, &op->turn, &op->bot, &op->found, err);
}

/* The id of the turn that was started, or 0. */
static inline int64_t start_ready(struct bench *b)
{
	struct op_ready op = {0};
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_ready, &op, &err), &err);
	return op.found ? op.turn.id : 0;
}

struct op_finish {
	struct store_finish f;
	struct store_finished ret;
};

static inline int op_finish(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_finish *op = arg;

	(void)b;
	return store_turn_finish(tx, &op->f, &op->ret, err);
}

static inline int try_finish(struct bench *b, int64_t bot, int64_t turn, enum turn_status status,
	bool *ret_next, struct error *err)
{
	struct op_finish op = {
		.f = {.bot = bot, .turn = turn, .status = status}
        };
	int rc = bench_write(b, op_finish, &op, err);

	*ret_next = op.ret.next_ready;
	return rc;
}

static inline bool finish(struct bench *b, int64_t bot, int64_t turn)
{
	struct error err = ERROR_INIT;
	bool next;

	assert_ok(try_finish(b, bot, turn, TURN_COMPLETED, &next, &err), &err);
	return next;
}

struct op_turn {
	int64_t bot, turn;
	struct store_turn ret;
};

static inline int op_turn(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_turn *op = arg;

	return store_turn_get(v, op->bot, op->turn, &b->a, &op->ret, err);
}

static inline struct store_turn get_turn(struct bench *b, int64_t bot, int64_t turn)
{
	struct op_turn op = {.bot = bot, .turn = turn};
	struct error err = ERROR_INIT;

	assert_ok(bench_read(b, op_turn, &op, &err), &err);
	return op.ret;
}

/* Responses and calls */

struct op_append {
	struct store_append ap;
	int64_t *nodes;
	int64_t announced_ms;
};

static inline int op_append(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_append *op = arg;

	return store_append(tx, &op->ap, &b->a, &op->nodes, &op->announced_ms, err);
}

static inline int try_append(
	struct bench *b, const struct store_append *ap, int64_t *ret_node, struct error *err)
{
	struct op_append op = {.ap = *ap};
	int rc = bench_write(b, op_append, &op, err);

	*ret_node = rc == 0 ? op.nodes[0] : 0;
	return rc;
}

/* One item that says `text`, with these calls. */
static inline int64_t append(struct bench *b, int64_t bot, int64_t turn, const char *text,
	const struct store_call *calls, size_t count)
{
	struct item_call item_calls[CALLS_MAX];
	struct error err = ERROR_INIT;
	struct str item;
	int64_t node;

	for (size_t i = 0; i < count; i++)
		item_calls[i] = (struct item_call){
			calls[i].call_id, calls[i].name, calls[i].arguments};
	item = item_assistant(&b->a, str_from(text), item_calls, count);
	assert_ok(try_append(b,
			  &(struct store_append){
				  .bot = bot,
				  .turn = turn,
				  .items = &item,
				  .item_count = 1,
				  .usage = {.input_tokens = 100,
					    .output_tokens = 10,
					    .cached_input_tokens = 40,
					    .sent_ms = START_MS},
				  .calls = calls,
				  .call_count = count,
        },
			  &node, &err),
		&err);
	return node;
}

static inline struct store_call shell_call(const char *call_id)
{
	return (struct store_call){
		.call_id = str_from(call_id),
		.name = STR("shell"),
		.arguments = STR("{\"command\":\"true\"}"),
	};
}

struct op_start {
	int64_t bot, turn;
	struct str call_id;
	const struct store_verdict *verdicts;
	size_t verdict_count;
	bool sandboxed;
};

static inline int op_start(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	const struct op_start *op = arg;

	(void)b;
	return store_tool_start(tx, op->bot, op->turn, op->call_id, op->verdicts, op->verdict_count,
		op->sandboxed, err);
}

static inline void tool_start(struct bench *b, int64_t bot, int64_t turn, const char *call_id)
{
	struct op_start op = {
		.bot = bot, .turn = turn, .call_id = str_from(call_id), .sandboxed = true};
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_start, &op, &err), &err);
}

struct op_result {
	int64_t bot, turn;
	struct store_result r;
	int64_t node;
};

static inline int op_result(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_result *op = arg;

	(void)b;
	return store_tool_finish(tx, op->bot, op->turn, &op->r, &op->node, err);
}

static inline int64_t tool_finish(
	struct bench *b, int64_t bot, int64_t turn, const char *call_id, const char *output)
{
	struct op_result op = {
		.bot = bot,
		.turn = turn,
		.r = {.call_id = str_from(call_id),
                      .item = item_result(
				&b->a, ITEM_CHAT, str_from(call_id), str_from(output), NULL, 0)},
	};
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_result, &op, &err), &err);
	return op.node;
}

/* Events */

struct op_events {
	int64_t bot, after;
	int limit;
	struct store_event *ret;
	size_t count;
	bool more;
};

static inline int op_events(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_events *op = arg;

	return store_events(
		v, op->bot, op->after, op->limit, &b->a, &op->ret, &op->count, &op->more, err);
}

static inline struct op_events get_events(struct bench *b, int64_t bot, int64_t after, int limit)
{
	struct op_events op = {.bot = bot, .after = after, .limit = limit};
	struct error err = ERROR_INIT;

	assert_ok(bench_read(b, op_events, &op, &err), &err);
	return op;
}

/* The last event of this kind that was published. */
static inline const struct seen *last_seen(const struct bench *b, const char *kind)
{
	for (size_t i = b->event_count; i > 0; i--) {
		if (!strcmp(b->events[i - 1].kind, kind))
			return &b->events[i - 1];
	}
	fail_msg("no event %s was published", kind);
	return NULL;
}

static inline const char *text_of(struct bench *b, struct str s)
{
	return s.p ? arena_strndup(&b->a, s.p, s.len) : NULL;
}

#endif
