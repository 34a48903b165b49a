/*
 * What a sandboxed command costs over plain bubblewrap with the same mounts: ours is started as the
 * daemon does, with an argument list made for it and under the supervisor, theirs with a list made
 * before and without. They take turns, so that what else the machine does falls on both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "mem/mem.h"
#include "os/os.h"
#include "proc/proc.h"
#include "sandbox/sandbox.h"

enum {
	RUNS = 150,
	WANTED_MS = 1,  /* DESIGN */
	FOLDERS = 1000, /* DESIGN: a workspace of 1,000 folders */
};

static double now_ms(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void run_command(const struct sandbox_command *c, const char *supervisor)
{
	struct proc_spec spec = {.program = c->program,
		.argv = c->argv,
		.cwd = "/",
		.fds = (const struct proc_fd *)c->fds,
		.fd_count = c->fd_count,
		.new_session = true,
		.supervisor = supervisor};
	struct error err = ERROR_INIT;
	siginfo_t info = {0};
	int pidfd = -1;
	pid_t pid;

	if (proc_spawn(&spec, &pid, &pidfd, &err) < 0)
		measure_fail("%s", err.text);
	os_close(pidfd);
	if (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0 || info.si_status != 0)
		measure_fail("a sandboxed /bin/true ended with %d", info.si_status);
}

static struct sandbox_command *prepare(
	struct sandbox *s, const struct sandbox_policy *p, const char *workspace)
{
	char *inner[] = {"/bin/true", NULL};
	struct sandbox_command *c = NULL;
	struct error err = ERROR_INIT;

	if (sandbox_command_new(s, p, workspace, inner, &c, &err) < 0)
		measure_fail("%s: %s", error_code(&err), err.text);
	return c;
}

/* Three with the same argument list: plain, under the supervisor, and under it with the list made.
 */
static void compare(struct sandbox *s, const struct sandbox_policy *p, const char *workspace,
	const char *supervisor)
{
	double ours[RUNS], watched[RUNS], plain[RUNS], listed[RUNS], freed[RUNS], start, whole,
		middle;

	for (int i = 0; i < RUNS; i++) {
		struct sandbox_command *c;

		start = now_ms();
		c = prepare(s, p, workspace);
		listed[i] = now_ms() - start;
		run_command(c, supervisor);
		freed[i] = now_ms();
		sandbox_command_free(c);
		ours[i] = now_ms() - start;
		freed[i] = now_ms() - freed[i];
		c = prepare(s, p, workspace);
		start = now_ms();
		run_command(c, NULL);
		plain[i] = now_ms() - start;
		sandbox_command_free(c);
		c = prepare(s, p, workspace);
		start = now_ms();
		run_command(c, supervisor);
		watched[i] = now_ms() - start;
		sandbox_command_free(c);
	}
	whole = measure_median(ours, RUNS);
	middle = measure_median(plain, RUNS);
	measure_row("spawn: sandboxed /bin/true", whole, "ms", MEASURE_MOST, middle,
		"plain bwrap, same mounts");
	measure_row("spawn: added to it", whole - middle, "ms", MEASURE_MOST, WANTED_MS, "target");
	measure_note(
		"spawn: of that, making the argument list", measure_median(listed, RUNS), "ms");
	measure_note("spawn: of that, taking placeholders away", measure_median(freed, RUNS), "ms");
	measure_note(
		"spawn: of that, the supervisor", measure_median(watched, RUNS) - middle, "ms");
}

int main(void)
{
	_cleanup_(mem) char *here = NULL, *supervisor = NULL;
	_cleanup_(mem) char *dir = NULL, *workspace = NULL, *store = NULL, *socket = NULL,
			    *sockets = NULL;
	struct sandbox_host host = {0};
	struct sandbox_policy policy = {.mode = SANDBOX_WORKSPACE_WRITE};
	struct error err = ERROR_INIT;
	struct sandbox *s;

	if (os_temp_dir("/var/tmp/consort-bench-", &dir, &err) < 0)
		measure_fail("%s", err.text);
	must(os_program_dir(&here, NULL) == 0);
	supervisor = xasprintf("%s/../bin/consort-supervise", here);
	workspace = xasprintf("%s/ws", dir);
	must(mkdir(workspace, 0755) == 0);
	for (int i = 0; i < FOLDERS; i++) {
		_cleanup_(mem) char *one = xasprintf("%s/d%d", workspace, i);

		must(mkdir(one, 0755) == 0);
	}
	store = xasprintf("%s/home/state.sqlite", dir);
	socket = xasprintf("%s.sock", store);
	sockets = xasprintf("%s.d", socket);
	host = (struct sandbox_host){.store = store, .socket = socket, .bot_sockets = sockets};
	policy.workspace = workspace;
	s = sandbox_new(&host);
	if (sandbox_available(s, &err) < 0)
		measure_fail("%s", err.text);
	compare(s, &policy, workspace, supervisor);
	sandbox_free(s);
	(void)os_remove_tree(dir, NULL); /* a leftover below /var/tmp harms nobody */
	return 0;
}
