/* json writer: commas, names, numbers, trees, and a buffer that is full. */
#include <float.h>
#include <math.h>

#include "testing.h"
#include "json/json.h"

static const struct json *parsed(struct arena *a, const char *text)
{
	const struct json *root = NULL;
	struct error err = ERROR_INIT;

	assert_ok(json_parse(a, str_from(text), &root, &err), &err);
	return root;
}

static void sets_commas_and_names(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&b);

	(void)state;
	json_open(&j, '{');
	json_put_str(&j, "op", STR("stats"));
	json_put_str(&j, "absent", (struct str){NULL, 0});
	json_put_cstr(&j, "none", NULL);
	json_put_cstr(&j, "c", "x\ny");
	json_open_key(&j, "list", '[');
	json_open(&j, '[');
	json_close(&j, ']');
	json_open(&j, '{');
	json_close(&j, '}');
	json_put_i64(&j, NULL, -1);
	json_put_bool(&j, NULL, true);
	json_put_bool(&j, NULL, false);
	json_put_null(&j, NULL);
	json_close(&j, ']');
	json_open_key(&j, "o", '{');
	json_put_u64(&j, "k", 1);
	json_put(&j, "tree", parsed(&a, "{\"a\":[1.50,{}]}"));
	json_put(&j, "no tree", NULL);
	json_put_member(&j, STR("from \"outside\"\xff"), parsed(&a, "[]"));
	json_put_member(&j, STR("nothing"), NULL);
	json_close(&j, '}');
	json_put_raw(&j, "raw", STR("{\"x\": 1e5}"));
	json_put_raw(&j, "no raw", (struct str){NULL, 0});
	json_close(&j, '}');
	assert_int_equal(j.depth, 0);
	assert_string_equal(b.data,
		"{\"op\":\"stats\",\"absent\":null,\"none\":null,\"c\":\"x\\ny\","
		"\"list\":[[],{},-1,true,false,null],"
		"\"o\":{\"k\":1,\"tree\":{\"a\":[1.50,{}]},\"no tree\":null,"
		"\"from \\\"outside\\\"\xef\xbf\xbd\":[],\"nothing\":null},"
		"\"raw\":{\"x\": 1e5},\"no raw\":null}");
}

static void a_tree_is_written_without_its_siblings(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&b);
	const struct json *root = parsed(&a, "{\"a\":[[1],2],\"b\":3}");

	(void)state;
	json_open(&j, '[');
	json_put(&j, NULL, root->child);
	json_put(&j, NULL, root->child->child);
	json_put(&j, NULL, root->child->next);
	json_close(&j, ']');
	assert_string_equal(b.data, "[[[1],2],[1],3]");
}

static void writes_integers_to_their_ends(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&b);

	(void)state;
	json_open(&j, '[');
	json_put_i64(&j, NULL, INT64_MIN);
	json_put_i64(&j, NULL, INT64_MAX);
	json_put_i64(&j, NULL, 0);
	json_put_u64(&j, NULL, UINT64_MAX);
	json_close(&j, ']');
	assert_string_equal(
		b.data, "[-9223372036854775808,9223372036854775807,0,18446744073709551615]");
}

static void writes_doubles_as_numbers_of_json(void **state)
{
	static const struct {
		double value;
		int places;
		const char *wanted;
	} rows[] = {
		{0.5,       2,  "0.50"               },
		{-0.125,    3,  "-0.125"             },
		{1e15,      0,  "1000000000000000"   },
		{-0.0,      1,  "-0.0"               },
		{0.1,       17, "0.10000000000000001"},
		{2.0,       99, "2.00000000000000000"},
		{2.0,       -1, "2"                  },
		{123456.75, 1,  "123456.8"           },
		{NAN,       2,  "null"               },
		{INFINITY,  2,  "null"               },
		{-INFINITY, 2,  "null"               },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_(buf) struct buf b = BUF_INIT(4096);
		struct json_out j = JSON_OUT(&b);

		json_put_double(&j, NULL, rows[i].value, rows[i].places);
		assert_string_equal(b.data, rows[i].wanted);
	}
}

static void the_longest_double_fits(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&b);

	(void)state;
	json_put_double(&j, NULL, -DBL_MAX, 17);
	assert_int_equal(b.len, 1 + 309 + 1 + 17);
	assert_int_equal(parsed(&a, b.data)->type, JSON_NUMBER);
}

static void a_full_buffer_is_marked_and_nothing_worse(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *root = parsed(
		&a, "{\"key\":[1,\"\\n\xe2\x82\xac\",{\"k\":\"v\"}],\"t\":true}");

	(void)state;
	for (size_t max = 0; max < 64; max++) {
		_cleanup_(buf) struct buf b = BUF_INIT(max);
		struct json_out j = JSON_OUT(&b);
		const size_t whole = strlen(
			"{\"key\":[1,\"\\n\xe2\x82\xac\",{\"k\":\"v\"}],\"t\":true}");

		json_put(&j, NULL, root);
		assert_int_equal(b.full, max < whole);
		assert_true(b.len <= max);
		if (!b.full)
			assert_int_equal(b.len, whole);
	}
}

static void writes_what_is_deepest(void **state)
{
	_cleanup_(arena) struct arena a = {NULL};
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&b);
	char text[2 * JSON_DEPTH_MAX + 1];

	(void)state;
	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	text[2 * JSON_DEPTH_MAX] = '\0';
	json_put(&j, NULL, parsed(&a, text));
	assert_string_equal(b.data, text);
}

static void opens_more_levels_than_it_checks(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(4096);
	struct json_out j = JSON_OUT(&b);

	(void)state;
	for (int i = 0; i < 100; i++)
		json_open(&j, '[');
	for (int i = 0; i < 100; i++)
		json_close(&j, ']');
	assert_int_equal(b.len, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_commas_and_names),
		cmocka_unit_test(a_tree_is_written_without_its_siblings),
		cmocka_unit_test(writes_integers_to_their_ends),
		cmocka_unit_test(writes_doubles_as_numbers_of_json),
		cmocka_unit_test(the_longest_double_fits),
		cmocka_unit_test(a_full_buffer_is_marked_and_nothing_worse),
		cmocka_unit_test(writes_what_is_deepest),
		cmocka_unit_test(opens_more_levels_than_it_checks),
	};

	return cmocka_run_group_tests_name("json write", tests, NULL, NULL);
}
