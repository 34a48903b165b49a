#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H
/*
 * Measuring programs: wall time, processor time and peak memory of a child, medians of many, and
 * the rows of the table.
 * the
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct measured {
	double wall_ms, cpu_ms;
	long peak_kib; /* of the child and those it waited for */
	int status;    /* exit status, or 128 + signal */
};

/* Runs argv[0] (a path) to its end with /dev/null for all three descriptors. */
struct measured measure_run(char *const *argv, char *const *env);

/* Sorts and takes the middle. */
double measure_median(double *values, size_t count);

/* VmRSS and VmHWM of a process in KiB, 0 when it is gone; processor time since its start. */
long measure_rss_kib(pid_t pid, const char *field);
double measure_cpu_ms(pid_t pid);

/* A row of the table. How `measured` relates to `peer`: MEASURE_MOST, at most as much is wanted,
 * and MEASURE_LEAST, at least. A unit names both. */
enum measure_want { MEASURE_MOST, MEASURE_LEAST };
void measure_row(const char *what, double measured, const char *unit, enum measure_want want,
	double peer, const char *against);
/* A figure that stands beside nothing. */
void measure_note(const char *what, double measured, const char *unit);

/* Ends the benchmark with a message when something it needs went wrong. */
void measure_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
