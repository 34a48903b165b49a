#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H
/*
 * Measuring programs: wall time, processor time and peak memory of a child, and medians of many.
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

/* Ends the benchmark with a message when something it needs went wrong. */
void measure_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
