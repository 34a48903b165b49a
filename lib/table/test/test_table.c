/* table: against a plain array, through growth, gaps and walks that remove. */
#include "table/internal.h"
#include "table/table.h"
#include "testing.h"

static int values[5000];

/* A number that differs per step and is the same in every run. */
static uint64_t step(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void an_empty_table_answers(void **state)
{
	struct table *t = table_new();
	size_t at = 0;

	(void)state;
	assert_null(table_get(t, STR("x")));
	assert_null(table_remove(t, STR("x")));
	assert_null(table_get_id(t, 0));
	assert_null(table_next(t, &at));
	assert_int_equal(table_count(t), 0);
	table_free(t);
	table_free(NULL);
}

static void keys_are_bytes_and_copied(void **state)
{
	struct table *t = table_new();
	char key[] = "ab";

	(void)state;
	assert_null(table_set(t, STR("a\0b"), &values[0]));
	assert_null(table_set(t, STR("a"), &values[1]));
	assert_null(table_set(t, STR(""), &values[2]));
	assert_null(table_set(t, str_from(key), &values[3]));
	key[0] = 'x';
	assert_ptr_equal(table_get(t, STR("a\0b")), &values[0]);
	assert_ptr_equal(table_get(t, STR("a")), &values[1]);
	assert_ptr_equal(table_get(t, (struct str){NULL, 0}), &values[2]);
	assert_ptr_equal(table_get(t, STR("ab")), &values[3]);
	assert_ptr_equal(table_set(t, STR("a"), &values[4]), &values[1]);
	assert_ptr_equal(table_remove(t, STR("a")), &values[4]);
	assert_null(table_remove(t, STR("a")));
	assert_int_equal(table_count(t), 3);
	table_free(t);
}

static void agrees_with_an_array(void **state)
{
	void *model[512] = {NULL};
	struct table *strs = table_new(), *ids = table_new();
	uint64_t x = 88172645463325252U;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 60000; i++) {
		size_t k = step(&x) % ARRAY_LEN(model);
		void *value = step(&x) % 3 ? &values[step(&x) % ARRAY_LEN(values)] : NULL;
		char name[32];
		int len = snprintf(name, sizeof(name), "name-%zu", k);
		struct str key = {name, (size_t)len};

		assert_ptr_equal(table_get(strs, key), model[k]);
		assert_ptr_equal(table_get_id(ids, k), model[k]);
		if (value) {
			count += !model[k];
			assert_ptr_equal(table_set(strs, key, value), model[k]);
			assert_ptr_equal(table_set_id(ids, k, value), model[k]);
		} else {
			count -= !!model[k];
			assert_ptr_equal(table_remove(strs, key), model[k]);
			assert_ptr_equal(table_remove_id(ids, k), model[k]);
		}
		model[k] = value;
		assert_int_equal(table_count(strs), count);
		assert_int_equal(table_count(ids), count);
	}
	table_free(strs);
	table_free(ids);
}

static void a_walk_may_remove_where_it_stands(void **state)
{
	struct table *t = table_new();
	size_t at = 0, seen = 0;
	int *v;

	(void)state;
	for (uint64_t i = 0; i < ARRAY_LEN(values); i++) {
		values[i] = 0;
		(void)table_set_id(t, i, &values[i]);
	}
	while ((v = table_next(t, &at))) {
		seen++;
		(*v)++;
		if ((v - values) % 3)
			assert_ptr_equal(table_remove_id(t, (uint64_t)(v - values)), v);
	}
	assert_int_equal(seen, ARRAY_LEN(values));
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		assert_int_equal(values[i], 1);
	at = seen = 0;
	while ((v = table_next(t, &at))) {
		assert_int_equal((v - values) % 3, 0);
		seen++;
	}
	assert_int_equal(seen, table_count(t));
	table_free(t);
}

/* Requests that come and go: the room follows what is there, not what ever was. */
static void coming_and_going_ends_nowhere(void **state)
{
	struct table *t = table_new();
	size_t at = 0;

	(void)state;
	for (uint64_t i = 0; i < 200000; i++) {
		(void)table_set_id(t, i, &values[0]);
		if (i >= 3)
			assert_non_null(table_remove_id(t, i - 3));
	}
	assert_int_equal(table_count(t), 3);
	while (table_next(t, &at))
		;
	assert_true(at <= 16);
	table_free(t);
}

/* The key 00 01 … 0f over the bytes 00 01 …, from a second implementation that
 * gives the published values of SipHash-2-4. */
static void the_hash_is_siphash(void **state)
{
	static const struct {
		size_t len;
		uint64_t hash;
	} rows[] = {
		{0,  UINT64_C(0xabac0158050fc4dc)},
		{1,  UINT64_C(0xc9f49bf37d57ca93)},
		{7,  UINT64_C(0xd3927d989bb11140)},
		{8,  UINT64_C(0x369095118d299a8e)},
		{9,  UINT64_C(0x25a48eb36c063de4)},
		{15, UINT64_C(0xd320d86d2a519956)},
		{16, UINT64_C(0xcc4fdd1a7d908b66)},
		{63, UINT64_C(0x9d199062b7bbb3a8)},
	};
	unsigned char in[64];

	(void)state;
	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (unsigned char)i;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(table_sip13(UINT64_C(0x0706050403020100),
					 UINT64_C(0x0f0e0d0c0b0a0908), in, rows[i].len),
			rows[i].hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_table_answers),
		cmocka_unit_test(keys_are_bytes_and_copied),
		cmocka_unit_test(agrees_with_an_array),
		cmocka_unit_test(a_walk_may_remove_where_it_stands),
		cmocka_unit_test(coming_and_going_ends_nowhere),
		cmocka_unit_test(the_hash_is_siphash),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
