/*
 * `agent run` of one sandboxed shell call with the daemon up: wall, processor time and peak memory
 * of the whole client process, and what the daemon used for it. The model is a script (rehearsal).
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/client.h"
#include "measure.h"
#include "mem/mem.h"
#include "os/os.h"

enum { RUNS = 100 };

static const char script[] =
	"{\"rehearsal\":1,\"repeat\":true}\n"
	"{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":\"echo hi\"}}]}\n"
	"{\"say\":\"done\"}\n";

struct bench {
	char *dir, *workspace, *home, *drill, *agent;
	char *env[8];
	pid_t daemon;
};

static void prepare(struct bench *b)
{
	_cleanup_(mem) char *here = NULL;
	struct error err = ERROR_INIT;

	must(os_program_dir(&here, NULL) == 0);
	b->agent = xasprintf("%s/../bin/agent", here);
	if (os_temp_dir("/var/tmp/consort-bench-", &b->dir, &err) < 0)
		measure_fail("%s", err.text);
	b->workspace = xasprintf("%s/ws", b->dir);
	must(mkdir(b->workspace, 0755) == 0);
	b->drill = xasprintf("%s/drill.jsonl", b->dir);
	if (os_replace_file(b->drill, str_from(script), 0600, &err) < 0)
		measure_fail("%s", err.text);
	b->env[0] = xasprintf("HOME=%s", b->dir);
	b->env[1] = "PATH=/usr/bin:/bin";
}

static void start_daemon(struct bench *b)
{
	_cleanup_(mem) char *spec = xasprintf("drill=rehearsal,%s", b->drill);
	_cleanup_(mem) char *store = xasprintf("%s/.agent/state.sqlite", b->dir);
	_cleanup_(mem) char *socket = client_socket_path(store);
	_cleanup_(mem) char *log = xasprintf("%s/log", b->dir);
	char *argv[] = {"agent", "serve", "--provider", spec, NULL};
	struct client_start start = {.program = b->agent, .argv = argv, .log = log};
	struct client *c = NULL;
	struct error err = ERROR_INIT;
	int64_t pid = 0;

	must(setenv("HOME", b->dir, 1) == 0);
	if (client_open(socket, &start, &c, &err) < 0)
		measure_fail("%s: %s", error_code(&err), err.text);
	must(json_i64(json_get(client_ready(c), "pid"), &pid) == 0);
	b->daemon = (pid_t)pid;
	client_free(c);
}

static void measure(struct bench *b)
{
	char *first[] = {b->agent, "run", "--no-spawn", "--new", "--bot", "bench", "--model",
		"drill/x", "--sandbox", "workspace-write", "--workspace", b->workspace, "go", NULL};
	char *next[] = {b->agent, "run", "--no-spawn", "--bot", "bench", "go", NULL};
	double wall[RUNS], cpu[RUNS], before;
	long peak = 0;

	if (measure_run(first, b->env).status != 0)
		measure_fail("the first run did not complete");
	before = measure_cpu_ms(b->daemon);
	for (int i = 0; i < RUNS; i++) {
		struct measured m = measure_run(next, b->env);

		if (m.status != 0)
			measure_fail("run %d ended with %d", i, m.status);
		wall[i] = m.wall_ms;
		cpu[i] = m.cpu_ms;
		peak = m.peak_kib > peak ? m.peak_kib : peak;
	}
	(void)printf(
		"turn\tagent run, one sandboxed shell call\t%.2f ms wall\t%.2f ms cpu\t%ld KiB\n",
		measure_median(wall, RUNS), measure_median(cpu, RUNS), peak);
	(void)printf("turn\tthe daemon, for each\t\t%.2f ms cpu\t%ld KiB peak\n",
		(measure_cpu_ms(b->daemon) - before) / RUNS, measure_rss_kib(b->daemon, "VmHWM"));
}

int main(void)
{
	struct bench b = {.daemon = 0};

	prepare(&b);
	start_daemon(&b);
	measure(&b);
	(void)kill(b.daemon, SIGTERM); /* ours by the ready line */
	(void)waitpid(b.daemon, NULL, 0);
	(void)os_remove_tree(b.dir, NULL); /* a leftover below /var/tmp harms nobody */
	free(b.dir);
	free(b.workspace);
	free(b.drill);
	free(b.agent);
	free(b.env[0]);
	return 0;
}
