/* cell: the reader of answers believes nothing, in pieces of any size. */
#include "cell/cell.h"
#include "testing.h"

enum { TOLD_MAX_BYTES = 1024 * 1024 };

static const struct cell_kind kind = {
	.name = "test",
	.output_max_bytes = 8,
	.fields = {"title", "cut", NULL},
};

static void note_field(void *arg, struct str name, struct str value)
{
	must(buf_printf(arg, "%.*s=%.*s;", STR_ARG(name), STR_ARG(value)) == 0);
}

static void note_text(void *arg, struct str text)
{
	must(buf_put_str(arg, text) == 0);
}

static const struct cell_callbacks callbacks = {.field = note_field, .text = note_text};

static void frame(struct buf *b, int type, const char *payload, size_t len)
{
	char head[CELL_FRAME_HEAD_BYTES];

	cell_put_head(head, (enum cell_frame)type, (uint32_t)len);
	must(buf_put(b, head, sizeof(head)) == 0 && buf_put(b, payload, len) == 0);
}

struct part {
	int type;
	const char *payload;
	size_t len;
};
#define PART(type, literal)                                                                        \
	{                                                                                          \
		type, literal, sizeof(literal) - 1                                                 \
	}
#define HELLO PART('H', "\7")
#define END   PART('E', "")

/* 0 and what was told, or -1. */
static int read_answer(
	struct str answer, size_t step, struct buf *told, struct cell_end *end, struct error *err)
{
	struct cell_reader *r = cell_reader_new(&kind, &callbacks, told);
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < answer.len; at += step) {
		size_t n = answer.len - at < step ? answer.len - at : step;

		rc = cell_reader_put(r, (struct str){answer.p + at, n}, err);
	}
	if (rc == 0)
		rc = cell_reader_end(r, end, err);
	cell_reader_free(r);
	return rc;
}

static void an_answer_is_read_whatever_its_pieces(void **state)
{
	static const struct part parts[] = {HELLO, PART('F', "title\0a \xc3\xa9"),
		PART('T', "abc\n"), PART('F', "cut\0"), PART('T', "\td"), END};
	_cleanup_(buf) struct buf answer = BUF_INIT(TOLD_MAX_BYTES);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		frame(&answer, parts[i].type, parts[i].payload, parts[i].len);
	for (size_t step = 1; step <= answer.len; step++) {
		_cleanup_(buf) struct buf told = BUF_INIT(TOLD_MAX_BYTES);
		struct error err = ERROR_INIT;
		struct cell_end end;

		assert_ok(read_answer(buf_str(&answer), step, &told, &end, &err), &err);
		assert_string_equal(told.data, "title=a \xc3\xa9;abc\ncut=;\td");
		assert_int_equal(end.landlock, 7);
		assert_int_equal(end.refusal, 0);
	}
}

static void lies_are_failures(void **state)
{
	static const struct {
		const char *what;
		struct part parts[4];
		size_t count;
	} rows[] = {
		{"nothing",                     {HELLO},						0},
		{"no end",                      {HELLO},						1},
		{"no greeting",                 {END},						  1},
		{"text first",                  {PART('T', "a"), HELLO, END},                           3},
		{"two greetings",               {HELLO, HELLO, END},                                    3},
		{"a greeting without its byte", {PART('H', ""), END},                                   2},
		{"a greeting of two",           {PART('H', "ab"), END},                                 2},
		{"more after the end",          {HELLO, END, PART('T', "a")},                           3},
		{"two ends",                    {HELLO, END, END},                                      3},
		{"an end with something in it", {HELLO, PART('E', "x")},                                2},
		{"a type that there is not",    {HELLO, PART('X', ""), END},                            3},
		{"a request's type",            {HELLO, PART('P', "a\0b"), END},                        3},
		{"a field without a value",     {HELLO, PART('F', "title"), END},                       3},
		{"a field that it has not",     {HELLO, PART('F', "other\0x"), END},                    3},
		{"a field twice",               {HELLO, PART('F', "cut\0x"), PART('F', "cut\0x"), END}, 4},
		{"a field of two lines",        {HELLO, PART('F', "cut\0a\nb"), END},                   3},
		{"a field with an escape",      {HELLO, PART('F', "cut\0a\x1b"), END},                  3},
		{"text that is no UTF-8",       {HELLO, PART('T', "\xff"), END},                        3},
		{"half a character",            {HELLO, PART('T', "\xc3"), PART('T', "\xa9"), END},     4},
		{"text with a NUL",             {HELLO, PART('T', "\0"), END},                          3},
		{"text with an escape",         {HELLO, PART('T', "\x1b[2J"), END},                     3},
		{"text with a C1 control",      {HELLO, PART('T', "\xc2\x9b"), END},                    3},
		{"text that turns",             {HELLO, PART('T', "\xe2\x80\xae"), END},                3},
		{"invisible tags",              {HELLO, PART('T', "\xf3\xa0\x81\x81"), END},            3},
		{"no text",                     {HELLO, PART('T', ""), END},                            3},
		{"more text than it may",       {HELLO, PART('T', "12345678"), PART('T', "9"), END},    4},
		{"a refusal that there is not", {HELLO, PART('R', "\x09")},                             2},
		{"refusal zero",                {HELLO, PART('R', "\0")},                               2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t step = 1; step < 20; step += 9) {
			_cleanup_(buf) struct buf answer = BUF_INIT(TOLD_MAX_BYTES);
			_cleanup_(buf) struct buf told = BUF_INIT(TOLD_MAX_BYTES);
			struct error err = ERROR_INIT;
			struct cell_end end;

			for (size_t k = 0; k < rows[i].count; k++)
				frame(&answer, rows[i].parts[k].type, rows[i].parts[k].payload,
					rows[i].parts[k].len);
			if (read_answer(buf_str(&answer), step, &told, &end, &err) != -1 ||
				!error_is(&err, &CELL_FAILED))
				fail_msg("passed: %s", rows[i].what);
		}
	}
}

/* Before a byte of it is there: nothing is kept for a length that is a lie. */
static void a_length_is_refused_by_itself(void **state)
{
	static const struct {
		int type;
		uint32_t len;
	} rows[] = {
		{'T', CELL_TEXT_MAX_BYTES + 1                       },
		{'T', UINT32_MAX				    },
		{'F', CELL_NAME_MAX_BYTES + 2 + CELL_VALUE_MAX_BYTES},
		{'R', 2					     },
		{'E', 1					     },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cell_reader *r = cell_reader_new(&kind, &callbacks, NULL);
		struct error err = ERROR_INIT;
		char head[CELL_FRAME_HEAD_BYTES];

		assert_ok(cell_reader_put(r, STR("H\1\0\0\0\7"), &err), &err);
		cell_put_head(head, (enum cell_frame)rows[i].type, rows[i].len);
		assert_fails(cell_reader_put(r, (struct str){head, sizeof(head)}, &err), &err,
			CELL_FAILED);
		cell_reader_free(r);
	}
}

static void a_refusal_says_why(void **state)
{
	_cleanup_(buf) struct buf answer = BUF_INIT(TOLD_MAX_BYTES);
	_cleanup_(buf) struct buf told = BUF_INIT(TOLD_MAX_BYTES);
	struct error err = ERROR_INIT;
	struct cell_end end;

	(void)state;
	frame(&answer, 'H', "\0", 1);
	frame(&answer, 'R', "\1", 1);
	assert_fails(read_answer(buf_str(&answer), 99, &told, &end, &err), &err, CELL_REFUSED);
	assert_int_equal(end.refusal, CELL_REFUSED_SIZE);
	assert_int_equal(end.landlock, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_read_whatever_its_pieces),
		cmocka_unit_test(lies_are_failures),
		cmocka_unit_test(a_length_is_refused_by_itself),
		cmocka_unit_test(a_refusal_says_why),
	};

	return cmocka_run_group_tests_name("cell.frame", tests, NULL, NULL);
}
