/* What a bot does, as people read it. */
#include "agent/cmd/person.h"
#include "agent/cmd/render.h"
#include "agent/core/item.h"
#include "testing.h"

struct shown {
	struct render r;
	struct arena a;
};

static int setup(void **state)
{
	struct shown *s = xcalloc(1, sizeof(*s));

	render_init(&s->r, false);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct shown *s = *state;

	render_release(&s->r);
	arena_release(&s->a);
	free(s);
	return 0;
}

static const struct json *doc(struct shown *s, const char *text)
{
	const struct json *made;

	assert_int_equal(json_parse(&s->a, str_from(text), &made, NULL), 0);
	return made;
}

static void expect(struct shown *s, const char *text)
{
	assert_string_equal(s->r.out.len ? s->r.out.data : "", text);
	buf_clear(&s->r.out);
}

/* An assistant's item with one call. */
static void reply(
	struct shown *s, const char *say, const char *id, const char *name, const char *arguments)
{
	struct item_call call = {str_from(id), str_from(name), str_from(arguments)};

	render_item(&s->r, STR("b"), item_assistant(&s->a, str_from(say), &call, 1));
}

static void result(struct shown *s, const char *data, const char *id, const char *output)
{
	render_completed(&s->r, STR("b"), doc(s, data),
		item_result(&s->a, ITEM_CHAT, str_from(id), str_from(output), NULL, 0));
}

static void a_bot_comes_first(void **state)
{
	struct shown *s = *state;

	render_bot(&s->r,
		doc(s, "{\"name\":\"otter\",\"model\":\"p/m\",\"workspace\":\"/"
		       "w\\u001b\",\"sandbox\":"
		       "\"workspace-write\",\"writable_roots\":[\"/"
		       "r\"],\"network\":false,\"gates\":[{"
		       "\"tag\":\"person\",\"tools\":[\"shell\",\"write\"],\"expire_ms\":null}]}"),
		true);
	expect(s, "bot       otter, new (p/m)\n"
		  "folder    /w\\x1b\n"
		  "sandbox   workspace-write, network off, also writes /r\n"
		  "asks      person about shell, write, when a call leaves the sandbox\n");
	render_bot(&s->r,
		doc(s, "{\"name\":\"o\",\"model\":\"p/m\",\"workspace\":null,\"sandbox\":"
		       "\"danger-full-access\",\"gates\":[]}"),
		false);
	expect(s, "\nbot       o (p/m)\nfolder    \nsandbox   none: its commands run with all your "
		  "rights\n");
}

static void words_stream_and_are_not_told_twice(void **state)
{
	struct shown *s = *state;

	render_delta(&s->r, STR("Hel"));
	render_delta(&s->r, STR("lo \033[31m"));
	expect(s, "Hello \\x1b[31m");
	reply(s, "Hello \033[31m", "c", "echo", "{\"text\":\"x\"}");
	expect(s, "\n");
	reply(s, "not streamed", "c2", "echo", "{}");
	expect(s, "\nnot streamed\n");
}

static void a_confined_command(void **state)
{
	struct shown *s = *state;

	s->r.sandboxed = true;
	reply(s, "", "c1", "shell", "{\"command\":\"make test\\n\"}");
	render_started(&s->r, STR("b"),
		doc(s, "{\"call_id\":\"c1\",\"name\":\"shell\",\"arguments\":\"cut\",\"approvals\":"
		       "[],"
		       "\"sandboxed\":true}"));
	expect(s, "$ make test   in the sandbox\n");
	result(s, "{\"call_id\":\"c1\"}", "c1",
		"{\"stdout\":\"one\\n\",\"stderr\":\"bad\\u001b[2J\\n\",\"exit_code\":2,"
		"\"success\":false}");
	expect(s, "    one\n    bad\\x1b[2J\n    exit status 2\n");
	reply(s, "", "c2", "shell", "{\"command\":\"sleep 9\"}");
	render_started(&s->r, STR("b"),
		doc(s, "{\"call_id\":\"c2\",\"name\":\"shell\",\"arguments\":\"\",\"approvals\":[{"
		       "\"tag\":"
		       "\"person\",\"by\":\"eve\\u001b\",\"waited_ms\":2100}],\"sandboxed\":"
		       "false}"));
	expect(s, "\n$ sleep 9   outside the sandbox, allowed by eve\\x1b (person) after 2.1 s\n");
	result(s, "{\"call_id\":\"c2\"}", "c2",
		"{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":null,\"success\":false,\"timed_"
		"out\":true}");
	expect(s, "    timed out\n");
}

static void a_refused_call_says_why(void **state)
{
	struct shown *s = *state;

	reply(s, "", "c1", "write", "{\"path\":\"/etc/x\",\"content\":\"y\"}");
	result(s, "{\"call_id\":\"c1\"}", "c1",
		"{\"error\":\"sandbox_no_gate\",\"detail\":\"no\\nway\"}");
	expect(s, "write /etc/x   not run\n    sandbox_no_gate: no\\nway\n");
	reply(s, "", "c2", "shell", "{\"command\":\"x\"}");
	result(s,
		"{\"call_id\":\"c2\",\"denied\":true,\"verdicts\":[{\"tag\":\"person\","
		"\"decision\":\"deny\","
		"\"by\":\"eve\"}]}",
		"c2", "{\"error\":\"approval_denied\",\"detail\":\"not today\"}");
	expect(s, "\n$ x   not run\n    denied by eve: not today\n");
	result(s, "{\"call_id\":\"unseen\"}", "unseen", "text");
	expect(s, "\n?    not run\n    text\n");
}

static void output_is_not_json_by_looks(void **state)
{
	struct shown *s = *state;

	reply(s, "", "c1", "read", "{\"path\":\"a\"}");
	result(s, "{\"call_id\":\"c1\"}", "c1", "{not json");
	expect(s, "read a   not run\n    {not json\n");
	render_completed(&s->r, STR("b"), doc(s, "{\"call_id\":\"c1\"}"), (struct str){NULL, 0});
	expect(s, "\nread a   not run\n    (its result could not be read)\n");
}

static void a_question_shows_all_and_how_to_answer(void **state)
{
	struct shown *s = *state;
	struct paste p = {.program = "agent", .place = ""};
	const struct json *approval = doc(s,
		"{\"bot\":\"b\",\"turn\":4,\"call_id\":\"c1\",\"request\":2,\"name\":\"shell\","
		"\"arguments\":{\"command\":\"cut\"},\"arguments_cut\":true,\"gates\":[{\"tag\":"
		"\"person\",\"decision\":null},{\"tag\":\"auto\",\"decision\":\"allow\"}],"
		"\"escalation\":{\"kind\":\"require_escalated\",\"justification\":"
		"\"be\\u0007cause\","
		"\"paths\":[]}}");

	render_asked(&s->r, approval, NULL);
	expect(s, "? shell asks to leave the sandbox\n"
		  "    command   cut\n"
		  "    this is only the beginning of it\n"
		  "    reason    be\\x07cause\n");
	reply(s, "", "c1", "shell", "{\"command\":\"line one\\nrm -rf \\u202e/\"}");
	render_asked(&s->r, approval, &p);
	expect(s, "\n? shell asks to leave the sandbox\n"
		  "    command   line one\n"
		  "              rm -rf \\u202e/\n"
		  "    reason    be\\x07cause\n"
		  "    allow     agent answer --bot b --turn 4 --call c1 --request 2 --tag person "
		  "allow\n"
		  "    deny      agent answer --bot b --turn 4 --call c1 --request 2 --tag person "
		  "deny\n");
}

/* A call of one member that holds 100 lines. */
static char *hundred_lines(const char *before)
{
	struct buf b = BUF_INIT(65536);

	(void)buf_puts(&b, before);
	for (int i = 0; i < 100; i++)
		(void)buf_printf(&b, "line%d\\n", i);
	(void)buf_puts(&b, "\"}");
	return buf_take(&b);
}

static void a_rule_that_asks_is_shown(void **state)
{
	struct shown *s = *state;

	reply(s, "", "c1", "shell", "{\"command\":\"git push\"}");
	render_asked(&s->r,
		doc(s, "{\"bot\":\"b\",\"turn\":1,\"call_id\":\"c1\",\"request\":1,\"name\":"
		       "\"shell\",\"gates\":[],\"escalation\":{\"kind\":\"rule\",\"paths\":[],"
		       "\"rule\":{\"pattern\":[\"git\",[\"push\",\"fe\\u001btch\"]],"
		       "\"justification\":\"it leaves\",\"tangled\":false}}}"),
		NULL);
	assert_non_null(strstr(s->r.out.data, "? shell runs a command that a rule asks about\n"));
	assert_non_null(strstr(s->r.out.data, "rule      git push|fe\\x1btch: it leaves\n"));
}

/* Nobody should allow a command that they saw in part. */
static void a_long_command_is_shown_whole(void **state)
{
	struct shown *s = *state;
	_cleanup_(mem) char *text = hundred_lines("{\"command\":\"");

	reply(s, "", "c1", "shell", text);
	render_asked(&s->r,
		doc(s, "{\"bot\":\"b\",\"turn\":1,\"call_id\":\"c1\",\"request\":1,\"name\":"
		       "\"shell\","
		       "\"gates\":[],\"escalation\":null}"),
		NULL);
	assert_null(strstr(s->r.out.data, "left out"));
	for (int i = 0; i < 100; i++) {
		char line[32];

		(void)snprintf(line, sizeof(line), "line%d\n", i);
		assert_non_null(strstr(s->r.out.data, line));
	}
	assert_non_null(strstr(s->r.out.data, "? shell waits for a verdict\n"));
}

static void a_long_content_says_what_it_hides(void **state)
{
	struct shown *s = *state;
	_cleanup_(mem) char *text = hundred_lines("{\"path\":\"/x\",\"content\":\"");

	reply(s, "", "c1", "write", text);
	render_asked(&s->r,
		doc(s, "{\"bot\":\"b\",\"turn\":1,\"call_id\":\"c1\",\"request\":1,\"name\":"
		       "\"write\","
		       "\"gates\":[],\"escalation\":{\"kind\":\"protected\",\"paths\":[\"/"
		       "real\"]}}"),
		NULL);
	assert_non_null(strstr(s->r.out.data, "? write would write a protected path\n"));
	assert_non_null(strstr(s->r.out.data, "line39\n"));
	assert_non_null(strstr(s->r.out.data, "... 20 lines left out ...\n"));
	assert_null(strstr(s->r.out.data, "line40\n"));
	assert_non_null(strstr(s->r.out.data, "line99\n"));
	assert_non_null(strstr(s->r.out.data, "    touches   /real\n"));
}

static void questions_come_in_the_order_of_calls(void **state)
{
	struct shown *s = *state;
	struct item_call calls[] = {
		{STR("c1"), STR("shell"), STR("{}")},
                {STR("c2"), STR("shell"), STR("{}")}
        };

	render_item(&s->r, STR("b"), item_assistant(&s->a, STR(""), calls, 2));
	assert_true(render_is_next(&s->r, render_find(&s->r, STR("b"), STR("c1"))));
	assert_false(render_is_next(&s->r, render_find(&s->r, STR("b"), STR("c2"))));
	assert_null(render_find(&s->r, STR("other"), STR("c1")));
	assert_true(render_has_open(&s->r, STR("b")));
	result(s, "{\"call_id\":\"c1\"}", "c1", "x");
	assert_true(render_is_next(&s->r, render_find(&s->r, STR("b"), STR("c2"))));
	result(s, "{\"call_id\":\"c2\"}", "c2", "x");
	assert_false(render_has_open(&s->r, STR("b")));
}

static void the_end_is_told_with_figures(void **state)
{
	struct shown *s = *state;

	render_finished(&s->r, doc(s, "{\"status\":\"completed\",\"error\":null,\"detail\":null}"),
		doc(s, "{\"model_rounds\":3,\"input_tokens\":5000,\"output_tokens\":120,\"started_"
		       "ms\":1000,"
		       "\"finished_ms\":3100}"));
	expect(s, "completed: 3 model calls, 5,120 tokens, 2.1 s\n");
	render_finished(&s->r,
		doc(s, "{\"status\":\"interrupted\",\"error\":\"cancelled\",\"detail\":null}"),
		NULL);
	expect(s, "\ninterrupted\n  cancelled\n");
}

static void several_bots_are_kept_apart(void **state)
{
	struct shown *s = *state;

	render_subject(&s->r, STR("a"), 1);
	render_delta(&s->r, STR("x"));
	render_subject(&s->r, STR("a"), 1);
	render_subject(&s->r, STR("b"), 2);
	expect(s, "-- a, turn 1\n\nx\n\n-- b, turn 2\n");
}

static void what_holds_a_turn_up_is_a_line(void **state)
{
	static const struct {
		const char *kind, *data, *line;
	} rows[] = {
		{"retry",          "{\"error\":\"e\",\"detail\":\"x\\u001b[2J\",\"delay_ms\":2100}",
                 "the model failed (e: x\\x1b[2J); it is asked again in 2.1 s\n"                                                        },
		{"model_fallback",
                 "{\"from\":\"a/b\",\"to\":\"c/d\",\"error\":\"e\",\"detail\":null}",                "a/b cannot be asked (e); c/d is\n"},
		{"turn_waiting",   "{\"handles\":[\"proc:1\",\"proc:2\"],\"any\":true}",
                 "the turn waits for proc:1 or proc:2\n"										},
		{"turn_waiting",   "{\"handles\":[],\"any\":false}",
                 "the turn waits for a verdict\n"										       },
		{"compacted",      "{\"context_before\":5000,\"context_after\":900}",
                 "a summary stands for what is older: 5,000 bytes are now 900\n"                                                        },
		{"turn_resumed",   "{}",							     ""                                 },
	};
	struct shown *s = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(render_passing(&s->r, str_from(rows[i].kind), doc(s, rows[i].data)));
		expect(s, rows[i].line);
	}
	assert_false(render_passing(&s->r, STR("nothing_known"), doc(s, "{}")));
	expect(s, "");
}

static void a_person_must_say_yes(void **state)
{
	static const struct {
		const char *line;
		enum person_says says;
		const char *reason;
	} rows[] = {
		{"y\n",                  PERSON_ALLOWS, NULL                },
		{" YES \n",              PERSON_ALLOWS, NULL                },
		{"\n",                   PERSON_DENIES, NULL                },
		{"",		     PERSON_DENIES, NULL                },
		{"n\n",                  PERSON_DENIES, NULL                },
		{"No\n",                 PERSON_DENIES, NULL                },
		{"yes please\n",         PERSON_DENIES, "yes please"        },
		{"yy\n",                 PERSON_DENIES, "yy"                },
		{"use the other file\n", PERSON_DENIES, "use the other file"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str reason;

		assert_int_equal(person_read(str_from(rows[i].line), &reason), rows[i].says);
		assert_true(str_eq(reason, str_from(rows[i].reason)));
		assert_int_equal(reason.p != NULL, rows[i].reason != NULL);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_bot_comes_first),
		CASE(words_stream_and_are_not_told_twice),
		CASE(a_confined_command),
		CASE(a_refused_call_says_why),
		CASE(output_is_not_json_by_looks),
		CASE(a_question_shows_all_and_how_to_answer),
		CASE(a_rule_that_asks_is_shown),
		CASE(a_long_command_is_shown_whole),
		CASE(a_long_content_says_what_it_hides),
		CASE(questions_come_in_the_order_of_calls),
		CASE(the_end_is_told_with_figures),
		CASE(several_bots_are_kept_apart),
		CASE(what_holds_a_turn_up_is_a_line),
		cmocka_unit_test(a_person_must_say_yes),
	};

	return cmocka_run_group_tests_name("cmd_render", tests, NULL, NULL);
}
