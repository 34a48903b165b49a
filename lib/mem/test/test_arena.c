/* arena: alignment, zeroes, stable pointers, and re-use after release. */
#include <stdalign.h>

#include "testing.h"

static void every_allocation_is_zeroed_aligned_and_apart(void **state)
{
	_cleanup_(arena) struct arena a = {0};
	unsigned char *got[400];
	size_t total = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(got); i++) {
		size_t size = i * 7 % 300;

		got[i] = arena_alloc(&a, size);
		total += size;
		assert_int_equal((uintptr_t)got[i] % alignof(max_align_t), 0);
		for (size_t k = 0; k < size; k++)
			assert_int_equal(got[i][k], 0);
		memset(got[i], (int)(i & 0xff), size);
	}
	assert_int_equal(a.used_bytes, total);
	for (size_t i = 0; i < ARRAY_LEN(got); i++)
		for (size_t k = 0; k < i * 7 % 300; k++)
			assert_int_equal(got[i][k], i & 0xff);
}

static void a_large_allocation_leaves_room_for_small_ones(void **state)
{
	_cleanup_(arena) struct arena a = {0};
	char *small = arena_alloc(&a, 8);
	char *large = arena_alloc(&a, 5 * 1024 * 1024);
	char *next = arena_alloc(&a, 8);

	(void)state;
	assert_int_equal(large[5 * 1024 * 1024 - 1], 0);
	assert_true(next > small && next - small < 128);
}

static void empty_allocations_are_distinct(void **state)
{
	_cleanup_(arena) struct arena a = {0};
	char *first = arena_alloc(&a, 0), *second = arena_alloc(&a, 0);

	(void)state;
	assert_ptr_not_equal(first, second);
}

static void strings_are_terminated(void **state)
{
	_cleanup_(arena) struct arena a = {0};
	char *longer = arena_printf(&a, "%0*d", 5000, 7);

	(void)state;
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	assert_string_equal(arena_strndup(&a, NULL, 0), "");
	assert_memory_equal(arena_dup(&a, "a\0b", 3), "a\0b", 3);
	assert_int_equal(strlen(longer), 5000);
	assert_int_equal(longer[4999], '7');
}

static void release_makes_it_reusable(void **state)
{
	struct arena a = {0};

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 1000; i++)
			memset(arena_alloc(&a, 100), 0xff, 100);
		arena_release(&a);
		assert_null(a.blocks);
		assert_int_equal(a.used_bytes, 0);
		assert_int_equal(*(unsigned char *)arena_alloc(&a, 100), 0);
	}
	arena_release(&a);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_is_zeroed_aligned_and_apart),
		cmocka_unit_test(a_large_allocation_leaves_room_for_small_ones),
		cmocka_unit_test(empty_allocations_are_distinct),
		cmocka_unit_test(strings_are_terminated),
		cmocka_unit_test(release_makes_it_reusable),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
