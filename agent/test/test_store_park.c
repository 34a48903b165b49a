/*
 * Parked turns in the store: what a restart finds, by which clock, and how much room a steer has.
 */
#include "agent/io/store_steer.h"
#include "test_store.h"

struct found {
	int count;
	int kind;
	int64_t turn, deadline_ms, parked_ms, requests;
};

static void note_found(void *arg, const struct store_park *p)
{
	struct found *f = arg;

	f->count++;
	f->kind = p->kind;
	f->turn = p->turn;
	f->deadline_ms = p->deadline_ms;
	f->parked_ms = p->parked_ms;
	f->requests = p->requests;
}

static void ignore_event(void *arg, const struct store_event *e)
{
	(void)arg;
	(void)e;
}

static struct found reopen(struct bench *b)
{
	struct found f = {.count = 0};
	const struct store_options o = {.path = b->path,
		.loop = b->loop,
		.clock = &b->clock.clock,
		.published = ignore_event,
		.parked = note_found,
		.arg = &f};
	struct error err = ERROR_INIT;

	bench_close(b);
	assert_ok(store_open(&o, &b->store, &b->recovery, &err), &err);
	return f;
}

static int op_park(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	(void)b;
	return store_park(tx, arg, err);
}

static int park(struct bench *b, const struct store_park *p, struct error *err)
{
	return bench_write(b, op_park, (void *)p, err);
}

struct op_resume {
	int64_t bot, turn;
	struct store_round round;
};

static int op_resume(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_resume *op = arg;

	return store_turn_resume(tx, op->bot, op->turn, 1234, &b->a, &op->round, err);
}

static int op_end(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct store_finished finished;

	(void)b;
	return store_park_end(tx, arg, &finished, err);
}

static void a_restart_finds_what_is_parked_as_it_was(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	struct store_submitted s = submit(b, "ada", "r1");
	const struct store_park p = {.bot = bot.id,
		.turn = s.turn.id,
		.kind = PARK_PACED,
		.deadline_ms = START_MS + 5000,
		.parked_ms = START_MS};
	struct error err = ERROR_INIT;
	struct op_resume op = {.bot = bot.id, .turn = s.turn.id};
	struct found f;

	(void)state;
	assert_ok(park(b, &p, &err), &err);
	assert_int_equal(get_bot(b, bot.id).status, BOT_PACED);
	f = reopen(b);
	assert_int_equal(f.count, 1);
	assert_int_equal(f.kind, PARK_PACED);
	assert_int_equal(f.turn, s.turn.id);
	assert_int_equal(f.deadline_ms, START_MS + 5000);
	assert_int_equal(f.parked_ms, START_MS);
	assert_int_equal(b->recovery.parked_turns, 1);
	assert_int_equal(b->recovery.interrupted_turns, 0);
	assert_int_equal(get_turn(b, bot.id, s.turn.id).status, TURN_PACED);
	assert_ok(bench_write(b, op_resume, &op, &err), &err);
	assert_int_equal(op.round.turn.status, TURN_RUNNING);
	assert_int_equal(get_bot(b, bot.id).status, BOT_RUNNING);
	/* it runs: it cannot be resumed twice, and the next open interrupts it */
	assert_int_equal(bench_write(b, op_resume, &op, &err), -1);
	assert_true(error_is(&err, &STORE_STALE_TURN));
	f = reopen(b);
	assert_int_equal(f.count, 0);
	assert_int_equal(b->recovery.interrupted_turns, 1);
}

static void only_a_running_turn_parks_and_only_a_parked_one_is_ended(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	struct store_submitted s = submit(b, "ada", "r1");
	const struct store_park p = {
		.bot = bot.id, .turn = s.turn.id, .kind = PARK_PACED, .parked_ms = START_MS};
	struct store_finish f = {.bot = bot.id,
		.turn = s.turn.id,
		.status = TURN_INTERRUPTED,
		.error = STR("cancelled")};
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(bench_write(b, op_end, &f, &err), -1);
	assert_true(error_is(&err, &STORE_STALE_TURN));
	error_clear(&err);
	assert_ok(park(b, &p, &err), &err);
	assert_int_equal(park(b, &p, &err), -1);
	assert_true(error_is(&err, &STORE_STALE_TURN));
	error_clear(&err);
	assert_ok(bench_write(b, op_end, &f, &err), &err);
	assert_int_equal(get_turn(b, bot.id, s.turn.id).status, TURN_INTERRUPTED);
	assert_int_equal(get_bot(b, bot.id).status, BOT_INTERRUPTED);
}

/* Steers */

struct op_take {
	struct store_steer s;
	size_t count;
	bool more;
};

static int op_take(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_take *op = arg;

	(void)b;
	return store_steers_take(tx, &op->s, &op->count, &op->more, err);
}

static struct store_submit steer_of(const char *request, size_t bytes)
{
	static char text[8192];
	struct store_submit s = plain_submit("ada", request);

	must(bytes < sizeof(text));
	memset(text, 'x', sizeof(text));
	s.prompt = (struct str){text, bytes};
	s.delivery = DELIVERY_STEER;
	return s;
}

/* 4,096 bytes of context leave 3,072 to a turn and what it takes up. */
static void a_steer_is_taken_while_it_leaves_a_quarter_free(void **state)
{
	static const struct {
		const char *name;
		size_t bytes;
		size_t taken;
	} rows[] = {
		{"a short one",             1000, 1},
		{"one that takes too much", 3072, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(bench) struct bench *b = bench_start();
		struct store_create c = plain_bot("ada");
		struct store_submit s = steer_of("r2", rows[i].bytes);
		struct store_submitted done;
		struct op_take op = {.count = 9};
		struct error err = ERROR_INIT;

		bot_limits_init(&c.set.limits);
		c.set.limits.context_bytes = 4096;
		op.s.bot = make_bot_of(b, &c).id;
		op.s.turn = submit(b, "ada", "r1").turn.id;
		op.s.user_item = s.user_item;
		assert_ok(try_submit(b, &s, &done, &err), &err);
		assert_ok(bench_write(b, op_take, &op, &err), &err);
		if (op.count != rows[i].taken)
			fail_msg("%s: %zu taken", rows[i].name, op.count);
		assert_int_equal(get_turn(b, op.s.bot, done.turn.id).status,
			rows[i].taken ? TURN_STEERED : TURN_QUEUED);
	}
}

static void a_batch_is_thirty_two(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_create c = plain_bot("ada");
	struct store_submitted done;
	struct op_take op = {.count = 0};
	struct error err = ERROR_INIT;

	(void)state;
	bot_limits_init(&c.set.limits);
	op.s.bot = make_bot_of(b, &c).id;
	op.s.turn = submit(b, "ada", "r1").turn.id;
	for (int i = 0; i < 33; i++) {
		_cleanup_(mem) char *id = xasprintf("s%d", i);
		struct store_submit s = steer_of(id, 10);

		op.s.user_item = s.user_item;
		assert_ok(try_submit(b, &s, &done, &err), &err);
	}
	assert_ok(bench_write(b, op_take, &op, &err), &err);
	assert_int_equal(op.count, 32);
	assert_true(op.more);
	assert_ok(bench_write(b, op_take, &op, &err), &err);
	assert_int_equal(op.count, 1);
	assert_false(op.more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restart_finds_what_is_parked_as_it_was),
		cmocka_unit_test(only_a_running_turn_parks_and_only_a_parked_one_is_ended),
		cmocka_unit_test(a_steer_is_taken_while_it_leaves_a_quarter_free),
		cmocka_unit_test(a_batch_is_thirty_two),
	};

	return cmocka_run_group_tests_name("store.park", tests, NULL, NULL);
}
