/*
 * The request table: what every row must have for the reader to run it.
 */
#include "agent/serve/request.h"

#include "testing.h"

enum { FIELDS_MAX = 64 /* json.h: bits of what was seen */ };

static const struct request_row *const tables[] = {
	bot_requests,
	life_requests,
	turn_requests,
	read_requests,
	artifact_requests,
	follow_requests,
	approval_requests,
	receipt_requests,
	pause_requests,
	served_requests,
	companion_requests,
	daemon_requests,
};

typedef void row_check(const struct request_row *row);

static size_t for_each_row(row_check *check)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		for (const struct request_row *row = tables[i]; row->op; row++, count++)
			check(row);
	}
	return count;
}

static size_t size_of(const struct json_field *f)
{
	static const size_t sizes[] = {
		[JSON_FIELD_STR] = sizeof(struct str),
		[JSON_FIELD_I64] = sizeof(int64_t),
		[JSON_FIELD_BOOL] = sizeof(bool),
		[JSON_FIELD_ENUM] = sizeof(int),
		[JSON_FIELD_STRS] = sizeof(struct str_list),
		[JSON_FIELD_NODE] = sizeof(const struct json *),
		[JSON_FIELD_OBJECT] = 1,
	};

	assert_true((size_t)f->sort < ARRAY_LEN(sizes));
	return sizes[f->sort];
}

static void check_fields(const char *op, const struct json_field *fields, size_t count, size_t size)
{
	assert_true(count <= FIELDS_MAX);
	for (size_t i = 0; i < count; i++) {
		const struct json_field *f = &fields[i];

		if (!f->name || !f->name[0])
			fail_msg("%s: field %zu has no name", op, i);
		if (f->offset + size_of(f) > size)
			fail_msg("%s.%s: lies outside its arguments", op, f->name);
		if (f->max != 0 && f->min > f->max)
			fail_msg("%s.%s: no value is within its bounds", op, f->name);
		if (f->sort == JSON_FIELD_ENUM && (!f->names || !f->names[0]))
			fail_msg("%s.%s: has no choices", op, f->name);
		if (f->sort == JSON_FIELD_OBJECT)
			check_fields(f->name, f->fields, f->field_count, size - f->offset);
		for (size_t k = 0; k < i; k++) {
			if (strcmp(fields[k].name, f->name) == 0 || fields[k].offset == f->offset)
				fail_msg("%s: %s and %s are one", op, fields[k].name, f->name);
		}
	}
}

static void check_row(const struct request_row *row)
{
	assert_true(row->op[0] != '\0');
	if (!row->handle)
		fail_msg("%s: nobody handles it", row->op);
	if (request_find(str_from(row->op)) != row)
		fail_msg("%s: another row has its name", row->op);
	check_fields(row->op, row->fields, row->field_count, row->args_size);
	for (size_t i = 0; i < row->field_count; i++) {
		if (strcmp(row->fields[i].name, "id") == 0 ||
			strcmp(row->fields[i].name, "op") == 0)
			fail_msg("%s.%s: is the request's own", row->op, row->fields[i].name);
	}
}

static void every_row_can_be_run(void **state)
{
	(void)state;
	assert_true(for_each_row(check_row) > 0);
}

static void a_name_is_found_whole_or_not_at_all(void **state)
{
	(void)state;
	assert_non_null(request_find(STR("stats")));
	assert_null(request_find(STR("")));
	assert_null(request_find(STR("stat")));
	assert_null(request_find(STR("statss")));
	assert_null(request_find(STR("STATS")));
	assert_null(request_find((struct str){"stats\0", 6}));
	assert_null(request_find((struct str){NULL, 0}));
}

/* Arguments that a row without required ones takes: none. */
static void check_empty(const struct request_row *row)
{
	const struct json_table table = {row->fields, row->field_count, row->op, NULL};
	_cleanup_(mem) void *args = xcalloc(1, row->args_size + 1);
	_cleanup_(arena) struct arena a = {NULL};
	const struct json *doc;
	uint64_t seen = 1;
	bool required = false;
	int rc;

	for (size_t i = 0; i < row->field_count; i++)
		required |= row->fields[i].required;
	assert_int_equal(json_parse(&a, STR("{}"), &doc, NULL), 0);
	rc = json_decode(&a, doc, &table, args, &seen, NULL);
	if (rc != (required ? -1 : 0))
		fail_msg("%s: {} gave %d", row->op, rc);
	if (rc == 0)
		assert_true(seen == 0);
}

static void what_is_required_is_missed(void **state)
{
	(void)state;
	(void)for_each_row(check_empty);
}

/* What `ready` tells its peers they may ask. */
static void the_names_told_are_those_found(void **state)
{
	_cleanup_(buf) struct buf b = BUF_INIT(65536);
	_cleanup_(arena) struct arena a = {NULL};
	struct json_out j = JSON_OUT(&b);
	const struct json *doc, *names;

	(void)state;
	json_open(&j, '{');
	request_put_names(&j, "capabilities");
	json_close(&j, '}');
	assert_int_equal(json_parse(&a, buf_str(&b), &doc, NULL), 0);
	names = json_get(doc, "capabilities");
	assert_non_null(names);
	assert_int_equal(names->count, for_each_row(check_row));
	json_for_each (name, names)
		assert_non_null(request_find(json_str(name)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_can_be_run),
		cmocka_unit_test(a_name_is_found_whole_or_not_at_all),
		cmocka_unit_test(what_is_required_is_missed),
		cmocka_unit_test(the_names_told_are_those_found),
	};

	return cmocka_run_group_tests_name("agent.serve_request", tests, NULL, NULL);
}
