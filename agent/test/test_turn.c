/* The turn's moves: every state is reached, every stop ends, nothing runs before its commit. */
#include "testing.h"

#include "agent/core/turn.h"

static void every_state_is_reached_from_a_start_or_a_resume(void **state)
{
	bool seen[TURN_STATES] = {[TURN_NEW] = true, [TURN_RESUMING] = true};
	bool grew = true;

	(void)state;
	while (grew) {
		grew = false;
		for (int s = 0; s < TURN_STATES; s++) {
			for (int e = 0; seen[s] && e < TURN_EVENTS; e++) {
				enum turn_state at = (enum turn_state)s;
				enum turn_action then;

				if (turn_step(&at, (enum turn_event)e, &then) && !seen[at])
					seen[at] = grew = true;
			}
		}
	}
	for (int s = 0; s < TURN_STATES; s++)
		assert_true(seen[s]);
}

static void every_event_is_used(void **state)
{
	(void)state;
	for (int e = 0; e < TURN_EVENTS; e++) {
		bool used = false;

		for (int s = 0; s < TURN_STATES; s++) {
			enum turn_state at = (enum turn_state)s;
			enum turn_action then;

			used = used || turn_step(&at, (enum turn_event)e, &then);
		}
		if (!used)
			fail_msg("no move for %s", turn_event_name((enum turn_event)e));
	}
}

static void every_state_takes_a_stop_but_those_left_at_once_and_over(void **state)
{
	(void)state;
	for (int s = 0; s < TURN_STATES; s++) {
		enum turn_state at = (enum turn_state)s;
		enum turn_action then;
		bool moves = turn_step(&at, EV_STOP, &then);

		/* resuming and deciding are left within the same step: no stop can come between */
		assert_int_equal(moves, s != TURN_RESUMING && s != TURN_DECIDING && s != TURN_OVER);
	}
}

static void a_tool_runs_only_out_of_a_committed_start(void **state)
{
	(void)state;
	for (int s = 0; s < TURN_STATES; s++) {
		for (int e = 0; e < TURN_EVENTS; e++) {
			enum turn_state at = (enum turn_state)s;
			enum turn_action then;

			if (!turn_step(&at, (enum turn_event)e, &then))
				continue;
			if (then == RUN_TOOL)
				assert_true((s == TURN_STARTING && e == EV_COMMITTED) ||
					    (s == TURN_RESUMING && e == EV_RESUMED_WAIT));
			if (then == ASK_MODEL)
				assert_true(s == TURN_LOADING && e == EV_CONTEXT_READ);
			if (then == COMMIT_START)
				assert_true(s == TURN_DECIDING && e == EV_CLEAR);
		}
	}
}

/* What a turn waits for is on disk before its task ends, and a stop of a parking turn is not lost:
 * whoever takes the parked one over looks at it. */
static void a_task_ends_only_behind_a_commit(void **state)
{
	(void)state;
	for (int s = 0; s < TURN_STATES; s++) {
		for (int e = 0; e < TURN_EVENTS; e++) {
			enum turn_state at = (enum turn_state)s;
			enum turn_action then;
			bool committed = e == EV_COMMITTED || e == EV_COMMITTED_STOP;

			if (!turn_step(&at, (enum turn_event)e, &then))
				continue;
			if (then == LEAVE)
				assert_true(s == TURN_PARKING && committed);
			if (then == LET_GO)
				assert_true(
					(committed && (s == TURN_CLOSING || s == TURN_ENDING)) ||
					(s == TURN_ENDING && e == EV_LOST));
			assert_int_equal(at == TURN_OVER, then == LEAVE || then == LET_GO);
		}
	}
}

/* Steers are taken up between two rounds and nowhere else; the model is then asked again. */
static void a_final_reply_goes_on_only_for_steers(void **state)
{
	enum turn_state at = TURN_CLOSING;
	enum turn_action then;

	(void)state;
	assert_true(turn_step(&at, EV_STEERED, &then));
	assert_int_equal(at, TURN_LOADING);
	assert_int_equal(then, READ_CONTEXT);
	at = TURN_CLOSING;
	assert_true(turn_step(&at, EV_STEERED_STOP, &then));
	assert_int_equal(then, COMMIT_FINISH);
}

static void an_unknown_move_changes_nothing(void **state)
{
	enum turn_state at = TURN_MODEL;
	enum turn_action then = LET_GO;

	(void)state;
	assert_false(turn_step(&at, EV_TOOL_DONE, &then));
	assert_int_equal(at, TURN_MODEL);
	assert_int_equal(then, LET_GO);
}

static void states_and_events_have_names(void **state)
{
	(void)state;
	for (int s = 0; s < TURN_STATES; s++)
		assert_non_null(turn_state_name((enum turn_state)s));
	for (int e = 0; e < TURN_EVENTS; e++)
		assert_non_null(turn_event_name((enum turn_event)e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_is_reached_from_a_start_or_a_resume),
		cmocka_unit_test(every_event_is_used),
		cmocka_unit_test(every_state_takes_a_stop_but_those_left_at_once_and_over),
		cmocka_unit_test(a_tool_runs_only_out_of_a_committed_start),
		cmocka_unit_test(a_task_ends_only_behind_a_commit),
		cmocka_unit_test(a_final_reply_goes_on_only_for_steers),
		cmocka_unit_test(an_unknown_move_changes_nothing),
		cmocka_unit_test(states_and_events_have_names),
	};

	return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
