/*
 * Responses and calls in the store: each step's rows and events, and steps out of order.
 */
#include "test_store.h"

static struct str tool_list[] = {
	{"shell", 5}
};
static const struct gate judge = {
	.tag = {"judge",   5},
          .tools = {tool_list, 1},
          .expire_ms = 60000
};
static const struct gate both[] = {
	{.tag = {"judge", 5},  .tools = {tool_list, 1}, .expire_ms = 60000},
	{.tag = {"person", 6}, .tools = {tool_list, 1}, .expire_ms = 0    },
};

static struct store_submitted running(struct bench *b)
{
	make_bot(b, "ada");
	return submit(b, "ada", "r1");
}

/* One column of one row, by the writing connection. */
struct op_column {
	const char *sql;
	int64_t turn;
	struct str call_id, ret;
};

static int op_column(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_column *op = arg;
	struct db_stmt *s = db_prepare(tx->view.db, op->sql);
	int rc;

	db_bind_i64(s, 1, op->turn);
	db_bind_str(s, 2, op->call_id);
	rc = db_step(s, err);
	if (rc == 1)
		op->ret = store_col(s, 0, &b->a);
	db_reset(s);
	return rc < 0 ? -1 : 0;
}

static const char *column(struct bench *b, const char *sql, int64_t turn, const char *call_id)
{
	struct op_column op = {.sql = sql, .turn = turn, .call_id = str_from(call_id)};
	struct error err = ERROR_INIT;

	assert_ok(bench_write(b, op_column, &op, &err), &err);
	return text_of(b, op.ret);
}

static const char status_sql[] = "SELECT status FROM tools WHERE turn = ?1 AND call_id = ?2";
static const char verdicts_sql[] = "SELECT verdicts FROM tools WHERE turn = ?1 AND call_id = ?2";
static const char gates_sql[] = "SELECT gates FROM tools WHERE turn = ?1 AND call_id = ?2";

static void records_a_response_and_plans_its_calls(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call calls[] = {shell_call("c1"), shell_call("c2"), shell_call("c3")};
	size_t first = b->event_count;

	(void)state;
	calls[1].gates = &judge;
	calls[1].gate_count = 1;
	calls[2].gates = both;
	calls[2].gate_count = 2;
	append(b, s.bot.id, s.turn.id, "three", calls, 3);
	assert_int_equal(b->event_count - first, 3);
	assert_string_equal(b->events[first].kind, "message");
	assert_string_equal(b->events[first].data, "{\"node\":2}");
	assert_string_equal(b->events[first + 1].kind, "usage");
	assert_string_equal(b->events[first + 1].data,
		"{\"input_tokens\":100,\"output_tokens\":10,\"cached_input_tokens\":40,\"sent_ms\":"
		"1700000000000}");
	assert_string_equal(b->events[first + 2].kind, "approval_requested");
	assert_string_equal(b->events[first + 2].data,
		"{\"calls\":["
		"{\"call_id\":\"c2\",\"request\":1,\"announced_ms\":1700000000000,\"gates\":"
		"[{\"tag\":\"judge\",\"expire_ms\":60000}],\"name\":\"shell\",\"node\":2},"
		"{\"call_id\":\"c3\",\"request\":1,\"announced_ms\":1700000000000,\"gates\":"
		"[{\"tag\":\"judge\",\"expire_ms\":60000},{\"tag\":\"person\",\"expire_ms\":null}],"
		"\"name\":\"shell\",\"node\":2}]}");
	for (size_t i = first; i < b->event_count; i++) {
		assert_int_equal(b->events[i].turn, s.turn.id);
		assert_string_equal(b->events[i].bot_name, "ada");
	}
	assert_string_equal(column(b, status_sql, s.turn.id, "c1"), "planned");
	assert_null(column(b, gates_sql, s.turn.id, "c1"));
	assert_string_equal(
		column(b, gates_sql, s.turn.id, "c2"), "[{\"tag\":\"judge\",\"expire_ms\":60000}]");
}

static void a_response_of_several_items_links_them_in_order(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call call = shell_call("c1");
	struct str items[] = {STR("{\"one\":1}"), STR("{\"two\":2}")};
	struct op_append op = {
		.ap = {
                       .bot = s.bot.id,
                       .turn = s.turn.id,
                       .items = items,
                       .item_count = 2,
                       .calls = &call,
                       .call_count = 1,
		       }
        };
	struct error err = ERROR_INIT;

	(void)state;
	call.item = 1;
	call.gates = &judge;
	call.gate_count = 1;
	assert_ok(bench_write(b, op_append, &op, &err), &err);
	assert_int_equal(op.nodes[0], 2);
	assert_int_equal(op.nodes[1], 3);
	assert_int_equal(op.announced_ms, START_MS);
	assert_non_null(strstr(last_seen(b, "approval_requested")->data, "\"node\":3}"));
	assert_int_equal(get_bot(b, s.bot.id).head, 3);
}

/* AG-148, and the shapes of spec 2.5. */
static void records_who_allowed_a_call(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call call = shell_call("c1");
	struct store_verdict verdicts[] = {
		{.tag = STR("judge"),
                 .by = STR("model"),
                 .allow = true,
                 .at_ms = START_MS + 7,
                 .waited_ms = 7,
                 .request = 1},
		{.tag = STR("person"),
                 .allow = true,
                 .at_ms = START_MS + 9,
                 .waited_ms = 9,
                 .request = 1},
	};
	struct op_start op = {
		.bot = s.bot.id,
		.turn = s.turn.id,
		.call_id = STR("c1"),
		.verdicts = verdicts,
		.verdict_count = 2,
	};
	struct error err = ERROR_INIT;

	(void)state;
	call.gates = both;
	call.gate_count = 2;
	append(b, s.bot.id, s.turn.id, "may I", &call, 1);
	assert_ok(bench_write(b, op_start, &op, &err), &err);
	assert_string_equal(last_seen(b, "tool_started")->data,
		"{\"call_id\":\"c1\",\"name\":\"shell\",\"arguments\":"
		"\"{\\\"command\\\":\\\"true\\\"}\",\"arguments_truncated\":false,\"approvals\":["
		"{\"tag\":\"judge\",\"by\":\"model\",\"waited_ms\":7},"
		"{\"tag\":\"person\",\"by\":null,\"waited_ms\":9}],\"sandboxed\":false}");
	assert_string_equal(column(b, status_sql, s.turn.id, "c1"), "executing");
	bench_close(b);
	bench_open(b); /* interrupted, and still told */
	assert_string_equal(column(b, verdicts_sql, s.turn.id, "c1"),
		"[{\"tag\":\"judge\",\"decision\":\"allow\",\"by\":\"model\",\"reason\":null,"
		"\"at_ms\":1700000000007,\"waited_ms\":7,\"request\":1},"
		"{\"tag\":\"person\",\"decision\":\"allow\",\"by\":null,\"reason\":null,"
		"\"at_ms\":1700000000009,\"waited_ms\":9,\"request\":1}]");
}

static void records_who_denied_a_call(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call call = shell_call("c1");
	struct store_verdict verdict = {.tag = STR("judge"),
		.by = STR("bob"),
		.reason = STR("too bold"),
		.at_ms = START_MS + 3,
		.waited_ms = 3,
		.request = 1};
	struct op_result op = {
		.bot = s.bot.id,
		.turn = s.turn.id,
		.r = {.call_id = STR("c1"),
                      .item = item_result(&b->a, ITEM_CHAT, STR("c1"), STR("no"), NULL, 0),
                      .verdicts = &verdict,
                      .verdict_count = 1,
                      .incidents = {(struct str[]){STR("/w/.git/hooks")}, 1},
                      .denied = true},
	};
	struct error err = ERROR_INIT;

	(void)state;
	call.gates = &judge;
	call.gate_count = 1;
	append(b, s.bot.id, s.turn.id, "may I", &call, 1);
	assert_ok(bench_write(b, op_result, &op, &err), &err);
	assert_string_equal(last_seen(b, "tool_completed")->data,
		"{\"call_id\":\"c1\",\"node\":3,\"artifacts\":[],\"note\":null,\"denied\":true,"
		"\"verdicts\":[{\"tag\":\"judge\",\"decision\":\"deny\",\"by\":\"bob\","
		"\"waited_ms\":3}],\"incidents\":[\"/w/.git/hooks\"]}");
	assert_non_null(strstr(column(b, verdicts_sql, s.turn.id, "c1"), "\"too bold\""));
}

struct op_announce {
	int64_t bot, turn;
	const struct store_call *calls;
	size_t count;
	int64_t *requests, announced_ms;
};

static int op_announce(struct store_tx *tx, struct bench *b, void *arg, struct error *err)
{
	struct op_announce *op = arg;

	return store_announce(tx, op->bot, op->turn, op->calls, op->count, &b->a, &op->requests,
		&op->announced_ms, err);
}

static void announces_again_under_a_new_number(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call calls[] = {shell_call("c1"), shell_call("c2")};
	struct op_announce op = {.bot = s.bot.id, .turn = s.turn.id, .calls = calls, .count = 2};
	struct error err = ERROR_INIT;

	(void)state;
	calls[0].gates = &judge;
	calls[0].gate_count = 1;
	append(b, s.bot.id, s.turn.id, "may I", calls, 2);
	calls[1].gates = both; /* set since */
	calls[1].gate_count = 2;
	clock_fake_advance(&b->clock, 50);
	assert_ok(bench_write(b, op_announce, &op, &err), &err);
	assert_int_equal(op.requests[0], 2);
	assert_int_equal(op.requests[1], 1);
	assert_int_equal(op.announced_ms, START_MS + 50);
	assert_non_null(strstr(last_seen(b, "approval_requested")->data,
		"{\"call_id\":\"c1\",\"request\":2,\"announced_ms\":1700000000050"));
	tool_start(b, s.bot.id, s.turn.id, "c1");
	assert_fails(bench_write(b, op_announce, &op, &err), &err, STORE_STALE_TURN);
}

static void shows_the_first_characters_of_long_arguments(void **state)
{
	static const struct {
		const char *name;
		size_t characters;
		bool cut;
	} rows[] = {
		{"one under",  2047, false},
		{"exactly",    2048, false},
		{"one over",   2049, true },
		{"far beyond", 9000, true },
	};
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct store_call call = shell_call(rows[i].name);
		char *text = arena_alloc(&b->a, rows[i].characters * 2 + 1);
		const char *shown;

		for (size_t at = 0; at < rows[i].characters; at++)
			memcpy(text + at * 2, "\xc3\xbc", 2); /* two bytes each */
		call.arguments = str_from(text);
		append(b, s.bot.id, s.turn.id, "long", &call, 1);
		tool_start(b, s.bot.id, s.turn.id, rows[i].name);
		shown = last_seen(b, "tool_started")->data;
		assert_non_null(strstr(shown, rows[i].cut ? "\"arguments_truncated\":true"
							  : "\"arguments_truncated\":false"));
		shown = strstr(shown, "\"arguments\":\"") + strlen("\"arguments\":\"");
		assert_int_equal(
			strchr(shown, '"') - shown, (rows[i].cut ? 2048 : rows[i].characters) * 2);
		tool_finish(b, s.bot.id, s.turn.id, rows[i].name, "ok");
	}
}

static void refuses_one_id_for_two_calls_under_way(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call calls[] = {shell_call("c1"), shell_call("c1")};
	struct str item = STR("{}");
	struct store_append ap = {
		.bot = s.bot.id,
		.turn = s.turn.id,
		.items = &item,
		.item_count = 1,
		.calls = calls,
		.call_count = 2,
	};
	size_t before = b->event_count;
	struct error err = ERROR_INIT;
	int64_t node;

	(void)state;
	assert_fails(try_append(b, &ap, &node, &err), &err, STORE_CALL_REPEATED);
	assert_int_equal(b->event_count, before);
	assert_int_equal(get_bot(b, s.bot.id).head, s.bot.head);
	ap.call_count = 1;
	assert_ok(try_append(b, &ap, &node, &err), &err);
	assert_fails(try_append(b, &ap, &node, &err), &err, STORE_CALL_REPEATED);
	tool_start(b, s.bot.id, s.turn.id, "c1");
	assert_fails(try_append(b, &ap, &node, &err), &err, STORE_CALL_REPEATED);
	assert_int_equal(get_turn(b, s.bot.id, s.turn.id).rounds, 1);
}

static void refuses_steps_out_of_order(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call call = shell_call("c1");
	struct op_start start = {.bot = s.bot.id, .turn = s.turn.id, .call_id = STR("c1")};
	struct op_result result = {
		.bot = s.bot.id, .turn = s.turn.id, .r = {.call_id = STR("c1"), .item = STR("{}")}
        };
	struct store_append more = {.bot = s.bot.id, .turn = s.turn.id};
	struct error err = ERROR_INIT;
	int64_t node;

	(void)state;
	assert_fails(bench_write(b, op_start, &start, &err), &err, ERROR_BUG);
	append(b, s.bot.id, s.turn.id, "go", &call, 1);
	assert_ok(bench_write(b, op_start, &start, &err), &err);
	assert_fails(bench_write(b, op_start, &start, &err), &err, STORE_STALE_TURN);
	assert_ok(bench_write(b, op_result, &result, &err), &err);
	assert_fails(bench_write(b, op_start, &start, &err), &err, STORE_STALE_TURN);
	assert_fails(bench_write(b, op_result, &result, &err), &err, STORE_STALE_TURN);
	finish(b, s.bot.id, s.turn.id);
	assert_fails(try_append(b, &more, &node, &err), &err, STORE_STALE_TURN);
	more.turn = 77;
	assert_fails(try_append(b, &more, &node, &err), &err, STORE_TURN_NOT_FOUND);
}

struct op_artifact {
	int64_t bot, turn;
	struct str call_id, stream, ret;
};

static int op_artifact(struct store_view *v, struct bench *b, void *arg, struct error *err)
{
	struct op_artifact *op = arg;

	return store_artifact_get(
		v, op->bot, op->turn, op->call_id, op->stream, &b->a, &op->ret, err);
}

static void keeps_artifacts_byte_for_byte(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call call = shell_call("c1");
	struct store_artifact artifacts[] = {
		{STR("stdout"), STR("a\0b\xff\n")},
		{STR("stderr"), STR("")          },
	};
	struct op_result op = {
		.bot = s.bot.id,
		.turn = s.turn.id,
		.r = {.call_id = STR("c1"),
                      .item = STR("{}"),
                      .artifacts = artifacts,
                      .artifact_count = 2,
                      .note = STR("exit 0")}
        };
	struct op_artifact get = {
		.bot = s.bot.id, .turn = s.turn.id, .call_id = STR("c1"), .stream = STR("stdout")};
	struct error err = ERROR_INIT;

	(void)state;
	append(b, s.bot.id, s.turn.id, "go", &call, 1);
	assert_ok(bench_write(b, op_result, &op, &err), &err);
	assert_string_equal(last_seen(b, "tool_completed")->data,
		"{\"call_id\":\"c1\",\"node\":3,\"artifacts\":[\"1/c1/stdout\",\"1/c1/stderr\"],"
		"\"note\":\"exit 0\"}");
	assert_ok(bench_read(b, op_artifact, &get, &err), &err);
	assert_true(str_eq(get.ret, artifacts[0].bytes));
	get.stream = STR("stderr");
	assert_ok(bench_read(b, op_artifact, &get, &err), &err);
	assert_int_equal(get.ret.len, 0);
	assert_non_null(get.ret.p);
	get.stream = STR("stdin");
	assert_fails(bench_read(b, op_artifact, &get, &err), &err, STORE_ARTIFACT_NOT_FOUND);
	get.bot++;
	assert_fails(bench_read(b, op_artifact, &get, &err), &err, STORE_TURN_NOT_FOUND);
}

/* A round as large as it may be, every byte escaped: its events still fit, its turn still ends. */
static void a_round_at_its_limits_can_be_recorded_and_ended(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call calls[CALLS_MAX];
	struct str item = STR("{}");
	struct store_append ap = {
		.bot = s.bot.id,
		.turn = s.turn.id,
		.items = &item,
		.item_count = 1,
		.calls = calls,
		.call_count = CALLS_MAX,
	};
	struct gate gates[BOT_GATES_MAX];
	struct error err = ERROR_INIT;
	int64_t node;

	(void)state;
	for (size_t i = 0; i < BOT_GATES_MAX; i++) {
		char *tag = arena_alloc(&b->a, GATE_TAG_MAX_BYTES);

		memset(tag, (int)('a' + i), GATE_TAG_MAX_BYTES);
		gates[i] = (struct gate){
			.tag = {tag, GATE_TAG_MAX_BYTES},
                          .expire_ms = GATE_EXPIRE_MAX_MS
                };
	}
	for (size_t i = 0; i < CALLS_MAX; i++) {
		char *id = arena_alloc(&b->a, STORE_CALL_NAME_MAX_BYTES + 1);

		memset(id, 1, STORE_CALL_NAME_MAX_BYTES + 1);
		id[0] = (char)('0' + i);
		calls[i] = (struct store_call){
			.call_id = {id, STORE_CALL_NAME_MAX_BYTES},
			.name = {id, STORE_CALL_NAME_MAX_BYTES},
			.arguments = STR("{}"),
			.gates = gates,
			.gate_count = BOT_GATES_MAX,
		};
	}
	calls[9].call_id.len++;
	assert_fails(try_append(b, &ap, &node, &err), &err, STORE_CALL_INVALID);
	calls[9].call_id.len = 0;
	assert_fails(try_append(b, &ap, &node, &err), &err, STORE_CALL_INVALID);
	calls[9].call_id.len = STORE_CALL_NAME_MAX_BYTES;
	calls[9].name.len++;
	assert_fails(try_append(b, &ap, &node, &err), &err, STORE_CALL_INVALID);
	calls[9].name.len--;
	assert_ok(try_append(b, &ap, &node, &err), &err);
	bench_reopen(b);
	assert_int_equal(b->recovery.interrupted_turns, 1);
	assert_int_equal(get_bot(b, s.bot.id).head, 2 + CALLS_MAX);
}

/* Models there are that count from call_0 in every response. */
static void an_id_may_come_again_in_a_later_round(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call call = shell_call("c1");
	struct store_artifact artifact = {STR("stdout"), STR("first")};
	struct op_result op = {
		.bot = s.bot.id,
		.turn = s.turn.id,
		.r = {.call_id = STR("c1"),
                      .item = STR("{}"),
                      .artifacts = &artifact,
                      .artifact_count = 1}
        };
	struct op_artifact get = {
		.bot = s.bot.id, .turn = s.turn.id, .call_id = STR("c1"), .stream = STR("stdout")};
	struct error err = ERROR_INIT;

	(void)state;
	append(b, s.bot.id, s.turn.id, "one", &call, 1);
	assert_ok(bench_write(b, op_result, &op, &err), &err);
	append(b, s.bot.id, s.turn.id, "two", &call, 1);
	tool_start(b, s.bot.id, s.turn.id, "c1");
	artifact.bytes = STR("second");
	assert_ok(bench_write(b, op_result, &op, &err), &err);
	assert_ok(bench_read(b, op_artifact, &get, &err), &err);
	assert_true(str_is(get.ret, "second"));
	assert_fails(bench_write(b, op_result, &op, &err), &err, STORE_STALE_TURN);
	append(b, s.bot.id, s.turn.id, "three", &call, 1);
	bench_reopen(b); /* the newest alone is open */
	assert_int_equal(b->recovery.unknown_calls, 0);
	assert_int_equal(get_bot(b, s.bot.id).head, 7);
}

static void ends_open_calls_with_the_turn(void **state)
{
	_cleanup_(bench) struct bench *b = bench_start();
	struct store_submitted s = running(b);
	struct store_call calls[] = {shell_call("c1"), shell_call("c2"), shell_call("c3")};
	size_t first;

	(void)state;
	append(b, s.bot.id, s.turn.id, "three", calls, 3);
	tool_start(b, s.bot.id, s.turn.id, "c1");
	tool_finish(b, s.bot.id, s.turn.id, "c1", "ok");
	tool_start(b, s.bot.id, s.turn.id, "c2");
	first = b->event_count;
	finish(b, s.bot.id, s.turn.id);
	assert_int_equal(b->event_count - first, 3);
	assert_string_equal(b->events[first].data,
		"{\"call_id\":\"c2\",\"node\":4,\"artifacts\":[],\"note\":null,\"outcome_unknown\":"
		"true}");
	assert_string_equal(b->events[first + 1].data,
		"{\"call_id\":\"c3\",\"node\":5,\"artifacts\":[],\"note\":null,\"cancelled\":"
		"true}");
	assert_string_equal(b->events[first + 2].data,
		"{\"status\":\"completed\",\"checkpoint\":5,\"error\":null,\"detail\":null}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_a_response_and_plans_its_calls),
		cmocka_unit_test(a_response_of_several_items_links_them_in_order),
		cmocka_unit_test(records_who_allowed_a_call),
		cmocka_unit_test(records_who_denied_a_call),
		cmocka_unit_test(announces_again_under_a_new_number),
		cmocka_unit_test(shows_the_first_characters_of_long_arguments),
		cmocka_unit_test(refuses_one_id_for_two_calls_under_way),
		cmocka_unit_test(a_round_at_its_limits_can_be_recorded_and_ended),
		cmocka_unit_test(an_id_may_come_again_in_a_later_round),
		cmocka_unit_test(refuses_steps_out_of_order),
		cmocka_unit_test(keeps_artifacts_byte_for_byte),
		cmocka_unit_test(ends_open_calls_with_the_turn),
	};

	return cmocka_run_group_tests_name("store_calls", tests, NULL, NULL);
}
