/*
 * fork, delete, prune.
 *
 * The last two go piece by piece, each a job of its own that the next one follows, so that other
 * bots' commits come between; they answer when all is done, also after the session has left.
 */
#include <stdlib.h>

#include "agent/core/confine.h"
#include "agent/serve/lineage.h"
#include "agent/serve/op.h"
#include "agent/serve/publish.h"

static const struct error_kind INVALID_BUDGET = {"invalid_budget", ERROR_CLASS_USAGE};
static const struct error_kind CREATOR_IDENTITY = {"creator_identity_required", ERROR_CLASS_USAGE};

/*
 * fork
 */
struct fork_args {
	struct str source, bot, workspace, created_by;
	int64_t checkpoint, budget_tokens, created_by_id;
	const struct json *gates;
	struct str_list allow;
};
enum fork_field {
	K_SOURCE,
	K_BOT,
	K_CHECKPOINT,
	K_WORKSPACE,
	K_BUDGET,
	K_CREATED_BY,
	K_CREATED_BY_ID,
	K_GATES,
	K_ALLOW,
};
static const struct json_field fork_fields[] = {
	[K_SOURCE] = JSON_STR(struct fork_args, source, .required = true),
	[K_BOT] = JSON_STR(struct fork_args, bot, .required = true),
	[K_CHECKPOINT] = JSON_I64(struct fork_args, checkpoint, .nullable = true, .min = 1),
	[K_WORKSPACE] = JSON_STR(struct fork_args, workspace),
	[K_BUDGET] = JSON_I64(struct fork_args, budget_tokens, .min = INT64_MIN),
	[K_CREATED_BY] = JSON_STR(struct fork_args, created_by),
	[K_CREATED_BY_ID] = JSON_I64(struct fork_args, created_by_id),
	[K_GATES] = JSON_NODE(struct fork_args, gates),
	[K_ALLOW] = JSON_STRS(
		struct fork_args, allow, .max = BOT_TOOLS_MAX, .item_max = BOT_NAME_MAX_BYTES),
};

struct fork_work {
	struct store_fork fork;
	struct bot_settings confined; /* the source's, as far as the creator reaches */
	struct bot bot;
};

static bool given(const struct request *r, int field)
{
	return (r->seen >> field & 1) != 0;
}

static int check_fork(struct request *r, const struct fork_args *args, struct error *err)
{
	if (bot_check_name(args->source, "source", err) < 0 ||
		bot_check_name(args->bot, "bot", err) < 0)
		return -1;
	if (given(r, K_BUDGET) && args->budget_tokens < 1)
		return error_set(err, &INVALID_BUDGET, "budget_tokens: must be at least 1");
	if (given(r, K_CREATED_BY) != given(r, K_CREATED_BY_ID))
		return error_set(
			err, &CREATOR_IDENTITY, "created_by and created_by_id go together");
	return given(r, K_CREATED_BY) ? bot_check_name(args->created_by, "created_by", err) : 0;
}

static int prepare_fork(
	struct request *r, const struct fork_args *args, struct store_fork *f, struct error *err)
{
	struct gate *gates = NULL;

	if (check_fork(r, args, err) < 0)
		return -1;
	*f = (struct store_fork){.source = args->source,
		.name = args->bot,
		.checkpoint = args->checkpoint,
		.budget_tokens = args->budget_tokens,
		.created_by = args->created_by,
		.created_by_id = args->created_by_id,
		.has_allow = given(r, K_ALLOW),
		.allow = args->allow};
	if (given(r, K_WORKSPACE) &&
		op_real_folder(r, args->workspace, "workspace", &f->workspace, err) < 0)
		return -1;
	if (given(r, K_GATES) &&
		bot_read_gates(&r->arena, args->gates, &gates, &f->gate_count, err) < 0)
		return -1;
	if (r->as.id > 0 && f->gate_count > 0)
		return error_set(err, &REQUEST_NOT_PERMITTED,
			"gates: what a bot makes has its source's and its maker's and no others");
	f->gates = gates;
	return lineage_creator(r, given(r, K_CREATED_BY), &f->created_by, &f->created_by_id, err);
}

/* On a bot's own socket: itself, or what it made. */
static int check_source(
	struct store_view *v, const struct request *r, const struct bot *source, struct error *err)
{
	return source->id == r->as.id ? 0 : lineage_made(v, r, source, err);
}

/* The fork of a sandboxed bot's has the narrower of its source's confinement and its creator's. */
static int confine_fork(struct store_tx *tx, struct request *r, struct error *err)
{
	struct store_view *v = store_tx_view(tx);
	struct fork_work *w = r->work;
	struct bot source, creator;
	bool confines;

	if (store_bot_get(v, w->fork.source, &r->arena, &source, err) < 0)
		return error_prefix(err, "source");
	if (check_source(v, r, &source, err) < 0 ||
		lineage_find(v, &r->arena, w->fork.created_by_id, &creator, &confines, err) < 0)
		return -1;
	if (!confines)
		return 0;
	w->confined = source.set;
	confine_narrow(&r->arena, &w->confined, &creator.set, &r->d->temporary);
	if (w->fork.workspace.p)
		w->confined.workspace = w->fork.workspace;
	w->fork.confined = &w->confined;
	return lineage_check(r->d, &r->arena, &creator, &w->confined, err);
}

/* The sandbox is looked at as the fork will have it, in the job that makes it. */
static int run_fork(struct store_tx *tx, struct request *r, struct error *err)
{
	struct fork_work *w = r->work;

	if (confine_fork(tx, r, err) < 0)
		return -1;
	if (store_bot_fork(tx, &w->fork, &r->arena, &w->bot, err) < 0)
		return -1;
	return op_check_sandbox(r->d, &r->arena, &w->bot, err);
}

static void answer_fork(struct request *r)
{
	struct fork_work *w = r->work;

	op_answer_record(r, &w->bot);
}

static void op_fork(struct request *r, const void *raw)
{
	struct fork_work *w = arena_alloc(&r->arena, sizeof(*w));
	struct error err = ERROR_INIT;

	r->work = w;
	if (prepare_fork(r, raw, &w->fork, &err) < 0)
		request_fail(r, &err);
	else
		op_write(r, run_fork, answer_fork);
}

/* After a piece that was committed: true when another one may be asked for; else it was refused. */
static bool may_go_on(struct request *r)
{
	struct error err = ERROR_INIT;

	if (r->d->store && !r->d->leaving)
		return true;
	(void)error_set(&err, &DAEMON_DRAINING, "the daemon is shutting down");
	request_fail(r, &err);
	return false;
}

/* Of what is to be deleted or pruned: on a bot's own socket only what that bot made. */
static int check_made(struct store_tx *tx, struct request *r, struct str name, struct error *err)
{
	struct store_view *v = store_tx_view(tx);
	struct bot b;

	if (r->as.id == 0)
		return 0; /* one whose deletion has begun is gone on with */
	if (store_bot_get(v, name, &r->arena, &b, err) < 0)
		return -1;
	return lineage_made(v, r, &b, err);
}

/*
 * delete
 */
struct delete_args {
	struct str bot;
};
static const struct json_field delete_fields[] = {
	JSON_STR(struct delete_args, bot, .required = true),
};

struct delete_work {
	int64_t bot;              /* 0: its deletion has not begun */
	struct store_deleted sum; /* as committed */
	/* of the piece under way */
	int64_t found;
	struct store_deleted next;
	bool done;
};

static int run_delete(struct store_tx *tx, void *arg, struct error *err)
{
	struct request *r = arg;
	const struct delete_args *args = r->args;
	struct delete_work *w = r->work;

	w->found = w->bot;
	w->next = w->sum;
	if (!w->found && check_made(tx, r, args->bot, err) < 0)
		return -1;
	if (!w->found && store_bot_delete(tx, args->bot, &w->found, err) < 0)
		return -1;
	return store_bot_delete_piece(tx, w->found, &w->next, &w->done, err);
}

static void answer_delete(struct request *r)
{
	const struct delete_args *args = r->args;
	const struct delete_work *w = r->work;
	struct json_out j = request_begin(r);

	publish_deleted(r->d, w->bot, args->bot);
	json_open_key(&j, "result", '{');
	json_put_i64(&j, "turns", w->sum.turns);
	json_put_i64(&j, "events", w->sum.events);
	json_put_i64(&j, "nodes", w->sum.nodes);
	json_close(&j, '}');
	request_end(r, &j);
}

static void piece_deleted(void *arg, int rc, const struct error *err)
{
	struct request *r = arg;
	struct delete_work *w = r->work;

	if (rc < 0) {
		request_fail(r, err);
		return;
	}
	bot_socket_remove(r->d, w->found);
	w->bot = w->found;
	w->sum = w->next;
	if (w->done)
		answer_delete(r);
	else if (may_go_on(r))
		store_write(r->d->store, run_delete, piece_deleted, r);
}

static void op_delete(struct request *r, const void *raw)
{
	const struct delete_args *args = raw;
	struct error err = ERROR_INIT;

	r->work = arena_alloc(&r->arena, sizeof(struct delete_work));
	*(struct delete_work *)r->work = (struct delete_work){.bot = 0};
	if (bot_check_name(args->bot, "bot", &err) < 0)
		request_fail(r, &err);
	else
		store_write(r->d->store, run_delete, piece_deleted, r);
}

/*
 * prune
 */
struct prune_args {
	struct str bot;
	int64_t keep_turns;
};
static const struct json_field prune_fields[] = {
	JSON_STR(struct prune_args, bot, .required = true),
	JSON_I64(struct prune_args, keep_turns, .required = true, .min = 1, .max = INT32_MAX),
};

struct prune_work {
	int64_t bot;             /* 0: not looked up yet */
	struct store_pruned sum; /* as committed */
	/* of the piece under way */
	int64_t found;
	struct store_pruned next;
	bool done;
};

static int run_prune(struct store_tx *tx, void *arg, struct error *err)
{
	struct request *r = arg;
	const struct prune_args *args = r->args;
	struct prune_work *w = r->work;
	struct bot b;

	w->found = w->bot;
	w->next = w->sum;
	if (!w->found) {
		if (store_bot_get(store_tx_view(tx), args->bot, &r->arena, &b, err) < 0 ||
			lineage_made(store_tx_view(tx), r, &b, err) < 0)
			return -1;
		w->found = b.id;
	}
	return store_bot_prune_piece(tx, w->found, args->keep_turns, &w->next, &w->done, err);
}

static void answer_prune(struct request *r)
{
	const struct prune_work *w = r->work;
	struct json_out j = request_begin(r);

	json_open_key(&j, "result", '{');
	json_put_i64(&j, "events", w->sum.events);
	json_put_i64(&j, "pruned_cursor", w->sum.cursor);
	json_close(&j, '}');
	request_end(r, &j);
}

static void piece_pruned(void *arg, int rc, const struct error *err)
{
	struct request *r = arg;
	struct prune_work *w = r->work;

	if (rc < 0) {
		request_fail(r, err);
		return;
	}
	w->bot = w->found;
	w->sum = w->next;
	if (w->done)
		answer_prune(r);
	else if (may_go_on(r))
		store_write(r->d->store, run_prune, piece_pruned, r);
}

static void op_prune(struct request *r, const void *raw)
{
	const struct prune_args *args = raw;
	struct error err = ERROR_INIT;

	r->work = arena_alloc(&r->arena, sizeof(struct prune_work));
	*(struct prune_work *)r->work = (struct prune_work){.bot = 0};
	if (bot_check_name(args->bot, "bot", &err) < 0)
		request_fail(r, &err);
	else
		store_write(r->d->store, run_prune, piece_pruned, r);
}

const struct request_row life_requests[] = {
	{"fork",		  fork_fields, ARRAY_LEN(fork_fields), sizeof(struct fork_args), op_fork,
         REQUEST_AS_BOT, false},
	{"delete", delete_fields, ARRAY_LEN(delete_fields), sizeof(struct delete_args), op_delete,
         REQUEST_AS_BOT, true},
	{"prune",                prune_fields, ARRAY_LEN(prune_fields), sizeof(struct prune_args), op_prune,
         REQUEST_AS_BOT, true},
	{.op = NULL                 },
};
