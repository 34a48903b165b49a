/*
 * Fork and delete: what goes, what stays, for whom.
 */
#include "test_store_life.h"

#define LIT(s)                                                                                     \
	{                                                                                          \
		(s), sizeof(s) - 1                                                                 \
	}

static void assert_no_fork(
	struct bench *b, const char *source, int64_t checkpoint, const struct error_kind *kind)
{
	const struct store_fork f = {
		.source = str_from(source), .name = STR("no"), .checkpoint = checkpoint};
	int64_t before = number(b, "SELECT count(*) FROM bots");
	struct error err = ERROR_INIT;
	struct bot made;

	assert_int_equal(try_fork(b, &f, &made, &err), -1);
	assert_ptr_equal(err.kind, kind);
	assert_int_equal(number(b, "SELECT count(*) FROM bots"), before);
}

/* Forks */

static void a_fork_is_a_bot_of_its_own_with_a_shared_history(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot source = make_bot(b, "ada"), before, after, made;
	struct store_submitted s;
	int64_t nodes[4];

	(void)state;
	(void)play(b, "ada", "r1", nodes);
	before = get_bot(b, source.id);
	made = fork_at(b, "ada", "bea", 0);
	after = get_bot(b, source.id);
	assert_int_not_equal(made.id, source.id);
	assert_int_equal(made.head, nodes[3]);
	assert_int_equal(made.closed, nodes[3]);
	assert_int_equal(made.cache_bot, source.id);
	assert_int_equal(made.status, BOT_IDLE);
	assert_int_equal(made.tokens_used, 0);
	assert_true(str_eq(made.set.instructions, before.set.instructions));
	assert_true(str_eq(made.set.workspace, before.set.workspace));
	assert_int_equal(before.head, after.head);
	assert_int_equal(before.status, after.status);
	assert_int_equal(number(b, "SELECT count(*) FROM nodes"), 4);
	assert_string_equal(last_seen(b, "forked")->bot_name, "bea");
	assert_non_null(strstr(last_seen(b, "forked")->data, "\"source\":\"ada\""));
	s = submit(b, "bea", "r1"); /* AG-205: its request ids are its own */
	assert_false(s.duplicate);
	assert_int_equal(history(b, made.id), 5);
	assert_int_equal(history(b, source.id), 4);
}

static void a_fork_begins_only_where_nothing_is_open(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot other, made;
	int64_t nodes[4], alien[4];

	(void)state;
	make_bot(b, "ada");
	other = make_bot(b, "odo");
	(void)play(b, "ada", "r1", nodes);
	(void)play(b, "odo", "r1", alien);
	assert_no_fork(b, "ada", nodes[1], &STORE_FORK_OPEN);
	assert_no_fork(b, "ada", alien[0], &STORE_FORK_NODE);
	assert_no_fork(b, "ada", 12345, &STORE_FORK_NODE);
	assert_no_fork(b, "nobody", 0, &STORE_BOT_NOT_FOUND);
	made = fork_at(b, "ada", "at-prompt", nodes[0]);
	assert_int_equal(history(b, made.id), 1);
	made = fork_at(b, "ada", "at-result", nodes[2]);
	assert_int_equal(history(b, made.id), 3);
	made = fork_at(b, "at-result", "of-a-fork", nodes[0]);
	assert_int_equal(history(b, made.id), 1);
	assert_int_equal(history(b, other.id), 4);
}

static void of_two_calls_both_must_be_answered(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_call calls[2] = {shell_call("c1"), shell_call("c2")};
	struct bot ada = make_bot(b, "ada");
	struct store_submitted s = submit(b, "ada", "r1");
	int64_t first, second, again;

	(void)state;
	append(b, ada.id, s.turn.id, "two", calls, 2);
	assert_int_equal(get_bot(b, ada.id).closed, 0);
	first = tool_finish(b, ada.id, s.turn.id, "c1", "one");
	assert_int_equal(get_bot(b, ada.id).closed, 0);
	assert_no_fork(b, "ada", first, &STORE_FORK_OPEN);
	second = tool_finish(b, ada.id, s.turn.id, "c2", "two");
	assert_int_equal(get_bot(b, ada.id).closed, second);
	/* The same ids again, in the next round: only the newest round is looked at. */
	again = append(b, ada.id, s.turn.id, "again", calls, 2);
	assert_no_fork(b, "ada", again, &STORE_FORK_OPEN);
	assert_int_equal(fork_at(b, "ada", "bea", second).head, second);
	/* A running source: without a checkpoint, where it was last closed. */
	assert_int_equal(fork_at(b, "ada", "cia", 0).head, second);
	finish(b, ada.id, s.turn.id);
	assert_int_equal(get_bot(b, ada.id).closed, get_bot(b, ada.id).head);
}

static void a_source_in_its_first_turn_gives_an_empty_fork(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot made;

	(void)state;
	make_bot(b, "ada");
	submit(b, "ada", "r1");
	made = fork_at(b, "ada", "bea", 0);
	assert_int_equal(made.head, 0);
	assert_int_equal(history(b, made.id), 0);
}

static int64_t append_items(
	struct bench *b, int64_t bot, int64_t turn, const struct str *items, size_t count)
{
	struct op_append op = {
		.ap = {.bot = bot, .turn = turn, .items = items, .item_count = count}
        };
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_append, &op, &err), &err);
	return op.nodes[0];
}

static void reasoning_stays_with_what_it_led_to(void **state)
{
	static const struct str items[] = {
		LIT("{\"type\":\"reasoning\",\"id\":\"rs1\",\"summary\":[]}"),
		LIT("{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}"),
	};
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_create c = plain_bot("ada");
	struct store_submitted s;
	struct bot ada;
	int64_t reasoning;

	(void)state;
	c.family = STR("responses");
	ada = make_bot_of(b, &c);
	s = submit(b, "ada", "r1");
	reasoning = append_items(b, ada.id, s.turn.id, items, 2);
	finish(b, ada.id, s.turn.id);
	assert_no_fork(b, "ada", reasoning, &STORE_FORK_REASONING);
	assert_int_equal(fork_at(b, "ada", "bea", reasoning + 1).head, reasoning + 1);
}

static void a_fork_may_be_allowed_less_and_never_more(void **state)
{
	static struct str some[] = {LIT("read")}, more[] = {LIT("shell")};
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_fork f = {
		.source = STR("ada"), .name = STR("bea"), .has_allow = true, .allow = {some, 1}
        };
	struct error err = ERROR_INIT;
	struct bot made;

	(void)state;
	make_bot(b, "ada");
	assert_ok(try_fork(b, &f, &made, &err), &err);
	assert_int_equal(made.set.tools.count, 2); /* the model is shown them all */
	assert_true(made.set.has_allowed);
	assert_int_equal(made.set.allowed.count, 1);
	f.source = STR("bea");
	f.name = STR("cia");
	f.allow = (struct str_list){more, 1};
	assert_fails(try_fork(b, &f, &made, &err), &err, STORE_ALLOW_WIDENS);
	f.has_allow = false;
	error_clear(&err);
	assert_ok(try_fork(b, &f, &made, &err), &err);
	assert_true(made.set.has_allowed);
	assert_int_equal(made.set.allowed.count, 1);
}

static void gates_come_from_the_source_the_creator_and_the_request(void **state)
{
	static struct str shell[] = {LIT("shell")}, both[] = {LIT("read"), LIT("web_fetch")};
	static const struct gate of_source = {
		LIT("person"), {shell, 1},
                 5000
        };
	static const struct gate of_maker = {
		LIT("person"), {both, 2},
                 3000
        };
	static const struct gate asked = {
		LIT("extra"), {shell, 1},
                 0
        };
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_create c = plain_bot("ada");
	struct store_fork f = {.source = STR("ada"),
		.name = STR("bea"),
		.created_by = STR("maker"),
		.gates = &asked,
		.gate_count = 1};
	struct error err = ERROR_INIT;
	struct bot made;

	(void)state;
	c.set.gates = &of_source;
	c.set.gate_count = 1;
	make_bot_of(b, &c);
	c = plain_bot("maker");
	c.set.gates = &of_maker;
	c.set.gate_count = 1;
	f.created_by_id = make_bot_of(b, &c).id;
	assert_ok(try_fork(b, &f, &made, &err), &err);
	assert_int_equal(made.set.gate_count, 2);
	assert_true(str_is(made.set.gates[0].tag, "person"));
	assert_int_equal(made.set.gates[0].expire_ms, 3000);
	assert_int_equal(made.set.gates[0].tools.count, 2); /* shell, read; not web_fetch */
	assert_true(str_is(made.set.gates[1].tag, "extra"));
	assert_int_equal(made.set.gates[1].expire_ms, 0);
	c = plain_bot("child"); /* a bot that a bot makes has them too */
	c.created_by = STR("maker");
	c.created_by_id = f.created_by_id;
	made = make_bot_of(b, &c);
	assert_int_equal(made.set.gate_count, 1);
	assert_int_equal(made.set.gates[0].tools.count, 1);
	f.name = STR("cia");
	f.created_by_id++;
	assert_fails(try_fork(b, &f, &made, &err), &err, STORE_CREATOR);
}

static void a_fork_has_the_views_that_hold_at_its_point(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	int64_t one[4], two[4];

	(void)state;
	make_bot(b, "ada");
	(void)play(b, "ada", "r1", one);
	(void)play(b, "ada", "r2", two);
	(void)number(b, "INSERT INTO notes (node, previous, text) VALUES (3, NULL, 'a'),"
			" (7, 1, 'b')");
	(void)number(b, "INSERT INTO compactions (node, coverage, text) VALUES (6, 4, 's')");
	(void)number(b, "UPDATE bots SET note = 2, compaction = 1, context_start = 5");
	assert_int_equal(fork_at(b, "ada", "at-head", 0).note, 2);
	assert_int_equal(fork_at(b, "ada", "at-end", one[3]).note, 1);
	assert_int_equal(fork_at(b, "ada", "at-end-2", one[3]).compaction, 0);
	assert_int_equal(fork_at(b, "ada", "at-end-3", one[3]).context_start, 0);
	assert_int_equal(fork_at(b, "ada", "at-start", one[0]).note, 0);
	assert_int_equal(fork_at(b, "ada", "at-head-2", 0).compaction, 1);
	assert_int_equal(fork_at(b, "ada", "at-head-3", 0).context_start, 5);
}

/* Deleting */

static void assert_empty(struct bench *b)
{
	static const char *const tables[] = {"bots", "turns", "nodes", "tools", "events",
		"artifacts", "processes", "notes", "compactions", "elisions", "stubs", "omissions"};

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		int64_t rows = number(b, arena_printf(&b->a, "SELECT count(*) FROM %s", tables[i]));

		if (rows != 0)
			fail_msg("%s has %lld rows left", tables[i], (long long)rows);
	}
}

static void nothing_of_a_deleted_bot_is_left(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct error err = ERROR_INIT;
	struct op_bot op = {.id = 1};
	struct op_delete done;
	int64_t nodes[4];

	(void)state;
	make_bot(b, "ada");
	for (int i = 0; i < 9; i++)
		(void)play(b, "ada", arena_printf(&b->a, "r%d", i), nodes);
	(void)number(b, "INSERT INTO notes (node, text) VALUES (3, 'a')");
	(void)number(b, "INSERT INTO processes (bot, turn, call_id, status)"
			" VALUES (1, 2, 'c1', 'finished')");
	done = delete (b, "ada");
	assert_int_equal(done.sum.turns, 9);
	assert_int_equal(done.sum.nodes, 36);
	assert_int_equal(done.sum.events, (int64_t)b->event_count);
	assert_int_equal(done.pieces, 4); /* 4 + 4 + 1 turns, and what belongs to none */
	assert_empty(b);
	assert_fails(bench_read(b, op_bot_id, &op, &err), &err, STORE_BOT_NOT_FOUND);
	assert_int_equal(number(b, "SELECT pruned_cursor FROM store"), (int64_t)b->event_count);
	assert_int_equal(make_bot(b, "ada").id, 2); /* AG-204: never the same again */
}

static void a_bot_in_use_is_not_deleted(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct op_delete op = {.name = STR("ada")};
	struct store_submit s = plain_submit("ada", "r2");
	struct error err = ERROR_INIT;
	struct store_submitted first, second;

	(void)state;
	make_bot(b, "ada");
	first = submit(b, "ada", "r1");
	assert_fails(try_delete(b, &op, &err), &err, STORE_BOT_BUSY);
	assert_ok(try_submit(b, &s, &second, &err), &err);
	finish(b, first.bot.id, first.turn.id);
	assert_fails(try_delete(b, &op, &err), &err, STORE_BOT_BUSY); /* one is ready */
	assert_int_equal(start_ready(b), second.turn.id);
	(void)number(b, "UPDATE turns SET status = 'waiting' WHERE id = 2");
	assert_fails(try_delete(b, &op, &err), &err, STORE_BOT_BUSY);
	(void)number(b, "UPDATE turns SET status = 'running' WHERE id = 2");
	finish(b, first.bot.id, second.turn.id);
	(void)number(b, "INSERT INTO processes (bot, turn, call_id, status)"
			" VALUES (1, 1, 'c1', 'running')");
	assert_fails(try_delete(b, &op, &err), &err, STORE_BOT_BUSY);
	assert_int_equal(get_bot(b, first.bot.id).status, BOT_COMPLETED);
	(void)number(b, "UPDATE processes SET status = 'finished'");
	(void)delete (b, "ada");
	assert_empty(b);
}

static void forks_keep_what_they_share_until_the_last_is_gone(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	int64_t one[4], two[4], three[4];
	struct bot bea, cia;

	(void)state;
	make_bot(b, "ada");
	(void)play(b, "ada", "r1", one);
	(void)play(b, "ada", "r2", two);
	(void)number(b, "INSERT INTO notes (node, text) VALUES (3, 'a'), (7, 'b')");
	(void)number(b, "UPDATE bots SET note = 1");
	bea = fork_at(b, "ada", "bea", one[3]);
	cia = fork_at(b, "bea", "cia", 0); /* a fork of a fork that added nothing */
	(void)play(b, "cia", "r1", three);
	assert_int_equal(delete (b, "ada").sum.nodes, 4); /* those of its second turn */
	assert_int_equal(history(b, bea.id), 4);
	assert_int_equal(history(b, cia.id), 8);
	assert_int_equal(number(b, "SELECT count(*) FROM notes"), 1);
	assert_int_equal(delete (b, "bea").sum.nodes, 0);
	assert_int_equal(history(b, cia.id), 8);
	assert_int_equal(delete (b, "cia").sum.nodes, 8);
	assert_empty(b);
}

static void the_source_keeps_what_its_fork_shared(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	int64_t one[4], two[4];
	struct bot ada = make_bot(b, "ada");

	(void)state;
	(void)play(b, "ada", "r1", one);
	fork_at(b, "ada", "bea", 0);
	(void)play(b, "bea", "r1", two);
	assert_int_equal(delete (b, "bea").sum.nodes, 4);
	assert_int_equal(history(b, ada.id), 4);
	fork_at(b, "ada", "cia", one[0]);
	assert_int_equal(delete (b, "cia").sum.nodes, 0);
	assert_int_equal(history(b, ada.id), 4);
}

static void two_that_go_at_once_leave_nothing(void **state)
{
	struct op_delete ops[] = {{.name = STR("ada")}, {.name = STR("bea")}};
	_cleanup_(bench) struct bench *b = bench_start();
	struct error err = ERROR_INIT;
	int64_t nodes[4];

	(void)state;
	make_bot(b, "ada");
	for (int i = 0; i < 6; i++)
		(void)play(b, "ada", arena_printf(&b->a, "r%d", i), nodes);
	fork_at(b, "ada", "bea", nodes[0]);
	for (size_t i = 0; i < 2; i++)
		assert_ok(bench_write(b, op_delete, &ops[i], &err), &err);
	while (!ops[0].done || !ops[1].done) {
		for (size_t i = 0; i < 2; i++) {
			if (!ops[i].done)
				assert_ok(bench_write(b, op_delete_piece, &ops[i], &err), &err);
		}
	}
	assert_empty(b);
}

static void a_deletion_that_was_cut_off_ends_at_the_next_open(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct op_delete op = {.name = STR("ada")};
	struct store_create c = plain_bot("ada");
	struct op_create again = {.c = c};
	struct error err = ERROR_INIT;
	struct op_bot get = {.id = 1};
	int64_t nodes[4];

	(void)state;
	make_bot(b, "ada");
	for (int i = 0; i < 6; i++)
		(void)play(b, "ada", arena_printf(&b->a, "r%d", i), nodes);
	assert_ok(bench_write(b, op_delete, &op, &err), &err);
	assert_ok(bench_write(b, op_delete_piece, &op, &err), &err);
	assert_false(op.done);
	assert_fails(bench_read(b, op_bot_id, &get, &err), &err, STORE_BOT_NOT_FOUND);
	error_clear(&err);
	assert_fails(bench_write(b, op_create, &again, &err), &err, STORE_BOT_EXISTS);
	bench_reopen(b);
	assert_int_equal(b->recovery.deleted_bots, 1);
	assert_empty(b);
	assert_true(number(b, "SELECT pruned_cursor FROM store") > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fork_is_a_bot_of_its_own_with_a_shared_history),
		cmocka_unit_test(a_fork_begins_only_where_nothing_is_open),
		cmocka_unit_test(of_two_calls_both_must_be_answered),
		cmocka_unit_test(a_source_in_its_first_turn_gives_an_empty_fork),
		cmocka_unit_test(reasoning_stays_with_what_it_led_to),
		cmocka_unit_test(a_fork_may_be_allowed_less_and_never_more),
		cmocka_unit_test(gates_come_from_the_source_the_creator_and_the_request),
		cmocka_unit_test(a_fork_has_the_views_that_hold_at_its_point),
		cmocka_unit_test(nothing_of_a_deleted_bot_is_left),
		cmocka_unit_test(a_bot_in_use_is_not_deleted),
		cmocka_unit_test(forks_keep_what_they_share_until_the_last_is_gone),
		cmocka_unit_test(the_source_keeps_what_its_fork_shared),
		cmocka_unit_test(two_that_go_at_once_leave_nothing),
		cmocka_unit_test(a_deletion_that_was_cut_off_ends_at_the_next_open),
	};

	return cmocka_run_group_tests_name("store_life", tests, NULL, NULL);
}
