/*
 * Served tools: a host that does its work, and ones that leave, stall, answer twice, late, or for
 * another call; and the steps it asks about.
 */
#include "peers.h"

#include "agent/core/limits.h"

#define TOOL(name, more)                                                                           \
	"{\"name\":\"" name "\",\"description\":\"d\",\"host\":\"h\",\"parameters\":{\"type\":"    \
	"\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":1}},\"required\":["    \
	"\"n\"],\"additionalProperties\":false}" more "}"
#define CREATE(more)                                                                               \
	"\"op\":\"create\",\"bot\":\"b\",\"model\":\"drill/x\",\"instructions\":\"\","             \
	"\"tools\":[\"read\"],\"approval_hold_ms\":0,\"served_tools\":[" TOOL("act", "") "]" more
#define SUBMIT    "\"op\":\"submit\",\"bot\":\"b\",\"request_id\":\"r\",\"prompt\":\"p\""
#define CALL      "{\"calls\":[{\"tool\":\"act\",\"arguments\":{\"n\":1}}]}\n"
#define DONE      "{\"say\":\"done\"}\n"
#define SERVE     "\"op\":\"serve_tools\",\"tag\":\"h\",\"lease_ms\":60000"
#define GATES     ",\"gates\":[{\"tag\":\"g\",\"tools\":[\"step\"]}]"
#define TOOL_CALL "\"event\":\"tool_call\""

struct scene {
	struct served s;
	struct peer person, host;
	char *lease, *call; /* of the host, and the id of the call it was sent */
};

static void asks(struct peer *p, const char *part, const char *body)
{
	free(peer_asks(p, part, "%s", body));
}

static void open_scene(struct scene *c, const char *script, const char *create)
{
	memset(c, 0, sizeof(*c));
	served_open(&c->s, script);
	c->s.d.sched.active_max = 64;
	peer_open(&c->person, &c->s);
	peer_open(&c->host, &c->s);
	asks(&c->person, "\"result\"", create);
}

static void serve(struct scene *c)
{
	_cleanup_(mem) char *reply = peer_asks(&c->host, "\"lease\":", SERVE);

	free(c->lease);
	c->lease = peer_text(reply, "lease");
}

static void get_call(struct scene *c)
{
	_cleanup_(mem) char *line = peer_take(&c->host, TOOL_CALL);

	free(c->call);
	c->call = peer_text(line, "call_id");
}

/* A turn whose call the host has. */
static void open_called(struct scene *c, const char *script, const char *create)
{
	open_scene(c, script, create);
	serve(c);
	asks(&c->person, "\"result\"", SUBMIT);
	get_call(c);
}

static void gives(
	struct scene *c, const char *lease, const char *call, const char *more, const char *part)
{
	free(peer_asks(&c->host, part,
		"\"op\":\"tool_result\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"%s\",\"lease\":\"%"
		"s\","
		"%s",
		call, lease, more));
}

static void ends(struct scene *c)
{
	asks(&c->person, "\"status\":\"completed\"", "\"op\":\"wait\",\"handles\":[\"turn:b/1\"]");
}

static void has_result(struct scene *c, const char *part)
{
	asks(&c->person, part, "\"op\":\"history_items\",\"bot\":\"b\",\"nodes\":[3]");
}

static void has_event(struct scene *c, const char *part)
{
	asks(&c->person, part, "\"op\":\"events\",\"bot\":\"b\",\"after\":0,\"limit\":256");
}

static void close_scene(struct scene *c)
{
	if (c->host.fd >= 0)
		peer_leave(&c->host);
	peer_leave(&c->person);
	free(c->lease);
	free(c->call);
	served_close(&c->s);
}

static void a_result_reaches_the_model(void **state)
{
	struct scene c;

	(void)state;
	open_scene(&c, CALL DONE, CREATE(""));
	serve(&c);
	asks(&c.person, "\"result\"", SUBMIT);
	_cleanup_(mem) char *line = peer_take(&c.host, TOOL_CALL);
	static const char *const parts[] = {"\"bot\":\"b\",\"turn\":1,\"data\":{\"lease\":\"t",
		"\"bot_id\":1", "\"name\":\"act\",\"arguments\":{\"n\":1}", "\"workspace\":null",
		"\"sandbox\":{\"mode\":\"danger-full-access\""};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!strstr(line, parts[i]))
			fail_msg("no %s in %s", parts[i], line);
	}
	c.call = peer_text(line, "call_id");
	gives(&c, c.lease, c.call, "\"output\":\"it is done\"", "\"recorded\":true");
	ends(&c);
	has_result(&c, "it is done");
	has_event(&c, "\"name\":\"act\",\"arguments\":\"{\\\"n\\\":1}\"");
	close_scene(&c);
}

static bool is_parked(struct served *s)
{
	return parked_find(&s->d, STR("b")) != NULL;
}

static void without_a_host_the_turn_parks_until_one_comes(void **state)
{
	struct scene c;

	(void)state;
	open_scene(&c, CALL DONE, CREATE(""));
	asks(&c.person, "\"result\"", SUBMIT);
	served_until(&c.s, is_parked);
	has_event(&c, "\"handles\":[],\"deadline_ms\":null,\"any\":false,\"host\":\"h\"");
	asks(&c.person, "\"status\":\"waiting\"", "\"op\":\"inspect\",\"bot\":\"b\"");
	free(peer_asks(&c.host, "\"lease\":", "%s",
		"\"op\":\"serve_tools\",\"tag\":\"other\",\"lease_ms\":60000"));
	assert_true(is_parked(&c.s));
	serve(&c);
	get_call(&c);
	gives(&c, c.lease, c.call, "\"output\":\"\"", "\"recorded\":true");
	ends(&c);
	close_scene(&c);
}

static void a_host_in_time_keeps_the_turn_from_parking(void **state)
{
	struct scene c;

	(void)state;
	open_scene(&c, CALL DONE, CREATE(""));
	asks(&c.person, "\"result\"",
		"\"op\":\"configure\",\"bot\":\"b\",\"approval_hold_ms\":600000");
	asks(&c.person, "\"result\"", SUBMIT);
	served_for(&c.s, 20);
	serve(&c);
	get_call(&c);
	gives(&c, c.lease, c.call, "\"output\":\"\"", "\"recorded\":true");
	ends(&c);
	asks(&c.person, "\"paced_turns\":0", "\"op\":\"stats\"");
	close_scene(&c);
}

static void a_host_that_dies_leaves_an_unknown_end(void **state)
{
	struct peer next;
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(""));
	peer_leave(&c.host);
	ends(&c);
	has_result(&c, "tool_outcome_unknown");
	has_event(&c, "\"outcome_unknown\":true");
	peer_open(&next, &c.s);
	free(peer_asks(&next, "\"lease\":", SERVE));
	served_for(&c.s, 20);
	peer_lacks(&next, TOOL_CALL); /* nothing is done twice */
	peer_leave(&next);
	close_scene(&c);
}

static void a_host_that_stalls_loses_its_calls(void **state)
{
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(""));
	list_for_each (l, &c.s.d.leases, struct lease, in_daemon)
		loop_timer_set(l->timer, 0); /* its time is over */
	free(peer_take(&c.host, "\"event\":\"tools_lost\""));
	ends(&c);
	has_result(&c, "tool_outcome_unknown");
	gives(&c, c.lease, c.call, "\"output\":\"late\"", "\"error\":\"tools_lost\"");
	close_scene(&c);
}

static void wrong_answers_are_refused_and_the_call_waits_on(void **state)
{
	struct peer other;
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(""));
	peer_open(&other, &c.s);
	_cleanup_(mem) char *reply = peer_asks(&other, "\"lease\":", "%s",
		"\"op\":\"serve_tools\",\"tag\":\"x\",\"lease_ms\":60000");
	_cleanup_(mem) char *foreign = peer_text(reply, "lease");

	gives(&c, c.lease, "another", "\"output\":\"x\"", "\"error\":\"no_pending_call\"");
	gives(&c, foreign, c.call, "\"output\":\"x\"", "\"error\":\"no_pending_call\"");
	gives(&c, "t0", c.call, "\"output\":\"x\"", "\"error\":\"tools_lost\"");
	gives(&c, c.lease, c.call, "\"output\":\"x\",\"error\":\"y\"", "give output or error");
	gives(&c, c.lease, c.call, "\"images\":[]", "give output or error");
	gives(&c, c.lease, c.call, "\"output\":\"x\",\"images\":[\"/nowhere/at/all.png\"]",
		"\"error\"");
	asks(&other, "\"error\":\"tools_served\"", SERVE);
	gives(&c, c.lease, c.call, "\"error\":\"it failed\"", "\"recorded\":true");
	ends(&c);
	has_result(&c, "\"{\\\"error\\\":\\\"it failed\\\"}\"");
	/* twice */
	gives(&c, c.lease, c.call, "\"output\":\"x\"", "\"error\":\"stale_turn\"");
	peer_leave(&other);
	close_scene(&c);
}

static void an_interrupt_tells_the_host(void **state)
{
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(""));
	asks(&c.person, "interrupt_requested", "\"op\":\"interrupt\",\"bot\":\"b\"");
	_cleanup_(mem) char *line = peer_take(&c.host, "\"event\":\"tool_cancel\"");

	assert_non_null(strstr(line, c.call));
	asks(&c.person, "\"error\":\"cancelled\"", "\"op\":\"wait\",\"handles\":[\"turn:b/1\"]");
	has_event(&c, "\"outcome_unknown\":true");
	gives(&c, c.lease, c.call, "\"output\":\"late\"", "\"error\":\"stale_turn\"");
	close_scene(&c);
}

static void arguments_that_do_not_fit_reach_nobody(void **state)
{
	static const struct {
		const char *arguments, *says;
	} rows[] = {
		{"{}",                "act.n: is missing"          },
		{"{\"n\":\"1\"}",     "act.n: is of the wrong type"},
		{"{\"n\":0}",         "act.n: minimum is 1"        },
		{"{\"n\":1,\"m\":2}", "act.m: there is no such"    },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *script = xasprintf(
			"{\"calls\":[{\"tool\":\"act\",\"arguments\":%s}]}\n" DONE,
			rows[i].arguments);
		struct scene c;

		open_scene(&c, script, CREATE(",\"gates\":[{\"tag\":\"g\",\"tools\":[\"act\"]}]"));
		serve(&c);
		asks(&c.person, "\"result\"", SUBMIT);
		ends(&c);
		peer_lacks(&c.host, TOOL_CALL);
		has_result(&c, rows[i].says);
		close_scene(&c);
	}
}

static void a_gate_holds_a_call_back_from_its_host(void **state)
{
	struct scene c;

	(void)state;
	open_scene(&c, CALL DONE,
		CREATE(",\"gates\":[{\"tag\":\"g\",\"tools\":[\"act\"],\"expire_ms\":1}]"));
	serve(&c);
	asks(&c.person, "\"result\"", SUBMIT);
	ends(&c);
	peer_lacks(&c.host, TOOL_CALL);
	has_result(&c, "not reviewed");
	close_scene(&c);
}

static void a_long_result_is_cut_and_kept_whole(void **state)
{
	_cleanup_(buf) struct buf text = BUF_INIT(1024 * 1024);
	_cleanup_(mem) char *line = NULL;
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(""));
	for (int i = 0; i < 20000; i++)
		(void)buf_printf(&text, "line %05d\\n", i);
	(void)buf_put(&text, "", 1);
	line = xasprintf(
		"{\"id\":9,\"op\":\"tool_result\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"%s\","
		"\"lease\":\"%s\",\"output\":\"%s\"}\n",
		c.call, c.lease, text.data);
	for (size_t at = 0, len = strlen(line); at < len;) {
		ssize_t n = send(c.host.fd, line + at, len - at, MSG_DONTWAIT | MSG_NOSIGNAL);

		at += n > 0 ? (size_t)n : 0;
		served_for(&c.s, 1);
	}
	free(peer_take(&c.host, "\"recorded\":true"));
	ends(&c);
	has_result(&c, "bytes are left out here; read them in artifact 1/");
	has_result(&c, "line 19999");
	free(peer_asks(&c.person, "line 10000",
		"\"op\":\"artifact\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"%s\",\"stream\":"
		"\"output\","
		"\"offset\":100000,\"limit\":65536",
		c.call));
	close_scene(&c);
}

static void sixty_four_calls_are_carried_out_at_once(void **state)
{
	struct scene c;
	char *calls[64];

	(void)state;
	open_scene(&c, CALL DONE, CREATE(""));
	serve(&c);
	for (int i = 0; i < 64; i++) {
		free(peer_asks(&c.person, "\"result\"",
			"\"op\":\"fork\",\"source\":\"b\",\"bot\":\"b%d\"", i));
		free(peer_asks(&c.person, "\"result\"",
			"\"op\":\"submit\",\"bot\":\"b%d\",\"request_id\":\"r\",\"prompt\":\"p\"",
			i));
	}
	for (int i = 0; i < 64; i++)
		calls[i] = peer_take(&c.host, TOOL_CALL);
	for (int i = 63; i >= 0; i--) {
		_cleanup_(mem) char *bot = peer_text(calls[i], "bot");
		_cleanup_(mem) char *id = peer_text(calls[i], "call_id");
		const char *turn = strstr(calls[i], "\"turn\":") + 7;

		free(peer_asks(&c.host, "\"recorded\":true",
			"\"op\":\"tool_result\",\"bot\":\"%s\",\"turn\":%.*s,\"call_id\":\"%s\","
			"\"lease\":\"%s\",\"output\":\"for %s\"",
			bot, (int)strcspn(turn, ","), turn, id, c.lease, bot));
		free(calls[i]);
	}
	for (int i = 0; i < 64; i++)
		free(peer_asks(&c.person, "\"status\":\"completed\"",
			"\"op\":\"wait\",\"handles\":[\"turn:b%d/%d\"]", i, i + 1));
	close_scene(&c);
}

/*
 * Steps.
 */
static void step(struct scene *c, const char *name)
{
	_cleanup_(mem) char *line = xasprintf(
		"{\"id\":7,\"op\":\"approve_step\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"%s\","
		"\"step\":"
		"\"%s\",\"name\":\"step\",\"arguments\":{\"path\":\"x\"}}\n",
		c->call, name);

	peer_send(&c->host, line);
}

static void judge(struct scene *c, const char *name, const char *more, const char *part)
{
	free(peer_asks(&c->person, part,
		"\"op\":\"answer\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"%s\",\"step\":\"%s\","
		"\"request\":1,%s",
		c->call, name, more));
}

static void end_step(struct scene *c, const char *name, const char *ok, const char *part)
{
	free(peer_asks(&c->host, part,
		"\"op\":\"step_result\",\"bot\":\"b\",\"turn\":1,\"call_id\":\"%s\",\"step\":\"%"
		"s\","
		"\"ok\":%s,\"summary\":\"wrote it\"",
		c->call, name, ok));
}

static void steps_are_judged_one_by_one(void **state)
{
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(GATES));
	step(&c, "one");
	_cleanup_(mem) char *list = NULL;
	for (int i = 0; i < 100 && (!list || !strstr(list, "\"step\":")); i++) {
		free(list);
		list = peer_asks(
			&c.person, "\"approvals\":[", "\"op\":\"approvals\",\"tag\":\"g\"");
	}
	assert_non_null(strstr(list, "\"step\":\"one\",\"request\":1"));
	assert_non_null(strstr(list, "\"arguments\":{\"path\":\"x\"}"));
	asks(&c.person, "\"approval_requests\":1", "\"op\":\"stats\"");
	judge(&c, "two", "\"decision\":\"allow\"", "no_pending_approval");
	judge(&c, "one", "\"decision\":\"allow\",\"until_prior\":true", "answer.until_prior");
	judge(&c, "one", "\"decision\":\"allow\",\"by\":\"me\"", "\"decision\":\"allow\"");
	free(peer_take(&c.host,
		"\"id\":7,\"result\":{\"decision\":\"allow\",\"reason\":null,\"by\":\"me\"}"));
	judge(&c, "one", "\"decision\":\"deny\"", "approval_already_answered");
	end_step(&c, "one", "true", "\"recorded\":true");
	end_step(&c, "one", "true", "\"error\":\"no_pending_step\"");
	step(&c, "one");
	free(peer_take(&c.host, "\"error\":\"step_exists\""));
	gives(&c, c.lease, c.call, "\"output\":\"done\"", "\"recorded\":true");
	ends(&c);
	has_event(&c, "\"step\":\"one\",\"name\":\"step\",\"decision\":\"allow\",\"approvals\":[{");
	has_event(&c, "\"step\":\"one\",\"ok\":true,\"summary\":\"wrote it\"");
	asks(&c.person, "\"count\":1,", "\"op\":\"receipts\"");
	close_scene(&c);
}

static void a_denied_step_is_not_done(void **state)
{
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(GATES));
	step(&c, "one");
	served_for(&c.s, 50);
	judge(&c, "one", "\"decision\":\"deny\",\"reason\":\"no\"", "\"deny\"");
	free(peer_take(&c.host, "\"decision\":\"deny\",\"reason\":\"no\",\"by\":null"));
	end_step(&c, "one", "true", "\"error\":\"no_pending_step\"");
	end_step(&c, "one", "false", "\"recorded\":true");
	gives(&c, c.lease, c.call, "\"output\":\"\"", "\"recorded\":true");
	ends(&c);
	close_scene(&c);
}

static void a_step_that_nobody_judges_expires(void **state)
{
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE,
		CREATE(",\"gates\":[{\"tag\":\"g\",\"tools\":[\"step\"],\"expire_ms\":30}]"));
	step(&c, "one");
	free(peer_take(&c.host, "\"decision\":\"deny\",\"reason\":\"not reviewed: no verdict\""));
	gives(&c, c.lease, c.call, "\"output\":\"\"", "\"recorded\":true");
	ends(&c);
	close_scene(&c);
}

static void a_call_takes_its_open_steps_along(void **state)
{
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(GATES));
	step(&c, "one");
	served_for(&c.s, 50);
	gives(&c, c.lease, c.call, "\"output\":\"\"", "\"recorded\":true");
	free(peer_take(&c.host, "{\"id\":7,\"error\":\"stale_turn\""));
	ends(&c);
	judge(&c, "one", "\"decision\":\"allow\"", "stale_turn");
	close_scene(&c);
}

static void without_a_gate_and_a_sandbox_a_step_is_allowed(void **state)
{
	struct scene c;

	(void)state;
	open_called(&c, CALL DONE, CREATE(""));
	step(&c, "one");
	free(peer_take(&c.host, "\"decision\":\"allow\",\"reason\":null,\"by\":null"));
	gives(&c, c.lease, c.call, "\"output\":\"\"", "\"recorded\":true");
	ends(&c);
	close_scene(&c);
}

static void declarations_are_checked(void **state)
{
	static const struct {
		const char *tools, *says;
	} rows[] = {
		{"{}",                    "must be an array"        },
		{"[1]",                   "served_tools[0]: must be"},
		{"[" TOOL("read",         "") "]",                    "a built-in tool"},
		{"[" TOOL("a",                       "") "," TOOL("a",                                      "") "]", "served_tools[1].name"},
		{"[" TOOL("a.b",                "") "]","served_tools[0].name"},
		{"[" TOOL("a",          ",\"more\":1") "]",              "served_tools[0].more"},
		{"[{\"name\":\"a\",\"description\":\"\",\"host\":\"h\",\"parameters\":{}}]",
                 "served_tools[0].parameters"                                     },
		{"[{\"name\":\"a\",\"description\":\"\",\"host\":\"h h\",\"parameters\":{\"type\":"
		 "\"object\"}}]", "served_tools[0].host"             },
	};
	struct scene c;

	(void)state;
	open_scene(&c, DONE, CREATE(""));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(mem) char *reply = peer_asks(&c.person, rows[i].says,
			"\"op\":\"configure\",\"bot\":\"b\",\"served_tools\":%s", rows[i].tools);

		assert_non_null(strstr(reply, "\"error\":\"invalid_served_tool\""));
	}
	asks(&c.person,
		"\"served_tools\":[{\"name\":\"act\",\"description\":\"d\",\"parameters\":{",
		"\"op\":\"inspect\",\"bot\":\"b\"");
	asks(&c.person, "\"served_tools\":[\"act\"]", "\"op\":\"bots\"");
	asks(&c.person, "\"served_tools\":[]",
		"\"op\":\"configure\",\"bot\":\"b\",\"served_tools\":[]");
	close_scene(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_reaches_the_model),
		cmocka_unit_test(without_a_host_the_turn_parks_until_one_comes),
		cmocka_unit_test(a_host_in_time_keeps_the_turn_from_parking),
		cmocka_unit_test(a_host_that_dies_leaves_an_unknown_end),
		cmocka_unit_test(a_host_that_stalls_loses_its_calls),
		cmocka_unit_test(wrong_answers_are_refused_and_the_call_waits_on),
		cmocka_unit_test(an_interrupt_tells_the_host),
		cmocka_unit_test(arguments_that_do_not_fit_reach_nobody),
		cmocka_unit_test(a_gate_holds_a_call_back_from_its_host),
		cmocka_unit_test(a_long_result_is_cut_and_kept_whole),
		cmocka_unit_test(sixty_four_calls_are_carried_out_at_once),
		cmocka_unit_test(steps_are_judged_one_by_one),
		cmocka_unit_test(a_denied_step_is_not_done),
		cmocka_unit_test(a_step_that_nobody_judges_expires),
		cmocka_unit_test(a_call_takes_its_open_steps_along),
		cmocka_unit_test(without_a_gate_and_a_sandbox_a_step_is_allowed),
		cmocka_unit_test(declarations_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
