#ifndef AGENT_TEST_STORE_LIFE_H
#define AGENT_TEST_STORE_LIFE_H
/*
 * What the tests of a store's life cycle share: turns played whole, forks, deletions, prunes.
 */
#include "test_store.h"

/* A number that the store's rows say. */
struct op_number {
	const char *sql;
	int64_t ret;
};

static inline int op_number(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_number *op = arg;
	struct db_stmt *s = db_prepare(tx->view.db, op->sql);
	int rc = db_step(s, err);

	(void)b;
	op->ret = rc == 1 ? db_col_i64(s, 0) : 0;
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

static inline int64_t number(struct bench *b, const char *sql)
{
	struct op_number op = {.sql = sql};
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_number, &op, &err), &err);
	return op.ret;
}

struct op_fork {
	struct store_fork f;
	struct bot ret;
};

static inline int op_fork(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_fork *op = arg;

	return store_bot_fork(tx, &op->f, &b->a, &op->ret, err);
}

static inline int try_fork(
	struct bench *b, const struct store_fork *f, struct bot *ret, struct error *err)
{
	struct op_fork op = {.f = *f};
	int rc = bench_write(b, op_fork, &op, err);

	*ret = op.ret;
	return rc;
}

static inline struct bot fork_at(
	struct bench *b, const char *source, const char *name, int64_t checkpoint)
{
	const struct store_fork f = {
		.source = str_from(source), .name = str_from(name), .checkpoint = checkpoint};
	struct error err = ERROR_INIT;
	struct bot made;

	assert_ok(try_fork(b, &f, &made, &err), &err);
	return made;
}

/* A whole turn with one call; the nodes of its four items. */
static inline int64_t play(struct bench *b, const char *bot, const char *request, int64_t nodes[4])
{
	struct store_submitted s = submit(b, bot, request);
	struct store_call call = shell_call("c1");

	assert_true(s.started);
	nodes[0] = s.bot.head;
	nodes[1] = append(b, s.bot.id, s.turn.id, "looking", &call, 1);
	tool_start(b, s.bot.id, s.turn.id, "c1");
	nodes[2] = tool_finish(b, s.bot.id, s.turn.id, "c1", "seen");
	nodes[3] = append(b, s.bot.id, s.turn.id, "done", NULL, 0);
	finish(b, s.bot.id, s.turn.id);
	return s.turn.id;
}

struct op_history {
	int64_t bot;
	struct store_node *nodes;
	size_t count;
	int64_t next;
};

static inline int op_history(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_history *op = arg;

	return store_history(
		v, op->bot, 0, 0, 400, false, &b->a, &op->nodes, &op->count, &op->next, err);
}

static inline size_t history(struct bench *b, int64_t bot)
{
	struct op_history op = {.bot = bot};
	struct error err = ERROR_INIT;

	assert_ok(bench_read(b, op_history, &op, &err), &err);
	return op.count;
}

struct op_delete {
	struct str name;
	int64_t bot;
	struct store_deleted sum;
	bool done;
	int pieces;
};

static inline int op_delete(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_delete *op = arg;

	(void)b;
	return store_bot_delete(tx, op->name, &op->bot, err);
}

static inline int op_delete_piece(
	struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_delete *op = arg;

	(void)b;
	return store_bot_delete_piece(tx, op->bot, &op->sum, &op->done, err);
}

static inline int try_delete(struct bench *b, struct op_delete *op, struct error *err)
{
	if (bench_write(b, op_delete, op, err) < 0)
		return -1;
	while (!op->done) {
		if (bench_write(b, op_delete_piece, op, err) < 0)
			return -1;
		op->pieces++;
	}
	return 0;
}

static inline struct op_delete delete (struct bench *b, const char *name)
{
	struct op_delete op = {.name = str_from(name)};
	struct error err = ERROR_INIT;

	assert_ok(try_delete(b, &op, &err), &err);
	return op;
}

struct op_prune {
	int64_t bot, keep;
	struct store_pruned sum;
	bool done;
};

static inline int op_prune(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_prune *op = arg;

	(void)b;
	return store_bot_prune_piece(tx, op->bot, op->keep, &op->sum, &op->done, err);
}

static inline struct store_pruned prune(struct bench *b, int64_t bot, int64_t keep, int *ret_pieces)
{
	struct op_prune op = {.bot = bot, .keep = keep};
	struct error err = ERROR_INIT;

	*ret_pieces = 0;
	while (!op.done) {
		assert_ok(bench_write(b, op_prune, &op, &err), &err);
		++*ret_pieces;
	}
	return op.sum;
}

struct op_output {
	int64_t bot;
	struct str bytes;
};

static inline int op_output(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_output *op = arg;

	return store_artifact_get(v, op->bot, 1, STR("c1"), STR("stdout"), &b->a, &op->bytes, err);
}

#endif
