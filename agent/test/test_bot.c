/*
 * Bots: names, model references, gates and the record.
 */
#include "agent/core/bot.h"

#include "sandbox/sandbox.h"
#include "testing.h"

static void names_are_checked(void **state)
{
	static const struct {
		const char *name;
		bool good;
	} rows[] = {
		{"a",        true },
		{"A-z_0.9",  true },
		{"",         false},
		{"a b",      false},
		{"a/b",      false},
		{"\xc3\xbc", false},
		{"a\n",      false},
		{"*",        false},
	};
	char longest[BOT_NAME_MAX_BYTES + 1];
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int rc = bot_check_name(str_from(rows[i].name), "bot", &err);

		if ((rc == 0) != rows[i].good)
			fail_msg("'%s': %d", rows[i].name, rc);
	}
	memset(longest, 'x', sizeof(longest));
	assert_ok(bot_check_name((struct str){longest, BOT_NAME_MAX_BYTES}, "bot", &err), &err);
	assert_fails(bot_check_name((struct str){longest, BOT_NAME_MAX_BYTES + 1}, "bot", &err),
		&err, BOT_INVALID_NAME);
	assert_fails(bot_check_name((struct str){NULL, 0}, "bot", &err), &err, BOT_INVALID_NAME);
	assert_fails(bot_check_name((struct str){"a\0b", 3}, "bot", &err), &err, BOT_INVALID_NAME);
}

static void models_are_split_at_the_first_slash(void **state)
{
	struct error err = ERROR_INIT;
	struct str provider, model;
	static const char *const bad[] = {
		"", "x", "/", "x/", "/x", "a.b/x", "a b/x", "a/b c", "a/\x1b"};

	(void)state;
	assert_ok(bot_split_model(STR("openrouter/meta/llama"), &provider, &model, &err), &err);
	assert_true(str_is(provider, "openrouter"));
	assert_true(str_is(model, "meta/llama"));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_fails(bot_split_model(str_from(bad[i]), &provider, &model, &err), &err,
			BOT_INVALID_MODEL);
}

static int read_text(
	struct arena *a, const char *text, struct gate **ret, size_t *ret_count, struct error *err)
{
	const struct json *doc;

	must(json_parse(a, str_from(text), &doc, NULL) == 0);
	return bot_read_gates(a, doc, ret, ret_count, err);
}

static void gates_read_and_write_back(void **state)
{
	static const char text[] =
		"[{\"tag\":\"person\",\"tools\":[\"shell\",\"write\"],\"expire_ms\":null},"
		"{\"tag\":\"judge\",\"tools\":[\"shell\"],\"expire_ms\":60000}]";
	_cleanup_(arena) struct arena a = {0};
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&b);
	struct error err = ERROR_INIT;
	struct gate *gates;
	size_t count;

	(void)state;
	assert_ok(read_text(&a, text, &gates, &count, &err), &err);
	assert_int_equal(count, 2);
	assert_true(gate_names_tool(&gates[0], STR("write")));
	assert_false(gate_names_tool(&gates[1], STR("write")));
	bot_write_gates(&j, NULL, gates, count);
	assert_string_equal(b.data, text);
	assert_ok(read_text(&a, "[]", &gates, &count, &err), &err);
	assert_int_equal(count, 0);
}

static void bad_gates_are_refused(void **state)
{
	static const char *const rows[] = {
		"{}",
		"null",
		"[1]",
		"[{}]",
		"[{\"tag\":\"a\"}]",
		"[{\"tag\":\"\",\"tools\":[\"shell\"]}]",
		"[{\"tag\":\"a b\",\"tools\":[\"shell\"]}]",
		"[{\"tag\":\"a\",\"tools\":[]}]",
		"[{\"tag\":\"a\",\"tools\":[\"\"]}]",
		"[{\"tag\":\"a\",\"tools\":[\"x\",\"x\"]}]",
		"[{\"tag\":\"a\",\"tools\":[\"shell\"],\"expire_ms\":0}]",
		"[{\"tag\":\"a\",\"tools\":[\"shell\"],\"expire_ms\":86400001}]",
		"[{\"tag\":\"a\",\"tools\":[\"shell\"],\"expires\":1}]",
		"[{\"tag\":\"a\",\"tools\":[\"shell\"]},{\"tag\":\"a\",\"tools\":[\"write\"]}]",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {0};
		struct error err = ERROR_INIT;
		struct gate *gates;
		size_t count;

		assert_fails(read_text(&a, rows[i], &gates, &count, &err), &err, BOT_INVALID_GATE);
		assert_true(strncmp(err.text, "gates", 5) == 0);
	}
}

static void the_record_has_its_members(void **state)
{
	struct str tool = STR("shell");
	const struct bot b = {
		.name = STR("mender"),
		.id = 7,
		.status = BOT_IDLE,
		.provider = STR("drill"),
		.family = STR("rehearsal"),
		.input_tokens = 3,
		.cached_input_tokens = 1,
		.set = {.model = STR("drill/x"),
			.instructions = STR("do"),
			.tools = {&tool, 1},
			.sandbox = SANDBOX_WORKSPACE_WRITE},
	};
	_cleanup_(arena) struct arena a = {0};
	_cleanup_(buf) struct buf out = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&out);
	struct error err = ERROR_INIT;
	const struct json *doc;

	(void)state;
	bot_write_record(&j, NULL, &b, false);
	assert_ok(json_parse(&a, buf_str(&out), &doc, &err), &err);
	assert_true(str_is(json_str(json_get(doc, "name")), "mender"));
	assert_true(str_is(json_str(json_get(doc, "sandbox")), "workspace-write"));
	assert_true(str_is(json_get(doc, "cache_hit")->text, "0.333"));
	assert_int_equal(json_get(doc, "head")->type, JSON_NULL);
	assert_int_equal(json_get(doc, "workspace")->type, JSON_NULL);
	assert_null(json_get(doc, "instructions"));
	assert_true(str_is(json_get(doc, "tools")->child->text, "shell"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(models_are_split_at_the_first_slash),
		cmocka_unit_test(gates_read_and_write_back),
		cmocka_unit_test(bad_gates_are_refused),
		cmocka_unit_test(the_record_has_its_members),
	};

	return cmocka_run_group_tests_name("bot", tests, NULL, NULL);
}
