/*
 * What peers are shown of the store: the line of an event, the outcome of a turn.
 */
#include "agent/core/item.h"
#include "agent/core/limits.h"
#include "agent/serve/publish.h"
#include "agent/serve/wait.h"
#include "testing.h"

enum { LINE_MAX_BYTES = 1024 * 1024 };

static const struct json *parse(struct arena *a, struct str text)
{
	const struct json *doc;
	struct error err = ERROR_INIT;

	assert_ok(json_parse(a, text, &doc, &err), &err);
	return doc;
}

static int64_t number(const struct json *doc, const char *name)
{
	int64_t value = INT64_MIN;

	assert_int_equal(json_i64(json_get(doc, name), &value), 0);
	return value;
}

static bool is_null(const struct json *doc, const char *name)
{
	const struct json *value = json_get(doc, name);

	return value && value->type == JSON_NULL;
}

static void an_event_is_one_line(void **state)
{
	static const char bot[] = "a\"\\\n\x7f";
	const struct store_event e = {
		.id = INT64_MAX,
		.bot = 3,
		.bot_name = {bot, sizeof(bot) - 1},
		.turn = 7,
		.kind = STR("message"),
		.data = STR("{\"text\":\"x\\ny\",\"n\":1.50}"),
	};
	_cleanup_(buf) struct buf b = BUF_INIT(LINE_MAX_BYTES);
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *doc;

	(void)state;
	assert_int_equal(event_put(&b, &e), 0);
	assert_true(str_find(buf_str(&b), STR("\n"), 0) < 0);
	doc = parse(&a, buf_str(&b));
	assert_int_equal(doc->count, 5);
	assert_true(str_is(json_str(json_get(doc, "event")), "message"));
	assert_true(number(doc, "cursor") == INT64_MAX);
	assert_true(str_is(json_str(json_get(doc, "bot")), bot));
	assert_int_equal(number(doc, "turn"), 7);
	/* As it was recorded, byte for byte. */
	assert_true(str_find(buf_str(&b), e.data, 0) >= 0);
	assert_true(str_is(json_str(json_get(json_get(doc, "data"), "text")), "x\ny"));
}

static void an_event_of_no_bot_and_no_turn_says_null(void **state)
{
	const struct store_event e = {.id = 1, .kind = STR("deleted"), .data = STR("{}")};
	_cleanup_(buf) struct buf b = BUF_INIT(LINE_MAX_BYTES);
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *doc;

	(void)state;
	assert_int_equal(event_put(&b, &e), 0);
	doc = parse(&a, buf_str(&b));
	assert_true(is_null(doc, "bot") && is_null(doc, "turn"));
}

/* Whatever the room, a line is whole or refused. */
static void an_event_that_does_not_fit_is_refused(void **state)
{
	const struct store_event e = {
		.id = 12, .bot_name = STR("b"), .turn = 1, .kind = STR("k"), .data = STR("{}")};
	_cleanup_(buf) struct buf whole = BUF_INIT(LINE_MAX_BYTES);

	(void)state;
	assert_int_equal(event_put(&whole, &e), 0);
	for (size_t room = 0; room <= whole.len; room++) {
		_cleanup_(buf) struct buf b = BUF_INIT(room);

		assert_int_equal(event_put(&b, &e), room < whole.len ? -1 : 0);
	}
}

/* The outcome as a document of its own. */
static const struct json *outcome(struct arena *a, const struct store_turn *t, struct str item)
{
	_cleanup_(buf) struct buf b = BUF_INIT(LINE_MAX_BYTES);
	struct json_out j = JSON_OUT(&b);

	handle_put_turn(&j, NULL, t, item);
	assert_false(b.full);
	return parse(a, buf_str(&b));
}

static void a_turn_under_way_says_only_that(void **state)
{
	static const char *const members[] = {"turn", "status", "finished"};

	(void)state;
	for (int s = TURN_QUEUED; s < TURN_COMPLETED; s++) {
		_cleanup_(arena) struct arena a = {NULL};
		const struct store_turn t = {.id = 5, .status = s, .error = STR("left over")};
		const struct json *doc = outcome(
			&a, &t, item_user(&a, ITEM_CHAT, STR("no answer"), NULL, 0));

		assert_int_equal(doc->count, ARRAY_LEN(members));
		for (size_t i = 0; i < ARRAY_LEN(members); i++)
			assert_non_null(json_get(doc, members[i]));
		assert_true(str_is(json_str(json_get(doc, "status")), turn_status_names[s]));
		assert_int_equal(json_get(doc, "finished")->type, JSON_FALSE);
	}
}

static void a_finished_turn_says_how_and_what(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct store_turn t = {.id = 5,
		.status = TURN_FAILED,
		.checkpoint = 44,
		.error = STR("provider_stream_failed"),
		.detail = STR("it broke")};
	const struct json *doc = outcome(&a, &t, item_assistant(&a, STR("half"), NULL, 0));

	(void)state;
	assert_int_equal(doc->count, 7);
	assert_int_equal(number(doc, "turn"), 5);
	assert_int_equal(number(doc, "checkpoint"), 44);
	assert_true(str_is(json_str(json_get(doc, "status")), turn_status_names[TURN_FAILED]));
	assert_true(str_is(json_str(json_get(doc, "error")), "provider_stream_failed"));
	assert_true(str_is(json_str(json_get(doc, "detail")), "it broke"));
	assert_true(str_is(json_str(json_get(doc, "text")), "half"));
	assert_int_equal(json_get(doc, "text_truncated")->type, JSON_FALSE);
}

static void what_is_not_there_is_null(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct item_call call = {STR("c"), STR("shell"), STR("{}")};
	const struct str items[] = {
		{NULL, 0},
		item_assistant(&a, STR(""), &call, 1), /* calls and no text */
		STR("{\"role\":\"assistant\""), /* damaged */
		STR(""),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(items); i++) {
		const struct store_turn t = {.id = 5, .status = TURN_COMPLETED};
		const struct json *doc = outcome(&a, &t, items[i]);

		assert_true(is_null(doc, "checkpoint") && is_null(doc, "error"));
		assert_true(is_null(doc, "detail") && is_null(doc, "text"));
		assert_int_equal(json_get(doc, "text_truncated")->type, JSON_FALSE);
	}
}

/* Spec 2.3: 16 KiB of it, and never half a character. */
static void a_long_text_is_cut_at_a_character(void **state)
{
	static const struct {
		const char *name;
		size_t ascii, wide; /* letters, then characters of three bytes */
		size_t shown;
		bool cut;
	} rows[] = {
		{"just fits",          RESULT_TEXT_MAX_BYTES,     0,                     RESULT_TEXT_MAX_BYTES,         false},
		{"one too many",       RESULT_TEXT_MAX_BYTES + 1, 0,                     RESULT_TEXT_MAX_BYTES,         true },
		{"wide just fits",     RESULT_TEXT_MAX_BYTES - 3, 1,                     RESULT_TEXT_MAX_BYTES,         false},
		{"wide by one byte",   RESULT_TEXT_MAX_BYTES - 2, 1,                     RESULT_TEXT_MAX_BYTES - 2,     true },
		{"wide by two bytes",  RESULT_TEXT_MAX_BYTES - 1, 1,                     RESULT_TEXT_MAX_BYTES - 1,
                 true													},
		{"wide, far too long", 0,                         RESULT_TEXT_MAX_BYTES, RESULT_TEXT_MAX_BYTES / 3 * 3,
                 true													},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(arena) struct arena a = {NULL};
		_cleanup_(buf) struct buf text = BUF_INIT(LINE_MAX_BYTES);
		const struct store_turn t = {.id = 5, .status = TURN_COMPLETED};
		const struct json *doc;

		for (size_t n = 0; n < rows[i].ascii; n++)
			assert_int_equal(buf_putc(&text, 'a'), 0);
		for (size_t n = 0; n < rows[i].wide; n++)
			assert_int_equal(buf_puts(&text, "\xe4\xb8\x80"), 0);
		doc = outcome(&a, &t, item_assistant(&a, buf_str(&text), NULL, 0));
		if (json_str(json_get(doc, "text")).len != rows[i].shown ||
			json_is_true(json_get(doc, "text_truncated")) != rows[i].cut)
			fail_msg(
				"%s: %zu bytes", rows[i].name, json_str(json_get(doc, "text")).len);
	}
}

static void an_outcome_can_be_a_member(void **state)
{
	const struct store_turn t = {.id = 5, .status = TURN_COMPLETED};
	_cleanup_(buf) struct buf b = BUF_INIT(LINE_MAX_BYTES);
	_cleanup_(arena) struct arena a = {NULL};
	struct json_out j = JSON_OUT(&b);

	(void)state;
	json_open(&j, '{');
	handle_put_turn(&j, "turn:b/5", &t, (struct str){NULL, 0});
	json_put_i64(&j, "after", 1);
	json_close(&j, '}');
	assert_int_equal(number(json_get(parse(&a, buf_str(&b)), "turn:b/5"), "turn"), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_one_line),
		cmocka_unit_test(an_event_of_no_bot_and_no_turn_says_null),
		cmocka_unit_test(an_event_that_does_not_fit_is_refused),
		cmocka_unit_test(a_turn_under_way_says_only_that),
		cmocka_unit_test(a_finished_turn_says_how_and_what),
		cmocka_unit_test(what_is_not_there_is_null),
		cmocka_unit_test(a_long_text_is_cut_at_a_character),
		cmocka_unit_test(an_outcome_can_be_a_member),
	};

	return cmocka_run_group_tests_name("agent.serve_outcome", tests, NULL, NULL);
}
