/* Measuring programs. */
#include "measure.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mem/mem.h"
#include "os/os.h"
#include "text/text.h"

void measure_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)fprintf(stderr, "bench: ");
	(void)vfprintf(stderr, format, args);
	(void)fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double timeval_ms(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

struct measured measure_run(char *const *argv, char *const *env)
{
	struct measured m = {.status = -1};
	posix_spawn_file_actions_t files;
	struct rusage used;
	double start;
	int status;
	pid_t pid;

	must(posix_spawn_file_actions_init(&files) == 0);
	for (int fd = 0; fd < 3; fd++)
		must(posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0) == 0);
	start = now_ms();
	if (posix_spawn(&pid, argv[0], &files, NULL, argv, env) != 0)
		measure_fail("cannot start '%s'", argv[0]);
	if (wait4(pid, &status, 0, &used) != pid)
		measure_fail("lost '%s'", argv[0]);
	m.wall_ms = now_ms() - start;
	(void)posix_spawn_file_actions_destroy(&files);
	m.cpu_ms = timeval_ms(used.ru_utime) + timeval_ms(used.ru_stime);
	m.peak_kib = used.ru_maxrss;
	m.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return m;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double measure_median(double *values, size_t count)
{
	must(count > 0);
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

long measure_rss_kib(pid_t pid, const char *field)
{
	_cleanup_(buf) struct buf text = BUF_INIT(65536);
	_cleanup_(mem) char *path = xasprintf("/proc/%d/status", (int)pid);
	struct str rest, line;
	int fd = -1;

	if (os_open(path, O_RDONLY, 0, &fd, NULL) < 0 || buf_reserve(&text, 32768) < 0)
		return 0;
	(void)os_read_full(fd, text.data, 32768, &text.len, NULL); /* nothing read: 0 below */
	os_close(fd);
	rest = buf_str(&text);
	while (str_next(&rest, '\n', &line)) {
		uint64_t value;
		struct str number;

		if (!str_starts(line, str_from(field)))
			continue;
		number = str_trim(
			(struct str){line.p + strlen(field) + 1, line.len - strlen(field) - 1});
		number.len -= number.len > 3 ? 3 : 0; /* " kB" */
		return text_u64(number, INT64_MAX, field, &value, NULL) < 0 ? 0 : (long)value;
	}
	return 0;
}

double measure_cpu_ms(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return 0;
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* what, measured, peer or target, ratio: bench/run lays them out */
void measure_row(const char *what, double measured, const char *unit, enum measure_want want,
	double peer, const char *against)
{
	(void)printf("%s\t%.2f %s\t%s %.4g %s (%s)\t%.2f\n", what, measured, unit,
		want == MEASURE_MOST ? "<=" : ">=", peer, unit, against, measured / peer);
	(void)fflush(stdout);
}

void measure_note(const char *what, double measured, const char *unit)
{
	(void)printf("%s\t%.2f %s\t-\t-\n", what, measured, unit);
	(void)fflush(stdout);
}
