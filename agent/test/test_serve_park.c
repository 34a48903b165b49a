/*
 * Turns that park: what stays of them, what wakes them, and what ends them.
 */
#include "agent/core/limits.h"
#include "serving.h"

#define CREATE                                                                                     \
	"{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\",\"instructions\":\"\","   \
	"\"tools\":[\"echo\"]"
#define SUBMIT "{\"id\":2,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r\",\"prompt\":\"p\"}\n"
#define SLOW   "{\"say\":\"x\",\"delay_ms\":600000}\n"

static bool asks_model(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("b"));

	return t && t->state == TURN_MODEL;
}

static bool is_parked(struct served *s)
{
	const struct parked *p = parked_find(&s->d, STR("b"));

	return p && p->state == PARKED_RESTING;
}

/* The reply to one request, which the caller frees. */
static char *ask(struct served *s, const char *line)
{
	served_send(s, line);
	return served_line(s);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void answered(struct served *s, const char *line, const char *part)
{
	_cleanup_(mem) char *reply = ask(s, line);

	has(reply, part);
}

/* A turn whose provider asked to wait. */
static void open_paced(struct served *s, const char *script, int64_t wait_ms)
{
	served_open(s, script);
	served_ask(s, CREATE "}\n");
	served_ask(s, SUBMIT);
	served_until(s, asks_model);
	live_park_paced(live_find(&s->d, STR("b")), clock_mono_ms(s->d.clock) + wait_ms);
	served_until(s, is_parked);
}

static void a_paced_turn_holds_nothing_and_says_so(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s, SLOW, 600000);
	assert_int_equal(table_count(s.d.live), 0);
	assert_int_equal(s.d.sched.active, 0);
	answered(&s, "{\"id\":3,\"op\":\"stats\"}\n", "\"waiting_turns\":0,\"paced_turns\":1,");
	answered(&s, "{\"id\":4,\"op\":\"inspect\",\"bot\":\"b\"}\n", "\"status\":\"paced\"");
	answered(&s, "{\"id\":5,\"op\":\"result\",\"bot\":\"b\",\"turn\":1}\n",
		"\"status\":\"paced\",\"finished\":false");
	answered(&s, "{\"id\":6,\"op\":\"events\",\"bot\":\"b\",\"after\":2}\n",
		"\"event\":\"turn_paced\"");
	served_close(&s);
}

static void a_paced_turn_asks_its_model_when_the_time_is_over(void **state)
{
	struct served s;

	(void)state;
	/* 300 ms held at the provider, which asks to wait before a reply comes */
	open_paced(&s, "{\"say\":\"done\",\"delay_ms\":300}\n", 50);
	answered(&s, "{\"id\":3,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n",
		"\"status\":\"completed\"");
	answered(&s, "{\"id\":4,\"op\":\"events\",\"bot\":\"b\",\"after\":2}\n",
		"\"event\":\"turn_resumed\"");
	assert_int_equal(s.d.parks.paced, 0);
	served_close(&s);
}

static void a_parked_turn_is_ended_by_an_interrupt(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s, SLOW, 600000);
	answered(&s,
		"{\"id\":3,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"q\",\"prompt\":"
		"\"p\"}\n",
		"\"error\":\"bot_busy\"");
	answered(&s, "{\"id\":4,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":1}\n",
		"{\"interrupt_requested\":true,\"turn\":1,\"parked\":true}");
	answered(&s, "{\"id\":5,\"op\":\"result\",\"bot\":\"b\",\"turn\":1}\n",
		"\"error\":\"cancelled\"");
	assert_null(parked_find(&s.d, STR("b")));
	answered(&s, "{\"id\":6,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":1}\n", "stale_turn");
	served_close(&s);
}

static void a_parked_turn_waits_for_a_slot_to_go_on(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s, "{\"say\":\"done\",\"delay_ms\":300}\n", 20);
	s.d.sched.active_max = 0;
	served_for(&s, 60);
	assert_int_equal(parked_find(&s.d, STR("b"))->state, PARKED_WANTED);
	answered(&s, "{\"id\":3,\"op\":\"inspect\",\"bot\":\"b\"}\n", "\"status\":\"paced\"");
	s.d.sched.active_max = 1;
	schedule_kick(&s.d);
	answered(&s, "{\"id\":4,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n",
		"\"status\":\"completed\"");
	served_close(&s);
}

/* Both come while the park record waits to be committed. */
static void a_stop_while_a_turn_parks_ends_it(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, SLOW);
	served_ask(&s, CREATE "}\n");
	served_ask(&s, SUBMIT);
	served_until(&s, asks_model);
	served_hold_writer(&s);
	live_park_paced(live_find(&s.d, STR("b")), clock_mono_ms(s.d.clock) + 600000);
	served_ask(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"b\"}\n");
	served_let_writer(&s);
	answered(&s, "{\"id\":4,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n",
		"\"error\":\"cancelled\"");
	served_close(&s);
}

/* It is on its way back, and the store slow. */
static void a_stop_while_a_turn_comes_back_ends_it(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s, SLOW, 600000);
	served_hold_writer(&s);
	parked_resume(parked_find(&s.d, STR("b")));
	assert_int_equal(parked_find(&s.d, STR("b"))->state, PARKED_RESUMING);
	served_ask(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"b\"}\n");
	served_let_writer(&s);
	answered(&s, "{\"id\":4,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n",
		"\"error\":\"cancelled\"");
	served_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_paced_turn_holds_nothing_and_says_so),
		cmocka_unit_test(a_paced_turn_asks_its_model_when_the_time_is_over),
		cmocka_unit_test(a_parked_turn_is_ended_by_an_interrupt),
		cmocka_unit_test(a_parked_turn_waits_for_a_slot_to_go_on),
		cmocka_unit_test(a_stop_while_a_turn_parks_ends_it),
		cmocka_unit_test(a_stop_while_a_turn_comes_back_ends_it),
	};

	return cmocka_run_group_tests_name("serve.park", tests, NULL, NULL);
}
