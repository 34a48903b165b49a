/*
 * The andon cord where things meet: what was on its way when it was pulled ends, and nothing starts
 * behind the reply.
 */
#include "agent/core/limits.h"
#include "serving.h"

#define CREATE(bot)                                                                                \
	"{\"id\":1,\"op\":\"create\",\"bot\":\"" bot                                               \
	"\",\"model\":\"drill/x\",\"instructions\":\"\",\"tools\":[\"echo\"]}\n"
#define SUBMIT(bot, request, more)                                                                 \
	"{\"id\":2,\"op\":\"submit\",\"bot\":\"" bot "\",\"request_id\":\"" request                \
	"\",\"prompt\":\"p\"" more "}\n"
#define QUEUED       ",\"delivery\":\"queue\""
#define PAUSE        "{\"id\":3,\"op\":\"pause\",\"reason\":\"why\"}\n"
#define RESUME       "{\"id\":4,\"op\":\"resume\"}\n"
#define RESULT(turn) "{\"id\":5,\"op\":\"result\",\"bot\":\"b\",\"turn\":" turn "}\n"
#define WAIT(turn)   "{\"id\":6,\"op\":\"wait\",\"handles\":[\"turn:b/" turn "\"]}\n"
#define SLOW         "{\"say\":\"x\",\"delay_ms\":600000}\n"

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void says(struct served *s, const char *part)
{
	_cleanup_(mem) char *reply = served_line(s);

	has(reply, part);
}

static void answered(struct served *s, const char *line, const char *part)
{
	served_send(s, line);
	says(s, part);
}

static bool asks_model(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("b"));

	return t && t->state == TURN_MODEL;
}

static bool c_asks_model(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("c"));

	return t && t->state == TURN_MODEL;
}

static bool is_parked(struct served *s)
{
	const struct parked *p = parked_find(&s->d, STR("b"));

	return p && p->state == PARKED_RESTING;
}

static bool is_resuming(struct served *s)
{
	const struct parked *p = parked_find(&s->d, STR("b"));

	return p && p->state == PARKED_RESUMING;
}

static bool is_parking(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("b"));

	return t && t->state == TURN_PARKING;
}

static size_t requests(struct served *s)
{
	return list_first(&s->d.sessions, struct session, in_daemon)->request_count;
}

static bool four_are_asked(struct served *s)
{
	return requests(s) == 4;
}

static bool one_is_asked(struct served *s)
{
	return requests(s) == 1;
}

static void what_was_asked_before_ends_and_what_comes_behind_waits(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, SLOW);
	served_ask(&s, CREATE("b"));
	served_ask(&s, CREATE("c"));
	served_hold_writer(&s);
	served_send(
		&s, SUBMIT("b", "r1", "") PAUSE SUBMIT("c", "r2", "") SUBMIT("c", "r3", QUEUED));
	served_until(&s, four_are_asked);
	served_let_writer(&s);
	says(&s, "\"status\":\"running\"");
	says(&s, "\"paused\":{\"by\":null,\"by_id\":null,\"reason\":\"why\",\"at_ms\":");
	says(&s, "\"error\":\"daemon_paused\"");
	says(&s, "\"status\":\"ready\"");
	answered(&s, WAIT("1"), "\"status\":\"interrupted\",\"checkpoint\":1,\"error\":\"paused\"");
	served_until(&s, served_is_idle);
	answered(&s, "{\"id\":7,\"op\":\"stats\"}\n", "\"queued_turns\":1,");
	answered(&s, SUBMIT("b", "r1", ""), "\"duplicate\":true"); /* as ever */
	served_for(&s, 30);
	assert_int_equal(s.d.sched.active, 0);
	answered(&s, RESUME, "\"resumed\":true");
	served_until(&s, c_asks_model);
	live_stop(live_find(&s.d, STR("c")), "cancelled");
	served_until(&s, served_is_idle);
	served_close(&s);
}

static void the_first_to_pull_it_is_remembered(void **state)
{
	struct session *session;
	struct served s;

	(void)state;
	served_open(&s, SLOW);
	session = list_first(&s.d.sessions, struct session, in_daemon);
	session->as = (struct session_bot){.id = 7, .name = "ann"};
	answered(&s, "{\"id\":1,\"op\":\"pause\",\"from\":{\"bot\":\"bob\",\"bot_id\":8}}\n",
		"\"error\":\"not_permitted\"");
	answered(&s, "{\"id\":1,\"op\":\"pause\",\"from\":{\"bot\":\"ann\",\"bot_id\":8}}\n",
		"\"error\":\"not_permitted\"");
	answered(&s, PAUSE, "{\"by\":\"ann\",\"by_id\":7,\"reason\":\"why\",");
	answered(&s, RESUME, "\"error\":\"not_permitted\"");
	session->as = (struct session_bot){.id = 0};
	answered(&s, "{\"id\":1,\"op\":\"pause\",\"from\":{\"bot\":\"bob\",\"bot_id\":8}}\n",
		"{\"by\":\"ann\",\"by_id\":7,\"reason\":\"why\",");
	answered(&s, "{\"id\":1,\"op\":\"stats\"}\n", "\"paused\":{\"by\":\"ann\",\"by_id\":7,");
	answered(&s,
		"{\"id\":1,\"op\":\"resume\",\"from\":{\"bot\":\"bob\",\"bot_id\":8,\"turn\":2}}\n",
		"\"resumed\":true");
	answered(&s, "{\"id\":1,\"op\":\"stats\"}\n", "\"paused\":null");
	answered(&s, RESUME, "\"resumed\":false");
	served_send(&s, "{\"id\":1,\"op\":\"follow\",\"bot\":\"*\"}\n");
	says(&s, "\"following\"");
	says(&s, "{\"event\":\"paused\",\"cursor\":1,\"bot\":null,\"turn\":null,\"data\":{\"by\":"
		 "\"ann\",\"by_id\":7,\"reason\":\"why\"}}");
	says(&s, "{\"event\":\"resumed\",\"cursor\":2,\"bot\":null,\"turn\":null,\"data\":{\"by\":"
		 "\"bob\",\"by_id\":8}}");
	says(&s, "follow_live");
	served_close(&s);
}

static void bad_requests_pull_nothing(void **state)
{
	static const char *const rows[] = {
		"\"reason\":5",
		"\"reason\":\"a\\u0000b\"",
		"\"from\":{\"bot\":\"a b\",\"bot_id\":1}",
		"\"from\":{\"bot\":\"a\"}",
		"\"from\":{\"bot\":\"a\",\"bot_id\":0}",
		"\"why\":\"x\"",
	};
	struct served s;

	(void)state;
	served_open(&s, SLOW);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *line = xasprintf("{\"id\":1,\"op\":\"pause\",%s}\n", rows[i]);

		answered(&s, line, "\"error\":\"invalid_");
		assert_false(pause_holds(&s.d));
	}
	{
		_cleanup_(buf) struct buf long_one = BUF_INIT(4096);

		(void)buf_puts(&long_one, "{\"id\":1,\"op\":\"pause\",\"reason\":\"");
		for (int i = 0; i <= PAUSE_REASON_MAX_BYTES; i++)
			(void)buf_putc(&long_one, 'x');
		(void)buf_puts(&long_one, "\"}\n");
		answered(&s, long_one.data, "pause.reason: ");
	}
	assert_false(pause_holds(&s.d));
	served_close(&s);
}

/* The last word of a group counts, and nothing starts between two of its words. */
static void one_that_comes_right_behind_a_resume_holds(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, SLOW);
	served_ask(&s, CREATE("b"));
	served_ask(&s, PAUSE);
	served_ask(&s, SUBMIT("b", "r1", QUEUED));
	served_hold_writer(&s);
	served_send(&s, RESUME PAUSE RESUME PAUSE);
	served_until(&s, four_are_asked);
	served_let_writer(&s);
	says(&s, "\"resumed\":true");
	says(&s, "\"already\":false");
	says(&s, "\"resumed\":true");
	says(&s, "\"already\":false");
	served_for(&s, 30);
	assert_int_equal(s.d.sched.active, 0);
	answered(&s, RESULT("1"), "\"status\":\"ready\"");
	served_close(&s);
}

/* A turn whose provider asked to wait for so long. */
static void open_paced(struct served *s, int64_t wait_ms)
{
	served_open(s, SLOW);
	served_ask(s, CREATE("b"));
	served_ask(s, SUBMIT("b", "r1", ""));
	served_until(s, asks_model);
	served_hold_writer(s);
	live_park_paced(live_find(&s->d, STR("b")), clock_mono_ms(s->d.clock) + wait_ms);
	must(is_parking(s));
}

static void check_stopped(struct served *s)
{
	answered(s, WAIT("1"), "\"status\":\"interrupted\",\"checkpoint\":1,\"error\":\"paused\"");
	served_until(s, served_is_idle);
	assert_int_equal(s->d.parks.paced, 0);
	served_close(s);
}

static void a_turn_that_is_parked_ends(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s, 600000);
	served_let_writer(&s);
	served_until(&s, is_parked);
	served_ask(&s, PAUSE);
	check_stopped(&s);
}

static void a_turn_that_is_about_to_park_ends(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s, 600000);
	served_send(&s, PAUSE);
	served_until(&s, one_is_asked);
	served_let_writer(&s);
	says(&s, "\"already\":false");
	check_stopped(&s);
}

static void a_turn_that_is_about_to_go_on_ends(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s, 20);
	served_let_writer(&s);
	served_until(&s, is_parked);
	served_hold_writer(&s);
	served_until(&s, is_resuming);
	served_send(&s, PAUSE);
	served_until(&s, one_is_asked);
	served_let_writer(&s);
	says(&s, "\"already\":false");
	check_stopped(&s);
}

/* Due while the store has the pause already and the daemon not yet. */
static void a_turn_that_is_due_while_it_is_pulled_does_not_go_on(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s, 40);
	served_let_writer(&s);
	served_until(&s, is_parked);
	served_hold_writer(&s);
	served_send(&s, PAUSE);
	served_until(&s, one_is_asked);
	served_for(&s, 80);
	assert_false(is_resuming(&s));
	served_let_writer(&s);
	says(&s, "\"already\":false");
	check_stopped(&s);
}

static void a_steer_becomes_a_turn_that_waits(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, SLOW);
	served_ask(&s, CREATE("b"));
	served_ask(&s, SUBMIT("b", "r1", ""));
	served_until(&s, asks_model);
	served_ask(&s, SUBMIT("b", "r2", ",\"delivery\":\"steer\""));
	served_ask(&s, PAUSE);
	answered(&s, WAIT("1"), "\"error\":\"paused\"");
	served_for(&s, 20);
	answered(&s, RESULT("2"), "\"status\":\"ready\"");
	assert_int_equal(s.d.sched.active, 0);
	served_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_asked_before_ends_and_what_comes_behind_waits),
		cmocka_unit_test(the_first_to_pull_it_is_remembered),
		cmocka_unit_test(bad_requests_pull_nothing),
		cmocka_unit_test(one_that_comes_right_behind_a_resume_holds),
		cmocka_unit_test(a_turn_that_is_parked_ends),
		cmocka_unit_test(a_turn_that_is_about_to_park_ends),
		cmocka_unit_test(a_turn_that_is_about_to_go_on_ends),
		cmocka_unit_test(a_turn_that_is_due_while_it_is_pulled_does_not_go_on),
		cmocka_unit_test(a_steer_becomes_a_turn_that_waits),
	};

	return cmocka_run_group_tests_name("agent.serve.pause", tests, NULL, NULL);
}
