/* How long a process takes to start and say its version, beside /bin/true. */
#include <stdio.h>
#include <unistd.h>

#include "measure.h"
#include "mem/mem.h"
#include "os/os.h"

enum { RUNS = 150 };

struct figures {
	double wall_ms, cpu_ms;
	long peak_kib;
};

static struct figures run(char *const *argv)
{
	double wall[RUNS], cpu[RUNS];
	long peak = 0;

	for (int i = 0; i < RUNS; i++) {
		struct measured m = measure_run(argv, environ);

		if (m.status != 0)
			measure_fail("'%s' ended with %d", argv[0], m.status);
		wall[i] = m.wall_ms;
		cpu[i] = m.cpu_ms;
		peak = m.peak_kib > peak ? m.peak_kib : peak;
	}
	return (struct figures){measure_median(wall, RUNS), measure_median(cpu, RUNS), peak};
}

int main(void)
{
	struct figures ours, theirs;
	char *dir = NULL;
	char *agent[] = {NULL, "--version", NULL}, *nothing[] = {"/bin/true", NULL};

	must(os_program_dir(&dir, NULL) == 0);
	agent[0] = xasprintf("%s/../bin/agent", dir);
	ours = run(agent);
	theirs = run(nothing);
	measure_row("start: agent --version", ours.wall_ms, "ms", MEASURE_MOST, theirs.wall_ms,
		"/bin/true");
	measure_row("start: its processor time", ours.cpu_ms, "ms", MEASURE_MOST, theirs.cpu_ms,
		"/bin/true");
	measure_row("start: its peak memory", (double)ours.peak_kib / 1024, "MiB", MEASURE_MOST,
		(double)theirs.peak_kib / 1024, "/bin/true");
	free(agent[0]);
	free(dir);
	return 0;
}
