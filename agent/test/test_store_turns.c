/*
 * Bots and turns in the store: creation, admission, lines, endings, and what each refusal leaves.
 */
#include "test_store.h"

/* Bots */

static void creates_a_bot_and_says_so(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	const struct seen *e = last_seen(b, "created");

	(void)state;
	assert_int_equal(bot.id, 1);
	assert_int_equal(bot.status, BOT_IDLE);
	assert_int_equal(bot.head, 0);
	assert_int_equal(e->bot, bot.id);
	assert_string_equal(e->bot_name, "ada");
	assert_string_equal(e->data,
		"{\"id\":1,\"provider\":\"drill\",\"model\":\"drill/one\",\"workspace\":"
		"\"/srv/project\",\"status\":\"idle\",\"running_turn\":null,\"created_by\":null,"
		"\"created_by_id\":null}");
}

static struct store_create full_bot(struct bench *b)
{
	static struct str roots[] = {
		{"/srv/a b",      8},
                {"/srv/\xc3\xbc", 7}
        };
	static struct str sockets[] = {
		{"/run/x.sock", 11}
        };
	static struct str gated[] = {
		{"shell", 5}
        };
	struct store_create c = plain_bot("full");
	struct gate *gates = arena_alloc(&b->a, 2 * sizeof(*gates));

	gates[0] = (struct gate){
		.tag = STR("judge"), .tools = {gated, 1},
                     .expire_ms = 60000
        };
	gates[1] = (struct gate){
		.tag = STR("person"), .tools = {gated, 1}
        };
	c.set.reasoning = STR("high");
	c.set.sandbox = 2;
	c.set.writable_roots = (struct str_list){roots, ARRAY_LEN(roots)};
	c.set.network = true;
	c.set.unix_sockets = (struct str_list){sockets, ARRAY_LEN(sockets)};
	c.set.git_commit = true;
	c.set.gates = gates;
	c.set.gate_count = 2;
	c.set.budget_tokens = 5000;
	return c;
}

static void assert_full(const struct bot *bot)
{
	assert_true(str_is(bot->set.instructions, "Be brief."));
	assert_true(str_is(bot->set.reasoning, "high"));
	assert_int_equal(bot->set.tools.count, 2);
	assert_int_equal(bot->set.sandbox, 2);
	assert_int_equal(bot->set.writable_roots.count, 2);
	assert_true(str_is(bot->set.writable_roots.items[0], "/srv/a b"));
	assert_true(str_is(bot->set.writable_roots.items[1], "/srv/\xc3\xbc"));
	assert_true(bot->set.network);
	assert_int_equal(bot->set.unix_sockets.count, 1);
	assert_true(bot->set.git_commit);
	assert_int_equal(bot->set.gate_count, 2);
	assert_true(str_is(bot->set.gates[0].tag, "judge"));
	assert_int_equal(bot->set.gates[0].expire_ms, 60000);
	assert_true(gate_names_tool(&bot->set.gates[0], STR("shell")));
	assert_int_equal(bot->set.gates[1].expire_ms, 0);
	assert_int_equal(bot->set.budget_tokens, 5000);
	assert_int_equal(bot->set.limits.approval_hold_ms, 2000);
}

static void keeps_all_settings_over_a_restart(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_create c = full_bot(b);
	struct bot bot = make_bot_of(b, &c);

	(void)state;
	assert_full(&bot);
	bench_reopen(b);
	bot = get_bot(b, bot.id); /* AG-014 */
	assert_full(&bot);
}

static void refuses_a_name_that_is_taken(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct op_create op = {.c = plain_bot("ada")};
	struct error err = ERROR_INIT;
	size_t before;

	(void)state;
	make_bot(b, "ada");
	before = b->event_count;
	assert_fails(bench_write(b, op_create, &op, &err), &err, STORE_BOT_EXISTS);
	assert_int_equal(b->event_count, before);
}

static void checks_the_creator_by_name_and_id(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot ada = make_bot(b, "ada");
	struct op_create op = {.c = plain_bot("bea")};
	struct error err = ERROR_INIT;

	(void)state;
	op.c.created_by = STR("nobody");
	op.c.created_by_id = ada.id;
	assert_fails(bench_write(b, op_create, &op, &err), &err, STORE_CREATOR);
	op.c.created_by = STR("ada");
	op.c.created_by_id = ada.id + 1;
	assert_fails(bench_write(b, op_create, &op, &err), &err, STORE_CREATOR);
	op.c.created_by_id = ada.id;
	assert_ok(bench_write(b, op_create, &op, &err), &err);
	assert_int_equal(op.ret.created_by_id, ada.id);
	assert_non_null(strstr(
		last_seen(b, "created")->data, "\"created_by\":\"ada\",\"created_by_id\":1"));
}

static int op_set_gates(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct bot *bot = arg;

	(void)b;
	return store_bot_configure(tx, bot, err);
}

static void configures_and_refuses_what_could_not_be_read_back(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_create c = full_bot(b);
	struct bot bot = make_bot_of(b, &c), again;
	struct gate twice[] = {c.set.gates[0], c.set.gates[0]};
	struct error err = ERROR_INIT;

	(void)state;
	bot.set.gates = twice;
	assert_fails(bench_write(b, op_set_gates, &bot, &err), &err, BOT_INVALID_GATE);
	again = get_bot(b, bot.id);
	assert_full(&again);

	bot.set.gate_count = 1;
	bot.set.network = false;
	assert_ok(bench_write(b, op_set_gates, &bot, &err), &err);
	again = get_bot(b, bot.id);
	assert_int_equal(again.set.gate_count, 1);
	assert_false(again.set.network);
	assert_non_null(strstr(last_seen(b, "configured")->data,
		"\"network\":false,\"unix_sockets\":[\"/run/x.sock\"],\"git_commit\":true,"
		"\"gates\":[{\"tag\":\"judge\",\"tools\":[\"shell\"],\"expire_ms\":60000}]"));
	bot.id = 99;
	assert_fails(bench_write(b, op_set_gates, &bot, &err), &err, STORE_BOT_NOT_FOUND);
}

struct op_list {
	struct str after;
	int limit;
	struct bot *ret;
	size_t count;
};

static int op_list(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_list *op = arg;

	return store_bot_list(v, op->after, op->limit, &b->a, &op->ret, &op->count, err);
}

static void lists_bots_by_name_in_pages(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	static const char *const names[] = {"d", "a", "c", "b", "B"};
	struct op_list op = {.limit = 3};
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		make_bot(b, names[i]);
	assert_ok(bench_read(b, op_list, &op, &err), &err);
	assert_int_equal(op.count, 3);
	assert_true(str_is(op.ret[0].name, "B"));
	assert_true(str_is(op.ret[1].name, "a"));
	assert_true(str_is(op.ret[2].name, "b"));
	assert_null(op.ret[0].set.instructions.p);
	op.after = op.ret[2].name;
	assert_ok(bench_read(b, op_list, &op, &err), &err);
	assert_int_equal(op.count, 2);
	assert_true(str_is(op.ret[1].name, "d"));
	op.after = op.ret[1].name;
	assert_ok(bench_read(b, op_list, &op, &err), &err);
	assert_int_equal(op.count, 0);
}

/* One turn */

static void runs_a_turn_from_submission_to_its_end(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_call call = shell_call("c1");
	struct bot bot = make_bot(b, "ada");
	struct store_submitted s;
	struct store_turn t;

	(void)state;
	s = submit(b, "ada", "r1");
	assert_true(s.started);
	assert_false(s.duplicate);
	assert_int_equal(s.turn.status, TURN_RUNNING);
	assert_int_equal(s.bot.status, BOT_RUNNING);
	assert_int_equal(s.bot.running_turn, s.turn.id);
	assert_int_equal(s.bot.head, 1);
	assert_int_equal(s.cursor, last_seen(b, "accepted")->id);
	append(b, bot.id, s.turn.id, "I look", &call, 1);
	tool_start(b, bot.id, s.turn.id, "c1");
	tool_finish(b, bot.id, s.turn.id, "c1", "{\"exit_code\":0}");
	append(b, bot.id, s.turn.id, "done", NULL, 0);
	clock_fake_advance(&b->clock, 5);
	assert_false(finish(b, bot.id, s.turn.id));

	t = get_turn(b, bot.id, s.turn.id);
	assert_int_equal(t.status, TURN_COMPLETED);
	assert_int_equal(t.rounds, 2);
	assert_int_equal(t.input_tokens, 200);
	assert_int_equal(t.output_tokens, 20);
	assert_int_equal(t.cached_input_tokens, 80);
	assert_int_equal(t.started_ms, START_MS);
	assert_int_equal(t.finished_ms, START_MS + 5);
	bot = get_bot(b, bot.id);
	assert_int_equal(bot.status, BOT_COMPLETED);
	assert_int_equal(bot.running_turn, 0);
	assert_int_equal(bot.head, t.checkpoint);
	assert_int_equal(bot.tokens_used, 220);
	assert_int_equal(bot.input_tokens, 200);
	assert_int_equal(bot.cached_input_tokens, 80);
}

static void records_who_sent_a_prompt(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "r1");
	struct bot bot = make_bot(b, "ada");
	struct store_submitted ret;
	struct store_turn t;
	struct error err = ERROR_INIT;

	(void)state;
	s.from_bot = STR("bea");
	s.from_bot_id = 7;
	s.from_turn = 12;
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	t = get_turn(b, bot.id, ret.turn.id);
	assert_true(str_is(t.from_bot, "bea"));
	assert_int_equal(t.from_bot_id, 7);
	assert_int_equal(t.from_turn, 12);
	assert_string_equal(last_seen(b, "accepted")->data,
		"{\"request_id\":\"r1\",\"node\":1,\"workspace\":\"/srv/project\",\"model\":"
		"\"drill/one\",\"from\":{\"bot\":\"bea\",\"bot_id\":7,\"turn\":12},\"origin\":"
		"null}");
}

static void ends_a_turn_once(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	int64_t turn = submit(b, "ada", "r1").turn.id;
	struct error err = ERROR_INIT;
	bool next;

	(void)state;
	assert_ok(try_finish(b, bot.id, turn, TURN_FAILED, &next, &err), &err);
	assert_int_equal(get_bot(b, bot.id).status, BOT_FAILED);
	assert_string_equal(last_seen(b, "turn_finished")->data,
		"{\"status\":\"failed\",\"checkpoint\":1,\"error\":null,\"detail\":null}");
	assert_fails(
		try_finish(b, bot.id, turn, TURN_COMPLETED, &next, &err), &err, STORE_STALE_TURN);
	assert_fails(try_finish(b, bot.id, turn + 1, TURN_COMPLETED, &next, &err), &err,
		STORE_TURN_NOT_FOUND);
	assert_fails(try_finish(b, bot.id + 1, turn, TURN_COMPLETED, &next, &err), &err,
		STORE_TURN_NOT_FOUND);
	assert_int_equal(get_turn(b, bot.id, turn).status, TURN_FAILED);
}

/* Admission */

static void refuses_and_changes_nothing(void **state)
{
	static const char *const needs_one[] = {"shell", NULL};
	static struct str shell[] =
		{
			{"shell", 5}
        },
			  echo[] = {{"echo", 4}};
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_create poor = plain_bot("poor"), homeless = plain_bot("homeless");
	struct store_submit s = plain_submit("ada", "r2");
	struct store_submitted ret;
	struct error err = ERROR_INIT;
	struct bot bot = make_bot(b, "ada");
	size_t before;

	(void)state;
	poor.set.budget_tokens = 110;
	make_bot_of(b, &poor);
	homeless.set.workspace = (struct str){NULL, 0};
	homeless.set.tools = (struct str_list){shell, 1};
	make_bot_of(b, &homeless);
	ret = submit(b, "poor", "r1");
	append(b, ret.bot.id, ret.turn.id, "dear", NULL, 0);
	finish(b, ret.bot.id, ret.turn.id);
	submit(b, "ada", "r1");
	before = b->event_count;

	s.bot = STR("nobody");
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_BOT_NOT_FOUND);
	s.bot = STR("ada");
	s.bot_id = bot.id + 1;
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_BOT_NOT_FOUND);
	s.bot_id = bot.id;
	s.delivery = DELIVERY_REJECT;
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_BOT_BUSY);
	assert_non_null(strstr(err.text, "turn 2 of bot 'ada' is running"));
	s.bot_id = 0;
	s.bot = STR("poor");
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_BUDGET);
	s.bot = STR("homeless");
	s.workspace_tools = needs_one;
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_WORKSPACE_REQUIRED);
	s.workspace = STR("/srv");
	s.may_start = false;
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_ACTIVE_LIMIT);
	assert_int_equal(b->event_count, before);

	/* With what was missing each goes through. */
	s.may_start = true;
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	assert_true(str_is(ret.turn.workspace, "/srv"));
	homeless.name = STR("echoes");
	homeless.set.tools = (struct str_list){echo, 1};
	make_bot_of(b, &homeless);
	s = plain_submit("echoes", "r1");
	s.workspace_tools = needs_one;
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	assert_null(ret.turn.workspace.p);
}

static void answers_a_retry_with_its_turn(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "r1");
	struct store_submitted first, again;
	struct error err = ERROR_INIT;
	size_t before;

	(void)state;
	make_bot(b, "ada");
	make_bot(b, "bea");
	assert_ok(try_submit(b, &s, &first, &err), &err);
	before = b->event_count;
	s.may_start = false; /* all slots are taken by now */
	assert_ok(try_submit(b, &s, &again, &err), &err);
	assert_true(again.duplicate);
	assert_false(again.started);
	assert_int_equal(again.turn.id, first.turn.id);
	assert_int_equal(again.cursor, 0);
	assert_int_equal(b->event_count, before);
	bench_reopen(b);
	assert_ok(try_submit(b, &s, &again, &err), &err);
	assert_true(again.duplicate);
	assert_int_equal(again.turn.id, first.turn.id);
	assert_int_equal(again.turn.status, TURN_INTERRUPTED);

	/* Another bot has its own ids. */
	s.bot = STR("bea");
	s.may_start = true;
	assert_ok(try_submit(b, &s, &again, &err), &err);
	assert_false(again.duplicate);
}

static void refuses_a_retry_that_asks_for_something_else(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit same = plain_submit("ada", "r1"), s = same;
	struct store_submitted ret;
	struct error err = ERROR_INIT;

	(void)state;
	make_bot(b, "ada");
	assert_ok(try_submit(b, &same, &ret, &err), &err);
	s.prompt = STR("please mend it!");
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_IDEMPOTENCY);
	assert_non_null(strstr(err.text, "prompt"));
	s = same;
	s.delivery = DELIVERY_REJECT;
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_IDEMPOTENCY);
	s = same;
	s.workspace = STR("/srv/other");
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_IDEMPOTENCY);
	s = same;
	s.model = STR("drill/two");
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_IDEMPOTENCY);
	/* Spelled out, but the same. */
	s = same;
	s.workspace = STR("/srv/project");
	s.model = STR("drill/one");
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	assert_true(ret.duplicate);
}

static void a_retry_outlives_a_change_of_the_bots_own(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "r1");
	struct store_submitted ret;
	struct error err = ERROR_INIT;
	struct bot bot = make_bot(b, "ada");

	(void)state;
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	bot.set.workspace = STR("/srv/moved");
	assert_ok(bench_write(b, op_set_gates, &bot, &err), &err);
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	assert_true(ret.duplicate);
	assert_true(str_is(ret.turn.workspace, "/srv/project"));
}

/* Lines */

static void queues_in_line_and_starts_oldest_first(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit wait = plain_submit("bea", "b1");
	struct store_submitted a1, a2, a3, b1;
	struct error err = ERROR_INIT;

	(void)state;
	make_bot(b, "ada");
	make_bot(b, "bea");
	a1 = submit(b, "ada", "a1");
	a2 = submit(b, "ada", "a2");
	wait.may_start = false; /* no slot: at the head of its own line, so ready */
	assert_ok(try_submit(b, &wait, &b1, &err), &err);
	a3 = submit(b, "ada", "a3");
	assert_int_equal(a2.turn.status, TURN_QUEUED);
	assert_int_equal(b1.turn.status, TURN_READY);
	assert_false(b1.started);
	assert_int_equal(b1.bot.status, BOT_IDLE);
	assert_int_equal(a3.turn.status, TURN_QUEUED);
	assert_string_equal(last_seen(b, "queued")->data,
		"{\"request_id\":\"a3\",\"status\":\"queued\",\"delivery\":\"queue\",\"workspace\":"
		"\"/srv/project\",\"model\":\"drill/one\"}");

	assert_true(finish(b, a1.bot.id, a1.turn.id)); /* a2 is ready, and older than b1 */
	assert_int_equal(start_ready(b), a2.turn.id);
	assert_int_equal(start_ready(b), b1.turn.id);
	assert_int_equal(start_ready(b), 0); /* a3 waits behind a2 */
	assert_int_equal(get_bot(b, b1.bot.id).running_turn, b1.turn.id);
	assert_true(finish(b, a1.bot.id, a2.turn.id));
	assert_false(finish(b, b1.bot.id, b1.turn.id));
	assert_int_equal(start_ready(b), a3.turn.id);
	assert_false(finish(b, a1.bot.id, a3.turn.id));
	assert_int_equal(start_ready(b), 0);
}

static void nobody_overtakes_a_ready_turn(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "r1");
	struct store_submitted first, second;
	struct error err = ERROR_INIT;

	(void)state;
	make_bot(b, "ada");
	s.may_start = false;
	assert_ok(try_submit(b, &s, &first, &err), &err);
	s = plain_submit("ada", "r2"); /* a slot is free again */
	assert_ok(try_submit(b, &s, &second, &err), &err);
	assert_int_equal(second.turn.status, TURN_QUEUED);
	s.request_id = STR("r3");
	s.delivery = DELIVERY_REJECT;
	assert_fails(try_submit(b, &s, &second, &err), &err, STORE_BOT_BUSY);
	assert_int_equal(start_ready(b), first.turn.id);
}

struct op_queued {
	int64_t turns, bytes;
};

static int op_queued(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_queued *op = arg;

	(void)b;
	return store_queued_counts(v, &op->turns, &op->bytes, err);
}

static void assert_queued(struct bench *b, int64_t turns, int64_t bytes)
{
	struct op_queued op = {0};
	struct error err = ERROR_INIT;

	assert_ok(bench_read(b, op_queued, &op, &err), &err);
	assert_int_equal(op.turns, turns);
	assert_int_equal(op.bytes, bytes);
}

static void bounds_what_waits(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "r2");
	struct store_submitted ret;
	struct error err = ERROR_INIT;

	(void)state;
	make_bot(b, "ada");
	submit(b, "ada", "r1");
	assert_queued(b, 0, 0); /* it runs */
	s.pending_max = 2;
	s.pending_max_bytes = 25;
	s.prompt = STR("0123456789");
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	assert_queued(b, 1, 10);
	s.request_id = STR("r3");
	s.prompt = STR("0123456789abcdef");
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_PENDING_LIMIT);
	s.prompt = STR("0123456789abcde");
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	assert_queued(b, 2, 25);
	s.request_id = STR("r4");
	s.prompt = STR("");
	assert_fails(try_submit(b, &s, &ret, &err), &err, STORE_PENDING_LIMIT);
	bench_reopen(b);
	assert_queued(b, 2, 25);
	assert_int_not_equal(start_ready(b), 0);
	assert_queued(b, 1, 15);
}

struct op_cancel {
	int64_t bot, turn;
};

static int op_cancel(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	const struct op_cancel *op = arg;

	(void)b;
	return store_turn_cancel_queued(tx, op->bot, op->turn, err);
}

static void cancels_what_has_not_started(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	struct store_submitted r1 = submit(b, "ada", "r1"), r2 = submit(b, "ada", "r2");
	struct store_submitted r3 = submit(b, "ada", "r3"), r4 = submit(b, "ada", "r4");
	struct op_cancel op = {.bot = bot.id, .turn = r2.turn.id};
	struct store_turn t;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(bench_write(b, op_cancel, &op, &err), &err); /* from the middle of the line */
	t = get_turn(b, bot.id, r2.turn.id);
	assert_int_equal(t.status, TURN_INTERRUPTED);
	assert_true(str_is(t.error, "cancelled"));
	assert_string_equal(last_seen(b, "turn_finished")->data,
		"{\"status\":\"interrupted\",\"checkpoint\":null,\"error\":\"cancelled\","
		"\"detail\":"
		"null}");
	assert_fails(bench_write(b, op_cancel, &op, &err), &err, STORE_STALE_TURN);
	op.turn = r1.turn.id;
	assert_fails(bench_write(b, op_cancel, &op, &err), &err, STORE_STALE_TURN);
	op.turn = 99;
	assert_fails(bench_write(b, op_cancel, &op, &err), &err, STORE_TURN_NOT_FOUND);

	assert_true(finish(b, bot.id, r1.turn.id));
	op.turn = r3.turn.id; /* the ready one: the next takes its place */
	assert_ok(bench_write(b, op_cancel, &op, &err), &err);
	assert_int_equal(get_bot(b, bot.id).status, BOT_COMPLETED);
	assert_int_equal(start_ready(b), r4.turn.id);
	assert_queued(b, 0, 0);
}

struct op_turns {
	int64_t bot, after;
	int limit;
	struct store_turn *ret;
	size_t count;
};

static int op_turns(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_turns *op = arg;

	return store_turn_list(v, op->bot, op->after, op->limit, &b->a, &op->ret, &op->count, err);
}

static void lists_turns_with_the_beginnings_of_their_prompts(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submit s = plain_submit("ada", "long");
	struct bot bot = make_bot(b, "ada");
	struct op_turns op = {.bot = bot.id, .limit = 2};
	struct store_submitted ret;
	struct error err = ERROR_INIT;
	char prompt[3 * PREVIEW_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i + 3 <= sizeof(prompt); i += 3)
		memcpy(prompt + i, "\xe2\x82\xac", 3);
	prompt[0] = 'x'; /* so that the cut would fall inside a character */
	memmove(prompt + 1, prompt + 3, sizeof(prompt) - 3);
	s.prompt = (struct str){prompt, sizeof(prompt) - 2};
	assert_ok(try_submit(b, &s, &ret, &err), &err);
	submit(b, "ada", "r2");
	submit(b, "ada", "r3");
	make_bot(b, "bea");
	submit(b, "bea", "r1");

	assert_ok(bench_read(b, op_turns, &op, &err), &err);
	assert_int_equal(op.count, 2);
	assert_int_equal(op.ret[0].prompt.len, PREVIEW_MAX_BYTES - 2);
	assert_true(utf8_valid(op.ret[0].prompt));
	assert_true(str_is(op.ret[1].request_id, "r2"));
	op.after = op.ret[1].id;
	assert_ok(bench_read(b, op_turns, &op, &err), &err);
	assert_int_equal(op.count, 1);
	assert_true(str_is(op.ret[0].request_id, "r3"));
	/* The whole prompt is kept. */
	assert_true(str_eq(get_turn(b, bot.id, ret.turn.id).prompt, s.prompt));
}

struct op_last {
	int64_t bot, turn;
	struct str item;
};

static int op_last(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_last *op = arg;

	return store_turn_last_item(v, op->bot, op->turn, &b->a, &op->item, err);
}

static void gives_the_last_item_of_the_model(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_call call = shell_call("c1");
	struct bot bot = make_bot(b, "ada");
	struct op_last op = {.bot = bot.id, .turn = submit(b, "ada", "r1").turn.id};
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(bench_read(b, op_last, &op, &err), &err);
	assert_null(op.item.p);
	append(b, bot.id, op.turn, "I look", &call, 1);
	tool_finish(b, bot.id, op.turn, "c1", "gone");
	assert_ok(bench_read(b, op_last, &op, &err), &err);
	assert_non_null(strstr(text_of(b, op.item), "\"content\":\"I look\""));
	op.turn++;
	assert_fails(bench_read(b, op_last, &op, &err), &err, STORE_TURN_NOT_FOUND);
}

/* Whatever a program does wrong: the database itself holds one owner per bot (AG-206). */
static int op_second_owner(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct db_stmt *s = store_stmt(&tx->view, SQL_TURN_SET_READY);

	(void)b;
	db_bind_i64(s, 1, *(const int64_t *)arg);
	return db_run(s, err);
}

static void a_bot_has_one_owner_by_the_schema(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct error err = ERROR_INIT;
	int64_t queued;

	(void)state;
	make_bot(b, "ada");
	submit(b, "ada", "r1");
	queued = submit(b, "ada", "r2").turn.id;
	assert_fails(bench_write(b, op_second_owner, &queued, &err), &err, DB_ERROR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creates_a_bot_and_says_so),
		cmocka_unit_test(keeps_all_settings_over_a_restart),
		cmocka_unit_test(refuses_a_name_that_is_taken),
		cmocka_unit_test(checks_the_creator_by_name_and_id),
		cmocka_unit_test(configures_and_refuses_what_could_not_be_read_back),
		cmocka_unit_test(lists_bots_by_name_in_pages),
		cmocka_unit_test(runs_a_turn_from_submission_to_its_end),
		cmocka_unit_test(records_who_sent_a_prompt),
		cmocka_unit_test(ends_a_turn_once),
		cmocka_unit_test(refuses_and_changes_nothing),
		cmocka_unit_test(answers_a_retry_with_its_turn),
		cmocka_unit_test(refuses_a_retry_that_asks_for_something_else),
		cmocka_unit_test(a_retry_outlives_a_change_of_the_bots_own),
		cmocka_unit_test(queues_in_line_and_starts_oldest_first),
		cmocka_unit_test(nobody_overtakes_a_ready_turn),
		cmocka_unit_test(bounds_what_waits),
		cmocka_unit_test(cancels_what_has_not_started),
		cmocka_unit_test(lists_turns_with_the_beginnings_of_their_prompts),
		cmocka_unit_test(gives_the_last_item_of_the_model),
		cmocka_unit_test(a_bot_has_one_owner_by_the_schema),
	};

	return cmocka_run_group_tests_name("store_turns", tests, NULL, NULL);
}
