/*
 * `agent run` of one sandboxed shell call with the daemon up: wall, processor time and peak memory
 * of the whole client process, and what the daemon used for it, per wire family.
 *
 *	bench_turn [--runs N] [--peer 'COMMAND LINE'] [--peer-script FILE]
 *
 * A peer is any other command line that does the same: /bin/sh runs it as often, measured the same
 * way. It finds the loopback provider at $BENCH_URL; what its own tools need stands in a script of
 * its own (test/harness/README.md).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"
#include "measure.h"
#include "os/os.h"
#include "text/text.h"

enum {
	RUNS = 50,
	RUNS_MAX = 10000,
	SCRIPT_MAX_BYTES = 1 << 20,
	WANTED_MS = 25, /* DESIGN */
	WANTED_TIMES = 10,
	BOT_ARGUMENT = 5,
};

static const char script[] =
	"{\"shell\":[{\"calls\":[{\"tool\":\"shell\",\"arguments\":{\"command\":\"echo hi\"}}]},"
	"{\"say\":\"done\"}]}";

struct figures {
	double wall_ms, cpu_ms;
	long peak_kib;
};

/* `name`, if there is one, is an argument that is made anew for each run. */
static struct figures run_often(char **argv, char *const *env, int64_t runs, size_t name)
{
	_cleanup_(mem) double *wall = xcalloc((size_t)runs, sizeof(*wall));
	_cleanup_(mem) double *cpu = xcalloc((size_t)runs, sizeof(*cpu));
	struct figures f = {.peak_kib = 0};

	for (int64_t i = -1; i < runs; i++) {
		_cleanup_(mem) char *fresh =
			name ? xasprintf("%s-%lld", argv[name], (long long)i + 1) : NULL;
		char *const given = argv[name];
		struct measured m;

		if (name)
			argv[name] = fresh;
		m = measure_run(argv, env);
		argv[name] = given;
		if (m.status != 0)
			measure_fail(
				"run %lld of '%s' ended with %d", (long long)i, argv[0], m.status);
		if (i < 0)
			continue; /* the first finds cold caches */
		wall[i] = m.wall_ms;
		cpu[i] = m.cpu_ms;
		f.peak_kib = m.peak_kib > f.peak_kib ? m.peak_kib : f.peak_kib;
	}
	f.wall_ms = measure_median(wall, (size_t)runs);
	f.cpu_ms = measure_median(cpu, (size_t)runs);
	return f;
}

/* Each run has a bot of its own: what a long talk costs is another question. */
static struct figures measure_family(struct lab *l, const char *family, int64_t runs)
{
	_cleanup_(mem) char *model = xasprintf("%s/model", family);
	_cleanup_(mem) char *name = xasprintf("turn %s: agent run, one sandboxed call", family);
	_cleanup_(mem) char *cpu = xasprintf("turn %s: its processor time", family);
	_cleanup_(mem) char *daemon_cpu = xasprintf("turn %s: the daemon's, per turn", family);
	char *argv[] = {l->agent, "run", "--no-spawn", "--new", "--bot", (char *)family, "--model",
		model, "--sandbox", "workspace-write", "--workspace", l->workspace, "#shell go",
		NULL};
	const double before = measure_cpu_ms(l->daemon);
	const struct figures f = run_often(argv, l->env, runs, BOT_ARGUMENT);

	measure_row(name, f.wall_ms, "ms", MEASURE_MOST, WANTED_MS, "target");
	measure_note(cpu, f.cpu_ms, "ms");
	measure_note(daemon_cpu, (measure_cpu_ms(l->daemon) - before) / (double)(runs + 1), "ms");
	return f;
}

static void measure_peer(
	struct lab *l, const char *command, const struct figures *ours, int64_t runs)
{
	char *argv[] = {"/bin/sh", "-c", (char *)command, NULL};
	struct figures f;

	if (setenv("BENCH_URL", harness_url(l->model), 1) < 0 || chdir(l->workspace) < 0)
		measure_fail("cannot make the peer's surroundings");
	f = run_often(argv, environ, runs, 0);
	measure_note("turn peer: wall", f.wall_ms, "ms");
	measure_note("turn peer: its processor time", f.cpu_ms, "ms");
	measure_note("turn peer: its peak memory", (double)f.peak_kib / 1024, "MiB");
	measure_row("turn: how many times faster than the peer", f.wall_ms / ours->wall_ms, "x",
		MEASURE_LEAST, WANTED_TIMES, "target");
	measure_row("turn: how many times smaller than the peer",
		(double)f.peak_kib / (double)ours->peak_kib, "x", MEASURE_LEAST, WANTED_TIMES,
		"target");
}

int main(int argc, char **argv)
{
	static const char *const families[] = {"chat", "responses", "anthropic"};
	const int64_t runs = lab_flag(argc, argv, "runs", RUNS);
	const char *peer = lab_text(argc, argv, "peer");
	const char *peer_script = lab_text(argc, argv, "peer-script");
	_cleanup_(buf) struct buf content = BUF_INIT(SCRIPT_MAX_BYTES);
	struct figures f = {.peak_kib = 0};
	struct error err = ERROR_INIT;
	struct lab l;

	if (runs < 1 || runs > RUNS_MAX)
		measure_fail("--runs: 1 to %d", RUNS_MAX);
	if (peer_script && os_read_file(peer_script, &content, &err) < 0)
		measure_fail("%s", err.text);
	lab_init(&l, script);
	(void)lab_start(&l, NULL);
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		f = measure_family(&l, families[i], runs);
	measure_note("turn: peak memory of agent run", (double)f.peak_kib / 1024, "MiB");
	measure_note("turn: memory of the daemon, at most",
		(double)measure_rss_kib(l.daemon, "VmHWM") / 1024, "MiB");
	lab_end(&l);
	if (!peer)
		return 0;
	lab_init(&l, peer_script ? content.data : script);
	measure_peer(&l, peer, &f, runs);
	lab_end(&l);
	return 0;
}
