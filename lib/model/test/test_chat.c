/* chat completions: ids that are made, and bytes that are no text. */
#include "testing.h"
#include "test/model/tape.h"

#define CHUNK(delta)                                                                               \
	"data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":" delta "}]}"    \
	"\n\n"
#define END "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

/* The id is made up, the same one each time; the name and the arguments are not. */
static void makes_ids_where_none_are_given(void **state)
{
	static const char *const streams[] = {
		CHUNK("{\"function_call\":{\"name\":\"x\",\"arguments\":\"{\"}}")
			CHUNK("{\"function_call\":{\"arguments\":\"}\"}}") END,
		CHUNK("{\"tool_calls\":[{\"index\":0,\"id\":\"\",\"function\":{\"name\":\"x\","
		      "\"arguments\":\"{}\"}}]}") END,
		CHUNK("{\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}]}")
			END,
	};
	const struct str before = STR("start \"c1\" \"m\"\nblock 0 call \"call_");
	const struct str after = STR("\" \"x\"\ndelta 0 \"{}\"\nover 0 \"{}\"\nstop calls\nend\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		struct tape a = TAPE_INIT, b = TAPE_INIT;

		tape_decode(&a, MODEL_CHAT, str_from(streams[i]), 0);
		tape_decode(&b, MODEL_CHAT, str_from(streams[i]), 1);
		assert_string_equal(a.text.data, b.text.data);
		assert_true(str_starts(buf_str(&a.text), before));
		assert_true(str_ends(buf_str(&a.text), after));
		assert_int_equal(a.text.len, before.len + 24 + after.len);
		buf_release(&a.text);
		buf_release(&b.text);
	}
}

static void made_ids_differ(void **state)
{
	static const char stream[] = CHUNK(
		"{\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}},"
		"{\"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}]}") END;
	struct tape t = TAPE_INIT;

	(void)state;
	tape_decode(&t, MODEL_CHAT, str_from(stream), 0); /* equal ones would be an error */
	assert_true(str_ends(buf_str(&t.text), STR("stop calls\nend\n")));
	assert_int_equal(t.next, 2);
	buf_release(&t.text);
}

static void a_stream_cut_in_a_character_was_cut(void **state)
{
	static const char stream[] = CHUNK("{\"content\":\"a\"}") "data: {\"id\":\"\xc3";

	(void)state;
	for (unsigned seed = 0; seed < 8; seed++) {
		struct tape t = TAPE_INIT;

		tape_decode(&t, MODEL_CHAT, str_from(stream), seed);
		assert_string_equal(t.text.data, "start \"c1\" \"m\"\nblock 0 text\n"
						 "delta 0 \"a\"\nerror model_stream_cut\n");
		buf_release(&t.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_ids_where_none_are_given),
		cmocka_unit_test(made_ids_differ),
		cmocka_unit_test(a_stream_cut_in_a_character_was_cut),
	};

	return cmocka_run_group_tests_name("model chat", tests, NULL, NULL);
}
