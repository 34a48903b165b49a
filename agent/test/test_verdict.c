/* Verdicts on one call: every gate, the first deny, expiry, late and wrong answers. */
#include "testing.h"

#include "agent/core/verdict.h"

static struct str shell_tools[] = {
	{"shell", 5}
};
static const struct gate two_gates[] = {
	{.tag = {"person", 6},       .tools = {shell_tools, 1}},
	{ .tag = {"judge", 5}, .tools = {shell_tools, 1},          .expire_ms = 200},
};

static void start(struct verdicts *v, size_t gates)
{
	struct bot b = {
		.set = {.gates = two_gates, .gate_count = gates}
        };

	verdicts_init(v, &b, STR("shell"));
	verdicts_announce(v, 1, 1000);
}

static int answer_at(struct verdicts *v, const char *tag, int64_t request, bool allow,
	int64_t now_ms, struct error *err)
{
	struct verdict_answer a = {.tag = str_from(tag),
		.request = request,
		.allow = allow,
		.by = STR("me"),
		.reason = STR("why")};

	return verdicts_answer(v, &a, now_ms, err);
}

static int answer(
	struct verdicts *v, const char *tag, int64_t request, bool allow, struct error *err)
{
	return answer_at(v, tag, request, allow, 1100, err);
}

static void a_tool_no_gate_names_needs_no_verdict(void **state)
{
	struct bot b = {
		.set = {.gates = two_gates, .gate_count = 2}
        };
	struct verdicts v;

	(void)state;
	verdicts_init(&v, &b, STR("read"));
	assert_int_equal(v.count, 0);
	assert_int_equal(verdicts_outcome(&v), VERDICT_ALLOWED);
}

static void every_gate_has_to_allow(void **state)
{
	struct verdicts v;
	struct error err = ERROR_INIT;

	(void)state;
	start(&v, 2);
	assert_int_equal(verdicts_outcome(&v), VERDICT_OPEN);
	assert_ok(answer(&v, "person", 1, true, &err), &err);
	assert_int_equal(verdicts_outcome(&v), VERDICT_OPEN);
	assert_ok(answer(&v, "judge", 1, true, &err), &err);
	assert_int_equal(verdicts_outcome(&v), VERDICT_ALLOWED);
	assert_int_equal(v.slots[0].waited_ms, 100);
	assert_string_equal(v.slots[0].by, "me");
	verdicts_release(&v);
}

static void the_first_deny_denies_and_stays(void **state)
{
	struct verdicts v;
	struct error err = ERROR_INIT;

	(void)state;
	start(&v, 2);
	assert_ok(answer(&v, "judge", 1, false, &err), &err);
	assert_int_equal(verdicts_outcome(&v), VERDICT_DENIED);
	assert_ptr_equal(verdicts_denier(&v), &v.slots[1]);
	assert_fails(answer(&v, "person", 1, true, &err), &err, VERDICT_ALREADY);
	assert_fails(answer(&v, "judge", 1, true, &err), &err, VERDICT_ALREADY);
	assert_int_equal(verdicts_outcome(&v), VERDICT_DENIED);
	verdicts_release(&v);
}

static void wrong_answers_are_refused(void **state)
{
	struct verdicts v;
	struct error err = ERROR_INIT;

	(void)state;
	start(&v, 2);
	assert_fails(answer(&v, NULL, 1, true, &err), &err, VERDICT_TAG_REQUIRED);
	assert_fails(answer(&v, "nobody", 1, true, &err), &err, VERDICT_NONE_PENDING);
	assert_fails(answer(&v, "person", 0, true, &err), &err, VERDICT_SUPERSEDED);
	verdicts_announce(&v, 2, 2000);
	assert_fails(answer(&v, "person", 1, true, &err), &err, VERDICT_SUPERSEDED);
	assert_int_equal(verdicts_outcome(&v), VERDICT_OPEN);
	verdicts_release(&v);
	start(&v, 1);
	v.request = 0;
	assert_fails(answer(&v, NULL, 0, true, &err), &err, VERDICT_NONE_PENDING);
	verdicts_release(&v);
}

static void an_announcement_drops_earlier_verdicts(void **state)
{
	struct verdicts v;
	struct error err = ERROR_INIT;

	(void)state;
	start(&v, 1);
	assert_ok(answer(&v, NULL, 1, true, &err), &err);
	verdicts_announce(&v, 2, 3000);
	assert_int_equal(verdicts_outcome(&v), VERDICT_OPEN);
	assert_null(v.slots[0].reason);
	verdicts_release(&v);
}

static void an_unanswered_gate_denies_when_it_expires(void **state)
{
	struct verdicts v;

	(void)state;
	start(&v, 2);
	assert_int_equal(verdicts_expire_in(&v, 1000), 200);
	assert_int_equal(verdicts_expire_in(&v, 1199), 1);
	assert_int_equal(verdicts_expire(&v, 1199), 0);
	assert_int_equal(verdicts_expire_in(&v, 900000), 0);
	assert_int_equal(verdicts_expire(&v, 1200), 1);
	assert_int_equal(verdicts_outcome(&v), VERDICT_DENIED);
	assert_string_equal(verdicts_denier(&v)->reason, "not reviewed: no verdict");
	assert_int_equal(verdicts_expire_in(&v, 1300), -1);
	verdicts_release(&v);
}

/* Of a call that is not the current one nobody watches the time. */
static void an_answer_that_comes_late_does_not_count(void **state)
{
	struct verdicts v;
	struct error err = ERROR_INIT;

	(void)state;
	start(&v, 2);
	must(v.slots[0].gate.expire_ms == 0 && v.slots[1].gate.expire_ms == 200);
	assert_fails(answer_at(&v, "judge", 1, true, 1200, &err), &err, VERDICT_ALREADY);
	assert_int_equal(verdicts_outcome(&v), VERDICT_DENIED);
	verdicts_release(&v);
	start(&v, 2);
	assert_ok(answer_at(&v, "judge", 1, true, 1199, &err), &err);
	assert_ok(answer_at(&v, "person", 1, true, 900000, &err), &err);
	assert_int_equal(verdicts_outcome(&v), VERDICT_ALLOWED);
	verdicts_release(&v);
}

/* What was not announced has no time that could be over. */
static void an_answer_before_the_announcement_denies_nothing(void **state)
{
	struct verdicts v;
	struct error err = ERROR_INIT;

	(void)state;
	start(&v, 2);
	v.request = v.announced_ms = 0;
	assert_fails(answer_at(&v, "judge", 1, true, 900000, &err), &err, VERDICT_NONE_PENDING);
	assert_int_equal(verdicts_outcome(&v), VERDICT_OPEN);
	verdicts_release(&v);
}

static void a_clock_set_back_does_not_lengthen_the_wait(void **state)
{
	struct verdicts v;

	(void)state;
	start(&v, 2);
	assert_int_equal(verdicts_expire_in(&v, -86400000), 200);
	verdicts_release(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tool_no_gate_names_needs_no_verdict),
		cmocka_unit_test(every_gate_has_to_allow),
		cmocka_unit_test(the_first_deny_denies_and_stays),
		cmocka_unit_test(wrong_answers_are_refused),
		cmocka_unit_test(an_announcement_drops_earlier_verdicts),
		cmocka_unit_test(an_unanswered_gate_denies_when_it_expires),
		cmocka_unit_test(an_answer_that_comes_late_does_not_count),
		cmocka_unit_test(an_answer_before_the_announcement_denies_nothing),
		cmocka_unit_test(a_clock_set_back_does_not_lengthen_the_wait),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
