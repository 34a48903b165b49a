/* reader: what it says between messages, how long a head lives, and what a method changes. */
#include "transcript.h"

MEM_CLEANUP(reader, struct http_reader *, http_reader_free)

static struct http_reader *reader_of(enum http_side side)
{
	return http_reader_new(side);
}

static int feed(struct http_reader *r, struct str *in)
{
	struct error err = ERROR_INIT;
	struct str body = {NULL, 0};
	const int event = http_read(r, in, &body, &err);

	if (event < 0)
		fail_msg("%s: %s", error_code(&err), err.text);
	return event;
}

static void idle_until_a_byte_comes(void **state)
{
	_cleanup_(reader) struct http_reader *r = reader_of(HTTP_REQUESTS);
	struct str in;

	(void)state;
	assert_true(http_reader_idle(r));
	in = STR("");
	assert_int_equal(feed(r, &in), HTTP_MORE);
	assert_true(http_reader_idle(r));
	in = STR("\r\n"); /* of no message */
	assert_int_equal(feed(r, &in), HTTP_MORE);
	assert_true(http_reader_idle(r));
	in = STR("G");
	assert_int_equal(feed(r, &in), HTTP_MORE);
	assert_false(http_reader_idle(r));
	in = STR("ET / HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	assert_false(http_reader_idle(r));
	assert_int_equal(feed(r, &in), HTTP_END);
	assert_true(http_reader_idle(r));
	assert_int_equal(feed(r, &in), HTTP_MORE);
	assert_true(http_reader_idle(r));
}

static void not_idle_in_a_body_or_after_an_interim_response(void **state)
{
	_cleanup_(reader) struct http_reader *r = reader_of(HTTP_RESPONSES);
	struct str in = STR("HTTP/1.1 100 Continue\r\n\r\n");

	(void)state;
	assert_int_equal(feed(r, &in), HTTP_MORE);
	assert_false(http_reader_idle(r));
	in = STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na");
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	assert_int_equal(feed(r, &in), HTTP_BODY);
	assert_false(http_reader_idle(r));
	in = STR("b");
	assert_int_equal(feed(r, &in), HTTP_BODY);
	assert_int_equal(feed(r, &in), HTTP_END);
	assert_true(http_reader_idle(r));
}

static void a_head_lives_until_the_next_begins(void **state)
{
	_cleanup_(reader) struct http_reader *r = reader_of(HTTP_REQUESTS);
	struct str in = STR("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");

	(void)state;
	assert_null(http_reader_head(r));
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	assert_int_equal(feed(r, &in), HTTP_BODY);
	assert_int_equal(feed(r, &in), HTTP_END);
	assert_int_equal(feed(r, &in), HTTP_MORE);
	assert_true(str_is(http_reader_head(r)->target, "/a"));
	assert_true(str_is(http_header_get(http_reader_head(r), "host"), "h"));
	in = STR("P");
	assert_int_equal(feed(r, &in), HTTP_MORE);
	assert_null(http_reader_head(r));
}

static void a_forgotten_head_changes_nothing_else(void **state)
{
	_cleanup_(reader) struct http_reader *r = reader_of(HTTP_RESPONSES);
	struct str in = STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			    "1\r\nx\r\n0\r\n\r\nHTTP/1.1 101 Go\r\n\r\nraw");

	(void)state;
	http_reader_forget_head(r); /* none yet */
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	http_reader_forget_head(r);
	assert_null(http_reader_head(r));
	assert_int_equal(feed(r, &in), HTTP_BODY);
	assert_int_equal(feed(r, &in), HTTP_END);
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	assert_int_equal(http_reader_head(r)->status, 101);
	http_reader_forget_head(r);
	assert_int_equal(feed(r, &in), HTTP_END);
	assert_int_equal(feed(r, &in), HTTP_MORE);
	assert_true(str_is(in, "raw"));
	assert_int_equal(http_read_end(r, NULL), HTTP_MORE);
}

static void forgetting_leaves_a_head_that_is_being_read(void **state)
{
	_cleanup_(reader) struct http_reader *r = reader_of(HTTP_REQUESTS);
	struct str in = STR("GET / HTTP/1.1\r\nHost:");

	(void)state;
	assert_int_equal(feed(r, &in), HTTP_MORE);
	http_reader_forget_head(r);
	in = STR(" h\r\n\r\n");
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	assert_true(str_is(http_header_get(http_reader_head(r), "Host"), "h"));
}

static void a_method_is_of_one_response(void **state)
{
	_cleanup_(reader) struct http_reader *r = reader_of(HTTP_RESPONSES);
	struct str in = STR("HTTP/1.1 100 a\r\n\r\n"
			    "HTTP/1.1 200 a\r\nContent-Length: 1\r\n\r\n"
			    "HTTP/1.1 200 b\r\nContent-Length: 1\r\n\r\nx");

	(void)state;
	http_reader_expect(r, "HEAD");
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	assert_int_equal(http_reader_head(r)->framing, HTTP_NO_BODY);
	assert_int_equal(feed(r, &in), HTTP_END);
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	assert_int_equal(http_reader_head(r)->framing, HTTP_LENGTH);
	assert_int_equal(feed(r, &in), HTTP_BODY);
	assert_int_equal(feed(r, &in), HTTP_END);
}

static void a_refusal_is_for_good(void **state)
{
	_cleanup_(reader) struct http_reader *r = reader_of(HTTP_REQUESTS);
	struct str in = STR("GET\r\n"), body = {NULL, 0};
	struct error err = ERROR_INIT;

	(void)state;
	assert_fails(http_read(r, &in, &body, &err), &err, HTTP_INVALID);
	in = STR("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_fails(http_read(r, &in, &body, &err), &err, HTTP_INVALID);
	assert_fails(http_read_end(r, &err), &err, HTTP_INVALID);
	assert_false(http_reader_idle(r));
}

static void an_end_is_said_once(void **state)
{
	_cleanup_(reader) struct http_reader *r = reader_of(HTTP_RESPONSES);
	struct str in = STR("HTTP/1.1 200 OK\r\n\r\nabc");

	(void)state;
	assert_int_equal(feed(r, &in), HTTP_HEAD);
	assert_int_equal(feed(r, &in), HTTP_BODY);
	assert_int_equal(http_read_end(r, NULL), HTTP_END);
	assert_int_equal(http_read_end(r, NULL), HTTP_MORE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_until_a_byte_comes),
		cmocka_unit_test(not_idle_in_a_body_or_after_an_interim_response),
		cmocka_unit_test(a_head_lives_until_the_next_begins),
		cmocka_unit_test(a_forgotten_head_changes_nothing_else),
		cmocka_unit_test(forgetting_leaves_a_head_that_is_being_read),
		cmocka_unit_test(a_method_is_of_one_response),
		cmocka_unit_test(a_refusal_is_for_good),
		cmocka_unit_test(an_end_is_said_once),
	};

	return cmocka_run_group_tests_name("http.reader", tests, NULL, NULL);
}
