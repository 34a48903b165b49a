/* cell: whatever a cell does, its caller is told once, with a stable code. */
#include <fcntl.h>
#include <sys/wait.h>

#include "cell/cell.h"
#include "loop/loop.h"
#include "os/os.h"
#include "testing.h"

enum { MIB = 1024 * 1024, LATER_MS = 50 };

struct told {
	struct loop *loop;
	struct cell *cell;
	struct buf text, fields;
	struct error err;
	struct cell_end end;
	int dones;
};

static void on_field(void *arg, struct str name, struct str value)
{
	struct told *t = arg;

	must(buf_printf(&t->fields, "%.*s=%.*s;", STR_ARG(name), STR_ARG(value)) == 0);
}

static void on_text(void *arg, struct str text)
{
	struct told *t = arg;

	must(buf_put_str(&t->text, text) == 0);
}

static void on_done(void *arg, const struct error *err, const struct cell_end *end)
{
	struct told *t = arg;

	t->dones++;
	if (err)
		t->err = *err;
	t->end = *end;
	cell_free(mem_take(&t->cell));
	loop_stop(t->loop);
}

static const struct cell_callbacks callbacks = {on_field, on_text, on_done};

static void told_open(struct told *t)
{
	*t = (struct told){.loop = loop_new(), .text = BUF_INIT(64 * MIB), .fields = BUF_INIT(MIB)};
}

static void told_close(struct told *t)
{
	cell_free(t->cell);
	loop_free(t->loop);
	buf_release(&t->text);
	buf_release(&t->fields);
}

static void run(struct told *t, const struct cell_job *job)
{
	assert_ok(cell_start(t->loop, job, &callbacks, t, &t->cell, &t->err), &t->err);
	loop_run(t->loop);
	assert_int_equal(t->dones, 1);
}

static void a_page_is_read(void **state)
{
	const struct cell_param params[] = {
		{"url",     STR("http://h.test/a/")},
		{"charset", STR("latin1")          },
	};
	const struct cell_job job = {.program = CELL,
		.kind = &CELL_HTML,
		.params = params,
		.param_count = 2,
		.input = STR("<title>T</title><a href=b>caf\xe9</a>")};
	struct told t;

	(void)state;
	told_open(&t);
	run(&t, &job);
	assert_ok(t.err.kind ? -1 : 0, &t.err);
	assert_string_equal(t.text.data, "[caf\xc3\xa9](http://h.test/a/b)");
	assert_string_equal(t.fields.data, "title=T;charset=windows-1252;");
	told_close(&t);
}

static void the_largest_input_is_read_and_a_larger_one_is_not_taken(void **state)
{
	char *large = xmalloc(4 * (size_t)MIB + 1);
	struct cell_job job = {.program = CELL, .kind = &CELL_TEXT};
	struct told t;

	(void)state;
	memset(large, 'y', 4 * (size_t)MIB + 1);
	told_open(&t);
	job.input = (struct str){large, 4 * (size_t)MIB + 1};
	assert_fails(
		cell_start(t.loop, &job, &callbacks, &t, &t.cell, &t.err), &t.err, ERROR_LIMIT);
	error_clear(&t.err);
	job.input.len--;
	run(&t, &job);
	assert_ok(t.err.kind ? -1 : 0, &t.err);
	assert_int_equal(t.text.len, 4 * (size_t)MIB);
	told_close(&t);
	free(large);
}

static void a_cell_gone_wrong_is_one_failure(void **state)
{
	static const struct {
		const char *how, *says;
	} rows[] = {
		{"crash",  "crashed or was ended" },
		{"hang",   "took too long"        },
		{"status", "crashed or was ended" },
		{"signal", "crashed or was ended" },
		{"lie",    "answered a text with" },
		{"flood",  "answered more than"   },
		{"short",  "answered only in part"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct cell_kind kind = {.name = rows[i].how,
			.input_max_bytes = 16,
			.output_max_bytes = MIB,
			.time_ms = 300};
		struct told t;

		told_open(&t);
		run(&t, &(struct cell_job){.program = HOSTILE, .kind = &kind, .input = STR("x")});
		assert_true(error_is(&t.err, &CELL_FAILED));
		if (!strstr(t.err.text, rows[i].says))
			fail_msg("%s: %s", rows[i].how, t.err.text);
		told_close(&t);
	}
}

static void what_it_says_elsewhere_is_not_heard(void **state)
{
	const struct cell_kind kind = {
		.name = "stderr", .input_max_bytes = 16, .output_max_bytes = 16, .time_ms = 5000};
	struct told t;

	(void)state;
	told_open(&t);
	run(&t, &(struct cell_job){.program = HOSTILE, .kind = &kind, .input = STR("x")});
	assert_ok(t.err.kind ? -1 : 0, &t.err);
	assert_int_equal(t.text.len, 0);
	told_close(&t);
}

static void no_program_is_an_error_at_once(void **state)
{
	struct told t;

	(void)state;
	told_open(&t);
	assert_int_equal(cell_start(t.loop,
				 &(struct cell_job){.program = "/nonexistent/cell",
					 .kind = &CELL_TEXT,
					 .input = STR("x")},
				 &callbacks, &t, &t.cell, &t.err),
		-1);
	assert_string_equal(error_code(&t.err), "process_start_failed");
	told_close(&t);
}

static void free_it(void *arg)
{
	struct told *t = arg;

	cell_free(mem_take(&t->cell));
	loop_stop(t->loop);
}

static void one_that_is_freed_says_nothing_more(void **state)
{
	const struct cell_kind kind = {
		.name = "hang", .input_max_bytes = 16, .output_max_bytes = 16, .time_ms = 60000};
	const struct cell_job job = {.program = HOSTILE, .kind = &kind, .input = STR("x")};
	struct loop_timer *timer;
	struct told t;

	(void)state;
	told_open(&t);
	assert_ok(cell_start(t.loop, &job, &callbacks, &t, &t.cell, &t.err), &t.err);
	timer = loop_timer_new(t.loop, free_it, &t);
	loop_timer_set(timer, LATER_MS);
	loop_run(t.loop);
	loop_timer_free(timer);
	loop_run(t.loop); /* until its process is gone */
	assert_int_equal(t.dones, 0);
	told_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_is_read),
		cmocka_unit_test(the_largest_input_is_read_and_a_larger_one_is_not_taken),
		cmocka_unit_test(a_cell_gone_wrong_is_one_failure),
		cmocka_unit_test(what_it_says_elsewhere_is_not_heard),
		cmocka_unit_test(no_program_is_an_error_at_once),
		cmocka_unit_test(one_that_is_freed_says_nothing_more),
	};

	return cmocka_run_group_tests_name("cell.start", tests, NULL, NULL);
}
