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
static void open_paced(struct served *s)
{
	served_open(s, SLOW);
	served_ask(s, CREATE "}\n");
	served_ask(s, SUBMIT);
	served_until(s, asks_model);
	live_park_paced(live_find(&s->d, STR("b")), clock_mono_ms(s->d.clock) + 600000);
	served_until(s, is_parked);
}

static void a_paced_turn_holds_nothing_and_says_so(void **state)
{
	struct served s;

	(void)state;
	open_paced(&s);
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

/* The provider is slow to answer, and asks to wait before it does. */
static void open_pacing(struct served *s, int64_t wait_ms)
{
	served_open(s, "{\"say\":\"done\",\"delay_ms\":300}\n");
	served_ask(s, CREATE "}\n");
	served_ask(s, SUBMIT);
	served_until(s, asks_model);
	live_park_paced(live_find(&s->d, STR("b")), clock_mono_ms(s->d.clock) + wait_ms);
}

static void a_paced_turn_asks_its_model_when_the_time_is_over(void **state)
{
	struct served s;

	(void)state;
	open_pacing(&s, 50);
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
	open_paced(&s);
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

static bool is_wanted(struct served *s)
{
	const struct parked *p = parked_find(&s->d, STR("b"));

	return p && p->state == PARKED_WANTED;
}

static void a_parked_turn_waits_for_a_slot_to_go_on(void **state)
{
	struct served s;

	(void)state;
	open_pacing(&s, 1);
	s.d.sched.active_max = 0;
	served_until(&s, is_wanted);
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
	open_paced(&s);
	served_hold_writer(&s);
	parked_resume(parked_find(&s.d, STR("b")));
	assert_int_equal(parked_find(&s.d, STR("b"))->state, PARKED_RESUMING);
	served_ask(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"b\"}\n");
	served_let_writer(&s);
	answered(&s, "{\"id\":4,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n",
		"\"error\":\"cancelled\"");
	served_close(&s);
}

/*
 * Verdicts.
 */
#define CALL  "{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"ran\"}}]}\n"
#define DONE  "{\"say\":\"done\"}\n"
#define GATES ",\"approval_hold_ms\":0,\"gates\":[{\"tag\":\"g\",\"tools\":[\"echo\"]"
#define WAIT  "{\"id\":8,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n"

/* A turn whose call waits for verdicts, parked; its id, which the caller frees. */
static char *open_gated(struct served *s, const char *script, const char *create)
{
	_cleanup_(mem) char *list = NULL;
	char *id;

	served_open(s, script);
	served_ask(s, create);
	served_ask(s, SUBMIT);
	served_until(s, is_parked);
	list = ask(s, "{\"id\":6,\"op\":\"approvals\"}\n");
	id = strstr(list, "\"call_id\":\"");
	if (!id)
		fail_msg("no call in %s", list);
	id += 11;
	return xstrndup(id, strcspn(id, "\""));
}

static void answer(struct served *s, const char *id, const char *tag_and_decision, const char *part)
{
	_cleanup_(mem) char *tag = xstrdup(tag_and_decision);
	char *decision = strchr(tag, ' ');
	_cleanup_(mem) char *line = NULL;

	*decision++ = '\0';
	line = xasprintf("{\"id\":7,\"op\":\"answer\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"%s\","
			 "\"request\":1,\"by\":\"me\",\"tag\":\"%s\",\"decision\":\"%s\"}\n",
		id, tag, decision);
	answered(s, line, part);
}

static void an_answer_lets_a_parked_call_run(void **state)
{
	struct served s;
	_cleanup_(mem) char *id = open_gated(&s, CALL DONE, CREATE GATES "}]}\n");

	(void)state;
	answered(&s, "{\"id\":3,\"op\":\"stats\"}\n",
		"\"waiting_turns\":1,\"paced_turns\":0,\"approval_requests\":1");
	answered(&s, "{\"id\":4,\"op\":\"inspect\",\"bot\":\"b\"}\n", "\"status\":\"waiting\"");
	answered(&s, "{\"id\":5,\"op\":\"events\",\"bot\":\"b\",\"after\":2}\n",
		"\"handles\":[],\"deadline_ms\":null,\"any\":false");
	answer(&s, id, "h allow", "no_pending_approval");
	answer(&s, id, "g allow", "\"decision\":\"allow\"");
	answered(&s, WAIT, "\"status\":\"completed\"");
	answered(&s, "{\"id\":9,\"op\":\"events\",\"bot\":\"b\",\"after\":6}\n",
		"\"approvals\":[{\"tag\":\"g\",\"by\":\"me\"");
	answered(&s, "{\"id\":9,\"op\":\"stats\"}\n",
		"\"waiting_turns\":0,\"paced_turns\":0,\"approval_requests\":0");
	served_close(&s);
}

static void a_denial_of_a_parked_call_goes_to_the_model(void **state)
{
	struct served s;
	_cleanup_(mem) char *id = open_gated(&s, CALL DONE, CREATE GATES "}]}\n");

	(void)state;
	answer(&s, id, "g deny", "\"decision\":\"deny\"");
	answered(&s, WAIT, "\"status\":\"completed\"");
	answered(&s, "{\"id\":9,\"op\":\"events\",\"bot\":\"b\",\"after\":6}\n", "\"denied\":true");
	served_close(&s);
}

static void the_first_of_two_gates_is_kept_and_the_turn_stays_parked(void **state)
{
	struct served s;
	_cleanup_(mem) char *id = open_gated(
		&s, CALL DONE, CREATE GATES "},{\"tag\":\"h\",\"tools\":[\"echo\"]}]}\n");

	(void)state;
	answer(&s, id, "g allow", "\"decision\":\"allow\"");
	assert_int_equal(parked_find(&s.d, STR("b"))->state, PARKED_RESTING);
	answer(&s, id, "g deny", "approval_already_answered");
	answered(&s, "{\"id\":3,\"op\":\"approvals\"}\n",
		"[{\"tag\":\"g\",\"decision\":\"allow\"},{\"tag\":\"h\",\"decision\":null}]");
	answered(&s, "{\"id\":3,\"op\":\"approvals\",\"tag\":\"g\"}\n", "\"approvals\":[],");
	answer(&s, id, "h allow", "\"decision\":\"allow\"");
	answered(&s, WAIT, "\"status\":\"completed\"");
	served_close(&s);
}

static void a_gate_expires_while_its_turn_is_parked(void **state)
{
	struct served s;
	_cleanup_(mem) char *id = open_gated(&s, CALL DONE, CREATE GATES ",\"expire_ms\":300}]}\n");

	(void)state;
	answered(&s, WAIT, "\"status\":\"completed\"");
	answered(&s, "{\"id\":9,\"op\":\"events\",\"bot\":\"b\",\"after\":6}\n", "\"denied\":true");
	answer(&s, id, "g allow", "stale_turn");
	served_close(&s);
}

/* The calls behind the one that waits are still planned, and are rebuilt from their item. */
static void a_round_goes_on_behind_the_call_that_waited(void **state)
{
	static const char script[] = "{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":"
				     "\"one\"}},{\"tool\":\"echo\","
				     "\"arguments\":{\"text\":\"two\"}},{\"tool\":\"nothing\","
				     "\"arguments\":{}}]}\n" DONE;
	struct served s;
	_cleanup_(mem) char *id = open_gated(&s, script, CREATE GATES "}]}\n"), *list = NULL;
	char *second;

	(void)state;
	assert_int_equal(parked_find(&s.d, STR("b"))->requests, 2);
	answer(&s, id, "g allow", "\"decision\":\"allow\"");
	served_until(&s, is_parked);
	list = ask(&s, "{\"id\":6,\"op\":\"approvals\"}\n");
	has(list, "\"text\":\"two\"");
	second = strstr(list, "\"call_id\":\"") + 11;
	second[strcspn(second, "\"")] = '\0';
	answer(&s, second, "g allow", "\"decision\":\"allow\"");
	answered(&s, WAIT, "\"status\":\"completed\"");
	answered(&s, "{\"id\":9,\"op\":\"events\",\"bot\":\"b\",\"after\":12}\n",
		"\"event\":\"tool_completed\"");
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
		cmocka_unit_test(an_answer_lets_a_parked_call_run),
		cmocka_unit_test(a_denial_of_a_parked_call_goes_to_the_model),
		cmocka_unit_test(the_first_of_two_gates_is_kept_and_the_turn_stays_parked),
		cmocka_unit_test(a_gate_expires_while_its_turn_is_parked),
		cmocka_unit_test(a_round_goes_on_behind_the_call_that_waited),
	};

	return cmocka_run_group_tests_name("serve.park", tests, NULL, NULL);
}
