/*
 * Turns that park: what stays of them, what wakes them, and what ends them.
 */
#include <sys/stat.h>

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

static bool is_gated(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("b"));

	return t && t->state == TURN_GATED;
}

/* The record that is being committed knows nothing of it: it goes behind that. */
static void an_answer_while_the_turn_parks_is_not_lost(void **state)
{
	struct served s;
	_cleanup_(mem) char *line = NULL;

	(void)state;
	served_open(&s, CALL DONE);
	served_ask(&s, CREATE ",\"approval_hold_ms\":600000,\"gates\":[{\"tag\":\"g\",\"tools\":["
			      "\"echo\"]}]}\n");
	served_ask(&s, SUBMIT);
	served_until(&s, is_gated);
	served_hold_writer(&s);
	live_park_verdict(live_find(&s.d, STR("b")));
	line = xasprintf("{\"id\":7,\"op\":\"answer\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"%s\","
			 "\"request\":1,\"decision\":\"allow\"}\n",
		live_find(&s.d, STR("b"))->calls[0].call_id.p);
	served_send(&s, line);
	served_for(&s, 20);
	assert_int_equal(s.line_count, 0); /* not acknowledged before it is committed */
	served_let_writer(&s);
	answered(&s, "{\"id\":8,\"op\":\"stats\"}\n", "\"decision\":\"allow\"");
	free(served_line(&s));
	answered(&s, WAIT, "\"status\":\"completed\"");
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
	_cleanup_(mem) char *id = open_gated(
		&s, CALL DONE, CREATE GATES ",\"expire_ms\":600000}]}\n");
	struct parked *p = parked_find(&s.d, STR("b"));

	(void)state;
	p->offset_ms += 600000; /* as if that time had passed */
	parked_resume(p);
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

/*
 * Handles.
 */
#define CREATE_WITH(bot, more)                                                                     \
	"{\"id\":1,\"op\":\"create\",\"bot\":\"" bot                                               \
	"\",\"model\":\"drill/x\",\"instructions\":\"\","                                          \
	"\"tools\":[\"echo\",\"wait\",\"shell\"],\"workspace\":\"/tmp\"" more "}\n"
#define SUBMIT_TO(bot, prompt)                                                                     \
	"{\"id\":2,\"op\":\"submit\",\"bot\":\"" bot "\",\"request_id\":\"" prompt                 \
	"\",\"prompt\":\"" prompt "\"}\n"
#define WHEN(word, what) "{\"when\":{\"prompt_has\":\"" word "\"}," what "}\n"
#define WAITS(arguments) "\"calls\":[{\"tool\":\"wait\",\"arguments\":" arguments "}]"

/* Everything that was recorded of a bot, which the caller frees. */
static char *events(struct served *s, const char *bot)
{
	_cleanup_(mem) char *line = xasprintf(
		"{\"id\":9,\"op\":\"events\",\"bot\":\"%s\",\"after\":0,\"limit\":256}\n", bot);

	return ask(s, line);
}

/* The newest item of the conversation that is a result, as text. */
static void result_has(struct served *s, const char *bot, const char *part)
{
	_cleanup_(mem) char *nodes_line = xasprintf(
		"{\"id\":9,\"op\":\"history_nodes\",\"bot\":\"%s\"}\n", bot);
	_cleanup_(mem) char *nodes = ask(s, nodes_line), *items_line = NULL, *items = NULL;
	char *second = strstr(strstr(nodes, "\"node\":") + 7, "\"node\":");
	long long node = 0;

	must(second);
	for (second += 7; *second >= '0' && *second <= '9'; second++)
		node = node * 10 + (*second - '0');
	items_line = xasprintf(
		"{\"id\":9,\"op\":\"item\",\"bot\":\"%s\",\"node\":%lld}\n", bot, node);
	items = ask(s, items_line);
	has(items, part);
}

static void a_turn_waits_for_anothers_and_goes_on(void **state)
{
	struct served s;
	_cleanup_(mem) char *seen = NULL;

	(void)state;
	served_open(&s, WHEN("waiter", WAITS("{\"handles\":[\"turn:c/1\"]}")) WHEN("waiter",
				"\"say\":\"done\"") WHEN("worker", "\"say\":\"worked\","
								   "\"delay_ms\":600000"));
	served_ask(&s, CREATE_WITH("b", ""));
	served_ask(&s, CREATE_WITH("c", ""));
	served_ask(&s, SUBMIT_TO("c", "worker"));
	served_ask(&s, SUBMIT_TO("b", "waiter"));
	served_until(&s, is_parked);
	assert_null(live_find(&s.d, STR("b")));
	assert_int_equal(s.d.sched.active, 1);
	served_ask(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"c\"}\n");
	answered(&s, "{\"id\":8,\"op\":\"wait\",\"handles\":[\"turn:b/2\"]}\n",
		"\"status\":\"completed\"");
	seen = events(&s, "b");
	has(seen, "\"event\":\"turn_waiting\"");
	has(seen, "\"handles\":[\"turn:c/1\"],\"deadline_ms\":null,\"any\":false");
	has(seen, "\"event\":\"turn_resumed\"");
	result_has(&s, "b", "interrupted");
	served_close(&s);
}

/* Results that are there, or never will be, need no park. */
static void what_is_there_is_not_waited_for(void **state)
{
	static const struct {
		const char *arguments, *part;
	} rows[] = {
		{"{\"handles\":[\"turn:b/1\"]}",          "a turn cannot wait for itself"},
		{"{\"handles\":[\"turn:b/01\"]}",         "invalid_handle"               },
		{"{\"handles\":[\"proc:+1\"]}",           "invalid_handle"               },
		{"{\"handles\":[\"proc:1\",\"proc:1\"]}", "invalid_handles"              },
		{"{\"handles\":[\"proc:7\"]}",            "unknown_handle"               },
		{"{\"handles\":[\"turn:nobody/3\"]}",     "bot_not_found"                },
		{"{\"handles\":[]}",                      "invalid_tool_arguments"       },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *script = xasprintf(
			"{\"calls\":[{\"tool\":\"wait\",\"arguments\":%s}]}\n{\"say\":\"x\"}\n",
			rows[i].arguments);
		_cleanup_(mem) char *seen = NULL;
		struct served s;

		served_open(&s, script);
		served_ask(&s, CREATE_WITH("b", ""));
		served_ask(&s, SUBMIT_TO("b", "p"));
		answered(&s, WAIT, "\"status\":\"completed\"");
		result_has(&s, "b", rows[i].part);
		seen = events(&s, "b");
		assert_null(strstr(seen, "turn_waiting"));
		served_close(&s);
	}
}

static void a_wait_ends_at_its_deadline(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, WHEN("waiter", WAITS("{\"handles\":[\"turn:c/1\"],\"timeout_ms\":30}"))
				WHEN("waiter", "\"say\":\"done\"")
					WHEN("worker", "\"say\":\"x\",\"delay_ms\":600000"));
	served_ask(&s, CREATE_WITH("b", ""));
	served_ask(&s, CREATE_WITH("c", ""));
	served_ask(&s, SUBMIT_TO("c", "worker"));
	served_ask(&s, SUBMIT_TO("b", "waiter"));
	answered(&s, "{\"id\":8,\"op\":\"wait\",\"handles\":[\"turn:b/2\"]}\n",
		"\"status\":\"completed\"");
	result_has(&s, "b", "\\\"pending\\\":[\\\"turn:c/1\\\"]");
	served_ask(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"c\"}\n");
	served_close(&s);
}

/* The call that waited has done nothing but wait: its end is known. */
static void an_interrupted_wait_is_cancelled_not_unknown(void **state)
{
	struct served s;
	_cleanup_(mem) char *seen = NULL;

	(void)state;
	served_open(&s, WHEN("waiter", WAITS("{\"handles\":[\"turn:c/1\"]}"))
				WHEN("worker", "\"say\":\"x\",\"delay_ms\":600000"));
	served_ask(&s, CREATE_WITH("b", ""));
	served_ask(&s, CREATE_WITH("c", ""));
	served_ask(&s, SUBMIT_TO("c", "worker"));
	served_ask(&s, SUBMIT_TO("b", "waiter"));
	served_until(&s, is_parked);
	answered(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"b\"}\n", "\"parked\":true");
	seen = events(&s, "b");
	has(seen, "\"cancelled\":true");
	assert_null(strstr(seen, "outcome_unknown"));
	served_ask(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"c\"}\n");
	served_close(&s);
}

static bool no_commands(struct served *s)
{
	return s->d.background_count == 0;
}

/* It has no supervisor here, so it runs bare. */
static void a_command_in_the_background_outlives_its_turn(void **state)
{
	static const char script[] = WHEN("start",
		"\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":\"read x < fifo; "
		"echo $x\",\"background\":true}}]") WHEN("start", "\"say\":\"started\"")
		WHEN("collect", WAITS("{\"handles\":[\"proc:1\"]}"))
			WHEN("collect", "\"say\":\"collected\"");
	struct served s;
	_cleanup_(mem) char *create = NULL, *fifo = NULL;
	int fd;

	(void)state;
	served_open(&s, script);
	fifo = xasprintf("%s/fifo", s.dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	create = xasprintf(
		"{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\","
		"\"instructions\":\"\",\"tools\":[\"shell\",\"wait\"],\"workspace\":\"%s\"}\n",
		s.dir);
	served_ask(&s, create);
	served_ask(&s, SUBMIT_TO("b", "start"));
	answered(&s, WAIT, "\"status\":\"completed\"");
	result_has(&s, "b", "proc:1");
	assert_int_equal(s.d.background_count, 1);
	assert_int_equal(s.d.sched.processes, 1);
	answered(&s, "{\"id\":8,\"op\":\"wait\",\"handles\":[\"proc:1\"],\"timeout_ms\":0}\n",
		"{\"proc:1\":{\"pending\":true}}");
	served_ask(&s, SUBMIT_TO("b", "collect"));
	served_until(&s, is_parked);
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "out\n", 4), 4);
	os_close(fd);
	answered(&s, "{\"id\":8,\"op\":\"wait\",\"handles\":[\"turn:b/2\"]}\n",
		"\"status\":\"completed\"");
	result_has(&s, "b", "out");
	served_until(&s, no_commands);
	assert_int_equal(s.d.sched.processes, 0);
	answered(&s, "{\"id\":8,\"op\":\"wait\",\"handles\":[\"proc:1\"]}\n",
		"{\"proc:1\":{\"stdout\":\"out\\n\"");
	served_close(&s);
}

static void a_command_too_many_is_refused(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, "{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":\"true\","
			"\"background\":true}}"
			"]}\n" DONE);
	s.d.sched.processes_max = s.d.sched.processes = s.d.sched.process_queued = 1;
	served_ask(&s, CREATE_WITH("b", ""));
	served_ask(&s, SUBMIT_TO("b", "p"));
	answered(&s, WAIT, "\"status\":\"completed\"");
	result_has(&s, "b", "capacity_exhausted");
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
		cmocka_unit_test(an_answer_while_the_turn_parks_is_not_lost),
		cmocka_unit_test(a_denial_of_a_parked_call_goes_to_the_model),
		cmocka_unit_test(the_first_of_two_gates_is_kept_and_the_turn_stays_parked),
		cmocka_unit_test(a_gate_expires_while_its_turn_is_parked),
		cmocka_unit_test(a_round_goes_on_behind_the_call_that_waited),
		cmocka_unit_test(a_turn_waits_for_anothers_and_goes_on),
		cmocka_unit_test(what_is_there_is_not_waited_for),
		cmocka_unit_test(a_wait_ends_at_its_deadline),
		cmocka_unit_test(an_interrupted_wait_is_cancelled_not_unknown),
		cmocka_unit_test(a_command_in_the_background_outlives_its_turn),
		cmocka_unit_test(a_command_too_many_is_refused),
	};

	return cmocka_run_group_tests_name("serve.park", tests, NULL, NULL);
}
