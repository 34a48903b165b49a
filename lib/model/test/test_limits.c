/* decoders: bounds on events, replies and blocks; messages whole. */
#include "testing.h"
#include "test/model/tape.h"

static void feed(struct model_decoder *d, struct tape *t, const char *text)
{
	struct error err = ERROR_INIT;

	assert_ok(model_decode(d, str_from(text), tape_event, t, &err), &err);
}

static void an_event_has_a_bound(void **state)
{
	static char bytes[4096];
	struct model_decoder *d = model_decoder_new(MODEL_MESSAGES);
	struct tape t = TAPE_INIT;
	struct error err = ERROR_INIT;
	size_t fed = 6;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	feed(d, &t, "data: ");
	while (model_decode(d, (struct str){bytes, sizeof(bytes)}, tape_event, &t, &err) == 0)
		fed += sizeof(bytes);
	assert_true(error_is(&err, &MODEL_LIMIT));
	assert_true(fed <= MODEL_FRAME_MAX_BYTES);
	assert_true(fed > MODEL_FRAME_MAX_BYTES - 2 * sizeof(bytes));
	assert_fails(model_decode(d, STR("\n"), tape_event, &t, &err), &err, MODEL_STREAM);
	assert_fails(model_decode_end(d, tape_event, &t, &err), &err, MODEL_STREAM);
	assert_int_equal(t.events, 0);
	model_decoder_free(d);
	buf_release(&t.text);
}

/* The events up to the bound are told, in one piece or many. */
static void a_reply_has_a_bound(void **state)
{
	enum { COMMENT_BYTES = 1000 };
	const size_t count = MODEL_STREAM_MAX_BYTES / COMMENT_BYTES + 2;
	_cleanup_(buf) struct buf stream = BUF_INIT(MODEL_STREAM_MAX_BYTES + 4096);
	static const size_t pieces[] = {MODEL_STREAM_MAX_BYTES + 4096, 65537};

	(void)state;
	for (size_t i = 0; i < count; i++)
		(void)buf_printf(&stream, ":%*s\n", COMMENT_BYTES - 2, "comment");
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct model_decoder *d = model_decoder_new(MODEL_MESSAGES);
		struct tape t = TAPE_INIT;
		struct error err = ERROR_INIT;
		struct str rest = buf_str(&stream);
		int rc = 0;

		while (rc == 0 && rest.len > 0) {
			const size_t n = pieces[i] < rest.len ? pieces[i] : rest.len;

			rc = model_decode(d, (struct str){rest.p, n}, tape_event, &t, &err);
			rest = (struct str){rest.p + n, rest.len - n};
		}
		assert_int_equal(rc, -1);
		assert_true(error_is(&err, &MODEL_LIMIT));
		assert_int_equal(t.alive, MODEL_STREAM_MAX_BYTES / COMMENT_BYTES);
		model_decoder_free(d);
		buf_release(&t.text);
	}
}

static void a_reply_has_so_many_blocks(void **state)
{
	struct model_decoder *d = model_decoder_new(MODEL_MESSAGES);
	struct tape t = TAPE_INIT;
	struct error err = ERROR_INIT;
	int rc = 0, i;

	(void)state;
	for (i = 0; rc == 0 && i < 1000; i++) {
		_cleanup_(buf) struct buf one = BUF_INIT(4096);

		(void)buf_printf(&one,
			"data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":"
			"{\"type\":\"text\"}}\n\n"
			"data: {\"type\":\"content_block_stop\",\"index\":%d}\n\n",
			i, i);
		rc = model_decode(d, buf_str(&one), tape_event, &t, &err);
	}
	assert_int_equal(i, MODEL_BLOCKS_MAX + 1);
	assert_true(error_is(&err, &MODEL_LIMIT));
	model_decoder_free(d);
	buf_release(&t.text);
}

static void too_deep_is_refused(void **state)
{
	struct model_decoder *d = model_decoder_new(MODEL_CHAT);
	_cleanup_(buf) struct buf one = BUF_INIT(4096);
	struct tape t = TAPE_INIT;
	struct error err = ERROR_INIT;

	(void)state;
	(void)buf_puts(&one, "data: {\"a\":");
	for (int i = 0; i < 70; i++)
		(void)buf_putc(&one, '[');
	(void)buf_puts(&one, "\n\n");
	assert_fails(model_decode(d, buf_str(&one), tape_event, &t, &err), &err, MODEL_LIMIT);
	model_decoder_free(d);
	buf_release(&t.text);
}

/* The provider's bytes may be anybody's secret: they stay out of errors. */
static void errors_repeat_nothing(void **state)
{
	static const char *const streams[] = {
		"data: {\"hunter2\":1,\"hunter2\":2}\n\n",
		"data: hunter2\n\n",
		"data: \"hunter2\"\n\n",
		"data: {\"type\":\"content_block_delta\",\"index\":5,\"delta\":{\"type\":"
		"\"text_delta\",\"text\":\"hunter2\"}}\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":5,\"content_block\":\"hunter2\"}"
		"\n\n",
		"data: {\"type\":\"content_block_start\",\"index\":5,\"content_block\":{\"type\":"
		"\"tool_use\",\"id\":\"hunter2\"}}\n\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
		struct model_decoder *d = model_decoder_new(MODEL_MESSAGES);
		struct tape t = TAPE_INIT;
		struct error err = ERROR_INIT;

		assert_fails(model_decode(d, str_from(streams[i]), tape_event, &t, &err), &err,
			MODEL_STREAM);
		assert_null(strstr(err.text, "hunter"));
		model_decoder_free(d);
		buf_release(&t.text);
	}
}

static void takes_messages_without_a_stream(void **state)
{
	static const char *const messages[] = {
		"{\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"m\"}}",
		"{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":"
		"\"message\"}}",
		"{\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\"}",
		"{\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":"
		"\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"}]}}",
		"{\"type\":\"response.completed\",\"response\":{}}",
	};
	struct model_decoder *d = model_decoder_new(MODEL_RESPONSES);
	struct tape t = TAPE_INIT;
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(messages); i++)
		assert_ok(
			model_decode_message(d, str_from(messages[i]), tape_event, &t, &err), &err);
	assert_true(t.over);
	assert_ok(model_decode_end(d, tape_event, &t, &err), &err);
	assert_ok(
		model_decode(d, STR("rubbish"), tape_event, &t, &err), &err); /* nothing follows */
	model_decoder_free(d);
	buf_release(&t.text);

	d = model_decoder_new(MODEL_RESPONSES);
	assert_fails(
		model_decode_message(d, STR("rubbish"), tape_event, &t, &err), &err, MODEL_STREAM);
	assert_fails(model_decode_message(d, STR("{}"), tape_event, &t, &err), &err, MODEL_STREAM);
	model_decoder_free(d);
	model_decoder_free(NULL);
	model_encoder_free(NULL);
	model_sse_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_has_a_bound),
		cmocka_unit_test(a_reply_has_a_bound),
		cmocka_unit_test(a_reply_has_so_many_blocks),
		cmocka_unit_test(too_deep_is_refused),
		cmocka_unit_test(errors_repeat_nothing),
		cmocka_unit_test(takes_messages_without_a_stream),
	};

	return cmocka_run_group_tests_name("model limits", tests, NULL, NULL);
}
