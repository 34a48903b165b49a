/* How long a process takes to start and say its version, beside /bin/true. */
#include <stdio.h>
#include <unistd.h>

#include "measure.h"
#include "mem/mem.h"
#include "os/os.h"

enum { RUNS = 150 };

static void row(const char *name, char *const *argv)
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
	(void)printf("start\t%s\t%.2f ms wall\t%.2f ms cpu\t%ld KiB\n", name,
		measure_median(wall, RUNS), measure_median(cpu, RUNS), peak);
}

int main(void)
{
	char *dir = NULL;
	char *agent[] = {NULL, "--version", NULL}, *nothing[] = {"/bin/true", NULL};

	must(os_program_dir(&dir, NULL) == 0);
	agent[0] = xasprintf("%s/../bin/agent", dir);
	row("agent --version", agent);
	row("/bin/true", nothing);
	free(agent[0]);
	free(dir);
	return 0;
}
