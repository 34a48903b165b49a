/* Sessions whose peer leaves, or says no more, while it is owed something. */
#include "serving.h"

static const char script[] = "{\"delay_ms\":600000,\"say\":\"late\"}\n";

#define CREATE                                                                                     \
	"{\"id\":0,\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\",\"instructions\":\"\","   \
	"\"tools\":[]}\n"
#define SUBMIT "{\"id\":0,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r\",\"prompt\":\"p\"}\n"

static bool no_session_is_left(struct served *s)
{
	return s->d.session_count == 0;
}

static void leave(struct served *s)
{
	os_close(s->peer);
	s->peer = -1;
	served_until(s, no_session_is_left);
}

static void end_turn(struct served *s)
{
	struct live_turn *t = live_find(&s->d, STR("b"));

	must(t);
	live_stop(t, "cancelled");
}

/* As many waits as a session may have keep it from being read, and end when their turns do. */
static void a_session_full_of_waits_ends_when_its_peer_leaves(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, script);
	served_ask(&s, CREATE);
	served_ask(&s, SUBMIT);
	for (int i = 0; i < SESSION_REQUESTS_MAX + 3; i++)
		served_send(&s, "{\"id\":1,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n");
	served_for(&s, 20);
	assert_int_equal(s.d.session_count, 1);
	leave(&s);
	end_turn(&s);
	served_close(&s);
}

/* What is piped into socat: the answers come although nothing more is asked. */
static void a_peer_that_says_no_more_gets_its_answers(void **state)
{
	struct served s;
	char *reply;

	(void)state;
	served_open(&s, script);
	served_send(&s, CREATE SUBMIT
		"{\"id\":1,\"op\":\"wait\",\"handles\":[\"turn:b/1\"],\"timeout_ms\":50}\n");
	must(shutdown(s.peer, SHUT_WR) == 0);
	for (int i = 0; i < 3; i++) {
		reply = served_line(&s);
		if (!strstr(reply, "\"result\":"))
			fail_msg("%s", reply);
		free(reply);
	}
	served_until(&s, no_session_is_left); /* all is said */
	end_turn(&s);
	served_close(&s);
}

static void a_follower_that_says_no_more_follows_on(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, script);
	served_ask(&s, CREATE);
	served_ask(&s, SUBMIT);
	served_ask(&s, "{\"id\":1,\"op\":\"follow\",\"bot\":\"b\",\"after\":1000}\n");
	must(shutdown(s.peer, SHUT_WR) == 0);
	served_for(&s, 20);
	assert_int_equal(s.d.session_count, 1);
	leave(&s);
	end_turn(&s);
	served_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_full_of_waits_ends_when_its_peer_leaves),
		cmocka_unit_test(a_peer_that_says_no_more_gets_its_answers),
		cmocka_unit_test(a_follower_that_says_no_more_follows_on),
	};

	return cmocka_run_group_tests_name("agent.serve.leaving", tests, NULL, NULL);
}
