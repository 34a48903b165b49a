/* Which round of which conversation a request asks for. */
#include "test/harness/ask.h"
#include "testing.h"

static const char script_text[] = "{\"a\":[{},{},{}],\"b\":[{}],\"refuse_text\":\"poison\"}";

struct world {
	struct arena arena;
	struct script *script;
};

static int set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	must(script_read(str_from(script_text), &w->script, NULL) == 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	script_free(w->script);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static int read_ask(struct world *w, enum model_family family, const char *body, struct ask *ret,
	struct error *err)
{
	const struct json *j;

	must(json_parse(&w->arena, str_from(body), &j, NULL) == 0);
	return ask_read(&w->arena, w->script, family, j, ret, err);
}

#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define SAID(text)      "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define RESPONSES(what) "{\"model\":\"m\",\"input\":[" what "]}"
#define CHAT(what)      "{\"model\":\"m\",\"messages\":[" what "]}"
#define MESSAGES(what)  "{\"model\":\"m\",\"max_tokens\":1,\"messages\":[" what "]}"
#define CALL(id)                                                                                   \
	"{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"n\",\"arguments\":\"{}\"}"
#define OUTPUT(id) "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"o\"}"
#define USE(id)    "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"" id "\"}]}"
#define RESULT(id)                                                                                 \
	"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\"}]}"

static void finds_conversation_and_round(void **state)
{
	static const struct {
		const char *what, *body, *name;
		enum model_family family;
		size_t round;
	} rows[] = {
		{"no name",                           CHAT(USER("hi")),                                           "default", MODEL_CHAT,      0},
		{"a name",			    CHAT(USER("#a hi")),                                        "a",       MODEL_CHAT,      0},
		{"a name alone",                      CHAT(USER("#a")),                                           "a",       MODEL_CHAT,      0},
		{"behind a sender",                   CHAT(USER("[from bot 1]\\n#a hi")),                         "a",       MODEL_CHAT,      0},
		{"too far down",                      CHAT(USER("x\\ny\\n#a hi")),                                "default", MODEL_CHAT,      0},
		{"a heading is none",                 CHAT(USER("# a")),                                          "default", MODEL_CHAT,      0},
		{"one that the script lacks",         CHAT(USER("#c hi")),                                        "default", MODEL_CHAT,      0},
		{"an answer",                         CHAT(USER("#a") "," SAID("x")),                             "a",       MODEL_CHAT,      1},
		{"answers",                           CHAT(USER("#a") "," SAID("x") "," USER("y") "," SAID("z")), "a",
                 MODEL_CHAT,														  2},
		{"the newest name",                   CHAT(USER("#a") "," SAID("x") "," USER("#b")),              "b",       MODEL_CHAT,
                 0															     },
		{"before any name",                   CHAT(USER("x") "," SAID("x")),                              "default", MODEL_CHAT,      1},
		{"input as a text",                   "{\"model\":\"m\",\"input\":\"#b x\"}",                     "b",       MODEL_RESPONSES,
                 0															     },
		{"calls in parallel",
                 RESPONSES(USER("#a") "," CALL("1") "," CALL("2") "," OUTPUT("1") "," OUTPUT(
				"2")),
                 "a",													MODEL_RESPONSES, 1},
		{"calls of strangers, in turn",
                 RESPONSES(USER("#a") "," CALL("1") "," OUTPUT("1") "," CALL("2") "," OUTPUT(
				"2")),
                 "a",													MODEL_RESPONSES, 2},
		{"calls of one reply, in turn",
                 RESPONSES(USER("#a") "," CALL("call_0123456789ab_0_0") "," OUTPUT(
				"call_"
				"01234567"
				"89ab_0_"
				"0") "," CALL("call_0123456789ab_0_1") "," OUTPUT("call_"
										  "0123456789ab_0_"
										  "1")),
                 "a",													MODEL_RESPONSES, 1},
		{"two replies with nothing between",
                 RESPONSES(USER(
				"#a") ",{\"id\":\"msg_0123456789ab_0_0\",\"role\":\"assistant\"},"
				      "{\"id\":\"msg_0123456789cd_1_0\",\"role\":\"assistant\"}"),
                 "a",													MODEL_RESPONSES, 2},
		{"a result is no text of the user's",
                 MESSAGES(USER("#a") "," USE("1") "," RESULT("1") "," USE("2") "," RESULT(
				"2")),
                 "a",													MODEL_MESSAGES,  2},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct ask ask;

		print_message("%s\n", rows[i].what);
		assert_ok(read_ask(*state, rows[i].family, rows[i].body, &ask, &err), &err);
		assert_true(str_is(ask.name, rows[i].name));
		assert_int_equal(ask.round, rows[i].round);
	}
}

static void refuses_as_providers_do(void **state)
{
	static const struct {
		const char *what, *body;
		enum model_family family;
	} rows[] = {
		{"no object",                       "[]",						MODEL_CHAT     },
		{"no model",                        "{\"messages\":[" USER("x") "]}",                    MODEL_CHAT     },
		{"no messages",                     "{\"model\":\"m\",\"messages\":[]}",                 MODEL_CHAT     },
		{"no input",                        "{\"model\":\"m\"}",                                 MODEL_RESPONSES},
		{"a call without result",           RESPONSES(USER("x") "," CALL("1")),                  MODEL_RESPONSES},
		{"a result without call",           RESPONSES(OUTPUT("1")),                              MODEL_RESPONSES},
		{"a call twice",                    RESPONSES(CALL("1") "," CALL("1")),                  MODEL_RESPONSES},
		{"a call without an id",            RESPONSES(CALL("")),                                 MODEL_RESPONSES},
		{"a text between call and result",
                 MESSAGES(USER("x") "," USE("1") "," USER("y") "," RESULT("1")),
                 MODEL_MESSAGES											 },
		{"a reply between call and result",
                 MESSAGES(USER("x") "," USE("1") "," SAID("y") "," RESULT("1")),
                 MODEL_MESSAGES											 },
		{"no max_tokens",                   CHAT(USER("x")),                                     MODEL_MESSAGES },
		{"an empty content",                MESSAGES(USER("")),                                  MODEL_MESSAGES },
		{"a system message",                MESSAGES("{\"role\":\"system\",\"content\":\"x\"}"),
                 MODEL_MESSAGES											 },
		{"refused text",                    CHAT(USER("some poison") "," SAID("x")),             MODEL_CHAT     },
		{"refused text in a result",
                 RESPONSES(CALL("1") ",{\"type\":\"function_call_output\",\"call_id\":\"1\","
					    "\"output\":\"poison\"}"),
                 MODEL_RESPONSES											},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = ERROR_INIT;
		struct ask ask;

		print_message("%s\n", rows[i].what);
		assert_fails(read_ask(*state, rows[i].family, rows[i].body, &ask, &err), &err,
			ASK_INVALID);
	}
}

static void ids_are_the_same_for_the_same_only(void **state)
{
	static const char *const bodies[] = {
		CHAT(USER("#a x")),
		CHAT(USER("#a y")),
		CHAT(USER("#a x") "," SAID("x")),
		CHAT(USER("#a x") "," SAID("x") "," USER("#a x")),
	};
	struct world *w = *state;
	struct ask ask, again;
	const char *ids[ARRAY_LEN(bodies)];

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		assert_int_equal(read_ask(w, MODEL_CHAT, bodies[i], &ask, NULL), 0);
		assert_int_equal(read_ask(w, MODEL_CHAT, bodies[i], &again, NULL), 0);
		ids[i] = ask_make_id(&w->arena, "call", &ask, 1);
		assert_string_equal(ids[i], ask_make_id(&w->arena, "call", &again, 1));
		assert_string_not_equal(ids[i], ask_make_id(&w->arena, "call", &ask, 0));
		assert_true(str_eq(ask_id_key(str_from(ids[i])),
			ask_id_key(str_from(ask_make_id(&w->arena, "msg", &ask, 0)))));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(ids[i], ids[k]);
	}
	assert_null(ask_id_key(STR("call_abc")).p);
	assert_null(ask_id_key(STR("call_0123456789AB_0_0")).p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_conversation_and_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_as_providers_do, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			ids_are_the_same_for_the_same_only, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("harness ask", tests, NULL, NULL);
}
