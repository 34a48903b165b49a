/* Bytes packed in blocks, and what is no packed form. */
#include "agent/io/blocks.h"

#include "testing.h"

enum { MUCH = 3 * BLOCK_BYTES + 1234 };

static struct str make_text(struct arena *a, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	for (size_t i = 0; i < len; i++)
		p[i] = (char)(i / 5 % 251);
	return (struct str){p, len};
}

static void every_page_is_what_was_packed(void **state)
{
	static const int64_t offsets[] = {0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1,
		2 * BLOCK_BYTES - 1, MUCH - 1, MUCH, MUCH + 1};
	static const int64_t limits[] = {0, 1, 2, 4, BLOCK_BYTES, 2 * BLOCK_BYTES + 7, INT64_MAX};
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf packed = BUF_INIT(BLOCKS_BYTES_MAX);
	struct str text = make_text(&a, MUCH), got;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(blocks_pack(text, &packed), 1);
	assert_true(packed.len < text.len / 2);
	for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
		for (size_t k = 0; k < ARRAY_LEN(limits); k++) {
			int64_t left = MUCH - offsets[i] > 0 ? MUCH - offsets[i] : 0;
			int64_t want = limits[k] < left ? limits[k] : left;

			assert_ok(blocks_read(buf_str(&packed), MUCH, offsets[i], limits[k], &a,
					  &got, &err),
				&err);
			assert_int_equal(got.len, want);
			assert_memory_equal(got.p, text.p + (want ? offsets[i] : 0), (size_t)want);
		}
	}
}

static void what_does_not_get_smaller_is_not_packed(void **state)
{
	_cleanup_(buf) struct buf packed = BUF_INIT(BLOCKS_BYTES_MAX);
	_cleanup_(arena) struct arena a = {NULL};
	char *noise = arena_alloc(&a, MUCH);
	uint32_t x = 1;

	(void)state;
	for (size_t i = 0; i < MUCH; i++) {
		x = x * 1664525u + 1013904223u;
		noise[i] = (char)(x >> 24);
	}
	assert_int_equal(blocks_pack((struct str){noise, MUCH}, &packed), 0);
	assert_int_equal(blocks_pack(STR(""), &packed), 0);
	assert_int_equal(packed.len, 0);
}

/* Whatever byte is changed and wherever it is cut: an error or the bytes, nothing else. */
static void damage_is_an_error(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf packed = BUF_INIT(BLOCKS_BYTES_MAX);
	struct str text = make_text(&a, BLOCK_BYTES + 100), got;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(blocks_pack(text, &packed), 1);
	for (size_t i = 0; i < packed.len; i++) {
		_cleanup_(arena) struct arena scratch = {NULL};

		packed.data[i] ^= 0x55;
		(void)blocks_read(
			buf_str(&packed), (int64_t)text.len, 0, INT64_MAX, &scratch, &got, &err);
		packed.data[i] ^= 0x55;
	}
	for (size_t len = 0; len < packed.len; len++) {
		_cleanup_(arena) struct arena scratch = {NULL};

		assert_int_equal(blocks_read((struct str){packed.data, len}, (int64_t)text.len, 0,
					 INT64_MAX, &scratch, &got, &err),
			-1);
	}
	assert_int_equal(blocks_read(buf_str(&packed), BLOCKS_BYTES_MAX, 0, 1, &a, &got, &err), -1);
	assert_int_equal(blocks_read(buf_str(&packed), -1, 0, 1, &a, &got, &err), -1);
	packed.data[0] ^= 1; /* the first block's end */
	assert_int_equal(
		blocks_read(buf_str(&packed), (int64_t)text.len, 0, 1, &a, &got, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_page_is_what_was_packed),
		cmocka_unit_test(what_does_not_get_smaller_is_not_packed),
		cmocka_unit_test(damage_is_an_error),
	};

	return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
