/* decoders: streams of every family, plain and odd, in pieces of every size. */
#include "model/test/stream_testing.h"

enum { SEEDS = 12 };

static void check(enum model_family family, const struct stream_row *row)
{
	size_t alive = 0;

	for (unsigned seed = 0; seed < SEEDS; seed++) {
		struct tape t = TAPE_INIT;

		tape_decode(&t, family, buf_str(&row->stream), seed);
		if (!str_eq(buf_str(&t.text), buf_str(&row->tape)))
			fail_msg("%s (pieces %u):\n%s--- instead of\n%s", row->name, seed,
				buf_str(&t.text).p, buf_str(&row->tape).p);
		if (seed == 0)
			alive = t.alive;
		if (t.alive != alive)
			fail_msg("%s (pieces %u): %zu signs of life, not %zu", row->name, seed,
				t.alive, alive);
		buf_release(&t.text);
	}
}

static void check_all(enum model_family family, const char *name)
{
	_cleanup_(stream_rows) struct stream_rows *all = stream_rows_read(name);

	for (size_t i = 0; i < all->count; i++)
		check(family, &all->rows[i]);
}

static void chat_streams(void **state)
{
	(void)state;
	check_all(MODEL_CHAT, "chat");
}

static void responses_streams(void **state)
{
	(void)state;
	check_all(MODEL_RESPONSES, "responses");
}

static void messages_streams(void **state)
{
	(void)state;
	check_all(MODEL_MESSAGES, "messages");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chat_streams),
		cmocka_unit_test(responses_streams),
		cmocka_unit_test(messages_streams),
	};

	return cmocka_run_group_tests_name("model streams", tests, NULL, NULL);
}
