/*
 * Who serves a tag: one holder, what it is sent, and what becomes of one that leaves, stalls, or
 * answers what it should not.
 */
#include "peers.h"

#include "agent/core/limits.h"
#include "agent/serve/leases.h"

#define CREATE(bot, gates)                                                                         \
	"\"op\":\"create\",\"bot\":\"" bot "\",\"model\":\"drill/x\",\"instructions\":\"\","       \
	"\"tools\":[\"echo\",\"read\"],\"approval_hold_ms\":600000,\"gates\":[" gates "]"
#define GATE(tag)       "{\"tag\":\"" tag "\",\"tools\":[\"echo\",\"read\"]}"
#define SUBMIT(bot)     "\"op\":\"submit\",\"bot\":\"" bot "\",\"request_id\":\"r\",\"prompt\":\"p\""
#define ECHO_CALL(text) "{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"" text "\"}}]}\n"
#define DONE            "{\"say\":\"done\"}\n"
#define SERVE(tag, ms)  "\"op\":\"serve_approvals\",\"tag\":\"" tag "\",\"lease_ms\":" ms
#define ROUND           "\"event\":\"approval_round\""

struct scene {
	struct served s;
	struct peer person, holder;
	char *lease; /* of the holder */
};

static void open_scene(struct scene *c, const char *script)
{
	memset(c, 0, sizeof(*c));
	served_open(&c->s, script);
	peer_open(&c->person, &c->s);
	peer_open(&c->holder, &c->s);
}

static void asks(struct peer *p, const char *part, const char *body)
{
	free(peer_asks(p, part, "%s", body));
}

static void serve(struct scene *c, const char *body)
{
	_cleanup_(mem) char *reply = peer_asks(&c->holder, "\"lease\":", "%s", body);

	free(c->lease);
	c->lease = peer_text(reply, "lease");
}

static void close_scene(struct scene *c)
{
	if (c->holder.fd >= 0)
		peer_leave(&c->holder);
	peer_leave(&c->person);
	free(c->lease);
	served_close(&c->s);
}

/* The pushed call is answered under the lease, or with another one's. */
static void answer_as(
	struct peer *p, const char *call, const char *lease, const char *more, const char *part)
{
	_cleanup_(mem) char *id = peer_text(call, "call_id"), *bot = peer_text(call, "bot");

	free(peer_asks(p, part,
		"\"op\":\"answer\",\"bot\":\"%s\",\"turn\":1,\"call_id\":\"%s\",\"request\":1,"
		"\"lease\":\"%s\",%s",
		bot, id, lease, more));
}

static void wait_for_end(struct peer *p, const char *bot)
{
	free(peer_asks(
		p, "\"status\":\"completed\"", "\"op\":\"wait\",\"handles\":[\"turn:%s/1\"]", bot));
}

static void a_tag_has_one_holder(void **state)
{
	struct peer other;
	struct scene c;

	(void)state;
	open_scene(&c, DONE);
	peer_open(&other, &c.s);
	serve(&c, SERVE("g", "60000"));
	asks(&other, "\"error\":\"approvals_served\"", SERVE("g", "60000"));
	asks(&other, "\"pending\":[],\"next\":null", SERVE("h", "60000"));
	/* it may take it anew, and the lease it had is over */
	_cleanup_(mem) char *old = xstrdup(c.lease);
	serve(&c, SERVE("g", "60000"));
	assert_string_not_equal(old, c.lease);
	free(peer_asks(&c.holder, "\"error\":\"approvals_lost\"",
		"\"op\":\"renew\",\"lease\":\"%s\"", old));
	free(peer_asks(&c.holder, "\"tag\":\"g\",\"lease_ms\":60000",
		"\"op\":\"renew\",\"lease\":\"%s\"", c.lease));
	/* one that leaves has it no more */
	peer_leave(&c.holder);
	served_for(&c.s, 1);
	asks(&other, "\"pending\":[]", SERVE("g", "60000"));
	peer_leave(&other);
	close_scene(&c);
}

static void a_lease_has_bounds(void **state)
{
	struct scene c;

	(void)state;
	open_scene(&c, DONE);
	asks(&c.holder, "serve_approvals.lease_ms", SERVE("g", "99"));
	asks(&c.holder, "serve_approvals.lease_ms", SERVE("g", "600001"));
	asks(&c.holder, "\"error\":\"invalid_name\"", SERVE("no tag", "1000"));
	asks(&c.holder, "\"pending\":[]", SERVE("g", "100"));
	close_scene(&c);
}

static void a_request_goes_to_the_holder_of_its_tag_alone(void **state)
{
	struct peer other;
	struct scene c;

	(void)state;
	open_scene(&c, ECHO_CALL("ran") DONE);
	peer_open(&other, &c.s);
	serve(&c, SERVE("g", "60000"));
	asks(&other, "\"pending\":[]", SERVE("h", "60000"));
	asks(&c.person, "\"result\"", CREATE("b", GATE("g")));
	asks(&c.person, "\"result\"", SUBMIT("b"));
	_cleanup_(mem) char *round = peer_take(&c.holder, ROUND);
	static const char *const parts[] = {"\"durable\":false,\"bot\":\"b\",\"turn\":1,\"data\":{",
		"\"tag\":\"g\"",
		"\"part\":1,\"parts\":1,\"calls\":[{\"bot\":\"b\",\"bot_id\":", "\"request\":1,",
		"\"name\":\"echo\",\"node\":", "\"arguments\":{\"text\":\"ran\"}",
		"\"arguments_cut\":false", "\"escalation\":null", "\"workspace\":null",
		"\"denials\":{\"in_row\":0,\"in_turn\":0}", "\"from\":null,\"origin\":null"};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!strstr(round, parts[i]))
			fail_msg("no %s in %s", parts[i], round);
	}
	peer_lacks(&other, ROUND);
	answer_as(&other, round, c.lease, "\"tag\":\"h\",\"decision\":\"allow\"", "answer.lease");
	answer_as(&c.holder, round, "a-none", "\"decision\":\"allow\"", "approvals_lost");
	answer_as(&c.holder, round, c.lease, "\"decision\":\"allow\",\"by\":\"me\"", "\"allow\"");
	wait_for_end(&c.person, "b");
	/* twice, and late */
	answer_as(&c.holder, round, c.lease, "\"decision\":\"deny\"", "stale_turn");
	peer_leave(&other);
	close_scene(&c);
}

static void a_quiet_holder_loses_the_tag_and_the_next_is_told_what_waits(void **state)
{
	struct peer next;
	struct scene c;

	(void)state;
	open_scene(&c, ECHO_CALL("ran") DONE);
	serve(&c, SERVE("g", "100"));
	asks(&c.person, "\"result\"", CREATE("b", GATE("g")));
	asks(&c.person, "\"result\"", SUBMIT("b"));
	_cleanup_(mem) char *round = peer_take(&c.holder, ROUND);
	_cleanup_(mem) char *lost = peer_take(&c.holder, "\"event\":\"approvals_lost\"");

	assert_non_null(strstr(lost, c.lease));
	answer_as(&c.holder, round, c.lease, "\"decision\":\"allow\"", "approvals_lost");
	peer_open(&next, &c.s);
	_cleanup_(mem) char *page = peer_asks(&next, "\"call_id\":", "%s", SERVE("g", "60000"));
	_cleanup_(mem) char *lease = peer_text(page, "lease");

	answer_as(&c.holder, round, c.lease, "\"decision\":\"allow\"", "approvals_lost");
	answer_as(&next, page, lease, "\"decision\":\"allow\"", "\"decision\":\"allow\"");
	wait_for_end(&c.person, "b");
	peer_leave(&next);
	close_scene(&c);
}

static void a_holder_keeps_the_tag_by_renewing(void **state)
{
	struct scene c;

	(void)state;
	open_scene(&c, DONE);
	serve(&c, SERVE("g", "5000"));
	served_for(&c.s, 20);
	list_for_each (l, &c.s.d.leases, struct lease, in_daemon)
		loop_timer_set(l->timer, 60); /* nearly over */
	free(peer_asks(&c.holder, "\"result\"", "\"op\":\"renew\",\"lease\":\"%s\"", c.lease));
	served_for(&c.s, 120);
	peer_lacks(&c.holder, "approvals_lost");
	free(peer_asks(&c.holder, "\"result\"", "\"op\":\"renew\",\"lease\":\"%s\"", c.lease));
	close_scene(&c);
}

static bool nobody_serves(struct served *s)
{
	return !lease_of_tag(&s->d, LEASE_APPROVALS, STR("g"));
}

/* It takes nothing, until its queue is full: it is let go, and no turn waited for it. */
static void a_holder_that_stalls_is_let_go(void **state)
{
	_cleanup_(buf) struct buf script = BUF_INIT(8 * 1024 * 1024);
	struct scene c;

	(void)state;
	for (int round = 0; round < 40; round++) {
		(void)buf_puts(&script, "{\"calls\":[");
		for (int i = 0; i < 60; i++) {
			(void)buf_printf(&script,
				"%s{\"tool\":\"echo\",\"arguments\":{\"text\":\"%02000d\"}}",
				i ? "," : "", i);
		}
		(void)buf_puts(&script, "]}\n");
	}
	(void)buf_puts(&script, DONE);
	(void)buf_put(&script, "", 1);
	assert_false(script.full);
	open_scene(&c, script.data);
	serve(&c, SERVE("g", "600000"));
	asks(&c.person, "\"result\"",
		CREATE("b", GATE("g") ",{\"tag\":\"h\",\"tools\":[\"read\"]}"));
	asks(&c.person, "\"result\"",
		"\"op\":\"configure\",\"bot\":\"b\",\"gates\":[{\"tag\":\"g\",\"tools\":[\"echo\"],"
		"\"expire_ms\":1}]");
	asks(&c.person, "\"result\"", SUBMIT("b"));
	served_until(&c.s, nobody_serves); /* while the turn goes on, each call denied */
	free(peer_asks(&c.person, "interrupt_requested", "\"op\":\"interrupt\",\"bot\":\"b\""));
	asks(&c.person, "\"pending\":[]", SERVE("g", "1000"));
	close_scene(&c);
}

/* 64 calls of a round, whose strings are cut, come in numbered parts. */
static void a_large_round_comes_in_parts(void **state)
{
	_cleanup_(buf) struct buf script = BUF_INIT(8 * 1024 * 1024);
	struct scene c;

	(void)state;
	(void)buf_puts(&script, "{\"calls\":[");
	for (int i = 0; i < CALLS_MAX; i++)
		(void)buf_printf(&script,
			"%s{\"tool\":\"echo\",\"arguments\":{\"text\":\"%05000d\"}}", i ? "," : "",
			i);
	(void)buf_puts(&script, "]}\n" DONE);
	(void)buf_put(&script, "", 1);
	open_scene(&c, script.data);
	serve(&c, SERVE("g", "600000"));
	asks(&c.person, "\"result\"", CREATE("b", GATE("g")));
	asks(&c.person, "\"result\"", SUBMIT("b"));
	/* 64 times some 2,500 bytes in parts of 256 KiB */
	_cleanup_(mem) char *part = peer_take(&c.holder, "\"part\":1,\"parts\":1,");
	size_t calls = 0;

	for (const char *at = part; (at = strstr(at, "\"arguments_cut\":true")); at++)
		calls++;
	assert_int_equal(calls, CALLS_MAX);
	assert_in_range(strlen(part), CALLS_MAX * ARGUMENTS_SHOWN_BYTES, 256 * 1024);
	free(peer_asks(&c.person, "interrupt_requested", "\"op\":\"interrupt\",\"bot\":\"b\""));
	close_scene(&c);
}

static void until_prior_lapses_when_an_earlier_call_finishes(void **state)
{
	struct scene c;

	(void)state;
	open_scene(&c, "{\"calls\":[{\"tool\":\"echo\",\"arguments\":{\"text\":\"one\"}},{\"tool\":"
		       "\"echo\",\"arguments\":{\"text\":\"two\"}}]}\n" DONE);
	serve(&c, SERVE("g", "600000"));
	asks(&c.person, "\"result\"", CREATE("b", GATE("g")));
	asks(&c.person, "\"result\"", SUBMIT("b"));
	_cleanup_(mem) char *round = peer_take(&c.holder, ROUND);
	const char *second = strstr(strstr(round, "\"call_id\":\"") + 1, "\"call_id\":\"");
	_cleanup_(mem) char *id = peer_text(second, "call_id");
	_cleanup_(mem) char *allow = xasprintf(
		"\"op\":\"answer\",\"bot\":\"b\",\"turn\":1,\"call_id\":"
		"\"%s\",\"decision\":\"allow\"",
		id);

	free(peer_asks(&c.holder, "\"result\"", "%s,\"request\":1,\"until_prior\":true", allow));
	answer_as(&c.holder, round, c.lease, "\"decision\":\"allow\"", "\"result\"");
	_cleanup_(mem) char *again = peer_take(&c.holder, ROUND);

	assert_non_null(strstr(again, id));
	assert_non_null(strstr(again, "\"request\":2"));
	free(peer_asks(&c.holder, "approval_superseded", "%s,\"request\":1", allow));
	/* nothing finishes any more: it holds */
	free(peer_asks(&c.holder, "\"result\"", "%s,\"request\":2,\"until_prior\":true", allow));
	wait_for_end(&c.person, "b");
	close_scene(&c);
}

static void an_allow_holds_for_the_file_it_names(void **state)
{
	_cleanup_(mem) char *script = NULL, *file = NULL, *dir = testing_dir();
	struct error err = ERROR_INIT;
	struct scene c;
	int fd;

	(void)state;
	file = xasprintf("%s/file", dir);
	assert_ok(os_open(file, O_WRONLY | O_CREAT, 0600, &fd, &err), &err);
	assert_ok(os_write_all(fd, "inside\n", 7, &err), &err);
	os_close(fd);
	script = xasprintf(
		"{\"calls\":[{\"tool\":\"read\",\"arguments\":{\"path\":\"%s\"}}]}\n" DONE
		"{\"calls\":[{\"tool\":\"read\",\"arguments\":{\"path\":\"%s\"}}]}\n" DONE,
		file, file);
	open_scene(&c, script);
	asks(&c.person, "\"result\"", CREATE("b", GATE("g")));
	for (int turn = 1; turn <= 2; turn++) {
		serve(&c, SERVE("g", "600000"));
		free(peer_asks(&c.person, "\"result\"",
			"\"op\":\"submit\",\"bot\":\"b\",\"request_id\":"
			"\"r%d\",\"prompt\":\"p\"",
			turn));
		_cleanup_(mem) char *round = peer_take(&c.holder, ROUND);
		_cleanup_(mem) char *id = peer_text(round, "call_id");

		free(peer_asks(&c.holder, "answer.path",
			"\"op\":\"answer\",\"bot\":\"b\",\"turn\":%d,"
			"\"call_id\":\"%s\",\"request\":1,\"decision\":\"allow\",\"path\":\"file\"",
			turn, id));
		free(peer_asks(&c.holder, "\"result\"",
			"\"op\":\"answer\",\"bot\":\"b\",\"turn\":%d,"
			"\"call_id\":\"%s\",\"request\":1,\"decision\":\"allow\",\"path\":\"%s%s\"",
			turn, id, file, turn == 1 ? "" : ".other"));
		free(peer_asks(&c.person, "\"status\":\"completed\"",
			"\"op\":\"wait\",\"handles\":[\"turn:b/%d\"]", turn));
	}
	_cleanup_(mem) char *items = peer_asks(&c.person, "path_changed",
		"\"op\":\"history_items\",\"bot\":\"b\",\"nodes\":[3,7]");

	assert_non_null(strstr(items, "inside"));
	close_scene(&c);
	must(os_remove_tree(dir, NULL) == 0);
}

static void denials_are_counted_and_shown(void **state)
{
	struct scene c;

	(void)state;
	open_scene(&c, ECHO_CALL("1") ECHO_CALL("2") ECHO_CALL("3") ECHO_CALL("4") DONE);
	serve(&c, SERVE("g", "600000"));
	asks(&c.person, "\"result\"", CREATE("b", GATE("g")));
	asks(&c.person, "\"result\"", SUBMIT("b"));
	static const struct {
		const char *shown, *answer;
	} rows[] = {
		{"{\"in_row\":0,\"in_turn\":0}", "\"decision\":\"deny\"" },
		{"{\"in_row\":1,\"in_turn\":1}", "\"decision\":\"deny\"" },
		{"{\"in_row\":2,\"in_turn\":2}", "\"decision\":\"allow\""},
		{"{\"in_row\":0,\"in_turn\":2}", "\"decision\":\"allow\""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *round = peer_take(&c.holder, ROUND);

		if (!strstr(round, rows[i].shown))
			fail_msg("%zu: no %s in %s", i, rows[i].shown, round);
		answer_as(&c.holder, round, c.lease, rows[i].answer, "\"result\"");
	}
	wait_for_end(&c.person, "b");
	close_scene(&c);
}

/* How many commits a turn with one call takes. */
static int64_t commits_of_a_turn(const char *gates, bool gated)
{
	struct store_counts before, after;
	struct scene c;

	open_scene(&c, ECHO_CALL("ran") DONE);
	serve(&c, SERVE("g", "600000"));
	free(peer_asks(&c.person, "\"result\"", "%s%s]",
		"\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\",\"instructions\":\"\","
		"\"tools\":[\"echo\"],\"gates\":[",
		gates));
	store_counts(c.s.d.store, &before);
	asks(&c.person, "\"result\"", SUBMIT("b"));
	if (gated) {
		_cleanup_(mem) char *round = peer_take(&c.holder, ROUND);

		answer_as(&c.holder, round, c.lease, "\"decision\":\"allow\"", "\"allow\"");
	}
	wait_for_end(&c.person, "b");
	store_counts(c.s.d.store, &after);
	if (gated)
		asks(&c.person, "\"count\":1,", "\"op\":\"receipts\"");
	close_scene(&c);
	return after.groups - before.groups;
}

/* The verdict and its receipt go with the commit that starts the call. */
static void a_gate_that_answers_at_once_adds_no_commit(void **state)
{
	(void)state;
	assert_int_equal(commits_of_a_turn("{\"tag\":\"g\",\"tools\":[\"echo\"]}", true),
		commits_of_a_turn("", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tag_has_one_holder),
		cmocka_unit_test(a_lease_has_bounds),
		cmocka_unit_test(a_request_goes_to_the_holder_of_its_tag_alone),
		cmocka_unit_test(a_quiet_holder_loses_the_tag_and_the_next_is_told_what_waits),
		cmocka_unit_test(a_holder_keeps_the_tag_by_renewing),
		cmocka_unit_test(a_holder_that_stalls_is_let_go),
		cmocka_unit_test(a_large_round_comes_in_parts),
		cmocka_unit_test(until_prior_lapses_when_an_earlier_call_finishes),
		cmocka_unit_test(an_allow_holds_for_the_file_it_names),
		cmocka_unit_test(denials_are_counted_and_shown),
		cmocka_unit_test(a_gate_that_answers_at_once_adds_no_commit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
