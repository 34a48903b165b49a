/*
 * Statements: one per SQL literal, values in and out, mistakes that abort, plans.
 */
#include "fixture.h"

static void statement_is_prepared_once(void **state)
{
	static const char sql[] = "SELECT ?1";
	static const char same_text[] = "SELECT ?1";
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct db_stmt *s = db_prepare(d, sql);
	struct error err = ERROR_INIT;

	db_bind_i64(s, 1, 5);
	assert_int_equal(db_step(s, &err), 1);
	assert_int_equal(db_col_i64(s, 0), 5);
	assert_ptr_equal(db_prepare(d, sql), s); /* reset, bindings cleared */
	assert_int_equal(db_step(s, &err), 1);
	assert_true(db_col_null(s, 0));
	assert_ptr_not_equal(db_prepare(d, same_text), s);
}

static void many_statements_are_all_found_again(void **state)
{
	enum { MANY = 500 };
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	char *sql[MANY];
	struct db_stmt *s[MANY];

	for (int i = 0; i < MANY; i++) {
		sql[i] = xasprintf("SELECT %d", i);
		s[i] = db_prepare(d, sql[i]);
	}
	for (int i = 0; i < MANY; i++) {
		assert_ptr_equal(db_prepare(d, sql[i]), s[i]);
		assert_int_equal(db_step(s[i], NULL), 1);
		assert_int_equal(db_col_i64(s[i], 0), i);
	}
	for (int i = 0; i < MANY; i++)
		free(sql[i]);
}

static void values_come_back_as_they_went_in(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;
	struct db_stmt *s = db_prepare(d, "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8");

	db_bind_i64(s, 1, INT64_MIN);
	db_bind_i64(s, 2, INT64_MAX);
	db_bind_str(s, 3, (struct str){"a\0b", 3});
	db_bind_str(s, 4, STR(""));
	db_bind_str(s, 5, (struct str){NULL, 0});
	db_bind_blob(s, 6, "\xff\0\xfe", 3);
	db_bind_blob(s, 7, NULL, 0);
	db_bind_null(s, 8);
	assert_int_equal(db_step(s, &err), 1);
	assert_true(db_col_i64(s, 0) == INT64_MIN);
	assert_true(db_col_i64(s, 1) == INT64_MAX);
	assert_true(str_eq(db_col_str(s, 2), (struct str){"a\0b", 3}));
	assert_true(db_col_str(s, 3).p && db_col_str(s, 3).len == 0);
	assert_null(db_col_str(s, 4).p);
	assert_true(db_col_null(s, 4));
	assert_true(str_eq(db_col_str(s, 5), (struct str){"\xff\0\xfe", 3}));
	assert_false(db_col_null(s, 6));
	assert_true(db_col_str(s, 6).p && db_col_str(s, 6).len == 0);
	assert_int_equal(db_col_i64(s, 7), 0);
	assert_true(str_is(db_col_str(s, 0), "-9223372036854775808"));
	assert_int_equal(db_step(s, &err), 0);
}

static void changes_and_last_id(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;

	assert_ok(insert_bot(d, "ada", &err), &err);
	assert_int_equal(db_last_id(d), 1);
	assert_ok(insert_bot(d, "bob", &err), &err);
	assert_int_equal(db_last_id(d), 2);
	assert_ok(db_run(db_prepare(d, "UPDATE bot SET size = 1"), &err), &err);
	assert_int_equal(db_changes(d), 2);
}

static void error_text_holds_neither_sql_nor_values(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;

	assert_ok(insert_bot(d, "hunter2-is-secret", &err), &err);
	assert_kind(insert_bot(d, "hunter2-is-secret", &err), &err, DB_ERROR);
	assert_string_equal(err.text, "the store failed (code 19/2067, errno 0)");
	assert_string_equal(error_code(&err), "storage_error");
	assert_ok(insert_bot(d, "bob", &err), &err); /* the statement serves on */
}

static int prepare_nonsense(const struct fixture *f)
{
	struct db *d = NULL;

	child_check(freopen("/dev/null", "w", stderr) != NULL);
	child_check(db_open(f->path, &test_schema, &d, NULL) == 0);
	(void)db_prepare(d, "SELEC 1");
	return 0;
}

static int prepare_two(const struct fixture *f)
{
	struct db *d = NULL;

	child_check(freopen("/dev/null", "w", stderr) != NULL);
	child_check(db_open(f->path, &test_schema, &d, NULL) == 0);
	(void)db_prepare(d, "SELECT 1; SELECT 2");
	return 0;
}

static int bind_out_of_range(const struct fixture *f)
{
	struct db *d = NULL;

	child_check(freopen("/dev/null", "w", stderr) != NULL);
	child_check(db_open(f->path, &test_schema, &d, NULL) == 0);
	db_bind_i64(db_prepare(d, "SELECT ?1"), 2, 0);
	return 0;
}

static void mistakes_abort(void **state)
{
	static int (*const rows[])(const struct fixture *f) = {
		prepare_nonsense, prepare_two, bind_out_of_range};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int status = in_child(rows[i], *state);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

static int deny(void *arg, int action, const char *a, const char *b, const char *c, const char *d)
{
	(void)arg, (void)action, (void)a, (void)b, (void)c, (void)d;
	return SQLITE_DENY;
}

/* Anything but a mistake in the SQL (here: an authorizer's no) is told by the step, and passes. */
static void failure_to_prepare_is_told_by_the_step(void **state)
{
	static const char sql[] = "SELECT count(*) FROM bot WHERE id = ?1";
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	struct error err = ERROR_INIT;
	struct db_stmt *s;

	assert_int_equal(sqlite3_set_authorizer(d->handle, deny, NULL), SQLITE_OK);
	s = db_prepare(d, sql);
	db_bind_i64(s, 1, 1);
	db_bind_str(s, 1, STR("x"));
	db_bind_blob(s, 1, "x", 1);
	db_bind_null(s, 1);
	assert_kind(db_step(s, &err), &err, DB_ERROR);
	assert_non_null(strstr(err.text, "code 23"));
	db_reset(s);
	assert_int_equal(sqlite3_set_authorizer(d->handle, NULL, NULL), SQLITE_OK);
	assert_ptr_equal(db_prepare(d, sql), s);
	db_bind_i64(s, 1, 1);
	assert_int_equal(db_step(s, &err), 1);
}

static void plan_shows_scans(void **state)
{
	const struct fixture *f = *state;
	_cleanup_(db) struct db *d = open_store(f);
	_cleanup_(buf) struct buf plan = BUF_INIT(4096);
	_cleanup_(buf) struct buf tiny = BUF_INIT(4);
	struct error err = ERROR_INIT;

	assert_ok(db_plan(d, "SELECT size FROM bot WHERE name = ?1", &plan, &err), &err);
	assert_true(str_find(buf_str(&plan), STR("SEARCH bot"), 0) >= 0);
	buf_clear(&plan);
	assert_ok(db_plan(d, "SELECT b.size FROM bot b JOIN node n ON n.bot = b.id", &plan, &err),
		&err);
	assert_true(str_find(buf_str(&plan), STR("SCAN"), 0) >= 0);
	assert_true(str_find(buf_str(&plan), STR("\n"), 0) >= 0);
	assert_kind(db_plan(d, "SELECT nothing FROM nowhere", &plan, &err), &err, DB_ERROR);
	assert_kind(db_plan(d, "SELECT size FROM bot", &tiny, &err), &err, ERROR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(statement_is_prepared_once),
		fixture_test(many_statements_are_all_found_again),
		fixture_test(values_come_back_as_they_went_in),
		fixture_test(changes_and_last_id),
		fixture_test(error_text_holds_neither_sql_nor_values),
		fixture_test(mistakes_abort),
		fixture_test(failure_to_prepare_is_told_by_the_step),
		fixture_test(plan_shows_scans),
	};

	return cmocka_run_group_tests_name("db.stmt", tests, NULL, NULL);
}
