/*
 * What happens in the daemon when things meet: a stop and a gate's expiry, a start and an
 * interrupt, replies and what follows them.
 */
#include "agent/core/limits.h"
#include "serving.h"

#define CREATE                                                                                     \
	"{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\",\"instructions\":\"\","   \
	"\"tools\":[\"echo\"]"
#define QUEUE(id, request)                                                                         \
	"{\"id\":" id ",\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"" request                 \
	"\",\"prompt\":\"p\",\"delivery\":\"queue\"}\n"

static bool is_gated(struct served *s)
{
	const struct live_turn *t = live_find(&s->d, STR("b"));

	return t && t->state == TURN_GATED;
}

/* Twice the gate's time passes while the outcome of the stopped turn waits to be committed. */
static void a_gate_that_expires_while_its_turn_ends_commits_nothing_more(void **state)
{
	struct served s;
	int64_t jobs;

	(void)state;
	served_open(&s, "{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"x\"}}]}\n");
	served_ask(&s,
		CREATE ",\"gates\":[{\"tag\":\"g\",\"tools\":[\"echo\"],\"expire_ms\":100}]}\n");
	served_ask(&s, QUEUE("2", "r"));
	served_until(&s, is_gated);
	jobs = served_jobs(&s);
	served_hold_writer(&s);
	live_stop(live_find(&s.d, STR("b")), "cancelled");
	served_for(&s, 200);
	served_let_writer(&s);
	served_until(&s, served_is_idle);
	served_ask(&s, "{\"id\":3,\"op\":\"configure\",\"bot\":\"b\"}\n"); /* behind all else */
	assert_int_equal(served_jobs(&s), jobs + 3);
	served_close(&s);
}

static bool all_asked(struct served *s)
{
	struct session *one = list_first(&s->d.sessions, struct session, in_daemon);

	return one->request_count == 2;
}

static void a_follow_starts_behind_its_reply(void **state)
{
	static const char *const wanted[] = {"{\"id\":2,\"result\":{\"name\":\"b\"",
		"{\"id\":3,\"result\":{\"following\":\"b\"", "{\"event\":\"created\"",
		"{\"event\":\"configured\"", "{\"event\":\"follow_live\""};
	struct served s;

	(void)state;
	served_open(&s, "{\"say\":\"x\"}\n");
	served_ask(&s, CREATE "}\n");
	served_hold_writer(&s);
	served_send(&s, "{\"id\":2,\"op\":\"configure\",\"bot\":\"b\"}\n"
			"{\"id\":3,\"op\":\"follow\",\"bot\":\"b\"}\n");
	served_until(&s, all_asked);
	served_for(&s, 50); /* the reader is free: what can come comes */
	assert_int_equal(s.line_count, 0);
	served_let_writer(&s);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		_cleanup_(mem) char *line = served_line(&s);

		if (strncmp(line, wanted[i], strlen(wanted[i])) != 0)
			fail_msg("not %s but %s", wanted[i], line);
	}
	served_close(&s);
}

static void nothing_follows_an_unfollow_sent_right_behind_the_follow(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, "{\"say\":\"x\"}\n");
	served_ask(&s, CREATE "}\n");
	served_send(&s, "{\"id\":2,\"op\":\"follow\",\"bot\":\"b\"}\n"
			"{\"id\":3,\"op\":\"unfollow\",\"bot\":\"b\"}\n");
	for (int id = 2; id <= 3; id++) {
		_cleanup_(mem) char *line = served_line(&s);
		_cleanup_(mem) char *wanted = xasprintf("{\"id\":%d,\"result\":", id);

		assert_int_equal(strncmp(line, wanted, strlen(wanted)), 0);
	}
	served_ask(&s, "{\"id\":4,\"op\":\"configure\",\"bot\":\"b\"}\n");
	served_for(&s, 50);
	assert_int_equal(s.line_count, 0);
	served_close(&s);
}

static int run_nothing(struct store_tx *tx, void *arg, struct error *err)
{
	(void)tx;
	(void)arg;
	(void)err;
	return 0;
}

/* In the commit of two submissions, behind them: both are answered, and neither has done a thing.
 */
static void look_at_both(void *arg, int rc, const struct error *err)
{
	struct served *s = arg;
	struct session *one = list_first(&s->d.sessions, struct session, in_daemon);

	(void)err;
	assert_int_equal(rc, 0);
	assert_int_equal(one->request_count, 0);
	assert_int_equal(live_find(&s->d, STR("b"))->state, TURN_NEW);
	assert_int_equal(live_find(&s->d, STR("c"))->state, TURN_NEW);
}

static void turns_begin_when_the_replies_of_their_commit_are_out(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, "{\"say\":\"x\"}\n");
	served_ask(&s, CREATE "}\n");
	served_ask(&s, "{\"id\":2,\"op\":\"create\",\"bot\":\"c\",\"model\":\"drill/x\","
		       "\"instructions\":\"\",\"tools\":[]}\n");
	served_hold_writer(&s);
	served_send(&s, QUEUE("3", "r"));
	served_send(&s, "{\"id\":4,\"op\":\"submit\",\"bot\":\"c\",\"request_id\":\"r\","
			"\"prompt\":\"p\"}\n");
	served_until(&s, all_asked);
	store_write(s.d.store, run_nothing, look_at_both, &s);
	served_let_writer(&s);
	for (int id = 3; id <= 4; id++) {
		_cleanup_(mem) char *line = served_line(&s);
		_cleanup_(mem) char *wanted = xasprintf("{\"id\":%d,\"result\":", id);

		assert_int_equal(strncmp(line, wanted, strlen(wanted)), 0);
	}
	served_close(&s);
}

static void a_turn_that_is_stopped_before_it_begins_is_interrupted(void **state)
{
	struct served s;
	_cleanup_(mem) char *outcome = NULL;

	(void)state;
	served_open(&s, "{\"say\":\"x\"}\n");
	served_ask(&s, CREATE "}\n");
	served_hold_writer(&s);
	served_send(&s, QUEUE("2", "r"));
	served_send(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":1}\n");
	served_until(&s, all_asked);
	served_let_writer(&s);
	for (int id = 2; id <= 3; id++)
		free(served_line(&s));
	served_until(&s, served_is_idle);
	served_send(&s, "{\"id\":4,\"op\":\"result\",\"bot\":\"b\",\"turn\":1}\n");
	outcome = served_line(&s);
	assert_non_null(strstr(outcome, "\"status\":\"interrupted\""));
	served_close(&s);
}

/* The start is committed before the cancelling is tried, and heard of after it was asked for. */
static void a_turn_that_starts_under_an_interrupt_is_interrupted(void **state)
{
	struct served s;
	_cleanup_(mem) char *reply = NULL, *outcome = NULL;

	(void)state;
	served_open(&s, "{\"say\":\"x\",\"delay_ms\":600000}\n");
	served_ask(&s, CREATE "}\n");
	s.d.sched.active_max = 0;
	served_ask(&s, QUEUE("2", "r"));
	s.d.sched.active_max = 1;
	served_hold_writer(&s);
	schedule_kick(&s.d);
	served_send(&s, "{\"id\":3,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":1}\n");
	served_for(&s, 20);
	served_let_writer(&s);
	reply = served_line(&s);
	assert_string_equal(
		reply, "{\"id\":3,\"result\":{\"interrupt_requested\":true,\"turn\":1}}");
	served_until(&s, served_is_idle);
	served_send(&s, "{\"id\":4,\"op\":\"result\",\"bot\":\"b\",\"turn\":1}\n");
	outcome = served_line(&s);
	assert_non_null(strstr(outcome, "\"status\":\"interrupted\""));
	served_close(&s);
}

static bool one_asked(struct served *s)
{
	struct session *one = list_first(&s->d.sessions, struct session, in_daemon);

	return one->request_count == 1;
}

/* The only slot is held by a submission that fails while the queued one becomes ready. */
static void a_slot_that_was_reserved_for_nothing_goes_to_who_waits(void **state)
{
	struct served s;
	_cleanup_(mem) char *queued = NULL, *refused = NULL;

	(void)state;
	served_open(&s, "{\"say\":\"x\"}\n");
	served_ask(&s, CREATE "}\n");
	s.d.sched.active_max = 1;
	must(schedule_reserve(&s.d)); /* some other turn */
	served_hold_writer(&s);
	served_send(&s, QUEUE("2", "r"));
	served_until(&s, one_asked);
	schedule_unreserve(&s.d); /* it ends */
	served_send(&s, "{\"id\":3,\"op\":\"submit\",\"bot\":\"none\",\"request_id\":\"r\","
			"\"prompt\":\"p\"}\n");
	served_until(&s, all_asked);
	served_let_writer(&s);
	queued = served_line(&s);
	refused = served_line(&s);
	assert_non_null(strstr(queued, "\"status\":\"ready\""));
	assert_non_null(strstr(refused, "bot_not_found"));
	served_ask(&s, "{\"id\":4,\"op\":\"wait\",\"handles\":[\"turn:b/1\"]}\n");
	served_close(&s);
}

/* What it looks at again and again is not kept. */
static void a_wait_keeps_no_prompt_of_a_turn_under_way(void **state)
{
	static const char head[] = "{\"id\":2,\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r\","
				   "\"delivery\":\"queue\",\"prompt\":\"";
	_cleanup_(buf) struct buf line = BUF_INIT(PROMPT_MAX_BYTES + 1024);
	const struct request *r;
	struct served s;

	(void)state;
	served_open(&s, "{\"say\":\"x\"}\n");
	served_ask(&s, CREATE "}\n");
	s.d.sched.active_max = 0;
	(void)buf_puts(&line, head);
	for (int i = 0; i < PROMPT_MAX_BYTES; i++)
		(void)buf_putc(&line, 'p');
	(void)buf_puts(&line, "\"}\n");
	served_ask(&s, line.data);
	served_ask(&s, QUEUE("3", "r2"));
	served_send(&s, "{\"id\":4,\"op\":\"wait\",\"handles\":[\"turn:b/1\",\"turn:b/2\"]}\n");
	served_ask(&s, "{\"id\":5,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":2}\n");
	served_ask(&s, "{\"id\":6,\"op\":\"inspect\",\"bot\":\"b\"}\n"); /* read behind the look */
	r = list_first(&list_first(&s.d.sessions, struct session, in_daemon)->requests,
		struct request, in_session);
	assert_true(r->arena.used_bytes < PROMPT_MAX_BYTES);
	served_ask(&s, "{\"id\":7,\"op\":\"interrupt\",\"bot\":\"b\",\"turn\":1}\n");
	free(served_line(&s)); /* of the wait */
	served_close(&s);
}

/* Every byte of it takes six. */
static void put_escaped(struct buf *b, const char *first, int count)
{
	(void)buf_printf(b, "\"%s", first);
	for (int i = 0; i < count; i++)
		(void)buf_puts(b, "\\u0001");
	(void)buf_putc(b, '"');
}

/* The request just fits a line, so that its record does not: the last socket crosses the end. */
static void a_record_that_fits_no_reply_is_said_to_be_too_large(void **state)
{
	enum { PATH_BYTES = 3410, MORE = 40 };
	_cleanup_(buf) struct buf line = BUF_INIT(1024 * 1024);
	_cleanup_(mem) char *reply = NULL;
	struct served s;

	(void)state;
	(void)buf_puts(&line, "{\"id\":1,\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\","
			      "\"tools\":[],\"instructions\":");
	put_escaped(&line, "", BOT_INSTRUCTIONS_MAX_BYTES);
	(void)buf_puts(&line, ",\"unix_sockets\":[");
	for (int i = 1; i <= BOT_UNIX_SOCKETS_MAX; i++) {
		put_escaped(&line, "/", i < BOT_UNIX_SOCKETS_MAX ? PATH_BYTES : PATH_BYTES + MORE);
		(void)buf_putc(&line, i < BOT_UNIX_SOCKETS_MAX ? ',' : ']');
	}
	(void)buf_puts(&line, "}\n");
	assert_false(line.full);
	served_open(&s, "{\"say\":\"x\"}\n");
	served_send(&s, line.data);
	reply = served_line(&s);
	if (!strstr(reply, "\"error\":\"response_size_limit\""))
		fail_msg("%zu bytes end in %s", strlen(reply), reply + strlen(reply) - 64);
	served_close(&s);
}

static void approvals_that_fit_no_page_wait_for_the_first_ones(void **state)
{
	enum { CALLS = 40 };
	_cleanup_(buf) struct buf script = BUF_INIT(1024 * 1024);
	_cleanup_(mem) char *page = NULL;
	struct served s;
	size_t count = 0;

	(void)state;
	(void)buf_puts(&script, "{\"calls\":[");
	for (int i = 0; i < CALLS; i++) {
		(void)buf_printf(
			&script, "%s{\"tool\":\"echo\",\"arguments\":{\"text\":", i ? "," : "");
		put_escaped(&script, "", ARGUMENTS_SHOWN_BYTES);
		(void)buf_puts(&script, "}}");
	}
	(void)buf_puts(&script, "]}\n");
	assert_false(script.full);
	served_open(&s, script.data);
	served_ask(&s,
		CREATE ",\"gates\":[{\"tag\":\"g\",\"tools\":[\"echo\"],\"expire_ms\":null}]}\n");
	served_ask(&s, QUEUE("2", "r"));
	served_until(&s, is_gated);
	served_send(&s, "{\"id\":3,\"op\":\"approvals\"}\n");
	page = served_line(&s);
	assert_true(strlen(page) < APPROVALS_MAX_BYTES + 32 * 1024);
	for (const char *at = page; (at = strstr(at, "\"call_id\"")); at++)
		count++;
	assert_true(count > 1 && count < CALLS);
	served_ask(&s, "{\"id\":4,\"op\":\"interrupt\",\"bot\":\"b\"}\n");
	served_close(&s);
}

static void no_limit_of_processes_lets_every_one_start(void **state)
{
	struct served s;

	(void)state;
	served_open(&s, "{\"say\":\"x\"}\n");
	s.d.sched.processes_max = 0;
	for (int i = 0; i < 100; i++)
		assert_true(schedule_process(&s.d, NULL));
	for (int i = 0; i < 100; i++)
		schedule_process_done(&s.d);
	served_close(&s);
}

/* A peer whose socket is full gets more events in one commit than packets may wait for it. */
static void many_events_of_one_commit_cut_nobody_off(void **state)
{
	enum { EVENTS = 200, FILLER_BYTES = 512 * 1024 };
	_cleanup_(mem) char *filler = xcalloc(1, FILLER_BYTES);
	struct served s;
	struct session *one;

	(void)state;
	served_open(&s, "{\"say\":\"x\"}\n");
	one = list_first(&s.d.sessions, struct session, in_daemon);
	memset(filler, 'x', FILLER_BYTES);
	session_send(one, (struct str){filler, FILLER_BYTES});
	assert_int_equal(session_queued(one), 1);
	for (int n = 0; n < EVENTS; n++) {
		_cleanup_(mem) char *line = xasprintf("event %d", n);

		session_send_event(one, str_from(line));
	}
	session_send(one, STR("reply"));
	for (int n = -1; n < EVENTS; n++) {
		_cleanup_(mem) char *line = served_line(&s);
		_cleanup_(mem) char *wanted = xasprintf("event %d", n);

		assert_true(n < 0 ? strlen(line) == FILLER_BYTES : strcmp(line, wanted) == 0);
	}
	free(served_line(&s)); /* the reply comes behind what was said before it */
	served_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gate_that_expires_while_its_turn_ends_commits_nothing_more),
		cmocka_unit_test(a_follow_starts_behind_its_reply),
		cmocka_unit_test(nothing_follows_an_unfollow_sent_right_behind_the_follow),
		cmocka_unit_test(turns_begin_when_the_replies_of_their_commit_are_out),
		cmocka_unit_test(a_turn_that_is_stopped_before_it_begins_is_interrupted),
		cmocka_unit_test(a_turn_that_starts_under_an_interrupt_is_interrupted),
		cmocka_unit_test(a_slot_that_was_reserved_for_nothing_goes_to_who_waits),
		cmocka_unit_test(a_wait_keeps_no_prompt_of_a_turn_under_way),
		cmocka_unit_test(a_record_that_fits_no_reply_is_said_to_be_too_large),
		cmocka_unit_test(approvals_that_fit_no_page_wait_for_the_first_ones),
		cmocka_unit_test(no_limit_of_processes_lets_every_one_start),
		cmocka_unit_test(many_events_of_one_commit_cut_nobody_off),
	};

	return cmocka_run_group_tests_name("serve.order", tests, NULL, NULL);
}
