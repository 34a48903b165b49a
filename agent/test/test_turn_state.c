/*
 * What the ChatGPT backend says once in a turn: the first of a turn counts, for that turn alone.
 */
#include "agent/io/turn_state.h"
#include "testing.h"

static void hear(struct turn_states *s, int64_t bot, int64_t turn, const char *value)
{
	const struct provider_request r = {.bot = bot, .turn = turn};
	struct http_header h = {STR("X-Codex-Turn-State"), str_from(value)};
	const struct http_head head = {.status = 200, .headers = &h, .header_count = 1};

	turn_state_learn(s, &r, &head);
}

static void assert_state(struct turn_states *s, int64_t bot, int64_t turn, const char *want)
{
	const struct provider_request r = {.bot = bot, .turn = turn};

	assert_true(str_eq(turn_state_get(s, &r), str_from(want)));
	assert_int_equal(turn_state_get(s, &r).p == NULL, want == NULL);
}

static void the_first_of_a_turn_counts(void **state)
{
	struct turn_states *s = turn_states_new();

	(void)state;
	assert_state(s, 1, 1, NULL);
	hear(s, 1, 1, "one");
	hear(s, 1, 1, "two");
	hear(s, 2, 1, "other");
	assert_state(s, 1, 1, "one");
	assert_state(s, 2, 1, "other");
	assert_state(s, 1, 2, NULL); /* the next turn begins without */
	hear(s, 1, 2, "three");
	assert_state(s, 1, 2, "three");
	assert_state(s, 1, 1, NULL);
	turn_states_free(s);
}

static void what_cannot_be_sent_back_is_left(void **state)
{
	struct turn_states *s = turn_states_new();
	_cleanup_(mem) char *huge = xmalloc(9001);
	const struct provider_request r = {.bot = 1, .turn = 1};
	const struct http_head none = {.status = 200};

	(void)state;
	memset(huge, 'x', 9000);
	huge[9000] = '\0';
	turn_state_learn(s, &r, &none);
	hear(s, 1, 1, "");
	hear(s, 1, 1, huge);
	assert_state(s, 1, 1, NULL);
	turn_state_learn(NULL, &r, &none);
	assert_null(turn_state_get(NULL, &r).p);
	assert_null(turn_state_get(s, NULL).p);
	turn_states_free(s);
}

static void those_heard_longest_ago_are_forgotten(void **state)
{
	struct turn_states *s = turn_states_new();

	(void)state;
	for (int64_t bot = 1; bot <= 4097; bot++)
		hear(s, bot, 1, "x");
	assert_state(s, 1, 1, NULL);
	assert_state(s, 2, 1, "x");
	assert_state(s, 4097, 1, "x");
	turn_states_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_of_a_turn_counts),
		cmocka_unit_test(what_cannot_be_sent_back_is_left),
		cmocka_unit_test(those_heard_longest_ago_are_forgotten),
	};

	return cmocka_run_group_tests_name("turn_state", tests, NULL, NULL);
}
