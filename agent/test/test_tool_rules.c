/* What command rules make of a shell call, and which answers hold for a later judgement. */
#include "tooling.h"

static struct rules *rules_of(const char *text)
{
	_cleanup_(arena) struct arena a = {.blocks = NULL};
	const struct json *value;
	struct error err = ERROR_INIT;
	struct rules *r;

	must(json_parse(&a, str_from(text), &value, NULL) == 0);
	assert_ok(rules_from_json(value, &r, &err), &err);
	return r;
}

#define RULES                                                                                      \
	"[{\"pattern\":[\"tool\"],\"decision\":\"allow\"},"                                        \
	"{\"pattern\":[\"ask\",[\"a\",\"b\"]],\"decision\":\"prompt\",\"justification\":\"why\"}," \
	"{\"pattern\":[\"never\"],\"decision\":\"forbidden\"}]"

/* Judges alone: nothing of these runs. */
static int judged(struct rig *r, const char *command, bool escalated)
{
	const char *text = arena_printf(&r->arena, "{\"command\":\"%s\"%s}", command,
		escalated ? ",\"sandbox_permissions\":\"require_escalated\"" : "");
	const struct tool *shell = tool_find(STR("shell"));
	const void *args;

	error_clear(&r->err);
	must(tool_prepare(shell, &r->arena, str_from(text), &args, NULL) == 0);
	return shell->judge(&r->context, &r->arena, args, &r->judgement, &r->err);
}

static void each_decision_has_its_judgement(void **state)
{
	static const struct {
		const char *command;
		bool escalated, sandboxed;
		enum tool_reach reach;
		bool asks, lets_out;
		const char *why;
	} rows[] = {
		{"other",         false, true,  TOOL_CONFINED, false, false, NULL               },
		{"other",         true,  true,  TOOL_LEAVES,   false, false, "require_escalated"},
		{"tool x",        false, true,  TOOL_LEAVES,   false, true,  "rule"             },
		{"tool x",        true,  true,  TOOL_LEAVES,   false, true,  "rule"             },
		{"tool x; other", false, true,  TOOL_CONFINED, false, false, NULL               },
		{"tool x; other", true,  true,  TOOL_LEAVES,   false, false, "require_escalated"},
		{"tool x > y",    false, true,  TOOL_CONFINED, false, false, NULL               },
		{"ask b",         false, true,  TOOL_CONFINED, true,  false, "rule"             },
		{"ask b > x",     true,  true,  TOOL_LEAVES,   true,  false, "require_escalated"},
		{"tool x; ask a", false, true,  TOOL_CONFINED, true,  false, "rule"             },
		{"other",         false, false, TOOL_OUTSIDE,  false, false, NULL               },
		{"tool x",        false, false, TOOL_OUTSIDE,  false, false, NULL               },
		{"ask a",         true,  false, TOOL_OUTSIDE,  true,  false, "rule"             },
	};
	_cleanup_(rules) struct rules *rules = rules_of(RULES);
	struct rig r;

	(void)state;
	rig_init(&r);
	r.context.rules = rules;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		r.bot.set.sandbox = rows[i].sandboxed ? SANDBOX_READ_ONLY : SANDBOX_FULL_ACCESS;
		assert_int_equal(judged(&r, rows[i].command, rows[i].escalated), 0);
		if (r.judgement.reach != rows[i].reach || r.judgement.asks != rows[i].asks ||
			r.judgement.free != rows[i].lets_out ||
			!str_eq(str_from(r.judgement.why), str_from(rows[i].why)) ||
			(r.judgement.rule.p != NULL) != rows[i].asks)
			fail_msg("row %zu: '%s'", i, rows[i].command);
	}
	assert_int_equal(judged(&r, "ask a", false), 0);
	assert_true(str_is(r.judgement.rule, "{\"pattern\":[\"ask\",[\"a\",\"b\"]],"
					     "\"justification\":\"why\",\"tangled\":false}"));
	assert_true(str_is(r.judgement.rule_shown, "prompt [ask a|b] (rule 2): why"));
	assert_int_equal(judged(&r, "tool; never", false), -1);
	assert_ptr_equal(r.err.kind, &RULES_FORBIDDEN);
	assert_int_equal(judged(&r, "x=$(never)", true), -1);
	assert_ptr_equal(r.err.kind, &RULES_FORBIDDEN);
	rig_release(&r);
}

/* A pattern too long to be shown is left out; the rule asks all the same. */
static void a_long_rule_is_shown_without_its_pattern(void **state)
{
	_cleanup_(buf) struct buf text = BUF_INIT(256 * 1024);
	_cleanup_(rules) struct rules *rules = NULL;
	struct rig r;

	(void)state;
	must(buf_puts(&text, "[{\"decision\":\"prompt\",\"pattern\":[\"ask\",[\"a\"") == 0);
	for (int i = 0; i < 60; i++)
		must(buf_printf(&text, ",\"%0900d\"", i) == 0);
	must(buf_puts(&text, "]]}]") == 0);
	rules = rules_of(text.data);
	rig_init(&r);
	r.context.rules = rules;
	assert_int_equal(judged(&r, "ask a", false), 0);
	assert_true(r.judgement.asks);
	assert_true(str_is(
		r.judgement.rule, "{\"pattern\":null,\"justification\":null,\"tangled\":false}"));
	assert_true(r.judgement.rule_shown.len <= 300);
	rig_release(&r);
}

static void an_answer_holds_for_what_it_was_given_for(void **state)
{
	static const struct tool_judgement
		confined =
			{
				.reach = TOOL_CONFINED
        },
		leaves = {.reach = TOOL_LEAVES}, let_out = {.reach = TOOL_LEAVES, .free = true},
		asks = {.reach = TOOL_CONFINED, .asks = true, .rule = {"{1}", 3}},
		other = {.reach = TOOL_CONFINED, .asks = true, .rule = {"{2}", 3}},
		both = {.reach = TOOL_LEAVES, .asks = true, .rule = {"{1}", 3}};
	static const struct {
		const struct tool_judgement *older, *newer;
		bool holds;
	} rows[] = {
		{&confined, &confined, true },
		{&leaves,   &leaves,   true },
		{&leaves,   &let_out,  true },
		{&asks,     &asks,     true },
		{&asks,     &confined, true }, /* the rule went: less is asked */
		{&asks,     &other,    false},
		{&asks,     &both,     false},
		{&asks,     &let_out,  false},
		{&confined, &asks,     false},
		{&leaves,   &both,     false},
		{&both,     &leaves,   true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (tool_judgement_same(rows[i].older, rows[i].newer) != rows[i].holds)
			fail_msg("row %zu", i);
	}
}

/* AG-228: whatever PATH the policy leaves to commands. */
static void what_is_let_out_has_the_daemons_path(void **state)
{
	static char *env[] = {"PATH=/nowhere", NULL};
	struct tool_judgement let_out = {.reach = TOOL_LEAVES, .free = true};
	struct rig r;
	char **made;

	(void)state;
	rig_init(&r);
	r.host.env = env;
	r.host.path = "/usr/bin:/bin";
	made = tool_environ(&r.context, &r.arena, true, NULL);
	assert_string_equal(made[0], "PATH=/nowhere");
	r.context.judged = &let_out;
	made = tool_environ(&r.context, &r.arena, false, NULL);
	assert_string_equal(made[0], "PATH=/nowhere");
	made = tool_environ(&r.context, &r.arena, true, NULL);
	for (size_t i = 0; made[i]; i++)
		assert_string_not_equal(made[i], "PATH=/nowhere");
	r.bot.set.sandbox = SANDBOX_READ_ONLY;
	rig_call_as(&r, "shell", "{\"command\":\"echo $PATH\"}", true);
	assert_says(&r, "/usr/bin:/bin\\n");
	rig_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_decision_has_its_judgement),
		cmocka_unit_test(a_long_rule_is_shown_without_its_pattern),
		cmocka_unit_test(an_answer_holds_for_what_it_was_given_for),
		cmocka_unit_test(what_is_let_out_has_the_daemons_path),
	};

	return cmocka_run_group_tests_name("tool rules", tests, NULL, NULL);
}
