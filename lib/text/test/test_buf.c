/* buf: growth up to the ceiling, and that nothing changes past it. */
#include "testing.h"
#include "text/text.h"

static void grows_to_its_ceiling_and_no_further(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(1000);

	(void)state;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(buf_putc(&b, 'a'), 0);
		assert_int_equal(b.data[b.len], '\0');
	}
	assert_int_equal(b.len, 1000);
	assert_false(b.full);
	assert_int_equal(buf_put(&b, "", 0), 0);
	assert_int_equal(buf_putc(&b, 'a'), -1);
	assert_true(b.full);
	assert_int_equal(b.len, 1000);
	assert_true(b.cap <= 1001);
}

static void one_check_at_the_end_does(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(4);

	(void)state;
	assert_int_equal(buf_puts(&b, "ab"), 0);
	assert_int_equal(buf_puts(&b, "cde"), -1);
	assert_int_equal(buf_puts(&b, "c"), -1); /* would fit, but the text would have a hole */
	assert_int_equal(buf_printf(&b, "c"), -1);
	assert_int_equal(buf_reserve(&b, 0), -1);
	assert_string_equal(b.data, "ab");
	buf_clear(&b);
	assert_int_equal(buf_puts(&b, "abcd"), 0);
	assert_string_equal(b.data, "abcd");
}

static void formatting_fits_or_changes_nothing(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(200);

	(void)state;
	assert_int_equal(buf_printf(&b, "%d", 12), 0);
	for (int i = 0; i < 9; i++)
		assert_int_equal(buf_printf(&b, "%020d", 7), 0);
	assert_int_equal(b.len, 182);
	assert_int_equal(buf_printf(&b, "%019d", 7), -1);
	assert_int_equal(b.len, 182);
	assert_int_equal(strlen(b.data), 182);
	buf_clear(&b);
	assert_int_equal(buf_printf(&b, "%0200d", 7), 0);
	assert_int_equal(b.len, 200);
}

static void a_ceiling_of_nothing_takes_nothing(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(0);

	(void)state;
	assert_int_equal(buf_puts(&b, ""), 0);
	assert_string_equal(b.data, "");
	assert_int_equal(buf_putc(&b, 'x'), -1);
}

static void huge_lengths_are_refused(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(SIZE_MAX - 1);

	(void)state;
	assert_int_equal(buf_puts(&b, "x"), 0);
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -1);
	assert_string_equal(b.data, "x");
}

static void consuming(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(100);

	(void)state;
	buf_consume(&b, 10);
	(void)buf_puts(&b, "hello world");
	buf_consume(&b, 6);
	assert_string_equal(b.data, "world");
	buf_consume(&b, 0);
	assert_int_equal(b.len, 5);
	buf_consume(&b, 99);
	assert_int_equal(b.len, 0);
	assert_string_equal(b.data, "");
}

static void reserved_room_can_be_written(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(100);

	(void)state;
	assert_int_equal(buf_reserve(&b, 100), 0);
	memset(b.data, 'z', 100);
	b.len += 100;
	assert_int_equal(buf_put(&b, NULL, 0), 0);
	assert_int_equal(strlen(b.data), 100);
	assert_int_equal(buf_reserve(&b, 1), -1);
}

static void taking_leaves_it_usable(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(8);
	_cleanup_(mem) char *none = buf_take(&b);
	_cleanup_(mem) char *some = NULL;

	(void)state;
	assert_string_equal(none, "");
	assert_string_equal(buf_str(&b).p, "");
	(void)buf_puts(&b, "12345678");
	(void)buf_puts(&b, "9");
	some = buf_take(&b);
	assert_string_equal(some, "12345678");
	assert_int_equal(buf_puts(&b, "x"), 0);
	assert_string_equal(b.data, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows_to_its_ceiling_and_no_further),
		cmocka_unit_test(one_check_at_the_end_does),
		cmocka_unit_test(formatting_fits_or_changes_nothing),
		cmocka_unit_test(a_ceiling_of_nothing_takes_nothing),
		cmocka_unit_test(huge_lengths_are_refused),
		cmocka_unit_test(consuming),
		cmocka_unit_test(reserved_room_can_be_written),
		cmocka_unit_test(taking_leaves_it_usable),
	};

	return cmocka_run_group_tests_name("text.buf", tests, NULL, NULL);
}
