/*
 * Rehearsal scripts: what is one, and what it says to a conversation.
 */
#include "agent/core/rehearsal.h"

#include "testing.h"

MEM_CLEANUP(rehearsal, struct rehearsal *, rehearsal_free)

static void refuses_a_bad_script_by_line_and_field(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"",									  "no replies"                     },
		{"# only a comment\n\n",						      "no replies"                     },
		{"{\"rehearsal\":1}\n",						       "no replies"                     },
		{"{\"rehearsal\":2}\n{\"say\":\"x\"}\n",                                      "line 1.rehearsal"               },
		{"{\"say\":\"x\"}\n{\"rehearsal\":1}\n",                                      "line 2.rehearsal"               },
		{"{\"rehearsal\":1,\"nmae\":\"x\"}\n",                                        "line 1.nmae"                    },
		{"{\"say\":\"x\"}\nhello\n",						  "line 2: "                       },
		{"{\"say\":\"x\"}\n[1]\n",						    "line 2: must be an object"      },
		{"{}\n",								      "line 1: has none of"            },
		{"{\"note\":\"x\"}\n",							"line 1: has none of"            },
		{"{\"say\":5}\n",							     "line 1.say"                     },
		{"{\"said\":\"x\"}\n",							"line 1.said"                    },
		{"{\"say\":\"x\",\"say\":\"y\"}\n",                                           "line 1: "                       },
		{"{\"say\":\"x\",\"delay_ms\":600001}\n",                                     "line 1.delay_ms"                },
		{"{\"say\":\"x\",\"delay_ms\":-1}\n",                                         "line 1.delay_ms"                },
		{"{\"say\":\"x\",\"chunk_bytes\":0}\n",                                       "line 1.chunk_bytes"             },
		{"{\"say\":\"x\",\"chunk_bytes\":65537}\n",                                   "line 1.chunk_bytes"             },
		{"{\"calls\":[{\"tool\":\"t\"}],\"chunk_bytes\":5}\n",                        "line 1.chunk_bytes"             },
		{"{\"calls\":[]}\n",							  "line 1.calls"                   },
		{"{\"calls\":{}}\n",							  "line 1.calls"                   },
		{"{\"calls\":[1]}\n",							 "line 1.calls"                   },
		{"{\"calls\":[{\"arguments\":{}}]}\n",                                        "line 1.calls[0].tool"           },
		{"{\"calls\":[{\"tool\":\"t\",\"args\":{}}]}\n",                              "line 1.calls[0].args"           },
		{"{\"calls\":[{\"tool\":\"t\",\"arguments\":{},\"arguments_text\":\"\"}]}\n",
                 "line 1.calls"												},
		{"{\"say\":\"x\",\"when\":{}}\n",                                             "line 1.when"                    },
		{"{\"say\":\"x\",\"when\":{\"exit\":1}}\n",                                   "line 1.when.exit"               },
		{"{\"say\":\"x\",\"when\":{\"exit_code\":256}}\n",                            "line 1.when.exit_code"          },
		{"{\"error\":{\"detail\":\"x\"}}\n",                                          "line 1.error.code"              },
		{"{\"error\":{\"code\":\"e\"},\"say\":\"x\"}\n",                              "line 1.error"                   },
		{"{\"rehearsal\":1,\"files\":[]}\n",                                          "line 1.files: must be an object"},
		{"{\"rehearsal\":1,\"files\":{\"a\":1}}\n",                                   "line 1.files: the content"      },
		{"{\"rehearsal\":1,\"files\":{\"/a\":\"\"}}\n",                               "must be ~/PATH"                 },
		{"{\"rehearsal\":1,\"files\":{\"~a\":\"\"}}\n",                               "must be ~/PATH"                 },
		{"{\"rehearsal\":1,\"files\":{\"~/\":\"\"}}\n",                               "ends in '/'"                    },
		{"{\"rehearsal\":1,\"files\":{\"a/../b\":\"\"}}\n",                           "empty, '.' or '..'"             },
		{"{\"rehearsal\":1,\"files\":{\"a//b\":\"\"}}\n",                             "empty, '.' or '..'"             },
		{"{\"rehearsal\":1,\"files\":{\"a\\u0000b\":\"\"}}\n",                        "NUL"                            },
		{"{\"rehearsal\":1,\"unharmed\":[\"a\"]}\n",
                 "line 1.unharmed: 'a' is none of the files"								   },
		{"{\"rehearsal\":1,\"absent\":[\"../a\"]}\n",                                 "line 1.absent"                  },
		{"{\"rehearsal\":1,\"absent\":[1]}\n",                                        "line 1.absent"                  },
		{"{\"rehearsal\":1,\"rough\":1}\n",                                           "line 1.rough"                   },
		{"{\"rehearsal\":1,\"bot\":{\"sandbox\":\"none\"}}\n",                        "line 1.bot.sandbox"             },
		{"{\"rehearsal\":1,\"bot\":{\"writable_roots\":[\"a\"]}}\n",
                 "line 1.bot.writable_roots"										   },
		{"{\"rehearsal\":1,\"bot\":{\"git\":true}}\n",                                "line 1.bot.git"                 },
		{"{\"calls\":[{\"tool\":\"t\",\"expect\":{}}]}\n",
                 "line 1.calls[0].expect: states nothing"								      },
		{"{\"calls\":[{\"tool\":\"t\",\"expect\":1}]}\n",                             "line 1.calls[0].expect"         },
		{"{\"calls\":[{\"tool\":\"t\",\"expect\":{\"verdict\":\"fine\"}}]}\n",
                 "line 1.calls[0].expect.verdict"									      },
		{"{\"calls\":[{\"tool\":\"t\",\"expect\":{\"exit_code\":256}}]}\n",
                 "line 1.calls[0].expect.exit_code"									    },
		{"{\"cut\":true,\"calls\":[{\"tool\":\"t\"}]}\n",                             "line 1.calls"                   },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(rehearsal) struct rehearsal *r = NULL;
		struct error err = ERROR_INIT;

		if (rehearsal_parse(str_from(rows[i].text), &r, &err) != -1)
			fail_msg("'%s' was taken", rows[i].text);
		assert_true(error_is(&err, &REHEARSAL_INVALID));
		if (!strstr(err.text, rows[i].says))
			fail_msg("'%s': %s", rows[i].text, err.text);
	}
}

static void reads_header_comments_and_line_ends(void **state)
{
	static const char text[] =
		"\xef\xbb\xbf# a drill\r\n\r\n"
		"{\"rehearsal\":1,\"name\":\"mend\",\"about\":\"mends\",\"prompt\":\"go\"}\r\n"
		"{\"say\":\"hi\",\"note\":\"for people\"}\r\n";
	_cleanup_(rehearsal) struct rehearsal *r = NULL;
	_cleanup_(arena) struct arena a = {0};
	struct rehearsal_reply reply;
	struct error err = ERROR_INIT;

	(void)state;
	assert_ok(rehearsal_parse(STR(text), &r, &err), &err);
	assert_true(str_is(rehearsal_name(r), "mend"));
	assert_true(str_is(rehearsal_about(r), "mends"));
	assert_true(str_is(rehearsal_prompt(r), "go"));
	assert_ok(rehearsal_next(r, &a, NULL, 0, &reply, &err), &err);
	assert_true(str_is(reply.say, "hi"));
	assert_int_equal(reply.line, 4);
}

/* A conversation written down in short: u user, a assistant, and the result of a command. */
struct talk {
	struct arena arena;
	struct str items[64];
	size_t count;
};

static void user(struct talk *t, const char *text)
{
	t->items[t->count++] = item_user(&t->arena, ITEM_CHAT, str_from(text), NULL, 0);
}

static void assistant(struct talk *t)
{
	t->items[t->count++] = item_assistant(&t->arena, STR("said"), NULL, 0);
}

static void result(struct talk *t, const char *text)
{
	t->items[t->count++] = item_result(&t->arena, ITEM_CHAT, STR("c"), str_from(text), NULL, 0);
}

static struct rehearsal_reply next(const struct rehearsal *r, struct talk *t)
{
	struct rehearsal_reply reply;
	struct error err = ERROR_INIT;

	assert_ok(rehearsal_next(r, &t->arena, t->items, t->count, &reply, &err), &err);
	return reply;
}

static struct rehearsal *script(const char *text)
{
	struct rehearsal *r;
	struct error err = ERROR_INIT;

	assert_ok(rehearsal_parse(str_from(text), &r, &err), &err);
	return r;
}

static void replies_follow_one_another(void **state)
{
	_cleanup_(rehearsal) struct rehearsal *r = script(
		"{\"say\":\"one\",\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":"
		"\"true\",\"n\":1.50}},"
		"{\"tool\":\"echo\",\"arguments_text\":\"{broken\"},{\"tool\":\"echo\"}]}\n"
		"{\"say\":\"two\",\"delay_ms\":5,\"chunk_bytes\":2}\n");
	struct talk t = {.count = 0};
	struct rehearsal_reply reply;

	(void)state;
	user(&t, "go");
	reply = next(r, &t);
	assert_true(str_is(reply.say, "one"));
	assert_int_equal(reply.call_count, 3);
	assert_true(str_is(reply.calls[0].call_id, "r1-1"));
	assert_true(str_is(reply.calls[0].arguments, "{\"command\":\"true\",\"n\":1.50}"));
	assert_true(str_is(reply.calls[1].call_id, "r1-2"));
	assert_true(str_is(reply.calls[1].arguments, "{broken"));
	assert_true(str_is(reply.calls[2].arguments, "{}"));
	assistant(&t);
	result(&t, "ok");
	reply = next(r, &t);
	assert_true(str_is(reply.say, "two"));
	assert_int_equal(reply.delay_ms, 5);
	assert_int_equal(reply.chunk_bytes, 2);
	assert_false(reply.ended);
	assistant(&t);
	user(&t, "more");
	reply = next(r, &t);
	assert_true(reply.ended);
	assert_true(str_is(reply.say, "(the rehearsal has no more lines)"));
	assistant(&t);
	user(&t, "still more");
	assert_true(next(r, &t).ended);
	arena_release(&t.arena);
}

static void conditions_choose_the_line(void **state)
{
	static const char text[] =
		"{\"say\":\"start\",\"when\":{\"prompt_has\":\"mend\"}}\n"
		"{\"say\":\"failed\",\"when\":{\"exit_code\":1,\"result_has\":\"FAIL\"}}\n"
		"{\"say\":\"passed\",\"when\":{\"exit_code\":0,\"result_lacks\":\"FAIL\"}}\n"
		"{\"say\":\"other\"}\n";
	static const struct {
		const char *prompt, *result, *says;
	} rows[] = {
		{"mend it", NULL,				    "start" },
		{"hello",   NULL,				    "other" },
		{"mend it", "{\"stdout\":\"FAIL\",\"exit_code\":1}", "failed"},
		{"mend it", "{\"stdout\":\"ok\",\"exit_code\":0}",   "passed"},
		{"mend it", "{\"stdout\":\"FAIL\",\"exit_code\":0}", "other" },
		{"mend it", "{\"stdout\":\"ok\",\"exit_code\":1}",   "other" },
		{"mend it", "not json, no FAIL",                     "other" },
	};
	_cleanup_(rehearsal) struct rehearsal *r = script(text);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct talk t = {.count = 0};

		user(&t, rows[i].prompt);
		if (rows[i].result) {
			assistant(&t);
			result(&t, rows[i].result);
		}
		if (!str_is(next(r, &t).say, rows[i].says))
			fail_msg("row %zu did not say '%s'", i, rows[i].says);
		arena_release(&t.arena);
	}
}

static void a_fault_is_passed_once_somebody_asks_again(void **state)
{
	_cleanup_(rehearsal) struct rehearsal *r = script(
		"{\"say\":\"half\",\"cut\":true}\n"
		"{\"error\":{\"code\":\"provider_refusal\",\"detail\":\"no\"}}\n"
		"{\"say\":\"whole\"}\n");
	struct talk t = {.count = 0};
	struct rehearsal_reply reply;

	(void)state;
	user(&t, "go");
	reply = next(r, &t);
	assert_true(reply.cut);
	assert_true(str_is(reply.say, "half"));
	assert_true(next(r, &t).cut); /* nothing was added: the same again, also after a restart */
	user(&t, "again");
	reply = next(r, &t);
	assert_true(str_is(reply.error, "provider_refusal"));
	assert_true(str_is(reply.detail, "no"));
	user(&t, "and again");
	assert_true(str_is(next(r, &t).say, "whole"));
	/* A reply that is no fault stays owed when a message comes before it. */
	user(&t, "hurry");
	assert_true(str_is(next(r, &t).say, "whole"));
	arena_release(&t.arena);
}

static void it_starts_again_where_it_says_so(void **state)
{
	_cleanup_(rehearsal) struct rehearsal *r = script(
		"{\"rehearsal\":1,\"repeat\":true}\n"
		"{\"say\":\"one\",\"calls\":[{\"tool\":\"t\"}]}\n"
		"{\"say\":\"two\"}\n");
	struct talk t = {.count = 0};
	char ids[3][16];

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct rehearsal_reply reply;

		user(&t, "go");
		reply = next(r, &t);
		assert_true(str_is(reply.say, i % 2 ? "two" : "one"));
		if (i % 2 == 0)
			(void)snprintf(ids[i / 2], 16, STR_FMT, STR_ARG(reply.calls[0].call_id));
		assistant(&t);
	}
	assert_string_equal(ids[0], "r1-1");
	assert_string_equal(ids[1], "r3-1");
	assert_string_equal(ids[2], "r5-1");
	arena_release(&t.arena);
}

static void repeating_conditions_that_never_hold_end(void **state)
{
	_cleanup_(rehearsal) struct rehearsal *r = script(
		"{\"rehearsal\":1,\"repeat\":true}\n"
		"{\"say\":\"one\",\"when\":{\"result_has\":\"x\"}}\n");
	struct talk t = {.count = 0};

	(void)state;
	user(&t, "go");
	assert_true(next(r, &t).ended);
	arena_release(&t.arena);
}

static void an_item_that_is_none_is_an_error(void **state)
{
	_cleanup_(rehearsal) struct rehearsal *r = script("{\"say\":\"one\"}\n");
	_cleanup_(arena) struct arena a = {0};
	struct str item = STR("{\"role\":\"system\",\"content\":\"x\"}");
	struct rehearsal_reply reply;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(rehearsal_next(r, &a, &item, 1, &reply, &err), -1);
}

static void a_drill_states_what_must_happen(void **state)
{
	_cleanup_(rehearsal) struct rehearsal *r = script(
		"{\"rehearsal\":1,\"must\":\"m\",\"rough\":true,\"files\":{\"~/a\":\"A\",\"b/"
		"c\":\"\"},"
		"\"unharmed\":[\"b/c\"],\"absent\":[\"~/d\"],\"bot\":{\"sandbox\":\"read-only\","
		"\"network\":true,\"writable_roots\":[\"~/"
		"e\"],\"asks\":[\"shell\"],\"rules\":\"r\"}}\n"
		"{\"calls\":[{\"tool\":\"t\"},{\"tool\":\"t\",\"expect\":{\"verdict\":\"refused\","
		"\"fails\":false,\"exit_code\":0,\"result_has\":\"x\",\"result_lacks\":\"y\"}}]}"
		"\n");
	const struct drill_terms *t = rehearsal_terms(r);
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct str user = item_user(&a, ITEM_CHAT, STR("go"), NULL, 0);
	struct rehearsal_reply reply;
	struct error err = ERROR_INIT;

	(void)state;
	assert_true(str_is(t->must, "m") && t->rough && t->file_count == 2);
	assert_true(str_is(t->files[0].path, "~/a") && str_is(t->files[0].text, "A"));
	assert_true(str_is(t->unharmed.items[0], "b/c") && str_is(t->absent.items[0], "~/d"));
	assert_true(str_is(t->bot.sandbox, "read-only") && t->bot.network);
	assert_true(str_is(t->bot.writable_roots.items[0], "~/e"));
	assert_true(str_is(t->bot.asks.items[0], "shell") && str_is(t->bot.rules, "r"));
	assert_ok(rehearsal_next(r, &a, &user, 1, &reply, &err), &err);
	assert_int_equal(reply.call_count, 2);
	assert_false(reply.expects[0].stated);
	assert_true(reply.expects[1].stated && reply.expects[1].has_verdict);
	assert_int_equal(reply.expects[1].verdict, DRILL_REFUSED);
	assert_true(reply.expects[1].has_fails && !reply.expects[1].fails);
	assert_true(reply.expects[1].has_exit_code && reply.expects[1].exit_code == 0);
	assert_true(str_is(reply.expects[1].result_has, "x"));
	assert_true(str_is(reply.expects[1].result_lacks, "y"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_drill_states_what_must_happen),
		cmocka_unit_test(refuses_a_bad_script_by_line_and_field),
		cmocka_unit_test(reads_header_comments_and_line_ends),
		cmocka_unit_test(replies_follow_one_another),
		cmocka_unit_test(conditions_choose_the_line),
		cmocka_unit_test(a_fault_is_passed_once_somebody_asks_again),
		cmocka_unit_test(it_starts_again_where_it_says_so),
		cmocka_unit_test(repeating_conditions_that_never_hold_end),
		cmocka_unit_test(an_item_that_is_none_is_an_error),
	};

	return cmocka_run_group_tests_name("rehearsal", tests, NULL, NULL);
}
