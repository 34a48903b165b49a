/*
 * Turns: admission, lines, endings.
 */
#include "test_store.h"

static void runs_a_turn_from_submission_to_its_end(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_call call = shell_call("c1");
	struct store_submitted s;
	struct store_turn t;
	struct bot bot = make_bot(b, "ada");
	int64_t said, result;

	(void)state;
	s = submit(b, "ada", "r1");
	assert_true(s.started);
	assert_false(s.duplicate);
	assert_int_equal(s.turn.status, TURN_RUNNING);
	assert_int_equal(s.bot.status, BOT_RUNNING);
	assert_int_equal(s.bot.running_turn, s.turn.id);
	assert_int_equal(s.cursor, last_seen(b, "accepted")->id);
	said = append(b, bot.id, s.turn.id, "I look", &call, 1);
	tool_start(b, bot.id, s.turn.id, "c1");
	result = tool_finish(b, bot.id, s.turn.id, "c1", "{\"exit_code\":0}");
	assert_true(result > said);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_a_turn_from_submission_to_its_end),
	};

	return cmocka_run_group_tests_name("store_turns", tests, NULL, NULL);
}
