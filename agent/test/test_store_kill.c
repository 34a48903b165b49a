/*
 * SIGKILL at arbitrary moments: a child runs bots against the store and reports through a pipe what
 * was acknowledged to it; the parent kills it, opens the store and compares. Nothing acknowledged
 * may be missing, and what is there must be whole steps.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "agent/io/store_context.h"
#include "test_store.h"

enum {
	BOTS = 6,
	KILLS = 60,
	ACKS_MAX = 120,      /* before a kill, at most */
	PATIENCE_MS = 60000, /* for the child to acknowledge something */
};

enum ack_kind {
	ACK_SUBMIT,
	ACK_APPEND,
	ACK_START,
	ACK_RESULT,
	ACK_ELIDE,
	ACK_COMPACT,
	ACK_FINISH,
	ACK_EVENT
};
/* What the child reports: small enough for the pipe to take it whole. */
struct ack {
	int64_t kind, bot, turn, id; /* id: node or cursor */
};

/* The child */

struct child {
	struct bench *b;
	int out;
};
/* One bot's endless round of steps, each started by the done() of the one before. */
struct player {
	struct child *c;
	char name[16];
	struct arena a; /* of the step under way */
	enum ack_kind step;
	int64_t bot, turn, node;
	int round;
};

static void report(struct child *c, const struct ack *a)
{
	must(os_write_all(c->out, a, sizeof(*a), NULL) == 0);
}

static int play_submit(struct store_tx *tx, struct player *p, struct error *err)
{
	struct store_submit s = plain_submit(p->name, NULL);
	struct store_submitted ret;
	const char *request = arena_printf(&p->a, "%lld-%d", (long long)getpid(), p->round);

	s.request_id = str_from(request);
	s.prompt = s.request_id;
	if (store_turn_submit(tx, &s, &p->a, &ret, err) < 0)
		return -1;
	must(ret.started && !ret.duplicate);
	p->bot = ret.bot.id;
	p->turn = ret.turn.id;
	p->node = ret.bot.head;
	return 0;
}

static int play_append(struct store_tx *tx, struct player *p, struct error *err)
{
	const struct store_call call = shell_call("c1");
	const struct item_call item_call = {call.call_id, call.name, call.arguments};
	struct str item = item_assistant(&p->a, STR("go"), &item_call, 1);
	const struct store_append ap = {
		.bot = p->bot,
		.turn = p->turn,
		.items = &item,
		.item_count = 1,
		.usage = {.input_tokens = 100, .output_tokens = 10},
		.calls = &call,
		.call_count = 1,
	};
	int64_t *nodes, announced;

	if (store_append(tx, &ap, &p->a, &nodes, &announced, err) < 0)
		return -1;
	p->node = nodes[0];
	return 0;
}

static int play_result(struct store_tx *tx, struct player *p, struct error *err)
{
	const struct store_artifact artifact = {STR("stdout"), STR("bytes")};
	const struct store_result r = {
		.call_id = STR("c1"),
		.item = item_result(&p->a, ITEM_CHAT, STR("c1"), STR("ok"), NULL, 0),
		.artifacts = &artifact,
		.artifact_count = 1,
		.pin = STR("remember"),
	};

	return store_tool_finish(tx, p->bot, p->turn, &r, &p->node, err);
}

/* The result as a stub, and the window begun with it. */
static int play_elide(struct store_tx *tx, struct player *p, struct error *err)
{
	struct store_stub stub = {p->node, STR("{}")};
	struct store_window w = {
		.now = {.id = p->bot},
		.need = STORE_ELIDE,
		.floor = p->node,
		.stubs = &stub,
		.stub_count = 1,
		.start = p->node,
		.first = p->node,
		.omission = STR("gone"),
	};

	if (store_window_set(tx, p->turn, &w, err) < 0)
		return -1;
	w.need = STORE_BEGIN;
	return store_window_set(tx, p->turn, &w, err);
}

static int play_compact(struct store_tx *tx, struct player *p, struct error *err)
{
	const struct store_compaction c = {
		.bot = p->bot,
		.turn = p->turn,
		.has_usage = true,
		.model = STR("drill/x"),
		.text = STR("summary"),
		.coverage = p->node,
	};

	return store_compact(tx, &c, err);
}

static int play_finish(struct store_tx *tx, struct player *p, struct error *err)
{
	const struct store_finish f = {
		.bot = p->bot,
		.turn = p->turn,
		.status = TURN_COMPLETED,
	};
	struct store_finished ret;

	return store_turn_finish(tx, &f, &ret, err);
}

static int play(struct store_tx *tx, void *arg, struct error *err)
{
	struct player *p = arg;

	switch (p->step) {
	case ACK_SUBMIT:
		return play_submit(tx, p, err);
	case ACK_APPEND:
		return play_append(tx, p, err);
	case ACK_START:
		return store_tool_start(tx, p->bot, p->turn, STR("c1"), NULL, 0, true, err);
	case ACK_RESULT:
		return play_result(tx, p, err);
	case ACK_ELIDE:
		return play_elide(tx, p, err);
	case ACK_COMPACT:
		return play_compact(tx, p, err);
	default:
		return play_finish(tx, p, err);
	}
}

static void played(void *arg, int rc, const struct error *err)
{
	struct player *p = arg;

	if (rc < 0)
		(void)fprintf(stderr, "child: %s: %s\n", error_code(err), err->text);
	must(rc == 0);
	report(p->c, &(struct ack){.kind = p->step, .bot = p->bot, .turn = p->turn, .id = p->node});
	arena_release(&p->a);
	if (p->step == ACK_FINISH) {
		p->step = ACK_SUBMIT;
		p->round++;
	} else {
		p->step++;
	}
	store_write(p->c->b->store, play, played, p);
}

static void child_published(void *arg, const struct store_event *e)
{
	report(arg, &(struct ack){.kind = ACK_EVENT, .bot = e->bot, .turn = e->turn, .id = e->id});
}

static void __attribute__((noreturn)) child_main(struct bench *b, int out)
{
	struct child c = {.b = b, .out = out};
	const struct store_options o = {
		.path = b->path,
		.clock = clock_system(),
		.loop = loop_new(),
		.published = child_published,
		.arg = &c,
	};
	struct player players[BOTS] = {0};
	struct error err = ERROR_INIT;

	if (store_open(&o, &b->store, &b->recovery, &err) < 0) {
		(void)fprintf(stderr, "child: %s: %s\n", error_code(&err), err.text);
		_exit(1);
	}
	for (int i = 0; i < BOTS; i++) {
		players[i].c = &c;
		(void)snprintf(players[i].name, sizeof(players[i].name), "bot-%d", i);
		store_write(b->store, play, played, &players[i]);
	}
	loop_run(o.loop);
	_exit(2); /* never: there is always a next step */
}

/* The parent */

static unsigned draw(unsigned below)
{
	unsigned n = 0;

	must(os_random(&n, sizeof(n), NULL) == 0);
	return n % below;
}

/* Reads acknowledgements until `count` came, kills, and reads the rest. */
static struct ack *run_and_kill(struct bench *b, size_t count, size_t *ret_count)
{
	struct ack *acks = NULL;
	int ends[2], status = 0;
	size_t got = 0;
	pid_t child;
	bool killed = false;

	must(pipe2(ends, O_CLOEXEC) == 0);
	fflush(NULL);
	child = fork();
	must(child >= 0);
	if (child == 0)
		child_main(b, ends[1]);
	os_close(ends[1]);
	for (;;) {
		struct pollfd p = {.fd = ends[0], .events = POLLIN};
		size_t len = 0;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		acks = xrealloc(acks, got + 1, sizeof(*acks));
		assert_int_equal(os_read_full(ends[0], &acks[got], sizeof(*acks), &len, NULL), 0);
		if (len < sizeof(*acks))
			break; /* the last one may be cut short: it was never told */
		got++;
		if (got >= count && !killed) {
			killed = true;
			must(kill(child, SIGKILL) == 0);
		}
	}
	os_close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	*ret_count = got;
	return acks;
}

/* The number a query gives, through the writing connection. */
struct op_number {
	const char *sql;
	int64_t a, b, ret;
};

static int op_number(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_number *op = arg;
	struct db_stmt *s = db_prepare(tx->view.db, op->sql);
	int rc;

	(void)b;
	if (strstr(op->sql, "?1"))
		db_bind_i64(s, 1, op->a);
	if (strstr(op->sql, "?2"))
		db_bind_i64(s, 2, op->b);
	rc = db_step(s, err);
	if (rc == 1)
		op->ret = db_col_i64(s, 0);
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

static int64_t number(struct bench *b, const char *sql, int64_t p1, int64_t p2)
{
	struct op_number op = {.sql = sql, .a = p1, .b = p2};
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_number, &op, &err), &err);
	return op.ret;
}

static void assert_acknowledged(struct bench *b, const struct ack *a)
{
	static const char *const sql[] = {
		[ACK_SUBMIT] = "SELECT count(*) FROM nodes WHERE turn = ?1 AND id = ?2",
		[ACK_APPEND] = "SELECT count(*) FROM nodes n JOIN tools t ON t.node = n.id"
			       " WHERE n.turn = ?1 AND n.id = ?2 AND t.turn = ?1",
		[ACK_START] = "SELECT count(*) FROM tools WHERE turn = ?1 AND ?2 > 0"
			      " AND status <> 'planned'",
		[ACK_RESULT] = "SELECT count(*) FROM tools t JOIN artifacts a ON a.turn = t.turn"
			       " JOIN notes n ON n.node = t.result"
			       " WHERE t.turn = ?1 AND t.result = ?2 AND t.status = 'completed'",
		[ACK_ELIDE] = "SELECT count(*) FROM elisions e JOIN stubs s ON s.node = e.floor"
			      " WHERE ?1 > 0 AND e.floor = ?2",
		[ACK_COMPACT] = "SELECT count(*) FROM compactions WHERE ?1 > 0 AND coverage = ?2",
		[ACK_FINISH] = "SELECT count(*) FROM turns WHERE id = ?1 AND checkpoint = ?2"
			       " AND status = 'completed'",
		[ACK_EVENT] = "SELECT count(*) FROM events WHERE turn = ?1 AND id = ?2",
	};

	if (number(b, sql[a->kind], a->turn, a->id) != 1)
		fail_msg("step %lld of turn %lld (%lld) is lost", (long long)a->kind,
			(long long)a->turn, (long long)a->id);
}

/* Each step whole: its rows and its events are there together or not at all. */
static void assert_whole(struct bench *b)
{
	static const struct {
		const char *name, *left, *right;
	} rows[] = {
		{"turns and their first events",             "SELECT count(*) FROM turns",
                 "SELECT count(*) FROM events WHERE kind = 'accepted'"													      },
		{"turns and their last events",              "SELECT count(*) FROM turns",
                 "SELECT count(*) FROM events WHERE kind = 'turn_finished'"													 },
		{"rounds and messages",                      "SELECT sum(rounds) FROM turns",
                 "SELECT count(*) FROM events WHERE kind = 'message'"													       },
		{"rounds and usage",                         "SELECT sum(rounds) FROM turns",
                 "SELECT count(*) FROM events WHERE kind = 'usage' AND data NOT LIKE "
			"'%purpose%'"																	       },
		{"tokens of bots and of rounds",             "SELECT sum(tokens_used) FROM bots",
                 "SELECT sum(rounds) * 110 FROM turns"															      },
		{"calls and results",                        "SELECT count(*) FROM tools",
                 "SELECT count(*) FROM tools t JOIN nodes n ON n.id = t.result"
			" AND n.turn = t.turn"																      },
		{"calls and their last events",              "SELECT count(*) FROM tools",
                 "SELECT count(*) FROM events WHERE kind = 'tool_completed'"													},
		{"nodes and what made them",                 "SELECT count(*) FROM nodes",
                 "SELECT (SELECT count(*) FROM turns) + (SELECT sum(rounds) FROM turns)"
			" + (SELECT count(*) FROM tools)"															   },
		{"nodes without parent and bots that spoke",
                 "SELECT count(*) FROM nodes WHERE parent IS NULL",						      "SELECT count(*) FROM bots WHERE head IS NOT NULL"         },
		{"nodes and the depths of heads",            "SELECT count(*) FROM nodes",
                 "SELECT sum(n.depth) FROM bots b JOIN nodes n ON n.id = b.head"												    },
		{"stubs and floors",                         "SELECT count(*) FROM stubs",                               "SELECT count(*) FROM elisions"                            },
		{"floors and their events",                  "SELECT count(*) FROM elisions",
                 "SELECT count(*) FROM events WHERE kind = 'elided'"														},
		{"summaries and their events",               "SELECT count(*) FROM compactions",
                 "SELECT count(*) FROM events WHERE kind = 'compacted'"													     },
		{"summaries and their cost",                 "SELECT count(*) FROM compactions",
                 "SELECT count(*) FROM events WHERE kind = 'usage' AND data LIKE "
			"'%purpose%'"																	       },
		{"versions that hold",
                 "SELECT count(*) FROM bots WHERE note IS NOT NULL AND note <>"
			" (SELECT max(n.id) FROM notes n JOIN nodes d ON d.id = n.node"
			" JOIN turns t ON t.id = d.turn WHERE t.bot = bots.id)",					 "SELECT 0"						 },
		{"windows and what they tell",
                 "SELECT count(*) FROM bots b JOIN omissions o ON o.bot = b.id"
			" WHERE o.start = b.context_start",							      "SELECT count(*) FROM bots WHERE context_start IS NOT NULL"},
		{"running bots",                             "SELECT count(*) FROM bots WHERE running_turn IS NOT NULL",
                 "SELECT 0"																			 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t left = number(b, rows[i].left, 0, 0);
		int64_t right = number(b, rows[i].right, 0, 0);

		if (left != right)
			fail_msg("%s: %lld and %lld", rows[i].name, (long long)left,
				(long long)right);
	}
}

static void assert_events_increase(const struct ack *acks, size_t count, int64_t *last)
{
	for (size_t i = 0; i < count; i++) {
		if (acks[i].kind != ACK_EVENT)
			continue;
		assert_true(acks[i].id > *last);
		*last = acks[i].id;
	}
}

static void nothing_acknowledged_is_lost(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	int64_t last_event = 0, unknown = 0, interrupted = 0;

	(void)state;
	for (int i = 0; i < BOTS; i++)
		make_bot(b, arena_printf(&b->a, "bot-%d", i));
	for (int i = 0; i < KILLS; i++) {
		size_t count = 0;
		struct ack *acks;

		bench_close(b);
		acks = run_and_kill(b, 1 + draw(ACKS_MAX), &count);
		assert_events_increase(acks, count, &last_event);
		bench_open(b);
		interrupted += b->recovery.interrupted_turns;
		unknown += b->recovery.unknown_calls;
		for (size_t k = 0; k < count; k++)
			assert_acknowledged(b, &acks[k]);
		assert_whole(b);
		free(acks);
		/* What recovery records comes after all that was seen. */
		last_event = number(b, "SELECT max(id) FROM events", 0, 0);
	}
	/* The kills did fall into the middle of things. */
	assert_true(interrupted > KILLS);
	assert_true(unknown > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_acknowledged_is_lost),
	};

	return cmocka_run_group_tests_name("store_kill", tests, NULL, NULL);
}
