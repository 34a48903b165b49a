/* encoders: what they write is decoded to what it was written from, and reads as its family does.
 */
#include "test/model/roundtrip.h"
#include "model/test/stream_testing.h"

static void check_all(enum model_family family, const char *name)
{
	_cleanup_(stream_rows) struct stream_rows *all = stream_rows_read(name);

	for (size_t i = 0; i < all->count; i++) {
		printf("%s\n", all->rows[i].name); /* a failure aborts */
		roundtrip_check(family, buf_str(&all->rows[i].stream));
	}
}

static void chat_comes_back(void **state)
{
	(void)state;
	check_all(MODEL_CHAT, "chat");
}

static void responses_come_back(void **state)
{
	(void)state;
	check_all(MODEL_RESPONSES, "responses");
}

static void messages_come_back(void **state)
{
	(void)state;
	check_all(MODEL_MESSAGES, "messages");
}

/* A reply of every sort of block, as any family may have it. */
static const struct model_event reply[] = {
	{.kind = MODEL_EV_START,     .text = {"id", 2}, .name = {"m", 1}},
	{.kind = MODEL_EV_USAGE,          .usage = {30, 1, 20, 4, -1, -1}},
	{.kind = MODEL_EV_BLOCK,     .sort = MODEL_THINKING},
	{.kind = MODEL_EV_DELTA,                          .sort = MODEL_THINKING, .text = {"hm", 2}},
	{.kind = MODEL_EV_SIGNATURE,.sort = MODEL_THINKING, .text = {"SIG", 3}},
	{.kind = MODEL_EV_BLOCK_END,     .sort = MODEL_THINKING, .text = {"hm", 2}},
	{.kind = MODEL_EV_BLOCK,         .sort = MODEL_TEXT},
	{.kind = MODEL_EV_DELTA, .sort = MODEL_TEXT, .text = {"a\n\"b", 4}},
	{.kind = MODEL_EV_KEEPALIVE       },
	{.kind = MODEL_EV_BLOCK_END, .sort = MODEL_TEXT, .text = {"a\n\"b", 4}},
	{.kind = MODEL_EV_BLOCK,         .sort = MODEL_CALL, .call_id = {"c1", 2}, .name = {"sh", 2}},
	{.kind = MODEL_EV_DELTA,     .sort = MODEL_CALL, .text = {"{\"n\":1.50}", 10}},
	{.kind = MODEL_EV_BLOCK_END,                          .sort = MODEL_CALL, .text = {"{\"n\":1.50}", 10}},
	{.kind = MODEL_EV_USAGE,        .usage = {30, 9, 20, 4, -1, 2}},
	{.kind = MODEL_EV_STOP,                          .stop = MODEL_STOP_CALLS},
	{.kind = MODEL_EV_END                  },
};

static void encode_all(enum model_family family, struct buf *to)
{
	struct model_encoder *e = model_encoder_new(family);

	for (size_t i = 0; i < ARRAY_LEN(reply); i++)
		model_encode(e, &reply[i], to);
	model_encoder_free(e);
}

/* The name of each event in turn; comments as '#', and what has no name as its data's first bytes.
 */
static int note_name(void *arg, struct str name, struct str data, struct error *err)
{
	struct buf *to = arg;

	(void)err;
	if (!data.p)
		return buf_puts(to, "#\n");
	if (str_is(name, "message"))
		name = str_is(data, "[DONE]") ? data : STR("chunk");
	return buf_printf(to, STR_FMT "\n", STR_ARG(name));
}

static void writes_the_grammar_of_each_family(void **state)
{
	static const struct {
		enum model_family family;
		const char *names;
	} rows[] = {
		{MODEL_MESSAGES,
                 "message_start\ncontent_block_start\ncontent_block_delta\n"
			"content_block_delta\ncontent_block_stop\ncontent_block_start\n"
			"content_block_delta\nping\ncontent_block_stop\ncontent_block_start\n"
			"content_block_delta\ncontent_block_stop\nmessage_delta\nmessage_stop\n"},
		{MODEL_CHAT,      "chunk\nchunk\nchunk\n#\nchunk\nchunk\nchunk\nchunk\n[DONE]\n"},
		{MODEL_RESPONSES,
                 "response.created\nresponse.in_progress\nresponse.output_item.added\n"
			"response.reasoning_summary_part.added\n"
			"response.reasoning_summary_text.delta\n"
			"response.reasoning_summary_text.done\n"
			"response.reasoning_summary_part.done\nresponse.output_item.done\n"
			"response.output_item.added\nresponse.content_part.added\n"
			"response.output_text.delta\n#\nresponse.output_text.done\n"
			"response.content_part.done\nresponse.output_item.done\n"
			"response.output_item.added\nresponse.function_call_arguments.delta\n"
			"response.function_call_arguments.done\nresponse.output_item.done\n"
			"response.completed\n"						  },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf stream = BUF_INIT(1 << 20), names = BUF_INIT(1 << 20);
		struct model_sse *s = model_sse_new(1 << 20);
		struct error err = ERROR_INIT;

		encode_all(rows[i].family, &stream);
		assert_ok(model_sse_feed(s, buf_str(&stream), note_name, &names, &err), &err);
		assert_string_equal(names.data, rows[i].names);
		model_sse_free(s);
	}
}

/* What each family's decoder makes of it. */
static void writes_what_was_told(void **state)
{
	static const struct {
		enum model_family family;
		const char *tape;
	} rows[] = {
		{MODEL_CHAT,      "start \"id\" \"m\"\nblock 0 thinking\ndelta 0 \"hm\"\nover 0 \"hm\"\n"
			     "block 1 text\ndelta 1 \"a\\n\\\"b\"\nover 1 \"a\\n\\\"b\"\n"
			     "block 2 call \"c1\" \"sh\"\ndelta 2 \"{\\\"n\\\":1.50}\"\n"
			     "over 2 \"{\\\"n\\\":1.50}\"\n"
			     "usage 30 9 cached 20 write 4 1h -1 reasoning 2\nstop calls\nend\n"},
		{MODEL_MESSAGES,
                 "start \"id\" \"m\"\nusage 30 1 cached 20 write 4 1h -1 reasoning -1\n"
			"block 0 thinking\ndelta 0 \"hm\"\nsignature 0 \"SIG\"\nover 0 \"hm\" item "
			"{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"SIG\"}\n"
			"block 1 text\ndelta 1 \"a\\n\\\"b\"\nover 1 \"a\\n\\\"b\" item "
			"{\"type\":\"text\",\"text\":\"a\\n\\\"b\"}\n"
			"block 2 call \"c1\" \"sh\"\ndelta 2 \"{\\\"n\\\":1.50}\"\n"
			"over 2 \"{\\\"n\\\":1.50}\" item {\"type\":\"tool_use\",\"id\":\"c1\","
			"\"name\":\"sh\",\"input\":{\"n\":1.50}}\n"
			"usage 30 9 cached 20 write 4 1h -1 reasoning -1\nstop calls\nend\n"                                },
		{MODEL_RESPONSES,
                 "start \"id\" \"m\"\nblock 0 thinking\ndelta 0 \"hm\"\nover 0 \"hm\" item "
			"{\"id\":\"rs_0\",\"type\":\"reasoning\",\"summary\":[{\"type\":"
			"\"summary_text\",\"text\":\"hm\"}]}\n"
			"block 1 text\ndelta 1 \"a\\n\\\"b\"\nover 1 \"a\\n\\\"b\" item "
			"{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":"
			"[{\"type\":\"output_text\",\"annotations\":[],\"text\":\"a\\n\\\"b\"}],"
			"\"status\":\"completed\"}\n"
			"block 2 call \"c1\" \"sh\"\ndelta 2 \"{\\\"n\\\":1.50}\"\n"
			"over 2 \"{\\\"n\\\":1.50}\" item {\"id\":\"fc_2\",\"type\":"
			"\"function_call\",\"call_id\":\"c1\",\"name\":\"sh\",\"arguments\":"
			"\"{\\\"n\\\":1.50}\",\"status\":\"completed\"}\n"
			"usage 30 9 cached 20 write 4 1h -1 reasoning 2\nstop calls\nend\n"                                 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf stream = BUF_INIT(1 << 20);
		struct tape t = TAPE_INIT;

		encode_all(rows[i].family, &stream);
		tape_decode(&t, rows[i].family, buf_str(&stream), 0);
		assert_string_equal(t.text.data, rows[i].tape);
		buf_release(&t.text);
	}
}

/* Items and state may have line ends between their tokens: a frame must not end there. */
static void an_item_stays_in_its_frame(void **state)
{
	static const struct model_event events[] = {
		{.kind = MODEL_EV_START, .text = {"id", 2}, .name = {"m", 1}},
		{.kind = MODEL_EV_BLOCK,      .sort = MODEL_OPAQUE},
		{.kind = MODEL_EV_BLOCK_END,
                 .sort = MODEL_OPAQUE,
                 .text = {"", 0},
                 .item = {"{\"type\":\n\"x\",\r\n\n\"n\":1}", 22}},
		{.kind = MODEL_EV_STOP                     },
		{.kind = MODEL_EV_END  },
	};
	static const enum model_family families[] = {MODEL_RESPONSES, MODEL_MESSAGES};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		struct model_encoder *e = model_encoder_new(families[i]);
		_cleanup_(buf) struct buf stream = BUF_INIT(1 << 20);
		struct tape t = TAPE_INIT;

		for (size_t k = 0; k < ARRAY_LEN(events); k++)
			model_encode(e, &events[k], &stream);
		tape_decode(&t, families[i], buf_str(&stream), 0);
		assert_true(str_find(buf_str(&t.text),
				    STR("over 0 \"\" item {\"type\":\"x\",\"n\":1}\n"), 0) > 0);
		assert_true(t.over);
		buf_release(&t.text);
		model_encoder_free(e);
	}
}

static void a_prompt_too_long_begins_as_clients_look_for(void **state)
{
	const struct model_event fault = {
		.kind = MODEL_EV_FAULT,
		.fault = MODEL_FAULT_CONTEXT,
		.name = {"context_length_exceeded", 23},
		.text = {"too much",                8 },
		.retry_ms = -1
        };
	struct model_encoder *e = model_encoder_new(MODEL_MESSAGES);
	_cleanup_(buf) struct buf stream = BUF_INIT(4096);

	(void)state;
	model_encode(e, &fault, &stream);
	assert_string_equal(stream.data,
		"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
		"\"invalid_request_error\",\"message\":\"prompt is too long: too much\"}}\n\n");
	model_encoder_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chat_comes_back),
		cmocka_unit_test(responses_come_back),
		cmocka_unit_test(messages_come_back),
		cmocka_unit_test(writes_the_grammar_of_each_family),
		cmocka_unit_test(writes_what_was_told),
		cmocka_unit_test(an_item_stays_in_its_frame),
		cmocka_unit_test(a_prompt_too_long_begins_as_clients_look_for),
	};

	return cmocka_run_group_tests_name("model encode", tests, NULL, NULL);
}
