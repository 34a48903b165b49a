/* The rulebook: rules are read once, checked on their way in, and refuse everything when they are
 * damaged. */
#include "agent/core/limits.h"
#include "agent/serve/rulebook.h"
#include "testing.h"

static enum rule_decision decided(const struct ruleset *s, const char *script)
{
	struct rule_verdict v;

	rules_decide(s->rules, str_from(script), &v);
	return v.decision;
}

static void the_same_text_is_the_same_set(void **state)
{
	const struct str text = STR("[{\"pattern\":[\"a\"],\"decision\":\"allow\"}]");
	struct rulebook *b = rulebook_new();
	const struct ruleset *one = rulebook_take(b, text), *two = rulebook_take(b, text);

	(void)state;
	assert_null(rulebook_take(b, (struct str){NULL, 0}));
	rulebook_give(b, NULL);
	assert_non_null(one);
	assert_ptr_equal(one, two);
	assert_true(str_eq(one->text, text) && one->text.p != text.p);
	assert_int_equal(decided(one, "a x"), RULE_ALLOW);
	rulebook_give(b, one);
	assert_int_equal(decided(two, "b"), RULE_NONE);
	rulebook_give(b, two);
	assert_ptr_equal(rulebook_take(b, text), two); /* kept for a while */
	rulebook_free(b);
}

/* More than are kept: those in use stay, the longest unused go. */
static void the_unused_go_and_the_used_stay(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	struct rulebook *b = rulebook_new();
	const struct ruleset *used = rulebook_take(b, STR("[{\"pattern\":[\"used\"],"
							  "\"decision\":\"prompt\"}]"));

	(void)state;
	for (int i = 0; i < 100; i++)
		rulebook_give(
			b, rulebook_take(b,
				   str_from(arena_printf(&a,
					   "[{\"pattern\":[\"%d\"],\"decision\":\"allow\"}]", i))));
	assert_int_equal(decided(used, "used"), RULE_PROMPT);
	rulebook_give(b, used);
	rulebook_free(b);
}

static void a_damaged_text_refuses_everything(void **state)
{
	static const char *const texts[] = {"", "[", "{}", "[{\"pattern\":[]}]", "null"};
	struct rulebook *b = rulebook_new();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(
			decided(rulebook_take(b, str_from(texts[i])), "true"), RULE_FORBIDDEN);
	rulebook_free(b);
}

static int read_rules(struct arena *a, const char *text, struct str *ret, struct error *err)
{
	const struct json *value;

	must(json_parse(a, str_from(text), &value, NULL) == 0);
	return rulebook_read(a, value, ret, err);
}

static void what_comes_in_is_checked_and_written_one_way(void **state)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	_cleanup_(buf) struct buf many = BUF_INIT(1024 * 1024);
	struct error err = ERROR_INIT;
	struct str text;

	(void)state;
	assert_ok(read_rules(&a, "[]", &text, &err), &err);
	assert_null(text.p);
	assert_ok(
		read_rules(&a, "[ {\"decision\":\"allow\", \"pattern\":[[\"x\"]]} ]", &text, &err),
		&err);
	assert_true(str_is(text, "[{\"pattern\":[\"x\"],\"decision\":\"allow\"}]"));
	assert_ok(read_rules(&a, "{\"unreadable\":\"why\"}", &text, &err), &err);
	assert_true(str_is(text, "{\"unreadable\":\"why\"}"));
	assert_fails(read_rules(&a, "[{\"pattern\":[]}]", &text, &err), &err, RULES_INVALID);
	assert_fails(read_rules(&a, "\"none\"", &text, &err), &err, RULES_INVALID);
	assert_fails(read_rules(&a, "null", &text, &err), &err, RULES_INVALID);
	must(buf_putc(&many, '[') == 0);
	for (int i = 0; i < 4000; i++)
		must(buf_printf(&many,
			     "%s{\"pattern\":[\"%d\"],\"decision\":\"prompt\",\"justification\":"
			     "\"as long as this one is, so that it is too much\"}",
			     i > 0 ? "," : "", i) == 0);
	must(buf_puts(&many, "]") == 0 && many.len > BOT_RULES_MAX_BYTES);
	assert_fails(read_rules(&a, many.data, &text, &err), &err, RULES_LIMIT);
	assert_non_null(strstr(err.text, "rules: over 262144 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_text_is_the_same_set),
		cmocka_unit_test(the_unused_go_and_the_used_stay),
		cmocka_unit_test(a_damaged_text_refuses_everything),
		cmocka_unit_test(what_comes_in_is_checked_and_written_one_way),
	};

	return cmocka_run_group_tests_name("rulebook", tests, NULL, NULL);
}
