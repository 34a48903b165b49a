/*
 * Items: what is written reads back as it was, and nothing else is an item.
 */
#include "agent/core/item.h"

#include "testing.h"

static void user_and_result_read_back(void **state)
{
	static const struct {
		const char *name;
		struct str text;
	} rows[] = {
		{"plain",            {"hello", 5}                    },
		{"empty",            {"", 0}                         },
		{"quotes and lines", {"say \"hi\"\n\tto \\ them", 19}},
		{"a NUL inside",     {"a\0b", 3}                     },
		{"UTF-8",            {"gr\xc3\xbc\xc3\x9f", 6}       },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {0};
		struct error err = ERROR_INIT;
		struct item it;

		assert_ok(item_read(&a, item_user(&a, ITEM_CHAT, rows[i].text, NULL, 0), &it, &err),
			&err);
		assert_int_equal(it.role, ITEM_USER);
		assert_true(str_eq(it.text, rows[i].text));
		assert_ok(item_read(&a,
				  item_result(&a, ITEM_CHAT, STR("r1-1"), rows[i].text, NULL, 0),
				  &it, &err),
			&err);
		assert_int_equal(it.role, ITEM_RESULT);
		assert_true(str_eq(it.text, rows[i].text));
		assert_true(str_is(it.call_id, "r1-1"));
	}
}

static void assistant_reads_back(void **state)
{
	static const struct item_call calls[] = {
		{{"r1-1", 4}, {"shell", 5}, {"{\"command\":\"true\"}", 18}},
		{{"r1-2", 4}, {"echo", 4},  {"not json {", 10}            },
	};
	_cleanup_(arena) struct arena a = {0};
	struct error err = ERROR_INIT;
	struct str made;
	struct item it;

	(void)state;
	made = item_assistant(&a, STR("doing"), calls, 2);
	assert_ok(item_read(&a, made, &it, &err), &err);
	assert_int_equal(it.role, ITEM_ASSISTANT);
	assert_true(str_is(it.text, "doing"));
	assert_int_equal(it.call_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(str_eq(it.calls[i].call_id, calls[i].call_id));
		assert_true(str_eq(it.calls[i].name, calls[i].name));
		assert_true(str_eq(it.calls[i].arguments, calls[i].arguments));
	}
	assert_ok(item_read(&a, item_assistant(&a, STR(""), calls, 1), &it, &err), &err);
	assert_null(it.text.p);
	assert_ok(item_read(&a, item_assistant(&a, STR(""), NULL, 0), &it, &err), &err);
	assert_non_null(it.text.p);
	assert_int_equal(it.call_count, 0);
}

static void bytes_are_those_of_the_chat_family(void **state)
{
	static const struct item_call call = {
		{"c",    1},
                {"echo", 4},
                {"{}",   2}
        };
	_cleanup_(arena) struct arena a = {0};

	(void)state;
	assert_true(str_is(item_user(&a, ITEM_CHAT, STR("hi"), NULL, 0),
		"{\"role\":\"user\",\"content\":\"hi\"}"));
	assert_true(str_is(item_result(&a, ITEM_CHAT, STR("c"), STR("ok"), NULL, 0),
		"{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"ok\"}"));
	assert_true(str_is(item_assistant(&a, STR(""), &call, 1),
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\","
		"\"type\":\"function\",\"function\":{\"name\":\"echo\",\"arguments\":\"{}\"}}]}"));
}

static const struct item_picture picture = {
	{"image/png", 9},
        {"AAAA",      4}
};

static void every_family_reads_what_it_writes(void **state)
{
	static const enum item_family families[] = {ITEM_CHAT, ITEM_RESPONSES, ITEM_MESSAGES};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		for (size_t pictures = 0; pictures < 2; pictures++) {
			_cleanup_(arena) struct arena a = {0};
			struct error err = ERROR_INIT;
			struct item it;

			assert_ok(item_read(&a,
					  item_user(&a, families[i], STR("hi"), &picture, pictures),
					  &it, &err),
				&err);
			assert_int_equal(it.role, ITEM_USER);
			assert_true(str_is(it.text, "hi"));
			assert_int_equal(it.picture_count, pictures);
			assert_ok(item_read(&a,
					  item_result(&a, families[i], STR("c1"), STR("out"),
						  &picture, pictures),
					  &it, &err),
				&err);
			assert_int_equal(it.role, ITEM_RESULT);
			assert_true(str_is(it.call_id, "c1") && str_is(it.text, "out"));
			assert_int_equal(it.picture_count, pictures);
			assert_true(families[i] == ITEM_CHAT || it.family == families[i]);
		}
	}
}

static void replies_of_providers_are_read(void **state)
{
	static const struct {
		const char *json;
		enum item_role role;
		const char *text; /* NULL: absent */
		size_t calls;
		const char *arguments;
	} rows[] = {
		{"{\"type\":\"message\",\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":"
		 "\"output_text\",\"text\":\"a\",\"annotations\":[]},{\"type\":\"output_text\","
		 "\"text\":"
		 "\"b\"}]}",					  ITEM_ASSISTANT, "ab",  0, NULL          },
		{"{\"type\":\"function_call\",\"id\":\"f\",\"call_id\":\"c\",\"name\":\"echo\","
		 "\"arguments\":\"{}\"}",			     ITEM_ASSISTANT, NULL,  1, "{}"          },
		{"{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[{\"type\":\"summary_text\","
		 "\"text\":"
		 "\"why\"}],\"encrypted_content\":\"x\"}",            ITEM_REASONING, "why", 0, NULL          },
		{"{\"type\":\"web_search_call\",\"id\":\"w\"}",                        ITEM_OTHER,     NULL,  0, NULL          },
		{"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\","
		 "\"signature\":\"s\"},{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"tool_use\","
		 "\"id\":"
		 "\"c\",\"name\":\"echo\",\"input\":{\"n\":1.50}}]}", ITEM_ASSISTANT, "a",   1, "{\"n\":1.50}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {0};
		struct error err = ERROR_INIT;
		struct item it;

		assert_ok(item_read(&a, str_from(rows[i].json), &it, &err), &err);
		assert_int_equal(it.role, rows[i].role);
		assert_true(str_eq(it.text, str_from(rows[i].text)));
		assert_int_equal(it.call_count, rows[i].calls);
		if (rows[i].calls)
			assert_true(str_is(it.calls[0].arguments, rows[i].arguments));
	}
}

static void what_is_no_item_is_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{}",
		"{\"role\":\"user\"}",
		"{\"role\":\"user\",\"content\":null}",
		"{\"role\":\"user\",\"content\":[1]}",
		"{\"role\":\"system\",\"content\":\"x\"}",
		"{\"role\":\"tool\",\"content\":\"x\"}",
		"{\"role\":\"user\",\"content\":\"x\",\"tool_call_id\":\"c\"}",
		"{\"role\":\"user\",\"content\":[]}",
		"{\"type\":\"function_call\",\"name\":\"n\",\"arguments\":\"{}\"}",
		"{\"type\":\"function_call_output\",\"call_id\":\"c\"}",
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\"}]}",
		"{\"role\":\"assistant\",\"content\":null}",
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[]}",
		"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\"}]}",
		"{\"role\":\"assistant\",\"content\":5}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {0};
		struct error err = ERROR_INIT;
		struct item it = {.call_count = 77};

		if (item_read(&a, str_from(rows[i]), &it, &err) != -1)
			fail_msg("'%s' was taken for an item", rows[i]);
		assert_true(err.kind != NULL);
		assert_int_equal(it.call_count, 77);
	}
}

static void the_senders_line_comes_first(void **state)
{
	_cleanup_(arena) struct arena a = {0};
	struct str s = item_from_bot(
		&a, STR("scout"), 7, 12, STR("[message from bot boss (id 1), turn 1]\nhi"));

	(void)state;
	assert_true(str_is(s, "[message from bot scout (id 7), turn 12]\n"
			      "[message from bot boss (id 1), turn 1]\nhi"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(user_and_result_read_back),
		cmocka_unit_test(assistant_reads_back),
		cmocka_unit_test(bytes_are_those_of_the_chat_family),
		cmocka_unit_test(what_is_no_item_is_refused),
		cmocka_unit_test(every_family_reads_what_it_writes),
		cmocka_unit_test(replies_of_providers_are_read),
		cmocka_unit_test(the_senders_line_comes_first),
	};

	return cmocka_run_group_tests_name("item", tests, NULL, NULL);
}
