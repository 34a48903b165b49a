/*
 * Steers: who takes them up, in which order, and what becomes of those that miss their turn.
 */
#include "agent/core/limits.h"
#include "serving.h"

#define CREATE(more)                                                                               \
	"{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\",\"instructions\":\"\","   \
	"\"tools\":[\"echo\"]" more "}\n"
#define SUBMIT(request, more)                                                                      \
	"{\"id\":2,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"" request                      \
	"\",\"prompt\":\"words of " request "\"" more "}\n"
#define STEER(request, more) SUBMIT(request, ",\"delivery\":\"steer\"" more)
#define RESULT(turn)         "{\"id\":3,\"op\":\"result\",\"bot\":\"b\",\"turn\":" turn "}\n"
#define WAIT(turn)           "{\"id\":4,\"op\":\"wait\",\"handles\":[\"turn:b/" turn "\"]}\n"
#define TWO_ROUNDS           "{\"say\":\"one\",\"delay_ms\":300}\n{\"say\":\"two\"}\n"

static bool asks_model(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("b"));

	return t && t->state == TURN_MODEL;
}

static void answered(struct served *s, const char *line, const char *part)
{
	_cleanup_(mem) char *reply = NULL;

	served_send(s, line);
	reply = served_line(s);
	if (!strstr(reply, part))
		fail_msg("no %s in %s", part, reply);
}

/* Turn 1 is at its model call, and the store is ours: what is sent now is committed before the
 * reply that is on its way. */
static void open_asking(struct served *s, const char *script, const char *create)
{
	served_open(s, script);
	served_ask(s, create);
	served_ask(s, SUBMIT("r1", ""));
	served_until(s, asks_model);
}

static void a_steer_during_the_last_call_keeps_the_turn_going(void **state)
{
	struct served s;

	(void)state;
	open_asking(&s, TWO_ROUNDS, CREATE(""));
	answered(&s, STEER("r2", ""), "\"status\":\"queued\"");
	answered(&s, WAIT("2"), "\"status\":\"steered\"");
	answered(&s, WAIT("1"), "\"text\":\"two\"");
	answered(&s, RESULT("2"), "\"into\":1,\"node\":");
	answered(&s, "{\"id\":5,\"op\":\"turns\",\"bot\":\"b\"}\n", "\"model_rounds\":2");
	answered(&s, "{\"id\":6,\"op\":\"events\",\"bot\":\"b\",\"after\":3}\n",
		"\"event\":\"steered\"");
	answered(&s, "{\"id\":7,\"op\":\"stats\"}\n", "\"queued_turns\":0,\"pending_bytes\":0");
	served_close(&s);
}

static void a_steer_between_two_rounds_is_seen_by_the_next_call(void **state)
{
	struct served s;

	(void)state;
	open_asking(&s,
		"{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}}],\"delay_ms\":300}"
		"\n{\"say\":\"after\"}\n",
		CREATE(""));
	answered(&s, STEER("r2", ",\"expected_turn\":1"), "\"status\":\"queued\"");
	answered(&s, WAIT("1"), "\"text\":\"after\"");
	answered(&s, RESULT("2"), "\"into\":1,\"node\":4"); /* prompt, call, result, then it */
	served_close(&s);
}

static void an_idle_bot_starts_a_steer_as_a_turn(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, "{\"say\":\"one\"}\n");
	served_ask(&s, CREATE(""));
	answered(&s, STEER("r1", ",\"expected_turn\":1"), "\"error\":\"stale_turn\"");
	answered(&s, STEER("r1", ""), "\"status\":\"running\"");
	answered(&s, WAIT("1"), "\"status\":\"completed\"");
	served_close(&s);
}

static void a_strict_steer_that_misses_its_turn_fails(void **state)
{
	struct served s;

	(void)state;
	open_asking(&s, "{\"say\":\"one\",\"delay_ms\":300}\n", CREATE(""));
	answered(&s, STEER("r2", ",\"expected_turn\":7"), "\"error\":\"stale_turn\"");
	/* it names another model, so the turn does not take it up */
	answered(&s, STEER("r2", ",\"expected_turn\":1,\"model\":\"drill/y\""),
		"\"status\":\"queued\"");
	answered(&s, WAIT("2"),
		"\"status\":\"failed\",\"checkpoint\":null,\"error\":\"stale_turn\"");
	answered(&s, WAIT("1"), "\"status\":\"completed\"");
	answered(&s, "{\"id\":7,\"op\":\"stats\"}\n", "\"queued_turns\":0,\"pending_bytes\":0");
	served_close(&s);
}

static void no_steer_overtakes_one_that_stays(void **state)
{
	struct served s;

	(void)state;
	open_asking(&s, TWO_ROUNDS, CREATE(""));
	answered(&s, STEER("r2", ",\"model\":\"drill/y\""), "\"status\":\"queued\"");
	answered(&s, STEER("r3", ""), "\"status\":\"queued\"");
	answered(&s, WAIT("2"), "\"status\":\"completed\"");
	answered(&s, RESULT("1"), "\"text\":\"one\"");
	answered(&s, WAIT("3"), "\"into\":2"); /* taken up by the turn that the other became */
	served_close(&s);
}

/* 256 KiB of prompts at once: the second waits for the next boundary. */
static void a_batch_has_a_limit(void **state)
{
	static const char *const ids[] = {"r2", "r3"};
	struct served s;

	(void)state;
	open_asking(&s, TWO_ROUNDS "{\"say\":\"three\"}\n", CREATE(""));
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		_cleanup_(buf) struct buf line = BUF_INIT(512 * 1024);

		(void)buf_printf(&line,
			"{\"id\":2,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"%s\","
			"\"delivery\":\"steer\",\"prompt\":\"",
			ids[i]);
		for (int k = 0; k < 150000; k++)
			(void)buf_putc(&line, 'x');
		(void)buf_puts(&line, "\"}\n");
		answered(&s, line.data, "\"status\":\"queued\"");
	}
	answered(&s, WAIT("1"), "\"text\":\"three\"");
	answered(&s, RESULT("2"), "\"into\":1,\"node\":3");
	answered(&s, RESULT("3"), "\"into\":1,\"node\":5");
	served_close(&s);
}

static void the_same_steer_again_is_the_same_turn(void **state)
{
	struct served s;

	(void)state;
	open_asking(&s, TWO_ROUNDS, CREATE(""));
	served_ask(&s, STEER("r2", ",\"expected_turn\":1"));
	answered(&s, STEER("r2", ",\"expected_turn\":1"), "\"duplicate\":true");
	answered(&s, STEER("r2", ""), "another expected_turn");
	answered(&s, SUBMIT("r2", ",\"delivery\":\"queue\""), "another delivery");
	answered(&s, WAIT("2"), "\"status\":\"steered\"");
	answered(&s, STEER("r2", ",\"expected_turn\":1"), "\"duplicate\":true");
	answered(&s, SUBMIT("r3", ",\"expected_turn\":1"), "\"error\":\"invalid_delivery\"");
	answered(&s, WAIT("1"), "\"status\":\"completed\"");
	served_close(&s);
}

/* A turn that is stopped takes up nothing: its steers become a turn of their own. */
static void a_stopped_turn_leaves_its_steers(void **state)
{
	struct served s;

	(void)state;
	open_asking(&s, "{\"say\":\"one\",\"delay_ms\":300}\n{\"say\":\"two\"}\n", CREATE(""));
	served_ask(&s, STEER("r2", ""));
	served_ask(&s, "{\"id\":5,\"op\":\"interrupt\",\"bot\":\"b\"}\n");
	answered(&s, WAIT("1"), "\"error\":\"cancelled\"");
	answered(&s, WAIT("2"), "\"status\":\"completed\"");
	served_close(&s);
}

static void an_origin_stands_before_the_text(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, "{\"say\":\"one\"}\n");
	served_ask(&s, CREATE(""));
	answered(&s, SUBMIT("r1", ",\"origin\":{\"kind\":\"lookout\",\"name\":\"a]\\n[x\"}"),
		"\"error\":\"invalid_name\"");
	answered(&s,
		SUBMIT("r1",
			",\"origin\":{\"kind\":\"lookout\",\"name\":\"mail\"},\"from\":{\"bot\":"
			"\"c\",\"bot_id\":9}"),
		"\"error\":\"invalid_request\"");
	served_ask(&s, SUBMIT("r1", ",\"origin\":{\"kind\":\"lookout\",\"name\":\"mail\"}"));
	answered(&s, WAIT("1"), "\"status\":\"completed\"");
	answered(&s, "{\"id\":6,\"op\":\"item\",\"bot\":\"b\",\"node\":1}\n",
		"[event from lookout mail]\\nwords of r1");
	answered(&s, "{\"id\":7,\"op\":\"turns\",\"bot\":\"b\"}\n",
		"\"origin\":{\"kind\":\"lookout\",\"name\":\"mail\"}");
	answered(&s, "{\"id\":8,\"op\":\"events\",\"bot\":\"b\",\"after\":1}\n",
		"\"from\":null,\"origin\":{\"kind\":\"lookout\",\"name\":\"mail\"}");
	served_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steer_during_the_last_call_keeps_the_turn_going),
		cmocka_unit_test(a_steer_between_two_rounds_is_seen_by_the_next_call),
		cmocka_unit_test(an_idle_bot_starts_a_steer_as_a_turn),
		cmocka_unit_test(a_strict_steer_that_misses_its_turn_fails),
		cmocka_unit_test(no_steer_overtakes_one_that_stays),
		cmocka_unit_test(a_batch_has_a_limit),
		cmocka_unit_test(the_same_steer_again_is_the_same_turn),
		cmocka_unit_test(a_stopped_turn_leaves_its_steers),
		cmocka_unit_test(an_origin_stands_before_the_text),
	};

	return cmocka_run_group_tests_name("serve.steer", tests, NULL, NULL);
}
