/*
 * What a store says after its daemon was gone in the middle of something (spec 3.5). Closing does
 * not end turns, so reopening is what a crash looks like; test_store_kill.c really kills.
 */
#include "test_store.h"

struct op_item {
	int64_t bot, node;
	struct store_node *ret;
};

static int op_item(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_item *op = arg;

	return store_items(v, op->bot, &op->node, 1, &b->a, &op->ret, err);
}

static const char *item_text(struct bench *b, int64_t bot, int64_t node)
{
	struct op_item op = {.bot = bot, .node = node};
	struct error err = ERROR_INIT;

	assert_ok(bench_read(b, op_item, &op, &err), &err);
	return text_of(b, op.ret[0].item);
}

/* The events after `after`, one "kind data" a line. */
static const char *replay(struct bench *b, int64_t after)
{
	struct op_events page = get_events(b, 0, after, 256);
	struct buf text = BUF_INIT(1 << 20);
	const char *kept;

	for (size_t i = 0; i < page.count; i++)
		(void)buf_printf(&text, STR_FMT " " STR_FMT "\n", STR_ARG(page.ret[i].kind),
			STR_ARG(page.ret[i].data));
	kept = arena_strndup(&b->a, buf_str(&text).p, text.len);
	buf_release(&text);
	return kept;
}

static void a_turn_between_steps_is_interrupted(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	struct store_submitted s = submit(b, "ada", "r1");
	size_t published = b->event_count;
	struct store_turn t;

	(void)state;
	clock_fake_advance(&b->clock, 1000);
	bench_reopen(b);
	assert_int_equal(b->told_count, 1);
	assert_int_equal(b->told_bot, bot.id);
	assert_int_equal(b->told_turn, s.turn.id);
	assert_int_equal(b->recovery.interrupted_turns, 1);
	assert_int_equal(b->recovery.unknown_calls, 0);
	assert_int_equal(b->recovery.ready_turns, 0);
	assert_int_equal(b->event_count, published); /* nobody follows yet */
	t = get_turn(b, bot.id, s.turn.id);
	assert_int_equal(t.status, TURN_INTERRUPTED);
	assert_true(str_is(t.error, "process_interrupted"));
	assert_int_equal(t.checkpoint, 1);
	assert_int_equal(t.finished_ms, START_MS + 1000);
	bot = get_bot(b, bot.id);
	assert_int_equal(bot.status, BOT_INTERRUPTED);
	assert_int_equal(bot.running_turn, 0);
	assert_string_equal(replay(b, s.cursor),
		"turn_finished {\"status\":\"interrupted\",\"checkpoint\":1,\"error\":"
		"\"process_interrupted\",\"detail\":\"the daemon ended while the turn was "
		"running\"}\n");
	/* Once. */
	bench_reopen(b);
	assert_int_equal(b->told_count, 1);
	assert_int_equal(b->recovery.interrupted_turns, 0);
	/* Uncertainty never blocks the bot. */
	assert_true(submit(b, "ada", "r2").started);
}

static void planned_calls_never_ran_and_executing_ones_are_unknown(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	struct store_submitted s = submit(b, "ada", "r1");
	struct store_call calls[] = {shell_call("c1"), shell_call("c2"), shell_call("c3")};
	int64_t cursor;

	(void)state;
	append(b, bot.id, s.turn.id, "three", calls, 3);
	tool_start(b, bot.id, s.turn.id, "c1");
	tool_finish(b, bot.id, s.turn.id, "c1", "fine");
	tool_start(b, bot.id, s.turn.id, "c2");
	cursor = last_seen(b, "tool_started")->id;
	bench_reopen(b);
	assert_int_equal(b->recovery.interrupted_turns, 1);
	assert_int_equal(b->recovery.unknown_calls, 1);
	assert_string_equal(item_text(b, bot.id, 3),
		"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"fine\"}");
	assert_string_equal(item_text(b, bot.id, 4),
		"{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"{\\\"error\\\":"
		"\\\"tool_outcome_unknown\\\",\\\"detail\\\":\\\"the call was started and its end "
		"was not recorded: it may have had effects and may still be running\\\"}\"}");
	assert_string_equal(item_text(b, bot.id, 5),
		"{\"role\":\"tool\",\"tool_call_id\":\"c3\",\"content\":\"{\\\"error\\\":"
		"\\\"cancelled\\\"}\"}");
	assert_string_equal(replay(b, cursor),
		"tool_completed {\"call_id\":\"c2\",\"node\":4,\"artifacts\":[],\"note\":null,"
		"\"outcome_unknown\":true}\n"
		"tool_completed {\"call_id\":\"c3\",\"node\":5,\"artifacts\":[],\"note\":null,"
		"\"cancelled\":true}\n"
		"turn_finished {\"status\":\"interrupted\",\"checkpoint\":5,\"error\":"
		"\"process_interrupted\",\"detail\":\"the daemon ended while the turn was "
		"running\"}\n");
	assert_int_equal(get_bot(b, bot.id).head, 5);
	assert_int_equal(submit(b, "ada", "r2").bot.head, 6); /* goes on from there */
}

static void the_next_in_line_becomes_ready(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted a2, a3, b1;
	struct store_submit wait = plain_submit("bea", "b1");
	struct error err = ERROR_INIT;

	(void)state;
	make_bot(b, "ada");
	make_bot(b, "bea");
	make_bot(b, "idle");
	submit(b, "ada", "a1");
	a2 = submit(b, "ada", "a2");
	a3 = submit(b, "ada", "a3");
	wait.may_start = false;
	assert_ok(try_submit(b, &wait, &b1, &err), &err);
	bench_reopen(b);
	assert_int_equal(b->recovery.interrupted_turns, 1);
	assert_int_equal(b->recovery.ready_turns, 2);
	assert_int_equal(get_turn(b, a2.bot.id, a2.turn.id).status, TURN_READY);
	assert_int_equal(get_turn(b, a3.bot.id, a3.turn.id).status, TURN_QUEUED);
	assert_int_equal(start_ready(b), a2.turn.id);
	assert_int_equal(start_ready(b), b1.turn.id);
	assert_int_equal(start_ready(b), 0);
	bench_reopen(b);
	assert_int_equal(b->recovery.interrupted_turns, 2);
	assert_int_equal(b->recovery.ready_turns, 1);
	assert_int_equal(start_ready(b), a3.turn.id);
}

static void many_running_turns_are_all_ended(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_call call = shell_call("c1");
	enum { BOTS = 90 }; /* more than recovery looks up at once */

	(void)state;
	for (int i = 0; i < BOTS; i++) {
		const char *name = arena_printf(&b->a, "bot-%d", i);
		struct store_submitted s;

		make_bot(b, name);
		s = submit(b, name, "r1");
		if (i % 3 == 0)
			continue;
		append(b, s.bot.id, s.turn.id, "go", &call, 1);
		if (i % 3 == 1)
			tool_start(b, s.bot.id, s.turn.id, "c1");
	}
	bench_reopen(b);
	assert_int_equal(b->recovery.interrupted_turns, BOTS);
	assert_int_equal(b->recovery.unknown_calls, BOTS / 3);
	for (int64_t id = 1; id <= BOTS; id++)
		assert_int_equal(get_bot(b, id).status, BOT_INTERRUPTED);
}

static void ids_are_never_used_twice(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct bot bot = make_bot(b, "ada");
	struct store_submitted s = submit(b, "ada", "r1"), again;
	int64_t last = s.cursor;

	(void)state;
	for (int i = 0; i < 3; i++) {
		bench_reopen(b);
		again = submit(b, "ada", arena_printf(&b->a, "again-%d", i));
		assert_true(again.turn.id > s.turn.id);
		assert_true(again.bot.head > s.bot.head);
		assert_true(again.cursor > last);
		s = again;
		last = again.cursor;
	}
	assert_true(make_bot(b, "bea").id > bot.id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_between_steps_is_interrupted),
		cmocka_unit_test(planned_calls_never_ran_and_executing_ones_are_unknown),
		cmocka_unit_test(the_next_in_line_becomes_ready),
		cmocka_unit_test(many_running_turns_are_all_ended),
		cmocka_unit_test(ids_are_never_used_twice),
	};

	return cmocka_run_group_tests_name("store_recover", tests, NULL, NULL);
}
