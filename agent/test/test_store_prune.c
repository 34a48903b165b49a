/*
 * What a store no longer holds, and how it holds the rest: prunes, stores of an earlier schema,
 * packed artifacts.
 */
#include <sqlite3.h>

#include "test_store_life.h"

/* Pruning */

static void a_prune_keeps_the_newest_turns_and_the_history(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot ada = make_bot(b, "ada");
	struct store_pruned sum;
	struct store_submitted s;
	int64_t nodes[4], all;
	int pieces;

	(void)state;
	for (int i = 0; i < 9; i++)
		(void)play(b, "ada", arena_printf(&b->a, "r%d", i), nodes);
	all = number(b, "SELECT count(*) FROM events WHERE turn IS NOT NULL");
	sum = prune(b, ada.id, 2, &pieces);
	assert_int_equal(pieces, 2); /* 4 + 3 */
	assert_int_equal(sum.events, all / 9 * 7);
	assert_int_equal(number(b, "SELECT min(turn) FROM events"), 8);
	assert_int_equal(number(b, "SELECT count(*) FROM tools"), 2);
	assert_int_equal(number(b, "SELECT count(*) FROM turns"), 9);
	assert_int_equal(history(b, ada.id), 36);
	assert_int_equal(get_bot(b, ada.id).pruned_cursor, sum.cursor);
	assert_true(sum.cursor < number(b, "SELECT min(id) FROM events WHERE turn = 8"));
	assert_int_equal(number(b, "SELECT pruned_cursor FROM store"), sum.cursor);
	s = submit(b, "ada", "r3"); /* idempotency is as it was */
	assert_true(s.duplicate);
	assert_int_equal(s.turn.status, TURN_COMPLETED);
	assert_int_equal(prune(b, ada.id, 2, &pieces).events, 0);
}

static void a_turn_under_way_or_with_a_command_running_keeps_its_records(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot ada = make_bot(b, "ada");
	int64_t nodes[4];
	int pieces;

	(void)state;
	for (int i = 0; i < 3; i++)
		(void)play(b, "ada", arena_printf(&b->a, "r%d", i), nodes);
	(void)number(b, "INSERT INTO processes (bot, turn, call_id, status)"
			" VALUES (1, 1, 'c1', 'running'), (1, 2, 'c1', 'finished')");
	submit(b, "ada", "r4");
	(void)prune(b, ada.id, 1, &pieces);
	assert_int_equal(number(b, "SELECT count(DISTINCT turn) FROM events"), 3); /* 1, 3, 4 */
	assert_int_equal(number(b, "SELECT count(*) FROM processes"), 1);
	(void)number(b, "UPDATE processes SET status = 'finished'");
	(void)number(b, "UPDATE turns SET pruned = 0 WHERE id = 1");
	(void)prune(b, ada.id, 1, &pieces);
	assert_int_equal(number(b, "SELECT count(*) FROM processes"), 0);
}

static void retention_is_part_of_a_completion(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s[3];
	struct bot ada = make_bot(b, "ada");
	struct op_finish op = {
		.f = {.bot = ada.id, .status = TURN_COMPLETED, .retain_turns = 1}
        };
	struct error err = ERROR_INIT;

	(void)state;
	s[0] = submit(b, "ada", "r0");
	op.f.turn = s[0].turn.id;
	assert_ok(bench_write(b, op_finish, &op, &err), &err);
	assert_int_equal(number(b, "SELECT count(*) FROM turns WHERE pruned"), 0);
	s[1] = submit(b, "ada", "r1");
	s[2] = submit(b, "ada", "r2");
	(void)number(b, "UPDATE turns SET finished_ms = 1, status = 'interrupted' WHERE id = 3");
	op.f.turn = s[1].turn.id; /* a later one ended before it: it is not the newest */
	assert_ok(bench_write(b, op_finish, &op, &err), &err);
	assert_int_equal(number(b, "SELECT pruned FROM turns WHERE id = 1"), 1);
	assert_int_equal(number(b, "SELECT pruned FROM turns WHERE id = 2"), 0);
	assert_string_equal(last_seen(b, "turn_finished")->kind, "turn_finished");
	assert_int_equal(number(b, "SELECT count(*) FROM events WHERE turn = 1"), 0);
}

/* Migration */

static int exec(sqlite3 *d, const char *sql)
{
	return sqlite3_exec(d, sql, NULL, NULL, NULL);
}

/* A store as schema 1 left it: a bot of one turn, and one whose turn was running. */
static void make_schema_1(struct bench *b)
{
	static const char rows[] =
		"INSERT INTO store (id, lineage) VALUES (1, '0123456789abcdef');"
		"INSERT INTO bots (name, head, status, provider, family, tokens_used, settings,"
		" instructions) VALUES ('ada', 2, 'completed', 'drill', 'rehearsal', 7, "
		"'{\"model\":"
		"\"drill/one\",\"tools\":[\"shell\"],\"workspace\":\"/srv\",\"sandbox\":"
		"\"read-only\",\"writable_roots\":[],\"network\":false,\"unix_sockets\":[],"
		"\"git_commit\":false,\"gates\":[],\"budget_tokens\":0,\"approval_hold_ms\":4321}',"
		" 'be');"
		"INSERT INTO bots (name, head, status, running_turn, provider, family, settings,"
		" instructions) SELECT 'bea', 3, 'running', 2, provider, family, settings, 'do'"
		" FROM bots;"
		"INSERT INTO turns (bot, request_id, status, delivery, workspace_given, model,"
		" model_given, checkpoint, last_message, finished_ms, preview, prompt) VALUES"
		" (1, 'r1', 'completed', 'queue', 0, 'drill/one', 0, 2, 2, 5, 'hi', 'please mend "
		"it'),"
		" (2, 'r1', 'running', 'reject', 0, 'drill/one', 0, NULL, NULL, NULL, 'hi', 'hi');"
		"INSERT INTO nodes (parent, turn, depth, total_bytes, item) VALUES"
		" (NULL, 1, 1, 30, '{\"role\":\"user\",\"content\":\"hi\"}'),"
		" (1, 1, 2, 70, '{\"role\":\"assistant\",\"content\":\"hello\"}'),"
		" (NULL, 2, 1, 30, '{\"role\":\"user\",\"content\":\"hi\"}');"
		"INSERT INTO tools (turn, call_id, name, status, node, request, arguments_cut,"
		" arguments) VALUES (1, 'c1', 'shell', 'completed', 2, 0, 0, '{}');"
		"INSERT INTO artifacts (turn, call_id, stream, bytes) VALUES"
		" (1, 'c1', 'stdout', x'6f7574');"
		"INSERT INTO events (bot, turn, kind, data) VALUES (1, 1, 'accepted', '{}');";
	_cleanup_(mem) char *version = xasprintf(
		"PRAGMA application_id = %d; PRAGMA user_version = 1;",
		store_schema.application_id);
	sqlite3 *d = NULL;

	assert_int_equal(sqlite3_open(b->path, &d), SQLITE_OK);
	assert_int_equal(exec(d, store_schema.migrations[0]), SQLITE_OK);
	if (exec(d, rows) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(d));
	assert_int_equal(exec(d, version), SQLITE_OK);
	assert_int_equal(sqlite3_close(d), SQLITE_OK);
	assert_int_equal(chmod(b->path, 0600), 0);
}

static void a_store_of_schema_1_is_taken_over_whole(void **state)
{
	_cleanup_(bench) struct bench *b = bench_new();
	struct op_output output = {.bot = 1};
	struct error err = ERROR_INIT;
	int64_t nodes[4];
	struct bot ada, fork;

	(void)state;
	make_schema_1(b);
	bench_open(b);
	assert_int_equal(b->recovery.interrupted_turns, 1);
	assert_int_equal(number(b, "PRAGMA user_version"), store_schema.count);
	ada = get_bot(b, 1);
	assert_int_equal(ada.set.limits.approval_hold_ms, 4321);
	assert_int_equal(ada.set.limits.context_items, CONTEXT_MAX_ITEMS);
	assert_int_equal(ada.set.sandbox, 1);
	assert_int_equal(ada.tokens_used, 7);
	assert_int_equal(ada.closed, 2);
	assert_int_equal(get_bot(b, 2).closed, 3);
	assert_int_equal(history(b, 1), 2);
	assert_int_equal(get_events(b, 1, 0, 10).count, 1);
	assert_ok(bench_read(b, op_output, &output, &err), &err);
	assert_true(str_is(output.bytes, "out"));
	assert_true(submit(b, "ada", "r1").duplicate);
	(void)play(b, "ada", "r2", nodes);
	assert_int_equal(history(b, 1), 6);
	fork = fork_at(b, "ada", "cia", 2);
	assert_int_equal(fork.set.limits.approval_hold_ms, 4321);
	(void)delete (b, "ada");
	assert_int_equal(history(b, fork.id), 2);
}

/* Artifacts */

static void a_long_stream_is_packed_and_read_in_pages(void **state)
{
	enum { LONG = 300000 };
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot ada = make_bot(b, "ada"), fork;
	struct store_call call = shell_call("c1");
	struct store_submitted s = submit(b, "ada", "r1");
	char *text = arena_alloc(&b->a, LONG);
	struct store_artifact kept = {
		STR("stdout"), {text, LONG}
        };
	struct op_result op = {
		.bot = ada.id,
		.turn = s.turn.id,
		.r = {.call_id = STR("c1"),
                      .item = item_result(&b->a, ITEM_CHAT, STR("c1"), STR("x"), NULL, 0),
                      .artifacts = &kept,
                      .artifact_count = 1},
	};
	struct op_output output = {.bot = ada.id};
	struct error err = ERROR_INIT;
	int pieces;

	(void)state;
	for (int i = 0; i < LONG; i++)
		text[i] = (char)('a' + i / 7 % 26);
	append(b, ada.id, s.turn.id, "look", &call, 1);
	fork = fork_at(b, "ada", "before", 0);
	assert_ok(bench_write(b, op_result, &op, &err), &err);
	finish(b, ada.id, s.turn.id);
	assert_true(number(b, "SELECT length(bytes) FROM artifacts") < LONG / 4);
	assert_int_equal(number(b, "SELECT total_bytes FROM artifacts"), LONG);
	assert_ok(bench_read(b, op_output, &output, &err), &err);
	assert_int_equal(output.bytes.len, LONG);
	assert_memory_equal(output.bytes.p, text, LONG);
	/* A fork reads what its history holds, and no other bot anything. */
	output.bot = fork_at(b, "ada", "after", 0).id;
	assert_ok(bench_read(b, op_output, &output, &err), &err);
	output.bot = fork.id;
	assert_fails(bench_read(b, op_output, &output, &err), &err, STORE_TURN_NOT_FOUND);
	(void)play(b, "ada", "r2", (int64_t[4]){0});
	(void)prune(b, ada.id, 1, &pieces);
	output.bot = ada.id;
	error_clear(&err);
	assert_fails(bench_read(b, op_output, &output, &err), &err, STORE_ARTIFACT_PRUNED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prune_keeps_the_newest_turns_and_the_history),
		cmocka_unit_test(a_turn_under_way_or_with_a_command_running_keeps_its_records),
		cmocka_unit_test(retention_is_part_of_a_completion),
		cmocka_unit_test(a_store_of_schema_1_is_taken_over_whole),
		cmocka_unit_test(a_long_stream_is_packed_and_read_in_pages),
	};

	return cmocka_run_group_tests_name("store_prune", tests, NULL, NULL);
}
