/* log: one line per event, whatever is put into it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "log/log.h"
#include "testing.h"

static char got[1 << 20];

/* Runs between: what f logs from `least` on is in got, without the time. */
static char *logged(void (*f)(void), enum log_level least)
{
	char *dir = testing_dir();
	_cleanup_(mem) char *path = xasprintf("%s/log", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	ssize_t len;

	assert_true(fd >= 0);
	log_to(fd, least);
	f();
	log_to(STDERR_FILENO, LOG_INFO);
	len = pread(fd, got, sizeof(got) - 1, 0);
	assert_true(len >= 0);
	got[len] = '\0';
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	free(dir);
	return len > 25 ? got + 25 : got;
}

static void one_of_each(void)
{
	struct error err = ERROR_INIT;

	(void)error_set(&err, &ERROR_INVALID, "no 'x'");
	errno = EPIPE;
	log_event(LOG_WARN, "turn.done", LOG_I64("bot", -7), LOG_CSTR("name", "lead-1"),
		LOG_STR("said", STR("two words")), LOG_CSTR("none", NULL), LOG_CSTR("empty", ""),
		LOG_CSTR("dash", "-"), LOG_ERR(&err));
	assert_int_equal(errno, EPIPE);
}

static void fields_are_written(void **state)
{
	char *line = logged(one_of_each, LOG_INFO);

	(void)state;
	assert_string_equal(line,
		"warn turn.done bot=-7 name=lead-1 said=\"two words\" none=- empty=\"\" "
		"dash=\"-\" error=invalid_value detail=\"no 'x'\"\n");
	assert_int_equal(got[4], '-');
	assert_int_equal(got[23], 'Z');
	assert_int_equal(got[24], ' ');
}

static void hostile(void)
{
	log_event(LOG_INFO, "x", LOG_STR("a", STR("q\" b=\\ \nnext\x1b[2J\0z")),
		LOG_STR("b", STR("\xff\xe2\x80\xae")), LOG_STR("c", STR("a=b")));
}

static void outside_text_cannot_forge_a_line_or_field(void **state)
{
	(void)state;
	assert_string_equal(logged(hostile, LOG_INFO),
		"info x a=\"q\\\" b=\\\\ \\nnext\\x1b[2J\\x00z\" b=\"\\xff\\u202e\" c=\"a=b\"\n");
}

static void levels(void)
{
	log_event(LOG_DEBUG, "d");
	log_event(LOG_INFO, "i");
	log_event(LOG_WARN, "w");
	log_event(LOG_ERROR, "e");
}

static void lower_levels_are_left_out(void **state)
{
	(void)state;
	assert_string_equal(logged(levels, LOG_ERROR), "error e\n");
	assert_null(strstr(logged(levels, LOG_INFO), "debug d"));
	assert_non_null(strstr(got, "info i\n"));
	assert_non_null(strstr(logged(levels, LOG_DEBUG), "debug d\n"));
}

static void long_value(void)
{
	static char text[600];

	for (size_t i = 0; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	log_event(LOG_INFO, "x", LOG_CSTR("a", text), LOG_I64("n", 1));
}

static void values_are_cut_at_a_character(void **state)
{
	char *line = logged(long_value, LOG_INFO);
	struct str s = str_from(line);

	(void)state;
	assert_true(utf8_valid(s));
	assert_true(str_ends(s, STR("…\" n=1\n")));
	assert_int_equal(s.len, strlen("info x a=\"") + 510 + strlen("…\" n=1\n"));
}

static void huge_line(void)
{
	static char text[512];

	memset(text, 1, sizeof(text));
	log_event(LOG_INFO, "x", LOG_I64("first", 1), LOG_STR("a", ((struct str){text, 512})),
		LOG_STR("b", ((struct str){text, 512})), LOG_STR("c", ((struct str){text, 512})),
		LOG_I64("last", 2));
}

static void a_line_without_room_leaves_fields_out_and_says_so(void **state)
{
	char *line = logged(huge_line, LOG_INFO);
	struct str s = str_from(got);

	(void)state;
	assert_true(s.len <= 4096);
	assert_non_null(strstr(line, "info x first=1 a=\""));
	assert_null(strstr(line, " b="));
	assert_true(str_ends(s, STR("\" last=2 cut=1\n")));
}

static void *log_much(void *arg)
{
	for (int i = 0; i < 200; i++)
		log_event(LOG_INFO, "thread", LOG_I64("n", *(int *)arg),
			LOG_CSTR("s", "a b c d e f g"));
	return NULL;
}

static void from_threads(void)
{
	pthread_t threads[4];
	int numbers[4] = {0, 1, 2, 3};

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, log_much, &numbers[i]), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void lines_of_threads_do_not_mix(void **state)
{
	struct str rest, line;
	int count = 0;

	(void)state;
	(void)logged(from_threads, LOG_INFO);
	rest = str_from(got);
	while (str_next(&rest, '\n', &line)) {
		if (line.len == 0)
			continue;
		assert_int_equal(line.len,
			strlen("2026-11-29T14:05:09.123Z info thread n=0 s=\"a b c d e f g\""));
		assert_true(str_ends(line, STR("s=\"a b c d e f g\"")));
		count++;
	}
	assert_int_equal(count, 800);
}

static void to_nowhere(void)
{
	log_to(-1, LOG_INFO);
	errno = 0;
	log_event(LOG_ERROR, "lost");
	assert_int_equal(errno, 0);
}

static void a_line_that_cannot_be_written_is_dropped(void **state)
{
	(void)state;
	assert_string_equal(logged(to_nowhere, LOG_INFO), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_written),
		cmocka_unit_test(outside_text_cannot_forge_a_line_or_field),
		cmocka_unit_test(lower_levels_are_left_out),
		cmocka_unit_test(values_are_cut_at_a_character),
		cmocka_unit_test(a_line_without_room_leaves_fields_out_and_says_so),
		cmocka_unit_test(lines_of_threads_do_not_mix),
		cmocka_unit_test(a_line_that_cannot_be_written_is_dropped),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
